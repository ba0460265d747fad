"""PDDL formulas and effects as syntax trees.

A condition is a tuple of formulas that must all hold: the top-level conjunction is flattened, so
most conditions are tuples of literals. Effects are tuples likewise. Nothing else is rewritten, so
the validator sees what the user wrote; the grounder computes its own normal form.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

OBJECT = "object"  # the root of every type hierarchy
EQUALITY = "="


# A named tuple, not a dataclass: grounding hashes and compares millions of facts.
class Fact(NamedTuple):
    """A predicate applied to objects: ``(on sugar burner)``."""

    predicate: str
    args: tuple[str, ...]

    def __str__(self) -> str:
        return f"({' '.join((self.predicate, *self.args))})"


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable: its name with the question mark, and its types (several after ``either``)."""

    name: str
    types: tuple[str, ...] = (OBJECT,)


@dataclass(frozen=True, slots=True)
class Literal:
    """A possibly negated predicate or equality over variables and objects.

    Attributes:
        predicate: the predicate's name, ``=`` for equality.
        args: variables (``?x``) and object names.
        positive: False under ``not``.
        line, column: 1-based position in the file; not compared.
    """

    predicate: str
    args: tuple[str, ...]
    positive: bool = True
    line: int = field(default=0, compare=False)
    column: int = field(default=0, compare=False)

    def ground(self, binding: Mapping[str, str]) -> Fact:
        """The ground fact, without the sign: its variables are replaced by ``binding``."""
        return Fact(self.predicate, tuple(binding.get(arg, arg) for arg in self.args))

    @property
    def fact(self) -> Fact:
        """The fact, without the sign, of a literal without variables."""
        return Fact(self.predicate, self.args)

    def __str__(self) -> str:
        return str(self.fact) if self.positive else f"(not {self.fact})"


@dataclass(frozen=True, slots=True)
class And:
    """A conjunction; true if empty."""

    parts: tuple[Formula, ...]

    def __str__(self) -> str:
        return _form("and", *self.parts)


@dataclass(frozen=True, slots=True)
class Or:
    """A disjunction; false if empty."""

    parts: tuple[Formula, ...]

    def __str__(self) -> str:
        return _form("or", *self.parts)


@dataclass(frozen=True, slots=True)
class Not:
    """The negation of a formula other than a literal, which has a sign of its own."""

    part: Formula

    def __str__(self) -> str:
        return _form("not", self.part)


@dataclass(frozen=True, slots=True)
class Imply:
    """An implication: ``premise`` is false or ``conclusion`` is true."""

    premise: Formula
    conclusion: Formula

    def __str__(self) -> str:
        return _form("imply", self.premise, self.conclusion)


@dataclass(frozen=True, slots=True)
class Exists:
    """``part`` holds for some binding of ``variables``."""

    variables: tuple[Variable, ...]
    part: Formula

    def __str__(self) -> str:
        return f"(exists {_typed(self.variables)} {self.part})"


@dataclass(frozen=True, slots=True)
class Forall:
    """``part`` holds for every binding of ``variables``."""

    variables: tuple[Variable, ...]
    part: Formula

    def __str__(self) -> str:
        return f"(forall {_typed(self.variables)} {self.part})"


Formula = Literal | And | Or | Not | Imply | Exists | Forall


@dataclass(frozen=True, slots=True)
class When:
    """A conditional effect: ``effects`` if ``condition`` holds before the action."""

    condition: tuple[Formula, ...]
    effects: tuple[Effect, ...]

    def __str__(self) -> str:
        return f"(when {_all(self.condition)} {_all(self.effects)})"


@dataclass(frozen=True, slots=True)
class ForEach:
    """A universal effect: ``effects`` for every binding of ``variables``."""

    variables: tuple[Variable, ...]
    effects: tuple[Effect, ...]

    def __str__(self) -> str:
        return f"(forall {_typed(self.variables)} {_all(self.effects)})"


# A positive literal adds its fact, a negative one deletes it.
Effect = Literal | When | ForEach


@dataclass(frozen=True, slots=True)
class FunctionTerm:
    """A numeric function term in an action's cost: ``(distance ?from ?to)``."""

    function: str
    args: tuple[str, ...]
    line: int = field(default=0, compare=False)
    column: int = field(default=0, compare=False)

    def ground(self, binding: Mapping[str, str]) -> Fact:
        """The ground term under ``binding``: a key of ``Problem.values``."""
        return Fact(self.function, tuple(binding.get(arg, arg) for arg in self.args))

    def __str__(self) -> str:
        return str(Fact(self.function, self.args))


def _form(head: str, *parts: object) -> str:
    return f"({' '.join((head, *map(str, parts)))})"


def _all(parts: tuple[object, ...]) -> str:
    return str(parts[0]) if len(parts) == 1 else _form("and", *parts)


def _typed(variables: tuple[Variable, ...]) -> str:
    """``(?x - block ?y - (either ball box))``, without types if all are ``object``.

    If only some are, it must be written: ``(?x ?y - block)`` would make both blocks.
    """
    if all(each.types == (OBJECT,) for each in variables):
        return f"({' '.join(each.name for each in variables)})"
    words = []
    for each in variables:
        kind = each.types[0] if len(each.types) == 1 else f"(either {' '.join(each.types)})"
        words.append(f"{each.name} - {kind}")
    return f"({' '.join(words)})"
