"""Kinds of values in a file: what the reader accepts, and its JSON Schema (draft 7).

A table of kinds declares a format once. ``yaml_reader.Entry`` takes keys, bounds and choices from
it, and ``json_schema`` writes them for editors; so the two can't disagree on what is declared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

LARGEST = 1e6  # magnitude of any number; engines overflow beyond
_NO_NULL = {"not": {"type": "null"}}


@dataclass(frozen=True, kw_only=True)
class Kind:
    """A kind of value. ``about`` is what editors show: meaning, unit, default."""

    about: str = ""


@dataclass(frozen=True)
class Number(Kind):
    """A finite number within bounds."""

    positive: bool = False
    at_least: float | None = None
    at_most: float | None = None


@dataclass(frozen=True)
class Text(Kind):
    """A word; one of ``choices`` if there are any."""

    choices: tuple[str, ...] | None = None


@dataclass(frozen=True)
class Flag(Kind):
    """``true`` or ``false``."""


@dataclass(frozen=True)
class Exactly(Kind):
    """One value and no other, such as the version of a format."""

    value: int


@dataclass(frozen=True)
class Items(Kind):
    """A list of values of one kind, as many as ``least`` to ``most``."""

    of: Kind
    least: int = 0
    most: int | None = None


@dataclass(frozen=True)
class Named(Kind):
    """A mapping of names of the user's choice to values of one kind.

    Attributes:
        pattern: of the names. reserved: names that can't be chosen.
        merged: a file that extends another changes or removes (null) single entries.
    """

    of: Kind
    pattern: str
    reserved: tuple[str, ...] = ()
    merged: bool = True


@dataclass(frozen=True)
class Fields(Kind):
    """A mapping with fixed keys.

    Attributes:
        required, optional: the keys.
        one_of: keys of which a mapping has exactly one.
        needs: keys that make other keys necessary.
        also: what else JSON Schema can say of it; the reader checks that by itself.
        merged: a file that extends another changes or removes (null) single keys, so that only the
            whole has all required ones.
    """

    required: Mapping[str, Kind] = field(default_factory=dict)
    optional: Mapping[str, Kind] = field(default_factory=dict)
    one_of: tuple[str, ...] = ()
    needs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    also: Mapping[str, Any] = field(default_factory=dict)
    merged: bool = False

    @property
    def kinds(self) -> dict[str, Kind]:
        """The kind of each key."""
        return {**self.required, **self.optional}


@dataclass(frozen=True)
class Either(Kind):
    """A value of one of several kinds."""

    of: tuple[Kind, ...]


def vector(n: int, of: Number | None = None, about: str = "") -> Items:
    """A list of n numbers."""
    return Items(of or Number(), n, n, about=about)


def json_schema(kind: Kind) -> dict[str, Any]:
    """The JSON Schema of a kind; of ``merged`` mappings, what a file that extends another holds."""
    said = {"description": kind.about} if kind.about else {}
    return said | _schema(kind)


def _schema(kind: Kind) -> dict[str, Any]:
    match kind:
        case Number():
            low = -LARGEST if kind.at_least is None else kind.at_least
            high = LARGEST if kind.at_most is None else kind.at_most
            bound: dict[str, Any] = {"exclusiveMinimum": 0} if kind.positive else {"minimum": low}
            return {"type": "number", **bound, "maximum": high}
        case Text(choices=None):
            # Any scalar is a word to the reader, a label 7 too.
            return {"type": ["string", "number", "boolean"]}
        case Text():
            return {"enum": list(kind.choices or ())}
        case Flag():
            return {"type": "boolean"}
        case Exactly():
            return {"const": kind.value}
        case Either():
            return {"anyOf": [json_schema(each) for each in kind.of]}
        case Items():
            most = {} if kind.most is None else {"maxItems": kind.most}
            items = json_schema(kind.of)
            return {"type": "array", "items": items, "minItems": kind.least, **most}
        case Named():
            reserved = {"not": {"enum": list(kind.reserved)}} if kind.reserved else {}
            return {
                "type": "object",
                "propertyNames": {"pattern": f"^(?:{kind.pattern})$", **reserved},
                "additionalProperties": _or_null(kind.of) if kind.merged else json_schema(kind.of),
            }
        case Fields():
            return _fields(kind)
    raise TypeError(f"no kind of value: {kind!r}")


def _fields(kind: Fields) -> dict[str, Any]:
    child = _or_null if kind.merged else json_schema
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {name: child(each) for name, each in kind.kinds.items()},
        "additionalProperties": False,
    }
    if kind.required and not kind.merged:
        schema["required"] = list(kind.required)
    if kind.one_of:
        schema["oneOf"] = [{"required": [name]} for name in kind.one_of]
    if kind.needs:
        schema["dependencies"] = {name: list(others) for name, others in kind.needs.items()}
    return schema | dict(kind.also)


def _or_null(kind: Kind) -> dict[str, Any]:
    return {"anyOf": [json_schema(kind), {"type": "null"}]}


def whole(kind: Kind) -> dict[str, Any]:
    """What must hold besides, if no other file is extended: all is there, nothing is removed."""
    if isinstance(kind, Named) and kind.merged:
        return {"type": "object", "additionalProperties": _NO_NULL}
    if isinstance(kind, Fields) and kind.merged:
        inner = {name: whole(each) for name, each in kind.kinds.items()}
        held = {"required": list(kind.required)} if kind.required else {}
        return {"type": "object", "properties": inner, **held}
    return _NO_NULL
