"""Relaxed reachability: the fixpoint of the delete relaxation.

A fact that was once true counts as true from then on, and one that was once false counts as false
from then on: a fact may be both. The fixpoint joins each newly reached fact with those reached
before (semi-naive evaluation as in Datalog; Helmert, "Concise finite-domain representations for
PDDL planning tasks", 2009, section 6), so the work depends on the reachable actions, not on all
combinations of objects.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from collections.abc import Set as AbstractSet
from itertools import product
from math import prod

from galley.domain.pddl.formula import Fact
from galley.domain.pddl.model import Domain, Problem
from galley.planning.grounding.schemas import (
    ActionInstance,
    Binding,
    CompiledSchema,
    FactCondition,
    FactEffect,
    Objects,
    Pattern,
)
from galley.planning.limits import GroundingBudget
from galley.planning.operators import GroundAction

_Condition = tuple[str, Pattern]  # a predicate and its arguments
_Effect = ActionInstance | FactEffect


def unreachable_parts(
    condition: FactCondition, reached: Reachability
) -> Iterator[tuple[tuple[Fact, bool], ...]]:
    """The parts of ``condition`` that can't hold in any state that is ``reached``.

    Yields:
        For each such part, unreachable literals (fact and sign) of which it needs one.
    """
    for fact in condition.pre:
        if fact not in reached.true:
            yield ((fact, True),)
    for fact in condition.neg:
        if fact in reached.init and fact not in reached.falsified:
            yield ((fact, False),)
    # A disjunction is unreachable only if every part is: collect the literals that the parts lack.
    for choice in condition.any_of:
        missing: list[tuple[Fact, bool]] = []
        for part in choice:
            literals = next(unreachable_parts(part, reached), None)
            if literals is None:
                break
            missing += literals
        else:
            yield tuple(dict.fromkeys(missing))


class Reachability:
    """Computes the facts and actions reachable in the delete relaxation.

    An action or a conditional effect fires once, as soon as its condition is reachable.

    Attributes:
        init: the initial facts.
        true: facts that are true initially or may become true.
        falsified: initial facts that may become false.
        instances: the reachable actions.
    """

    def __init__(self, init: Iterable[Fact]) -> None:
        self.init = frozenset(init)
        self.true: set[Fact] = set()
        self.falsified: set[Fact] = set()
        self.instances: dict[GroundAction, ActionInstance] = {}
        self._queue: deque[Fact] = deque()  # reached facts that are not processed yet
        self._ready: deque[_Effect] = deque()  # actions and effects to try
        # Actions and effects whose condition is not reachable yet, by literals that it may need.
        self._waiting: dict[tuple[Fact, bool], list[_Effect]] = defaultdict(list)
        self._fired: set[int] = set()  # actions and effects, by identity
        for fact in init:
            self._reach(fact)

    def add(self, instance: ActionInstance) -> None:
        """Adds an action, to fire once its precondition is reachable."""
        self._ready.append(instance)

    def run(self) -> None:
        """Computes the fixpoint: fires actions until nothing more becomes reachable."""
        while self._queue or self._ready:
            while self._ready:
                self._try(self._ready.popleft())
            # One fact at a time: it may make further actions, and release those that wait for it.
            if self._queue:
                fact = self._queue.popleft()
                self._settle(fact)
                self._ready.extend(self._waiting.pop((fact, True), ()))

    def _settle(self, fact: Fact) -> None:
        """Called once for each fact that is processed; ``Fixpoint`` instantiates actions here."""

    def _reach(self, fact: Fact) -> None:
        """Notes that ``fact`` may become true."""
        if fact not in self.true:
            self.true.add(fact)
            self._queue.append(fact)

    def _falsify(self, fact: Fact) -> None:
        """Notes that ``fact`` may become false; facts that are false initially need no note."""
        if fact in self.init and fact not in self.falsified:
            self.falsified.add(fact)
            self._ready.extend(self._waiting.pop((fact, False), ()))

    def _try(self, effect: _Effect) -> None:
        """Fires an action or a conditional effect, or lets it wait until it is reachable."""
        # It may wait for several literals, each of which brings it here.
        if id(effect) in self._fired:
            return
        # It waits for the first unreachable part alone: the others are looked at when that is.
        blockers = next(unreachable_parts(effect.condition, self), None)
        if blockers is not None:
            for literal in blockers:
                self._waiting[literal].append(effect)
            return
        self._fired.add(id(effect))
        if isinstance(effect, ActionInstance):
            self.instances[effect.action] = effect
            self._ready.extend(effect.conditional)
        for fact in effect.add:
            self._reach(fact)
        for fact in effect.delete:
            self._falsify(fact)


class Fixpoint(Reachability):
    """The relaxed-reachable facts and actions of a problem, instantiated as they are reached.

    Attributes:
        objects: the objects of the problem, by type.
        schemas: the action schemas by name.
    """

    def __init__(self, domain: Domain, problem: Problem, budget: GroundingBudget) -> None:
        super().__init__(problem.init)
        objects = Objects(domain, problem, budget)
        self.objects = objects
        self.schemas = {a.name: CompiledSchema(a, domain, problem, objects) for a in domain.actions}
        # Processed facts by predicate, and by predicate, position and object.
        self._by_predicate: dict[str, list[Fact]] = defaultdict(list)
        self._by_argument: dict[tuple[str, int, str], list[Fact]] = defaultdict(list)
        self._triggers: dict[str, list[tuple[CompiledSchema, int]]] = defaultdict(list)
        for schema in self.schemas.values():
            for index, (predicate, _) in enumerate(schema.positive):
                self._triggers[predicate].append((schema, index))
        self._instantiated: set[GroundAction] = set()
        for schema in self.schemas.values():
            # No fact triggers an action without positive preconditions: all its bindings at once.
            if not schema.positive:
                self._instantiate(schema, [], [None] * len(schema.allowed))
        self.run()

    def without(self, forbidden: AbstractSet[GroundAction]) -> Reachability:
        """The facts and actions reachable without some actions; nothing is instantiated again."""
        reached = Reachability(self.init)
        for action, instance in self.instances.items():
            if action not in forbidden:
                reached.add(instance)
        reached.run()
        return reached

    def _settle(self, fact: Fact) -> None:
        """Instantiates the actions that need ``fact`` and otherwise only facts processed before.

        So each combination of facts is joined once, when the last of them is processed.
        """
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
            # Parameters in no positive precondition are unbound: they may be any object of a type.
            choices = [
                (bound,) if bound is not None else schema.candidates[i]
                for i, bound in enumerate(binding)
            ]
            budget.foresee(prod(map(len, choices)))
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

        # The condition with the fewest unbound parameters has the fewest matches.
        chosen = min(rest, key=free)
        remaining = [condition for condition in rest if condition is not chosen]
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
