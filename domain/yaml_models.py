"""Reads YAML files by pydantic models: all errors at once, each at its line and column.

The models get scalars as text, so that a name like ``on`` is no truth value; null becomes ``NULL``,
which no type accepts. Each YAML node knows its file and line, so nodes of several files can be
merged into one tree.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from functools import lru_cache
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, ClassVar, Self, TypeVar, get_args, get_origin, get_type_hints

import yaml
from annotated_types import GroupedMetadata
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    WithJsonSchema,
    model_validator,
)
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import ErrorDetails, core_schema

from galley.domain.errors import BadInput, InputError, SourceLocation, closest_match, did_you_mean
from galley.domain.files import read_text
from galley.domain.parameters import Quantity, parameters
from galley.domain.shipped import shipped_file

_log = logging.getLogger(__name__)
LARGEST_FILE = 2**21  # bytes: some 20,000 shapes; YAML is read at 100 to 300 kB/s
LARGEST = 1e6  # magnitude of any number; engines overflow beyond
NULL = object()
At = tuple[int | str, ...]  # the keys and indices that lead to a value
_Value = TypeVar("_Value")
_Model = TypeVar("_Model", bound=BaseModel)

# Messages for pydantic's kinds of error, by the whole kind or by its first word, the type expected.
_WORDS = {
    "greater_than": "must be greater than {gt:g}, got {value}",
    "greater_than_equal": "must be at least {ge:g}, got {value}",
    "less_than_equal": "must be at most {le:g}, got {value}",
    "finite_number": "must be a finite number, got {value}",
    "too_short": "expected at least {min_length} entries, got {actual_length}",
    "too_long": "expected at most {max_length} entries, got {actual_length}",
    "value_error": "{error}",
    "bool": "expected true or false, got {got}",
    "float": "expected a number, got {got}",
    "int": "must be a whole number, got {value}",
    "string": "expected a word, got {got}",
    "enum": "expected a word, got {got}",
    "literal": "expected a word, got {got}",
    "tuple": "expected a list, got {got}",
    "dict": "expected a mapping of keys to values, got {got}",
    "model": "expected a mapping of keys to values, got {got}",
    "dataclass": "expected a mapping of keys to values, got {got}",
}
_KINDS = re.compile("galley_(scene|robot|scenario|query|contact)")  # keys that begin a kind of file
_UNKNOWN = ("extra_forbidden", "unexpected_keyword_argument")  # of models, of dataclasses


@dataclass(frozen=True)
class Length(GroupedMetadata):
    """Annotates a list of exactly ``n`` values; the error names both lengths."""

    n: int

    def __iter__(self) -> Iterator[object]:
        yield Field(min_length=self.n, max_length=self.n)
        yield BeforeValidator(self._checked)

    def _checked(self, values: Any) -> Any:
        if isinstance(values, list) and len(values) != self.n:
            raise ValueError(f"expected {self.n} entries, got {len(values)}")
        return values


def _printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError(f"has a character that can't be printed: '{text}'")
    return text


def _ordered(ends: tuple[float, ...]) -> tuple[float, ...]:
    if ends[0] > ends[1]:
        raise ValueError(f"the lower bound {ends[0]:g} is above the upper bound {ends[1]:g}")
    return ends


def _wide(ends: tuple[float, ...]) -> tuple[float, ...]:
    if ends[0] == ends[1]:
        raise ValueError(f"must be wider than 0, got [{ends[0]:g}, {ends[1]:g}]")
    return ends


Number = Annotated[float, Field(ge=-LARGEST, le=LARGEST, allow_inf_nan=False)]
Positive = Annotated[float, Field(gt=0, le=LARGEST, allow_inf_nan=False)]
FromZero = Annotated[float, Field(ge=0, le=LARGEST, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
Word = Annotated[
    str,
    AfterValidator(_printable),
    WithJsonSchema({"type": ["string", "number", "boolean"]}),  # a label 7 is a word too
]
Flag = Annotated[
    bool,
    Field(strict=True),
    BeforeValidator(lambda word: word == "true" if word in ("true", "false") else word),
]
Pair = Annotated[tuple[Number, ...], Length(2)]
Triple = Annotated[tuple[Number, ...], Length(3)]
Sizes = Annotated[tuple[Positive, ...], Length(3)]
Range = Annotated[Pair, AfterValidator(_ordered)]
WideRange = Annotated[Range, AfterValidator(_wide)]


class FileModel(BaseModel):
    """A mapping with fixed keys; any other key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)
    one_of: ClassVar[tuple[str, ...]] = ()  # keys of which a file must give exactly one

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        if self.one_of and len(self.given(*self.one_of)) != 1:
            count = len(self.given(*self.one_of))
            raise ValueError(f"needs exactly one of {', '.join(self.one_of)}, has {count}")
        return self

    @property
    def which(self) -> str:
        """The one key of ``one_of`` that the file gives."""
        return next(iter(self.given(*self.one_of)))

    def given(self, *keys: str) -> dict[str, Any]:
        """The keys, among these or all, that the file gives, with their values."""
        keys = keys or tuple(type(self).model_fields)
        return {key: getattr(self, key) for key in keys if key in self.model_fields_set}


def parameter_fields(model: type, required: Collection[str] = ()) -> dict[str, Any]:
    """The parameters of a dataclass (see ``parameters``) as fields for pydantic's ``create_model``.

    Those named in ``required`` have no default.
    """
    definitions: dict[str, Any] = {}
    for each in parameters(model):
        quantity: Quantity = each.metadata["quantity"]
        most = math.inf if quantity.infinite else LARGEST
        bounds: dict[str, Any] = {"gt" if quantity.above else "ge": max(quantity.low, -most)}
        bounds["allow_inf_nan"] = quantity.infinite
        if (high := min(quantity.high, most)) < math.inf:  # else a NaN would be "at most inf"
            bounds["le"] = high
        default = ... if each.name in required else each.default
        definitions[each.name] = (Annotated[float, Field(**bounds)], default)
    return definitions


def named(section: str) -> Any:
    """A check that a word is one of the names in the validation's context under ``section``.

    Any word is accepted if the context has None there, as that section could not be read.
    """

    def check(word: str, info: ValidationInfo) -> str:
        known = (info.context or {}).get(section)
        return word if known is None else _checked_name(word, known)

    return AfterValidator(check)


def version(known: int) -> Any:
    """A check that the version of a format is the ``known`` one."""

    def check(number: float) -> float:
        if number != known:
            raise ValueError(f"this version of Galley reads format {known}, got {number:g}")
        return number

    return AfterValidator(check)


def one_of(known: Collection[str]) -> Any:
    """A check that a word is one of several."""
    return AfterValidator(lambda word: _checked_name(word, known))


def _checked_name(word: str, known: Collection[str]) -> str:
    if word not in known:
        raise ValueError(unknown("value", word, known))
    return word


class Draft7(GenerateJsonSchema):
    """The generator of JSON Schemas (draft 7) of files: without titles, and null is not allowed."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """False: no field gets a title."""
        return False

    def model_schema(self, schema: core_schema.ModelSchema) -> dict[str, Any]:
        """The schema of a model, with the keys of which a file must give exactly one."""
        keys = getattr(schema["cls"], "one_of", ())
        choice = {"oneOf": [{"required": [key]} for key in keys]} if keys else {}
        return {**super().model_schema(schema), **choice}

    def nullable_schema(self, schema: core_schema.NullableSchema) -> dict[str, Any]:
        """The schema without None, which stands for a key that is absent."""
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> dict[str, Any]:
        """The schema of a field with a default; a default None is left out."""
        if "default" in schema and schema["default"] is None:
            return self.generate_inner(schema["schema"])
        return super().default_schema(schema)


class YamlFile:
    """A YAML file, and the errors found in it so far.

    Attributes:
        path: the path of the file; that of a shipped one if a bare name was given.
        root: the root node of its document.
        errors: the errors found so far.
    """

    def __init__(self, path: str | Path) -> None:
        """Parse a file.

        Args:
            path: the file.

        Raises:
            BadInput: the file is missing, empty, or not YAML.
        """
        self.path = shipped_file(path)
        self.root = _parsed(self.path)
        self.errors: list[InputError] = []

    def read(self, kind: type[_Model], context: Any = None) -> _Model:
        """The file's contents, validated by a model.

        Args:
            kind: the model.
            context: context for the model's validators.

        Raises:
            BadInput: every error found.
        """
        data = self.data()
        try:
            contents = kind.model_validate(data, context=context)
        except ValidationError as invalid:
            self._record(kind, invalid.errors(include_url=False))
            raise self.bad_input() from None
        self.finish()
        return contents

    def data(self) -> Any:
        """The document as dictionaries, lists and text; null is ``NULL``."""
        return self._data(self.root, (), {})

    def _data(self, node: yaml.Node, at: At, known: dict[int, Any]) -> Any:
        """``data`` of a node at a path; ``known`` has the data of each node read, by its id."""
        if isinstance(node, yaml.ScalarNode):
            if is_null(node):
                return NULL
            value = str(node.value)
            if value[-3:].lower() in ("nan", "inf") and node.tag == "tag:yaml.org,2002:float":
                return float(value.replace(".", ""))
            return value
        if id(node) not in known:  # an alias may even contain itself
            made: Any = known.setdefault(id(node), {} if isinstance(node, yaml.MappingNode) else [])
            if isinstance(node, yaml.MappingNode):
                for name, (_, below) in self.pairs(node, at).items():
                    made[name] = self._data(below, (*at, name), known)
            else:
                made += [self._data(each, (*at, i), known) for i, each in enumerate(node.value)]
        return known[id(node)]

    def names(self, *at: str) -> tuple[str, ...] | None:
        """The names in the mapping at a path; None if there is no mapping."""
        _, node, known = self._located(at)
        if known != at or not isinstance(node, yaml.MappingNode):
            return None
        return tuple(dict.fromkeys(str(key.value) for key, _ in node.value))

    def pairs(self, node: yaml.Node, at: At) -> dict[str, tuple[yaml.Node, yaml.Node]]:
        """The key and the value of each entry of a mapping; a name given twice is an error."""
        entries: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
            name = str(key.value)
            if not isinstance(key, yaml.ScalarNode):
                self.fault(at, f"a key must be a word, got {described(key)}", key)
                continue
            if name in entries:
                self.fault((*at, name), "is given twice", key)
            if name not in entries or is_null(entries[name][1]):  # the empty one was the mistake
                entries[name] = (key, value)
        return entries

    def node(self, at: At) -> yaml.Node:
        """The value at a path, or the last value on the way there."""
        return self._located(at)[1]

    def _located(self, at: At) -> tuple[yaml.Node, yaml.Node, At]:
        """The node that stands for a value in messages, the value, and the part of the path to it.

        A part of the path that the file doesn't have is a missing key, or was added by pydantic:
        the case of a union, the name of a validator, the ``[key]`` of a mapping.
        """
        place = node = self.root
        known: At = ()
        for part in at:
            if isinstance(node, yaml.MappingNode):
                pairs = [pair for pair in node.value if pair[0].value == part]
            elif isinstance(node, yaml.SequenceNode) and isinstance(part, int):
                pairs = [(each, each) for each in node.value[part : part + 1]]
            else:
                pairs = []
            if pairs:  # of a name given twice, the same value as the method ``pairs`` chooses
                place, node = next((pair for pair in pairs if not is_null(pair[1])), pairs[0])
                if place.start_mark.name != node.start_mark.name:
                    place = node  # the value is in another file: report it there
                known = (*known, part)
        return place, node, known

    def fault(self, at: At, what: str, place: yaml.Node | None = None) -> None:
        """Record an error in the value at a path, at the line of ``place`` if it is given."""
        own, _, known = self._located(at)
        key = dotted(at if place else known)
        error = InputError(*node_place(place or own), f"{key}: {what}" if key else what)
        if error not in self.errors:
            self.errors.append(error)

    def warn(self, at: At, what: str) -> None:
        """Log a warning about the value at a path: it is allowed, but may be a mistake."""
        place, _, known = self._located(at)
        _log.warning("%s", InputError(*node_place(place), f"{dotted(known)}: {what}"))

    def made(self, at: At, make: Callable[[], _Value]) -> _Value | None:
        """The result of ``make``; if it raises ValueError, records an error and returns None."""
        try:
            return make()
        except ValueError as error:
            self.fault(at, str(error))
            return None

    def bad_input(self) -> BadInput:
        """The errors as an exception: this file's first, in the order of lines."""

        def order(error: InputError) -> Any:
            own = error.file != str(self.path), error.file
            # Last in its line: the key may only be misspelt, which another error there says.
            missing = "needs the key" in error.what
            return *own, error.line or 0, missing, error.column or 0, error.what

        return BadInput(sorted(self.errors, key=order))

    def finish(self) -> None:
        """Raise BadInput if any error was recorded."""
        if self.errors:
            raise self.bad_input()

    def places(self) -> dict[str, SourceLocation]:
        """The place in a file of each dotted key, such as ``items.block.pose``."""
        return {key: node_place(node) for key, node in _places(self.root, "")}

    def _record(self, kind: type[BaseModel], errors: list[ErrorDetails]) -> None:
        """Record pydantic's errors in plain words, without those that follow from others."""
        for *above, name in [each["loc"] for each in errors if each["type"] in _UNKNOWN]:
            if _KINDS.fullmatch(str(name)):  # all other errors below follow from this one
                self.fault((*above, name), "begins another kind of file than is read here")
                errors = [each for each in errors if each["loc"][: len(above)] != tuple(above)]
        broken = {error["loc"][:k] for error in errors for k in range(len(error["loc"]))}
        meant = set()  # keys that are misspelt, and so not missing
        for error in errors:
            if error["type"] in _UNKNOWN:
                *above, name = error["loc"]
                known = _fields_at(kind, above)
                meant.add((*above, closest_match(str(name), known)))
                self.fault(error["loc"], unknown("key", str(name), known))
        for error in errors:
            if error["type"] in ("missing", "missing_argument"):
                if error["loc"] not in meant:
                    self.fault(error["loc"][:-1], f"needs the key '{error['loc'][-1]}'")
            elif error["type"] == "too_short" and error["loc"] in broken:
                pass  # pydantic counts wrong elements as missing
            elif error["type"] not in _UNKNOWN:
                self._record_value(error)

    def _record_value(self, error: ErrorDetails) -> None:
        """Record an error in a value."""
        node, context = self.node(error["loc"]), error.get("ctx", {})
        got, value = described(node), getattr(node, "value", "")
        if error["type"] in ("literal_error", "enum") and isinstance(value, str):
            known = re.findall("'([^']*)'", context["expected"])
            self.fault(error["loc"], unknown("value", value, known))
        else:
            words = _WORDS.get(error["type"]) or _WORDS.get(error["type"].split("_")[0])
            self.fault(
                error["loc"], (words or error["msg"]).format(got=got, value=value, **context)
            )


@lru_cache(maxsize=8)
def _document(text: str, name: str) -> yaml.Node | None:
    """The root of a document, None if it is empty.

    A process may read the same files many times (trials of a sweep, a scene that others extend).
    So the last few trees are cached and shared, and no code may change a node.
    """
    loader = yaml.SafeLoader(text)
    loader.name = name  # for the marks of all nodes
    return loader.get_single_node()


def _parsed(path: Path) -> yaml.Node:
    """The root of a file's document.

    Raises:
        BadInput: the file can't be read, or is empty or not valid YAML.
    """
    text = read_text(path, LARGEST_FILE)
    try:
        node = _document(text, str(path))
    except RecursionError:
        raise BadInput.one(path, "is nested too deeply") from None
    except yaml.reader.ReaderError as error:
        before = text[: error.position]
        line, column = before.count("\n") + 1, error.position - before.rfind("\n")
        what = f"not valid YAML: the character U+{error.character:04X} is not allowed"
        raise BadInput.one(path, what, line, column) from None
    except yaml.MarkedYAMLError as error:
        # A quote or bracket that is never closed is noticed at the end of the file only: report
        # where it begins.
        begins = re.search("quoted|flow|simple key", error.context or "") and error.context_mark
        mark = begins or error.problem_mark or error.context_mark
        assert mark is not None
        problem = ", ".join(filter(None, (error.context, error.problem)))
        what = f"not valid YAML: {problem}"
        raise BadInput.one(path, what, mark.line + 1, mark.column + 1) from None
    if node is None:
        raise BadInput.one(path, "is empty", 1)
    return node


def mapped(node: yaml.Node, change: Callable[[str, yaml.Node], yaml.Node]) -> yaml.Node:
    """A mapping with each value replaced by ``change(name, value)``; other nodes are returned."""
    if not isinstance(node, yaml.MappingNode):
        return node
    pairs = [(key, change(str(key.value), value)) for key, value in node.value]
    return yaml.MappingNode(node.tag, pairs, node.start_mark, node.end_mark, node.flow_style)


def is_null(node: yaml.Node) -> bool:
    """Whether the value is ``null`` or missing."""
    return isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:null"


def node_place(node: yaml.Node) -> SourceLocation:
    """The place in a file of a value or key."""
    mark = node.start_mark
    return SourceLocation(str(mark.name), int(mark.line) + 1, int(mark.column) + 1)


def dotted(at: At) -> str:
    """A path in the form that messages use: ``items.block.shapes[0]``."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in at)
    return "".join(parts).lstrip(".")


def _places(node: yaml.Node, key: str) -> Iterator[tuple[str, yaml.Node]]:
    """The dotted key of each value below a node, and the node that stands for it in messages."""
    if isinstance(node, yaml.ScalarNode):
        return
    named = isinstance(node, yaml.MappingNode)
    for i, each in enumerate(node.value):
        place, value = each if named else (each, each)
        below = (f"{key}.{place.value}" if key else str(place.value)) if named else f"{key}[{i}]"
        yield below, place
        yield from _places(value, below)


def described(node: yaml.Node) -> str:
    """A value in a few words, for messages."""
    if isinstance(node, yaml.MappingNode):
        return "a mapping"
    if isinstance(node, yaml.SequenceNode):
        return "a list"
    return f"'{node.value}'" if node.value else "nothing"


def unknown(what: str, word: str, known: Collection[str]) -> str:
    """The message for a word that is not among the known ones; ``what`` is ``key`` or ``value``."""
    hint = did_you_mean(word, known) or f"; known are {', '.join(known) or 'none'}"
    return f"unknown key{hint}" if what == "key" else f"unknown value '{word}'{hint}"


def _fields_at(kind: Any, at: Sequence[int | str]) -> list[str]:
    """The keys of the model at a path, in pydantic's sense, below the model ``kind``."""
    for part in at:
        kind = _bare(kind)
        if isinstance(kind, type):
            kind = get_type_hints(kind, include_extras=True)[str(part)]
        else:  # of a list, or a mapping with names of the user's choice
            kind = next(each for each in reversed(get_args(kind)) if each is not Ellipsis)
    kind = _bare(kind)
    return [each.name for each in fields(kind)] if is_dataclass(kind) else list(kind.model_fields)


def _bare(kind: Any) -> Any:
    """A type without its annotations and without None."""
    while get_origin(kind) is Annotated or NoneType in get_args(kind):
        kind = next(each for each in get_args(kind) if each is not NoneType)
    return kind
