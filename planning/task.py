"""The ground task: what a search needs, and what it stands for.

| PDDL | Task |
|---|---|
| action schema and objects | one Operator for each relaxed-reachable combination |
| quantifier | a conjunction or disjunction over the objects of its types |
| condition, effect | bit masks, and disjunctions of them |
| fact that changes, or is in the goal | one bit |
| fact that always or never holds | evaluated here, no bit |
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from galley.domain.collection import paused_collection
from galley.domain.formula import EQUALITY, Fact, Formula, Literal
from galley.domain.pddl import Domain, Problem
from galley.planning.limits import Allowance, Limits
from galley.planning.masks import Masks
from galley.planning.naming import action_of, fact_of, goal_of
from galley.planning.normal_form import FactCondition, conjunction
from galley.planning.operators import NEVER, Condition, GroundAction, Operator, all_of
from galley.planning.relaxation import Fixpoint, Reach, impossible_parts


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
    with paused_collection():
        fixpoint = Fixpoint(domain, problem, Allowance(limits or Limits()))
        return _assemble(domain, problem, fixpoint, fixpoint.reach(), frozenset())


class ImpossibleGoal(NamedTuple):
    """A part of a goal that can't ever hold.

    Attributes:
        formula: the part as it is written.
        condition: the same on facts; None where it contradicts itself.
        missing: literals (fact and sign) of which it needs one, and none can hold.
    """

    formula: Formula
    condition: FactCondition | None
    missing: tuple[tuple[Fact, bool], ...]


@dataclass(frozen=True)
class Task:
    """What a search needs, and the domain and problem it stands for.

    ``forbid``, ``with_facts`` and ``with_goal`` make a changed task out of this one without
    grounding anew; ``problem`` always says what the task now is.

    Attributes:
        domain: the lifted domain.
        problem: the lifted problem.
        facts: the fact of each bit. Facts that can never change have no bit, except those of the
            goal: they always have one, also where nothing can make them true.
        operators: relaxed-reachable ground actions, ordered as schemas and objects are declared.
        init: the initial state.
        goal: what must hold at the end.
        goals: the same by parts: each formula of ``problem.goal`` as a condition.
        wishes: the same on facts; None where a formula contradicts itself.
        forbidden: actions that no plan may hold; ``operators`` has none of them.
        reach: what is relaxed-reachable from its initial state.
        fixpoint: the computation behind it, which goes on where a changed task has more facts.
        prepared: what searches have prepared, for the next one; a changed task begins with none.
    """

    domain: Domain
    problem: Problem
    facts: tuple[Fact, ...]
    operators: tuple[Operator, ...]
    init: int
    goal: Condition
    goals: tuple[tuple[Formula, Condition], ...]
    wishes: tuple[tuple[Formula, FactCondition | None], ...] = field(repr=False, compare=False)
    reach: Reach = field(repr=False, compare=False)
    fixpoint: Fixpoint = field(repr=False, compare=False)
    forbidden: frozenset[GroundAction] = frozenset()
    prepared: dict[Hashable, Any] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )

    @cached_property
    def bits(self) -> Mapping[Fact, int]:
        """The mask of each fact; the inverse of ``facts``."""
        return {fact: 1 << position for position, fact in enumerate(self.facts)}

    def is_goal(self, state: int) -> bool:
        """Whether the goal holds in ``state``."""
        return self.goal.holds(state)

    def holding(self, state: int) -> frozenset[Fact]:
        """The facts of ``state`` that have a bit."""
        return frozenset(fact for i, fact in enumerate(self.facts) if state >> i & 1)

    def mask(self, facts: Iterable[Fact]) -> int:
        """The set of those ``facts`` that have a bit."""
        found = 0
        for fact in facts:
            found |= self.bits.get(fact, 0)
        return found

    @cached_property
    def allowed_reach(self) -> Reach:
        """What is relaxed-reachable without forbidden actions."""
        if not self.forbidden:
            return self.reach
        return self.fixpoint.reach_from(self.problem.init, self.forbidden)

    def impossible_goal(self) -> ImpossibleGoal | None:
        """The first part of the goal that not even the delete relaxation reaches."""
        for formula, condition in self.wishes:
            if condition is None:
                return ImpossibleGoal(formula, None, ())
            missing = next(impossible_parts(condition, self.allowed_reach), None)
            if missing is not None:
                return ImpossibleGoal(formula, condition, missing)
        return None

    def forbid(self, *actions: GroundAction | str) -> Task:
        """The same task without ``actions``.

        Args:
            actions: ground actions, or their text: ``"(pick sugar burner h1)"``.

        Raises:
            ValueError: the domain has no such action, or the problem no such object.
        """
        named = frozenset(action_of(self.domain, self.problem, each) for each in actions)
        kept = tuple(each for each in self.operators if each.action not in named)
        return replace(self, operators=kept, forbidden=self.forbidden | named)

    def with_facts(
        self, *facts: Fact | str, without: Iterable[Fact | str] | Fact | str = ()
    ) -> Task:
        """The same task from an initial state with ``facts`` added.

        Args:
            facts: facts, or their text: ``"(blocked-by spam sugar)"``.
            without: facts that no longer hold at the start.

        Raises:
            ValueError: the domain has no such predicate, the problem no such object, an object
                is of another type, or a fact is to be added and removed.
            LimitReached: what becomes reachable has too many combinations of objects.
        """
        without = (without,) if isinstance(without, str | Fact) else without
        added = [fact_of(self.domain, self.problem, each) for each in facts]
        removed = [fact_of(self.domain, self.problem, each) for each in without]
        for both in set(added) & set(removed):
            raise ValueError(f"{both} is both added and removed")
        gone = set(removed)
        places = dict(zip(self.problem.init, self.problem.init_places, strict=False))
        kept = {fact: places.get(fact, (0, 0)) for fact in self.problem.init if fact not in gone}
        kept.update({fact: (0, 0) for fact in added if fact not in kept})
        problem = replace(self.problem, init=tuple(kept), init_places=tuple(kept.values()))
        self.fixpoint.objects.allowance.renew(Limits())
        fixpoint = self.fixpoint.extended(kept, gone)
        reach = fixpoint.reach_from(kept)
        return _assemble(self.domain, problem, fixpoint, reach, self.forbidden)

    def with_goal(self, *goal: Formula | Fact | str) -> Task:
        """The same task with another goal: all of ``goal`` must hold.

        Args:
            goal: formulas without free variables, facts, or the text of either.

        Raises:
            ValueError: a name in it is not declared, or it asks for a fact and its negation.
            LimitReached: its quantifiers have too many instances.
        """
        problem = replace(self.problem, goal=goal_of(self.domain, self.problem, goal))
        self.fixpoint.objects.allowance.renew(Limits())
        return _assemble(self.domain, problem, self.fixpoint, self.reach, self.forbidden)


def _assemble(
    domain: Domain,
    problem: Problem,
    fixpoint: Fixpoint,
    reach: Reach,
    forbidden: frozenset[GroundAction],
) -> Task:
    objects = fixpoint.objects
    wishes = tuple((each, conjunction((each,), {}, objects)) for each in problem.goal)
    facts = _facts_with_bits(reach, problem.goal)
    masks = Masks({fact: 1 << position for position, fact in enumerate(facts)}, reach.init)
    operators = [
        masks.operator(instance, fixpoint.schemas[instance.action.name].cost(instance.action.args))
        for instance in reach.instances
        if instance.action not in forbidden
    ]
    goals = tuple((formula, masks.condition(wish)) for formula, wish in wishes)
    return Task(
        domain,
        problem,
        facts,
        # Each part of a condition may hold by itself, and yet not all of it at once.
        tuple(each for each in operators if each.condition != NEVER),
        init=masks.of(problem.init),
        goal=all_of(condition for _, condition in goals),
        goals=goals,
        wishes=wishes,
        reach=reach,
        fixpoint=fixpoint,
        forbidden=forbidden,
    )


def _facts_with_bits(reach: Reach, goal: tuple[Formula, ...]) -> tuple[Fact, ...]:
    """Facts that can change, and those of literals in the goal: these are not evaluated away.

    Sorted, so that bits don't depend on hashing.
    """
    changing = (reach.true - reach.init) | reach.falsified
    literals = (each for each in goal if isinstance(each, Literal) and each.predicate != EQUALITY)
    return tuple(sorted(changing | {each.fact for each in literals}))
