"""Formulas and effects of PDDL as trees, the way they are written.

A condition is a tuple of formulas that must all hold: the conjunction at its top is flattened, and
most conditions are then tuples of literals. Effects likewise are tuples. Nothing is rewritten:
normal forms are made where they are needed, so that the validator can read what the user wrote.
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
class Variable:
    """A parameter: its name with the question mark, and its types (several after ``either``)."""

    name: str
    types: tuple[str, ...] = (OBJECT,)


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
class And:
    """All of ``parts`` hold; true where there are none."""

    parts: tuple[Formula, ...]

    def __str__(self) -> str:
        return _form("and", *self.parts)


@dataclass(frozen=True, slots=True)
class Or:
    """One of ``parts`` holds; false where there are none."""

    parts: tuple[Formula, ...]

    def __str__(self) -> str:
        return _form("or", *self.parts)


@dataclass(frozen=True, slots=True)
class Not:
    """``part``, which is not a literal, does not hold (a literal has a sign of its own)."""

    part: Formula

    def __str__(self) -> str:
        return _form("not", self.part)


@dataclass(frozen=True, slots=True)
class Imply:
    """``conclusion`` holds, or ``premise`` does not."""

    premise: Formula
    conclusion: Formula

    def __str__(self) -> str:
        return _form("imply", self.premise, self.conclusion)


@dataclass(frozen=True, slots=True)
class Exists:
    """``part`` holds for some objects in place of ``variables``."""

    variables: tuple[Variable, ...]
    part: Formula

    def __str__(self) -> str:
        return f"(exists {_typed(self.variables)} {self.part})"


@dataclass(frozen=True, slots=True)
class Forall:
    """``part`` holds for all objects in place of ``variables``."""

    variables: tuple[Variable, ...]
    part: Formula

    def __str__(self) -> str:
        return f"(forall {_typed(self.variables)} {self.part})"


Formula = Literal | And | Or | Not | Imply | Exists | Forall


@dataclass(frozen=True, slots=True)
class When:
    """A conditional effect: ``effects`` where ``condition`` holds before the action."""

    condition: tuple[Formula, ...]
    effects: tuple[Effect, ...]

    def __str__(self) -> str:
        return f"(when {_all(self.condition)} {_all(self.effects)})"


@dataclass(frozen=True, slots=True)
class ForEach:
    """A universal effect: ``effects`` for every object in place of ``variables``."""

    variables: tuple[Variable, ...]
    effects: tuple[Effect, ...]

    def __str__(self) -> str:
        return f"(forall {_typed(self.variables)} {_all(self.effects)})"


# A literal adds its fact, or deletes it where it is negative.
Effect = Literal | When | ForEach


@dataclass(frozen=True, slots=True)
class FunctionTerm:
    """A function of objects that costs may depend on: ``(distance ?from ?to)``."""

    function: str
    args: tuple[str, ...]
    line: int = field(default=0, compare=False)
    column: int = field(default=0, compare=False)

    def ground(self, binding: Mapping[str, str]) -> Fact:
        """The term once variables are replaced by ``binding``; a key of ``Problem.values``."""
        return Fact(self.function, tuple(binding.get(arg, arg) for arg in self.args))

    def __str__(self) -> str:
        return str(Fact(self.function, self.args))


def _form(head: str, *parts: object) -> str:
    return f"({' '.join((head, *map(str, parts)))})"


def _all(parts: tuple[object, ...]) -> str:
    return str(parts[0]) if len(parts) == 1 else _form("and", *parts)


def _typed(variables: tuple[Variable, ...]) -> str:
    """``(?x - block ?y - (either ball box))``; the root type is left out where no type is given.

    Not where another has one: ``(?x ?y - block)`` would give both that type.
    """
    if all(each.types == (OBJECT,) for each in variables):
        return f"({' '.join(each.name for each in variables)})"
    words = []
    for each in variables:
        kind = each.types[0] if len(each.types) == 1 else f"(either {' '.join(each.types)})"
        words.append(f"{each.name} - {kind}")
    return f"({' '.join(words)})"
