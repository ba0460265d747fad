"""The ground task: operators and conditions as bit masks. ``ground`` makes it from PDDL.

| PDDL | Task |
|---|---|
| action schema | an Operator for each relaxed-reachable binding of its parameters |
| quantifier | a conjunction or disjunction over the objects of its types |
| condition, effect | bit masks, and disjunctions of them |
| fluent, or fact in the goal | one bit |
| static fact | evaluated here, no bit |
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import cached_property

from galley.domain.pddl.formula import EQUALITY, Fact, Formula, Literal
from galley.domain.pddl.model import Domain, Problem
from galley.planning.grounding.relaxation import Fixpoint, Reachability
from galley.planning.grounding.schemas import ActionInstance, FactCondition, conjunction
from galley.planning.limits import GroundingBudget, SearchLimits
from galley.planning.operators import (
    NEVER,
    Condition,
    ConditionalEffect,
    GroundAction,
    Operator,
    conjoin,
)


def ground(domain: Domain, problem: Problem, limits: SearchLimits | None = None) -> Task:
    """Grounds a problem: instantiates its actions and encodes states as bit masks.

    1. Computes the relaxed-reachable facts and actions (``grounding.relaxation``).
    2. Gives a bit to every fact that may change, and to the facts in the goal.
    3. Turns the actions and the goal into masks over these bits.

    Args:
        domain: the domain.
        problem: a problem of that domain.
        limits: limits on time and memory; the limit on nodes is ignored.

    Returns:
        A task whose operators are the relaxed-reachable actions, in a fixed order. Goal facts
        always have a bit, even unreachable ones.

    Raises:
        BadInput: the cost of a reachable action needs a value that the problem does not give.
        LimitReached: too many combinations of objects, or a limit is reached.
    """
    budget = GroundingBudget(limits or SearchLimits())
    fixpoint = Fixpoint(domain, problem, budget)
    budget.what = "the goal"
    fact_goals = tuple((part, conjunction((part,), {}, fixpoint.objects)) for part in problem.goal)
    facts = _facts_with_bits(fixpoint, problem.goal)
    masks = _Masks({fact: 1 << position for position, fact in enumerate(facts)}, fixpoint.init)
    schema_rank = {each.name: i for i, each in enumerate(domain.actions)}
    object_rank = {each.name: i for i, each in enumerate(problem.objects)}
    operators = [
        masks.operator(fixpoint.instances[action], fixpoint.schemas[action.name].cost(action.args))
        for action in sorted(
            fixpoint.instances,
            key=lambda action: (schema_rank[action.name], *[object_rank[a] for a in action.args]),
        )
    ]
    goals = tuple((formula, masks.condition(condition)) for formula, condition in fact_goals)
    return Task(
        domain,
        problem,
        facts,
        # Each part of a condition may be reachable, but not all together.
        tuple(operator for operator in operators if operator.condition != NEVER),
        init=masks.of(problem.init),
        goal=conjoin(condition for _, condition in goals),
        goals=goals,
        fact_goals=fact_goals,
        fixpoint=fixpoint,
    )


@dataclass(frozen=True)
class Task:
    """A ground planning task, with the domain and problem it comes from.

    Attributes:
        domain: the lifted domain.
        problem: the lifted problem.
        facts: the fact of each bit, lowest first. Static facts have no bit, except those in the
            goal.
        operators: relaxed-reachable ground actions, ordered as schemas and objects are declared.
        init: the initial state.
        goal: the goal condition.
        goals: each formula of ``problem.goal`` with its condition.
        fact_goals: the same with conditions on facts; None for a formula that contradicts itself.
        fixpoint: the relaxed-reachable facts and actions, forbidden actions included.
        forbidden: actions that plans must not contain; they are not among ``operators``.
    """

    domain: Domain
    problem: Problem
    facts: tuple[Fact, ...]
    operators: tuple[Operator, ...]
    init: int
    goal: Condition
    goals: tuple[tuple[Formula, Condition], ...]
    fact_goals: tuple[tuple[Formula, FactCondition | None], ...] = field(repr=False, compare=False)
    fixpoint: Fixpoint = field(repr=False, compare=False)
    forbidden: frozenset[GroundAction] = frozenset()

    def is_goal(self, state: int) -> bool:
        """Whether the goal holds in ``state``."""
        return self.goal.holds(state)

    @cached_property
    def allowed_reach(self) -> Reachability:
        """The relaxed-reachable facts and actions without the forbidden actions."""
        return self.fixpoint.without(self.forbidden) if self.forbidden else self.fixpoint

    @cached_property
    def relevant_facts(self) -> int:
        """The facts that are relevant to the goal, as a mask over ``facts``.

        This is a backward closure: the facts in the goal, and the facts in the conditions of
        effects on relevant facts. To project the others away changes no plan, except for actions
        without relevant effects.
        """
        effects = []  # facts that an effect changes, and facts in its condition
        for operator in self.operators:
            precondition = operator.condition.facts()
            effects.append((operator.add | operator.delete, precondition))
            for effect in operator.conditional:
                read = precondition | effect.condition.facts()
                effects.append((effect.add | effect.delete, read))
        relevant, before = self.goal.facts(), 0
        # A contradictory goal mentions no facts, but its parts are needed for the explanation.
        for _, part in self.goals:
            relevant |= part.facts()
        while relevant != before:
            before = relevant
            for changed, read in effects:
                if changed & relevant:
                    relevant |= read
        return relevant

    def forbid(self, *actions: GroundAction) -> Task:
        """The same task with ``actions`` forbidden; it is not grounded again.

        Raises:
            ValueError: an action or one of its objects is unknown.
        """
        for action in actions:
            schema = self.domain.action(action.name)
            valid = schema is not None and len(action.args) == len(schema.parameters)
            if not valid or not all(map(self.problem.object, action.args)):
                raise ValueError(f"the task has no action {action}")
        named = frozenset(actions)
        allowed = tuple(operator for operator in self.operators if operator.action not in named)
        return replace(self, operators=allowed, forbidden=self.forbidden | named)


def _facts_with_bits(reach: Reachability, goal: tuple[Formula, ...]) -> tuple[Fact, ...]:
    """The fluents, and the facts of literals in the goal; sorted, to be deterministic."""
    changing = (reach.true - reach.init) | reach.falsified
    literals = (part for part in goal if isinstance(part, Literal) and part.predicate != EQUALITY)
    return tuple(sorted(changing | {literal.fact for literal in literals}))


class _Masks:
    """Encodes facts as bits, and evaluates static facts in the initial state.

    Attributes:
        bits: the bit of each fact that has one.
        init: the initial facts.
    """

    def __init__(self, bits: Mapping[Fact, int], init: AbstractSet[Fact]) -> None:
        self.bits = bits
        self.init = init

    def of(self, facts: Iterable[Fact]) -> int:
        """The mask of those ``facts`` that have a bit."""
        bits = self.bits
        mask = 0
        for fact in facts:
            mask |= bits.get(fact, 0)
        return mask

    def condition(self, condition: FactCondition | None) -> Condition:
        """The condition over bits; NEVER if a static fact violates it."""
        if condition is None:
            return NEVER
        static = [(fact, True) for fact in condition.pre if fact not in self.bits]
        static += [(fact, False) for fact in condition.neg if fact not in self.bits]
        if any((fact in self.init) != holds for fact, holds in static):
            return NEVER
        conjuncts = [Condition(self.of(condition.pre), self.of(condition.neg))]
        for choice in condition.any_of:
            # Parts that can't hold drop out; a part that always holds makes the choice void.
            parts = [part for part in dict.fromkeys(map(self.condition, choice)) if part != NEVER]
            if Condition() not in parts:
                conjuncts.append(parts[0] if len(parts) == 1 else Condition(any_of=(tuple(parts),)))
        return conjoin(conjuncts)

    def operator(self, instance: ActionInstance, cost: float) -> Operator:
        """An action as masks; its condition is NEVER if it contradicts itself."""
        add, delete = self.of(instance.add), self.of(instance.delete)
        conditional = []
        for effect in instance.conditional:
            condition = self.condition(effect.condition)
            more, less = self.of(effect.add), self.of(effect.delete)
            if condition == NEVER or not (more | less):
                continue
            # Its condition is static and true: the effect is unconditional.
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
