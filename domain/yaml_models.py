"""YAML files read by pydantic models: all errors at once, each at its line and column.

Scalars reach the models as text, so that a name like ``on`` is no truth value; null is ``NULL``,
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
from typing import (
    Annotated,
    Any,
    ClassVar,
    Self,
    TypeVar,
    get_args,
    get_origin,
    get_type_hints,
)

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

# What pydantic's kinds of error are called here, in full or by the type that was expected.
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
    """Annotates a list of exactly ``n`` values, of which bounds would tell one only."""

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
        """Those of the keys, or of all, that the file gives, with their values."""
        keys = keys or tuple(type(self).model_fields)
        return {key: getattr(self, key) for key in keys if key in self.model_fields_set}


def parameter_fields(model: type, required: Collection[str] = ()) -> dict[str, Any]:
    """The parameters of a dataclass, see ``parameters``, as fields of ``create_model``."""
    found: dict[str, Any] = {}
    for each in parameters(model):
        quantity: Quantity = each.metadata["quantity"]
        most = math.inf if quantity.infinite else LARGEST
        bounds: dict[str, Any] = {"gt" if quantity.above else "ge": max(quantity.low, -most)}
        bounds["allow_inf_nan"] = quantity.infinite
        if (high := min(quantity.high, most)) < math.inf:  # else a NaN would be "at most inf"
            bounds["le"] = high
        default = ... if each.name in required else each.default
        found[each.name] = (Annotated[float, Field(**bounds)], default)
    return found


def named(section: str) -> Any:
    """A check that a word is one of the names in the validation's context under ``section``.

    Any word will do if there are none: the section could not be read.
    """

    def check(word: str, info: ValidationInfo) -> str:
        known = (info.context or {}).get(section)
        return word if known is None else _checked_name(word, known)

    return AfterValidator(check)


def version(known: int) -> Any:
    """A check of the version of a format."""

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
    """JSON Schema of what files hold: no titles, and null nowhere."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        """Never."""
        return False

    def model_schema(self, schema: core_schema.ModelSchema) -> dict[str, Any]:
        """With the keys of which exactly one must stand."""
        keys = getattr(schema["cls"], "one_of", ())
        choice = {"oneOf": [{"required": [key]} for key in keys]} if keys else {}
        return {**super().model_schema(schema), **choice}

    def nullable_schema(self, schema: core_schema.NullableSchema) -> dict[str, Any]:
        """That of what is not None, which says that a key is absent."""
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> dict[str, Any]:
        """Without the default None."""
        if "default" in schema and schema["default"] is None:
            return self.generate_inner(schema["schema"])
        return super().default_schema(schema)


class YamlFile:
    """A YAML file, and the errors found in it so far.

    Attributes:
        path: the file, shipped with Galley if a bare name says so.
        root: its document.
        errors: the errors.
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
        """What the file holds, by a model.

        Args:
            kind: the model.
            context: for its validators.

        Raises:
            BadInput: every error found.
        """
        data = self.data()
        try:
            found = kind.model_validate(data, context=context)
        except ValidationError as invalid:
            self._record(kind, invalid.errors(include_url=False))
            raise self.bad_input() from None
        self.finish()
        return found

    def data(self) -> Any:
        """The document as dictionaries, lists and text; see the module."""
        return self._data(self.root, (), {})

    def _data(self, node: yaml.Node, at: At, known: dict[int, Any]) -> Any:
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
        """The names in the mapping at a path; None if there is none."""
        _, node, known = self._found(at)
        if known != at or not isinstance(node, yaml.MappingNode):
            return None
        return tuple(dict.fromkeys(str(key.value) for key, _ in node.value))

    def pairs(self, node: yaml.Node, at: At) -> dict[str, tuple[yaml.Node, yaml.Node]]:
        """Key and value of each entry of a mapping; a name that is given twice is an error."""
        found: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
            name = str(key.value)
            if not isinstance(key, yaml.ScalarNode):
                self.fault(at, f"a key must be a word, got {described(key)}", key)
                continue
            if name in found:
                self.fault((*at, name), "is given twice", key)
            if name not in found or is_null(found[name][1]):  # that one was the slip
                found[name] = (key, value)
        return found

    def node(self, at: At) -> yaml.Node:
        """The value at a path, or the last one on the way there."""
        return self._found(at)[1]

    def _found(self, at: At) -> tuple[yaml.Node, yaml.Node, At]:
        """The node that stands for a value in messages, the value, and the path as far as it goes.

        A part that the file does not have is a missing key, or pydantic's: a union's case, a
        validator's name, the ``[key]`` of a mapping.
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
            if pairs:  # of a name that is given twice the value that ``pairs`` takes
                place, node = next((pair for pair in pairs if not is_null(pair[1])), pairs[0])
                if place.start_mark.name != node.start_mark.name:
                    place = node  # the value stands in a file of its own
                known = (*known, part)
        return place, node, known

    def fault(self, at: At, what: str, place: yaml.Node | None = None) -> None:
        """Record an error in the value at a path; ``place`` overrides where that is."""
        found, _, known = self._found(at)
        key = dotted(at if place else known)
        error = InputError(*node_place(place or found), f"{key}: {what}" if key else what)
        if error not in self.errors:
            self.errors.append(error)

    def warn(self, at: At, what: str) -> None:
        """Log a warning about the value at a path: it is allowed, but may be a mistake."""
        place, _, known = self._found(at)
        _log.warning("%s", InputError(*node_place(place), f"{dotted(known)}: {what}"))

    def made(self, at: At, make: Callable[[], _Value]) -> _Value | None:
        """What ``make`` returns; its ValueError is an error at the path, and gives None."""
        try:
            return make()
        except ValueError as error:
            self.fault(at, str(error))
            return None

    def bad_input(self) -> BadInput:
        """The errors as an exception: this file's first, in the order of lines."""

        def order(error: InputError) -> Any:
            own = error.file != str(self.path), error.file
            missing = "needs the key" in error.what  # perhaps only misspelt further on in the line
            return *own, error.line or 0, missing, error.column or 0, error.what

        return BadInput(sorted(self.errors, key=order))

    def finish(self) -> None:
        """Raise BadInput if any error was recorded."""
        if self.errors:
            raise self.bad_input()

    def places(self) -> dict[str, SourceLocation]:
        """The place of each dotted key."""
        return {key: node_place(node) for key, node in _places(self.root, "")}

    def _record(self, kind: type[BaseModel], found: list[ErrorDetails]) -> None:
        for *above, name in [each["loc"] for each in found if each["type"] in _UNKNOWN]:
            if _KINDS.fullmatch(str(name)):  # all others follow from it
                self.fault((*above, name), "begins another kind of file than is read here")
                found = [each for each in found if each["loc"][: len(above)] != tuple(above)]
        broken = {error["loc"][:k] for error in found for k in range(len(error["loc"]))}
        meant = set()  # a misspelt key is not missing, too
        for error in found:
            if error["type"] in _UNKNOWN:
                *above, name = error["loc"]
                known = _fields_at(kind, above)
                meant.add((*above, closest_match(str(name), known)))
                self.fault(error["loc"], unknown("key", str(name), known))
        for error in found:
            if error["type"] in ("missing", "missing_argument"):
                if error["loc"] not in meant:
                    self.fault(error["loc"][:-1], f"needs the key '{error['loc'][-1]}'")
            elif error["type"] == "too_short" and error["loc"] in broken:
                pass  # pydantic counts wrong elements as missing
            elif error["type"] not in _UNKNOWN:
                self._record_value(error)

    def _record_value(self, error: ErrorDetails) -> None:
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

    One process reads the same files again and again (trials of a sweep, a scene that others
    extend): the last few trees are kept and shared, so nobody may change a node.
    """
    loader = yaml.SafeLoader(text)
    loader.name = name  # for the marks of all nodes
    return loader.get_single_node()


def _parsed(path: Path) -> yaml.Node:
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
        # What is never closed shows at the end of the file: the mistake is where it begins.
        begins = re.search("quoted|flow|simple key", error.context or "") and error.context_mark
        mark = begins or error.problem_mark or error.context_mark
        assert mark is not None
        said = ", ".join(filter(None, (error.context, error.problem)))
        what = f"not valid YAML: {said}"
        raise BadInput.one(path, what, mark.line + 1, mark.column + 1) from None
    if node is None:
        raise BadInput.one(path, "is empty", 1)
    return node


def mapped(node: yaml.Node, change: Callable[[str, yaml.Node], yaml.Node]) -> yaml.Node:
    """A mapping with its values changed, given each name and value; any other node as it is."""
    if not isinstance(node, yaml.MappingNode):
        return node
    pairs = [(key, change(str(key.value), value)) for key, value in node.value]
    return yaml.MappingNode(node.tag, pairs, node.start_mark, node.end_mark, node.flow_style)


def is_null(node: yaml.Node) -> bool:
    """Whether the value is ``null`` or missing."""
    return isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:null"


def node_place(node: yaml.Node) -> SourceLocation:
    """Where a value or key is."""
    mark = node.start_mark
    return SourceLocation(str(mark.name), int(mark.line) + 1, int(mark.column) + 1)


def dotted(at: At) -> str:
    """A path as messages have it: ``items.block.shapes[0]``."""
    parts = (f"[{part}]" if isinstance(part, int) else f".{part}" for part in at)
    return "".join(parts).lstrip(".")


def _places(node: yaml.Node, key: str) -> Iterator[tuple[str, yaml.Node]]:
    """Dotted key of each value, and the node that stands for it."""
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
    """The message on a word that is none of the known ones; ``what`` is ``key`` or ``value``."""
    hint = did_you_mean(word, known) or f"; known are {', '.join(known) or 'none'}"
    return f"unknown key{hint}" if what == "key" else f"unknown value '{word}'{hint}"


def _fields_at(kind: Any, at: Sequence[int | str]) -> list[str]:
    """The keys of the model at a path of errors below a model."""
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
