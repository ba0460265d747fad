"""PDDL as data: what a domain and a problem say.

Names are lower case, as PDDL ignores case; variables keep their question mark. Everything is
immutable and in the order of the file, so that whatever is built from it is deterministic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

OBJECT = "object"  # the root of every type hierarchy
EQUALITY = "="


# A named tuple rather than a dataclass: grounding hashes and compares facts by the million.
class Fact(NamedTuple):
    """A predicate applied to objects: ``(on sugar burner)``."""

    predicate: str
    args: tuple[str, ...]

    def __str__(self) -> str:
        return f"({' '.join((self.predicate, *self.args))})"


@dataclass(frozen=True, slots=True)
class Type:
    """A type and the types directly above it (``object`` where the file names none)."""

    name: str
    parents: tuple[str, ...] = (OBJECT,)


@dataclass(frozen=True, slots=True)
class Object:
    """An object of a problem or a constant of a domain, and where it was declared.

    Attributes:
        name: its name.
        type: the one type it was declared with.
        file: the file that declares it, as the user named it.
        line: 1-based line of its name.
        column: 1-based column of its name.
    """

    name: str
    type: str
    file: str
    line: int
    column: int


@dataclass(frozen=True, slots=True)
class Variable:
    """A parameter: its name with the question mark, and its types (several after ``either``)."""

    name: str
    types: tuple[str, ...] = (OBJECT,)


@dataclass(frozen=True, slots=True)
class Predicate:
    """A declared predicate."""

    name: str
    parameters: tuple[Variable, ...]

    @property
    def arity(self) -> int:
        """The number of arguments it takes."""
        return len(self.parameters)


@dataclass(frozen=True, slots=True)
class Literal:
    """A predicate, or equality, applied to variables and objects; perhaps negated.

    Attributes:
        predicate: the predicate's name, ``=`` for equality.
        args: variables (``?x``) and names of objects.
        positive: False under ``not``.
        line: 1-based line in the file it was read from; not compared.
        column: 1-based column, not compared.
    """

    predicate: str
    args: tuple[str, ...]
    positive: bool = True
    line: int = field(default=0, compare=False)
    column: int = field(default=0, compare=False)

    def ground(self, binding: Mapping[str, str]) -> Fact:
        """The fact it speaks of (without the sign) once variables are replaced by ``binding``."""
        return Fact(self.predicate, tuple(binding.get(arg, arg) for arg in self.args))

    @property
    def fact(self) -> Fact:
        """The fact it speaks of, for a literal that has no variables."""
        return Fact(self.predicate, self.args)

    def __str__(self) -> str:
        return str(self.fact) if self.positive else f"(not {self.fact})"


@dataclass(frozen=True, slots=True)
class ActionSchema:
    """An action with parameters; ``precondition`` and ``effect`` are conjunctions of literals.

    Where an effect both deletes and adds a fact, adding wins (PDDL 2.1, section 3.3).
    """

    name: str
    parameters: tuple[Variable, ...]
    precondition: tuple[Literal, ...]
    effect: tuple[Literal, ...]
    line: int = field(default=0, compare=False)
    column: int = field(default=0, compare=False)


@dataclass(frozen=True)
class Domain:
    """What can be said and done.

    Attributes:
        name: the domain's name, which problems refer to.
        file: the file it was read from, as the user named it.
        requirements: the declared requirements, with their colon.
        types: declared types in order; ``object`` is implied.
        constants: objects that every problem has.
        predicates: declared predicates in order; equality is implied.
        actions: action schemas in order.
    """

    name: str
    file: str
    requirements: tuple[str, ...] = ()
    types: tuple[Type, ...] = ()
    constants: tuple[Object, ...] = ()
    predicates: tuple[Predicate, ...] = ()
    actions: tuple[ActionSchema, ...] = ()

    def predicate(self, name: str) -> Predicate | None:
        """The predicate called ``name``."""
        return next((each for each in self.predicates if each.name == name), None)

    def action(self, name: str) -> ActionSchema | None:
        """The action schema called ``name``."""
        return next((each for each in self.actions if each.name == name), None)

    def supertypes(self, name: str) -> frozenset[str]:
        """``name`` and every type above it, up to ``object``."""
        parents = {each.name: each.parents for each in self.types}
        found = {OBJECT}
        frontier = [name]
        while frontier:
            current = frontier.pop()
            if current not in found:
                found.add(current)
                frontier += parents.get(current, ())
        return frozenset(found)

    def is_a(self, name: str, allowed: tuple[str, ...]) -> bool:
        """Whether the type ``name`` is, or lies under, one of ``allowed``."""
        return not self.supertypes(name).isdisjoint(allowed)


@dataclass(frozen=True)
class Problem:
    """One task in a domain.

    Attributes:
        name: the problem's name.
        domain: the name of its domain.
        file: the file it was read from, as the user named it.
        objects: the domain's constants, then the problem's own objects, each with its place.
        init: the facts that hold at the start, in order, without repetition; all others are false.
        goal: the literals that must hold at the end; their arguments are objects.
        init_places: line and column of each fact of ``init``.
    """

    name: str
    domain: str
    file: str
    objects: tuple[Object, ...] = ()
    init: tuple[Fact, ...] = ()
    goal: tuple[Literal, ...] = ()
    init_places: tuple[tuple[int, int], ...] = ()

    def object(self, name: str) -> Object | None:
        """The object called ``name``."""
        return next((each for each in self.objects if each.name == name), None)
