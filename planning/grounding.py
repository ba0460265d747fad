"""From a lifted problem to a Task, and from a Task to a changed one.

| PDDL | Task |
|---|---|
| action schema and objects | one Operator for each relaxed-reachable combination |
| quantifier | a conjunction or disjunction over the objects of its types |
| condition, effect | bit masks, and disjunctions of them |
| fact that changes, or is in the goal | one bit |
| fact that always or never holds | evaluated here, no bit |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from galley.domain.formula import Fact, Formula
from galley.domain.pddl import Domain, Problem
from galley.planning.limits import Allowance, Limits
from galley.planning.normal_form import FactCondition, Objects, conjunction
from galley.planning.relaxation import Fixpoint, Reach
from galley.planning.schemas import Instance
from galley.planning.task import NEVER, Condition, ConditionalEffect, GroundAction, Operator, Task


def ground(domain: Domain, problem: Problem, limits: Limits | None = None) -> Task:
    """The ground task of a problem.

    Args:
        domain: the domain.
        problem: a problem of that domain.
        limits: when to give up; those of time and memory count.

    Returns:
        A task whose operators are the relaxed-reachable actions, in a fixed order. Goal facts
        have a bit even where nothing reaches them: a search must fail there, not succeed.

    Raises:
        BadInput: the cost of a reachable action needs a value that the problem does not give.
        LimitReached: there are too many combinations of objects, or a limit is reached.
    """
    fixpoint = Fixpoint(domain, problem, Allowance(limits or Limits()))
    return _assemble(domain, problem, fixpoint, fixpoint.reach(), frozenset())


def changed_init(task: Task, added: Iterable[Fact], removed: Iterable[Fact]) -> Task:
    """``task`` from a start with ``added`` and without ``removed``; see ``Task.with_facts``."""
    gone = set(removed)
    places = dict(zip(task.problem.init, task.problem.init_places, strict=False))
    kept = {fact: places.get(fact, (0, 0)) for fact in task.problem.init if fact not in gone}
    kept.update({fact: (0, 0) for fact in added if fact not in kept})
    problem = replace(task.problem, init=tuple(kept), init_places=tuple(kept.values()))
    fixpoint = task.fixpoint.extended(problem.init, gone)
    reach = fixpoint.reach_from(problem.init)
    return _assemble(task.domain, problem, fixpoint, reach, task.forbidden)


def changed_goal(task: Task, goal: tuple[Formula, ...]) -> Task:
    """``task`` with another goal; see ``Task.with_goal``."""
    problem = replace(task.problem, goal=goal)
    return _assemble(task.domain, problem, task.fixpoint, task.reach, task.forbidden)


def _assemble(
    domain: Domain,
    problem: Problem,
    fixpoint: Fixpoint,
    reach: Reach,
    forbidden: frozenset[GroundAction],
) -> Task:
    goals = _goal_parts(domain, problem)
    facts = _facts_with_bits(reach, goals.values())
    masks = _Masks({fact: 1 << position for position, fact in enumerate(facts)}, reach)
    operators = tuple(
        masks.operator(instance, fixpoint.schemas[instance.action.name].cost(instance.action.args))
        for instance in reach.instances
        if instance.action not in forbidden
    )
    parts = tuple((formula, masks.condition(part)) for formula, part in goals.items())
    whole = conjunction(problem.goal, {}, Objects(domain, problem))
    return Task(
        domain,
        problem,
        facts,
        operators,
        init=masks.of(problem.init),
        goal=masks.condition(whole),
        goals=parts,
        reach=reach,
        fixpoint=fixpoint,
        forbidden=forbidden,
    )


def _goal_parts(domain: Domain, problem: Problem) -> dict[Formula, FactCondition | None]:
    objects = Objects(domain, problem)
    return {each: conjunction((each,), {}, objects) for each in problem.goal}


def _facts_with_bits(reach: Reach, goals: Iterable[FactCondition | None]) -> tuple[Fact, ...]:
    """Facts that can change, and every goal fact; sorted, so that bits don't depend on hashing."""
    changing = (reach.true - reach.init) | reach.falsified
    asked = {fact for part in goals if part is not None for fact in part.facts()}
    return tuple(sorted(changing | asked))


class _Masks:
    """Turns facts into bits, and evaluates those without a bit: they never change."""

    def __init__(self, bits: Mapping[Fact, int], reach: Reach) -> None:
        self.bits = bits
        self.reach = reach

    def of(self, facts: Iterable[Fact]) -> int:
        bits = self.bits
        found = 0
        for fact in facts:
            found |= bits.get(fact, 0)
        return found

    def condition(self, condition: FactCondition | None) -> Condition:
        """The condition over bits; NEVER where a fact without a bit forbids it."""
        if condition is None:
            return NEVER
        bits, init = self.bits, self.reach.init
        pre = neg = 0
        for fact in condition.pre:
            bit = bits.get(fact)
            if bit is not None:
                pre |= bit
            elif fact not in init:
                return NEVER
        for fact in condition.neg:
            bit = bits.get(fact)
            if bit is not None:
                neg |= bit
            elif fact in init:
                return NEVER
        any_of = []
        for choice in condition.any_of:
            parts = [self.condition(part) for part in choice]
            parts = [part for part in dict.fromkeys(parts) if part != NEVER]
            if not parts:
                return NEVER
            if Condition() in parts:
                continue
            if len(parts) == 1:
                (part,) = parts
                pre, neg = pre | part.pre, neg | part.neg
                any_of += part.any_of
            else:
                any_of.append(tuple(parts))
        if pre & neg:
            return NEVER
        return Condition(pre, neg, tuple(dict.fromkeys(any_of)))

    def operator(self, instance: Instance, cost: float) -> Operator:
        add, delete = self.of(instance.add), self.of(instance.delete)
        conditional = []
        for effect in instance.conditional:
            condition = self.condition(effect.condition)
            more, less = self.of(effect.add), self.of(effect.delete)
            if condition == NEVER or not (more | less):
                continue
            if condition == Condition():
                add, delete = add | more, delete | less
            else:
                conditional.append(ConditionalEffect(condition, more, less))
        return Operator(
            instance.action,
            self.condition(instance.condition),
            add=add,
            delete=delete & ~add,
            conditional=tuple(conditional),
            cost=cost,
        )
