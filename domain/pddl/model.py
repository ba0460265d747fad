"""PDDL domains and problems as data.

Names are lower case, as PDDL ignores case; variables keep their question mark. Everything is
immutable and in file order, so planning is deterministic.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from galley.domain.pddl.formula import OBJECT, Effect, Fact, Formula, FunctionTerm, Variable

TOTAL_COST = "total-cost"


@dataclass(frozen=True, slots=True)
class Type:
    """A type and its direct supertypes (``object`` if the file names none)."""

    name: str
    parents: tuple[str, ...] = (OBJECT,)


@dataclass(frozen=True, slots=True)
class Object:
    """An object of a problem, or a constant of a domain.

    Attributes:
        name: the object's name.
        type: the name of its type.
        file: the file that declares it.
        line: 1-based line of the declaration, 0 without one.
        column: 1-based column of the declaration, 0 without one.
    """

    name: str
    type: str
    file: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Predicate:
    """A predicate with its typed parameters."""

    name: str
    parameters: tuple[Variable, ...]

    @property
    def arity(self) -> int:
        """The number of arguments it takes."""
        return len(self.parameters)


@dataclass(frozen=True, slots=True)
class Function:
    """A numeric function with its typed parameters, such as ``total-cost``, which has none."""

    name: str
    parameters: tuple[Variable, ...]


@dataclass(frozen=True, slots=True)
class ActionSchema:
    """An action schema.

    If an effect both deletes and adds a fact, the fact holds afterwards (PDDL 2.1, section 3.3).

    Attributes:
        name: its name.
        parameters: its variables in order.
        precondition: formulas that must all hold.
        effect: simultaneous effects; conditions of ``When`` are evaluated before the action.
        cost: numbers and function terms whose sum is added to ``total-cost``.
        line, column: 1-based position of its name.
    """

    name: str
    parameters: tuple[Variable, ...]
    precondition: tuple[Formula, ...]
    effect: tuple[Effect, ...]
    cost: tuple[float | FunctionTerm, ...] = ()
    line: int = field(default=0, compare=False)
    column: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Domain:
    """A PDDL domain.

    Attributes:
        name: the domain's name, which problems refer to.
        file: the file it was read from, as the user named it.
        requirements: the declared requirements, with colon.
        types: declared types in order; ``object`` is implied.
        constants: objects that exist in every problem.
        predicates: declared predicates in order; equality is implied.
        actions: action schemas in order.
        functions: declared functions in order.
    """

    name: str
    file: str
    requirements: tuple[str, ...] = ()
    types: tuple[Type, ...] = ()
    constants: tuple[Object, ...] = ()
    predicates: tuple[Predicate, ...] = ()
    actions: tuple[ActionSchema, ...] = ()
    functions: tuple[Function, ...] = ()

    def predicate(self, name: str) -> Predicate | None:
        """The predicate called ``name``, or None."""
        return self._predicates.get(name)

    def action(self, name: str) -> ActionSchema | None:
        """The action schema called ``name``, or None."""
        return self._actions.get(name)

    def function(self, name: str) -> Function | None:
        """The function called ``name``, or None."""
        return self._functions.get(name)

    def supertypes(self, name: str) -> frozenset[str]:
        """``name`` and all its supertypes, up to ``object``."""
        if name not in self._supertypes:
            types = [name]
            for type_ in types:  # breadth first: the list grows during the loop
                types += [above for above in self._parents.get(type_, ()) if above not in types]
            self._supertypes[name] = frozenset((OBJECT, *types))
        return self._supertypes[name]

    def is_a(self, name: str, allowed: tuple[str, ...]) -> bool:
        """Whether the type ``name`` is one of ``allowed`` or a subtype of one."""
        return not self.supertypes(name).isdisjoint(allowed)

    @cached_property
    def type_names(self) -> frozenset[str]:
        """The names of the declared types."""
        return frozenset(self._parents)

    @cached_property
    def predicate_names(self) -> frozenset[str]:
        """The names of the declared predicates."""
        return frozenset(self._predicates)

    @cached_property
    def _actions(self) -> dict[str, ActionSchema]:
        return {each.name: each for each in self.actions}

    @cached_property
    def _functions(self) -> dict[str, Function]:
        return {each.name: each for each in self.functions}

    @cached_property
    def _predicates(self) -> dict[str, Predicate]:
        return {each.name: each for each in self.predicates}

    @cached_property
    def _parents(self) -> dict[str, tuple[str, ...]]:
        return {each.name: each.parents for each in self.types}

    @cached_property
    def _supertypes(self) -> dict[str, frozenset[str]]:
        return {}


@dataclass(frozen=True)
class Problem:
    """A PDDL problem.

    Attributes:
        name: the problem's name.
        domain: the name of its domain.
        file: the file it was read from, as the user named it.
        objects: the domain's constants, then the problem's own objects.
        init: the facts that hold initially, in order, without duplicates; all others are false.
        goal: formulas that must all hold at the end.
        init_places: line and column of each fact of ``init``.
        values: the value of each ground function term, for action costs.
        metric: whether to minimise ``total-cost``; if not, every action costs 1.
    """

    name: str
    domain: str
    file: str
    objects: tuple[Object, ...] = ()
    init: tuple[Fact, ...] = ()
    goal: tuple[Formula, ...] = ()
    init_places: tuple[tuple[int, int], ...] = ()
    values: Mapping[Fact, float] = field(default_factory=dict)
    metric: bool = False

    def object(self, name: str) -> Object | None:
        """The object called ``name``, or None."""
        return self._objects.get(name)

    def with_facts(self, facts: Iterable[Fact]) -> Problem:
        """The problem with more initial facts, which have no place in a file."""
        init = (*self.init, *facts)
        places = self.init_places + ((0, 0),) * (len(init) - len(self.init))
        return replace(self, init=init, init_places=places)

    @cached_property
    def _objects(self) -> dict[str, Object]:
        return {each.name: each for each in self.objects}
