"""Relaxed reachability: the fixpoint of the delete relaxation.

A fact that was once true counts as true for ever, and one that was once false counts as false for
ever. The fixpoint joins each newly reached fact with those reached before (semi-naive evaluation as
in Datalog; Helmert, "Concise finite-domain representations for PDDL planning tasks", 2009, section
6), so the work depends on the reachable actions, not on all combinations of objects.

The fixpoint is monotone, so it can be extended by further initial facts, as explanations do.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from copy import copy
from dataclasses import dataclass
from itertools import product
from typing import TypeVar

from galley.domain.pddl.formula import Fact
from galley.domain.pddl.model import Domain, Problem
from galley.planning.grounding.schemas import (
    ActionInstance,
    Binding,
    CompiledSchema,
    FactCondition,
    Objects,
    Pattern,
)
from galley.planning.limits import GroundingBudget
from galley.planning.operators import GroundAction

_MOST_MORE = 50_000  # combinations of objects that an extension of a fixpoint may try
_Condition = tuple[str, Pattern]  # a predicate and its arguments
_K = TypeVar("_K")
_V = TypeVar("_V")


def unreachable_parts(
    condition: FactCondition, reached: Reachability | _Rules
) -> Iterator[tuple[tuple[Fact, bool], ...]]:
    """The unreachable parts of ``condition``.

    Yields:
        For each part, unreachable literals (fact and sign) of which it needs one.
    """
    for fact in condition.pre:
        if fact not in reached.true:
            yield ((fact, True),)
    for fact in condition.neg:
        if fact in reached.init and fact not in reached.falsified:
            yield ((fact, False),)
    for choice in condition.any_of:
        missing: list[tuple[Fact, bool]] = []
        for part in choice:
            literals = next(unreachable_parts(part, reached), None)
            if literals is None:
                break
            missing += literals
        else:
            yield tuple(dict.fromkeys(missing))


@dataclass(frozen=True)
class Reachability:
    """What is relaxed-reachable from an initial state.

    Attributes:
        init: the initial facts.
        true: facts that are or may become true.
        falsified: initial facts that may become false.
        instances: reachable actions, ordered as schemas and objects are declared.
    """

    init: frozenset[Fact]
    true: frozenset[Fact]
    falsified: frozenset[Fact]
    instances: tuple[ActionInstance, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Rule:
    """Facts added and deleted once ``condition`` is reachable.

    ``instance`` is the action, whose conditional effects become rules when this one fires; None for
    the rule of a conditional effect.
    """

    condition: FactCondition
    add: tuple[Fact, ...]
    delete: tuple[Fact, ...]
    instance: ActionInstance | None = None


class _Rules:
    """Fires rules as soon as their conditions are reachable."""

    def __init__(self, init: Iterable[Fact]) -> None:
        self.init: set[Fact] = set()
        self.true: set[Fact] = set()
        self.falsified: set[Fact] = set()  # of ``init``
        self.instances: dict[GroundAction, ActionInstance] = {}
        self._queue: deque[Fact] = deque()  # reached facts that are not processed yet
        self._ready: deque[_Rule] = deque()  # rules to try
        # Rules whose condition is not reachable yet, by the literals it may need.
        self._waiting: dict[tuple[Fact, bool], list[_Rule]] = defaultdict(list)
        self._fired: set[_Rule] = set()
        self._start_with(init)

    def add(self, instance: ActionInstance) -> None:
        """Adds an action, to fire once its precondition is reachable."""
        self._ready.append(_Rule(instance.condition, instance.add, instance.delete, instance))

    def run(self) -> None:
        """Computes the fixpoint."""
        while self._queue or self._ready:
            while self._ready:
                self._try(self._ready.popleft())
            if self._queue:
                fact = self._queue.popleft()
                self._settle(fact)
                self._ready.extend(self._waiting.pop((fact, True), ()))

    def _settle(self, fact: Fact) -> None:
        """Hook: instantiates further actions that need ``fact``."""

    def _start_with(self, facts: Iterable[Fact]) -> None:
        for fact in facts:
            self.init.add(fact)
            self._reach(fact)

    def _reach(self, fact: Fact) -> None:
        if fact not in self.true:
            self.true.add(fact)
            self._queue.append(fact)

    def _falsify(self, fact: Fact) -> None:
        if fact in self.init and fact not in self.falsified:
            self.falsified.add(fact)
            self._ready.extend(self._waiting.pop((fact, False), ()))

    def _try(self, rule: _Rule) -> None:
        """Fires a rule, or lets it wait until its condition is reachable."""
        if rule in self._fired:
            return
        blockers = next(unreachable_parts(rule.condition, self), None)
        if blockers is not None:
            for literal in blockers:
                self._waiting[literal].append(rule)
            return
        self._fired.add(rule)
        instance = rule.instance
        if instance is not None:
            self.instances[instance.action] = instance
            for effect in instance.conditional:
                self._ready.append(_Rule(effect.condition, effect.add, effect.delete))
        for fact in rule.add:
            self._reach(fact)
        for fact in rule.delete:
            self._falsify(fact)


class Fixpoint(_Rules):
    """The relaxed-reachable facts and actions of a problem; can be extended by initial facts."""

    def __init__(self, domain: Domain, problem: Problem, budget: GroundingBudget) -> None:
        super().__init__(problem.init)
        objects = Objects(domain, problem, budget)
        self.objects = objects
        self.schemas = {a.name: CompiledSchema(a, domain, problem, objects) for a in domain.actions}
        self._rank = {each.name: i for i, each in enumerate(problem.objects)}
        self._order = {each.name: i for i, each in enumerate(domain.actions)}
        # Processed facts by predicate, and by predicate, position and object.
        self._by_predicate: dict[str, list[Fact]] = defaultdict(list)
        self._by_argument: dict[tuple[str, int, str], list[Fact]] = defaultdict(list)
        self._triggers: dict[str, list[tuple[CompiledSchema, int]]] = defaultdict(list)
        for schema in self.schemas.values():
            for index, (predicate, _) in enumerate(schema.positive):
                self._triggers[predicate].append((schema, index))
        self._instantiated: set[GroundAction] = set()
        for schema in self.schemas.values():
            if not schema.positive:
                self._instantiate(schema, [], [None] * len(schema.allowed))
        self.run()

    def reach(self) -> Reachability:
        """The fixpoint's facts and actions."""
        return self._reached(self)

    def _reached(self, rules: _Rules) -> Reachability:
        return Reachability(
            frozenset(rules.init),
            frozenset(rules.true),
            frozenset(rules.falsified),
            tuple(sorted(rules.instances.values(), key=self._rank_of)),
        )

    def extended(self, facts: Iterable[Fact], removed: Iterable[Fact]) -> Fixpoint:
        """The fixpoint of all initial states so far and one with ``facts``, without ``removed``.

        Raises:
            LimitReached: as for ``ground``, but earlier.
        """
        new = copy(self)
        self.objects.budget.restart(_MOST_MORE)
        new.init, new.true = set(self.init), set(self.true)
        new.falsified, new.instances = set(self.falsified), dict(self.instances)
        new._by_predicate = _copied(self._by_predicate)
        new._by_argument = _copied(self._by_argument)
        new._waiting = _copied(self._waiting)
        new._queue, new._ready = deque(), deque()
        new._instantiated, new._fired = set(self._instantiated), set(self._fired)
        added = [fact for fact in facts if fact not in self.init]
        new._start_with(added)
        for fact in (*added, *removed):  # false in one of the initial states
            new._falsify(fact)
        new.run()
        return new

    def reach_from(
        self, init: Iterable[Fact], forbidden: AbstractSet[GroundAction] = frozenset()
    ) -> Reachability:
        """What is reachable from ``init``, which lies in the fixpoint, without ``forbidden``."""
        rules = _Rules(init)
        for instance in sorted(self.instances.values(), key=self._rank_of):
            if instance.action not in forbidden:
                rules.add(instance)
        rules.run()
        return self._reached(rules)

    def _settle(self, fact: Fact) -> None:
        self._by_predicate[fact.predicate].append(fact)
        for position, arg in enumerate(fact.args):
            self._by_argument[fact.predicate, position, arg].append(fact)
        for schema, index in self._triggers.get(fact.predicate, ()):
            pattern = schema.positive[index][1]
            start = schema.unify(pattern, fact.args, [None] * len(schema.allowed))
            if start is not None:
                rest = schema.positive[:index] + schema.positive[index + 1 :]
                self._instantiate(schema, rest, start)

    def _instantiate(self, schema: CompiledSchema, rest: list[_Condition], start: Binding) -> None:
        """Makes the actions of all extensions of ``start`` for which ``rest`` is true."""
        budget = self.objects.budget
        budget.what = f"action '{schema.name}'"
        for binding in self._join(schema, rest, start):
            choices = [
                (bound,) if bound is not None else schema.candidates[i]
                for i, bound in enumerate(binding)
            ]
            for args in product(*choices):
                budget.spend()
                action = GroundAction(schema.name, args)
                if action not in self._instantiated:
                    self._instantiated.add(action)
                    instance = schema.instantiate(args)
                    if instance is not None:
                        self.add(instance)

    def _join(
        self, schema: CompiledSchema, rest: list[_Condition], binding: Binding
    ) -> Iterator[Binding]:
        """Every extension of ``binding`` that makes ``rest`` true by facts that are processed."""
        if not rest:
            yield binding
            return

        def free(condition: _Condition) -> int:
            return sum(isinstance(i, int) and binding[i] is None for i in condition[1])

        chosen = min(rest, key=free)
        remaining = [each for each in rest if each is not chosen]
        for fact in self._matches(chosen, binding):
            self.objects.budget.spend()
            extended = schema.unify(chosen[1], fact.args, binding)
            if extended is not None:
                yield from self._join(schema, remaining, extended)

    def _matches(self, condition: _Condition, binding: Binding) -> list[Fact]:
        """The processed facts that may satisfy a condition."""
        predicate, pattern = condition
        matches = self._by_predicate.get(predicate, [])
        for position, item in enumerate(pattern):
            value = item if isinstance(item, str) else binding[item]
            if value is not None:
                narrowed = self._by_argument.get((predicate, position, value), [])
                matches = min(matches, narrowed, key=len)
        return matches

    def _rank_of(self, instance: ActionInstance) -> tuple[int, ...]:
        args = (self._rank[arg] for arg in instance.action.args)
        return (self._order[instance.action.name], *args)


def _copied(lists: dict[_K, list[_V]]) -> dict[_K, list[_V]]:
    copied: dict[_K, list[_V]] = defaultdict(list)
    for key, value in lists.items():
        copied[key] = list(value)
    return copied
