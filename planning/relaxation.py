"""Relaxed reachability: what could ever become true or false if nothing got in its own way.

Facts once true stay usable as true, and facts once false stay usable as false (the delete
relaxation, with a negative condition read as a fact of its own). The fixpoint is computed by
joining each newly reached fact with those reached before (semi-naive evaluation, as Datalog does;
Helmert, "Concise finite-domain representations for PDDL planning tasks", 2009, section 6), so the
work follows the actions that are reachable, not all combinations of objects.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

from galley.domain.pddl import EQUALITY, ActionSchema, Domain, Fact, Literal, Problem
from galley.planning.task import GroundAction

Binding = list[str | None]  # one entry a parameter of the schema; None where still free


@dataclass(frozen=True, slots=True)
class Instance:
    """A ground action and the facts it reads and writes (equality already evaluated)."""

    action: GroundAction
    pre: tuple[Fact, ...]
    neg: tuple[Fact, ...]
    add: tuple[Fact, ...]
    delete: tuple[Fact, ...]


@dataclass(frozen=True)
class Reach:
    """The fixpoint.

    Attributes:
        true: facts that may become true, initial ones included.
        falsified: initial facts that may become false.
        instances: actions that may become applicable, ordered as schemas and objects are declared.
    """

    true: frozenset[Fact]
    falsified: frozenset[Fact]
    instances: tuple[Instance, ...]

    def allows(self, literal: Literal, init: frozenset[Fact]) -> bool:
        """Whether a ground literal may ever hold."""
        if literal.positive:
            return literal.fact in self.true
        return literal.fact not in init or literal.fact in self.falsified


def objects_for(domain: Domain, problem: Problem, types: tuple[str, ...]) -> tuple[str, ...]:
    """Names of the objects of one of ``types``, in order of declaration."""
    return tuple(each.name for each in problem.objects if domain.is_a(each.type, types))


def instantiate(schema: ActionSchema, args: tuple[str, ...]) -> Instance | None:
    """The schema applied to ``args``; None where its precondition contradicts itself."""
    binding = {p.name: arg for p, arg in zip(schema.parameters, args, strict=True)}
    pre: list[Fact] = []
    neg: list[Fact] = []
    for literal in schema.precondition:
        fact = literal.ground(binding)
        if literal.predicate == EQUALITY:
            if (fact.args[0] == fact.args[1]) != literal.positive:
                return None
        else:
            (pre if literal.positive else neg).append(fact)
    if not set(pre).isdisjoint(neg):  # (near ?from) (not (near ?to)), for one and the same place
        return None
    add = [each.ground(binding) for each in schema.effect if each.positive]
    delete = [each.ground(binding) for each in schema.effect if not each.positive]
    kept = tuple(each for each in delete if each not in add)  # adding wins
    return Instance(GroundAction(schema.name, args), tuple(pre), tuple(neg), tuple(add), kept)


def relax(domain: Domain, problem: Problem) -> Reach:
    """The relaxed-reachable facts and actions of a problem."""
    return _Fixpoint(domain, problem).run()


class _Schema:
    """A schema with its positive conditions as patterns: parameter positions, or object names."""

    def __init__(self, schema: ActionSchema, domain: Domain, problem: Problem) -> None:
        self.schema = schema
        position = {p.name: i for i, p in enumerate(schema.parameters)}
        self.candidates = [objects_for(domain, problem, p.types) for p in schema.parameters]
        self.allowed = [frozenset(each) for each in self.candidates]
        self.conditions = [
            (each.predicate, tuple(position.get(arg, arg) for arg in each.args))
            for each in schema.precondition
            if each.positive and each.predicate != EQUALITY
        ]

    def unify(
        self, pattern: tuple[int | str, ...], args: tuple[str, ...], binding: Binding
    ) -> Binding | None:
        """``binding`` extended so that ``pattern`` becomes ``args``, or None."""
        extended = list(binding)
        for item, arg in zip(pattern, args, strict=True):
            if isinstance(item, str):
                if item != arg:
                    return None
            elif extended[item] is None:
                if arg not in self.allowed[item]:
                    return None
                extended[item] = arg
            elif extended[item] != arg:
                return None
        return extended


class _Fixpoint:
    def __init__(self, domain: Domain, problem: Problem) -> None:
        self.init = frozenset(problem.init)
        self.schemas = [_Schema(each, domain, problem) for each in domain.actions]
        self.rank = {each.name: i for i, each in enumerate(problem.objects)}
        self.order = {each.name: i for i, each in enumerate(domain.actions)}
        self.queue = deque(problem.init)
        self.queued: set[Fact] = set(problem.init)
        # Facts taken from the queue: by predicate, and by predicate, position and object there.
        self.by_predicate: dict[str, list[Fact]] = defaultdict(list)
        self.by_argument: dict[tuple[str, int, str], list[Fact]] = defaultdict(list)
        self.settled: set[Fact] = set()
        self.falsified: set[Fact] = set()
        self.seen: set[GroundAction] = set()
        self.instances: list[Instance] = []
        # Actions that wait only for an initial fact to become false.
        self.waiting: dict[Fact, list[Instance]] = defaultdict(list)

    def run(self) -> Reach:
        triggers: dict[str, list[tuple[_Schema, int]]] = defaultdict(list)
        for schema in self.schemas:
            for index, (predicate, _) in enumerate(schema.conditions):
                triggers[predicate].append((schema, index))
            if not schema.conditions:
                self._complete(schema, [None] * len(schema.allowed))
        while self.queue:
            fact = self.queue.popleft()
            self.settled.add(fact)
            self.by_predicate[fact.predicate].append(fact)
            for position, arg in enumerate(fact.args):
                self.by_argument[fact.predicate, position, arg].append(fact)
            for schema, index in triggers[fact.predicate]:
                start = schema.unify(
                    schema.conditions[index][1], fact.args, [None] * len(schema.allowed)
                )
                if start is not None:
                    rest = schema.conditions[:index] + schema.conditions[index + 1 :]
                    for binding in self._join(schema, rest, start):
                        self._complete(schema, binding)
        instances = sorted(self.instances, key=self._place)
        return Reach(frozenset(self.queued), frozenset(self.falsified), tuple(instances))

    def _join(
        self, schema: _Schema, rest: list[tuple[str, tuple[int | str, ...]]], binding: Binding
    ) -> Iterator[Binding]:
        """Every extension of ``binding`` under which all of ``rest`` is settled."""
        if not rest:
            yield binding
            return

        def free(condition: tuple[str, tuple[int | str, ...]]) -> int:
            return sum(isinstance(i, int) and binding[i] is None for i in condition[1])

        chosen = min(rest, key=free)
        remaining = [each for each in rest if each is not chosen]
        predicate, pattern = chosen
        # What the join reaches is queued, not settled: these lists don't grow while it runs.
        matches = self.by_predicate[predicate]
        for position, item in enumerate(pattern):
            value = item if isinstance(item, str) else binding[item]
            if value is not None:
                narrowed = self.by_argument.get((predicate, position, value), [])
                matches = min(matches, narrowed, key=len)
        for fact in matches:
            extended = schema.unify(pattern, fact.args, binding)
            if extended is not None:
                yield from self._join(schema, remaining, extended)

    def _complete(self, schema: _Schema, binding: Binding) -> None:
        """Reaches the action of ``binding`` for every choice of its free parameters."""
        choices = [
            (bound,) if bound is not None else schema.candidates[i]
            for i, bound in enumerate(binding)
        ]
        for args in product(*choices):
            action = GroundAction(schema.schema.name, args)
            if action in self.seen:
                continue
            self.seen.add(action)
            instance = instantiate(schema.schema, args)
            if instance is not None:
                self._reach(instance)

    def _reach(self, instance: Instance) -> None:
        """Applies an action, or parks it until its negative conditions can hold."""
        frontier = [instance]
        while frontier:
            current = frontier.pop()
            blocker = next(
                (f for f in current.neg if f in self.init and f not in self.falsified), None
            )
            if blocker is not None:
                self.waiting[blocker].append(current)
                continue
            self.instances.append(current)
            for fact in current.add:
                if fact not in self.queued:
                    self.queued.add(fact)
                    self.queue.append(fact)
            for fact in current.delete:
                if fact in self.init and fact not in self.falsified:
                    self.falsified.add(fact)
                    frontier += self.waiting.pop(fact, [])

    def _place(self, instance: Instance) -> tuple[int, ...]:
        args = (self.rank[arg] for arg in instance.action.args)
        return (self.order[instance.action.name], *args)
