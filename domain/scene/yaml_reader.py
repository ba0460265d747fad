"""YAML values that know their file, line and key, for error messages.

A ``Reader`` collects errors. The typed accessors of an ``Entry`` record an error and return a
harmless default, so that all errors of a file are reported at once. Each YAML node carries its file
and line, so nodes of several files can be merged into one tree.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import yaml

from galley.domain.errors import BadInput, InputError, SourceLocation, closest_match, did_you_mean
from galley.domain.files import read_text
from galley.domain.frames import Array
from galley.domain.scene.kinds import LARGEST, Fields, Items, Kind, Named, Number, Text
from galley.domain.scene.yaml_faults import not_yaml
from galley.domain.shipped import shipped_file
from galley.domain.yaml_nodes import document

_log = logging.getLogger(__name__)
LARGEST_SCENE = 2**21  # bytes: some 20,000 shapes; YAML is read at 100 to 700 kB/s
# Names that a value may have; None if the section that declares them could not be read.
Names = tuple[str, ...] | None


class Reader:
    """A YAML file being read, and the errors found in it so far.

    Attributes:
        path: the file, shipped with Galley if a bare name says so.
        errors: the errors; a file that another one names shares that one's list.
        places: location of each dotted key read so far.
        removed: names that a file removes from the one it extends, each with its location.
    """

    def __init__(self, path: str | Path, errors: list[InputError] | None = None) -> None:
        self.path = shipped_file(path)
        self.errors: list[InputError] = [] if errors is None else errors
        self.places: dict[str, SourceLocation] = {}
        self.removed: dict[str, SourceLocation] = {}
        self._faulty: set[str] = set()

    def root(self, marks: tuple[str, ...] = (), kind: Kind | None = None) -> Entry:
        """The document's root.

        Args:
            marks: words of which the file must contain one. If it has none, error messages quote
                nothing from it, since it may have been named by mistake.
            kind: what it is declared to be.

        Raises:
            BadInput: the file is missing, empty, or not YAML.
        """
        text = read_text(self.path, LARGEST_SCENE)
        unrelated = bool(marks) and not any(mark in text for mark in marks)
        try:
            node = document(text, str(self.path))
        except RecursionError:
            raise BadInput.one(self.path, "is nested too deeply to be a scene") from None
        except yaml.YAMLError as error:
            raise not_yaml(self.path, text, error, quote=not unrelated) from None
        if node is None:
            raise BadInput.one(self.path, "is empty", 1)
        if unrelated:
            raise BadInput.one(self.path, f"needs the key '{marks[0]}'", 1)
        return Entry(self, node, "", kind)

    def fault(self, key: str, what: str, place: SourceLocation | None = None) -> None:
        """Record an error in the value at ``key``, once even if the value is read repeatedly.

        ``place`` overrides the location of ``key``.
        """
        file, line = self.places[key] if place is None else place
        self._faulty |= {"", key, *(key[: each.start()] for each in re.finditer(r"[.\[]", key))}
        error = InputError(file, line, None, f"{key}: {what}" if key else what)
        if error not in self.errors:
            self.errors.append(error)

    def sound(self, key: str) -> bool:
        """Whether no error was recorded in the value at ``key`` or in a part of it."""
        return key not in self._faulty

    def bad_input(self) -> BadInput:
        """The errors as an exception: this file's first, in the order of lines."""
        own = str(self.path)
        return BadInput(
            sorted(self.errors, key=lambda e: (e.file != own, e.file, e.line or 0, e.what))
        )

    def finish(self) -> None:
        """Raise BadInput if any error was recorded."""
        if self.errors:
            raise self.bad_input()


class Entry:
    """A value: its YAML node and its dotted key (empty for the root).

    Attributes:
        kind: what its format declares it to be. Keys, bounds and choices are then the kind's, and
            those below have kinds too. None: the accessors' arguments say what is expected.
    """

    def __init__(self, reader: Reader, node: yaml.Node, key: str, kind: Kind | None = None) -> None:
        self.reader = reader
        self.node = node
        self.key = key
        self.kind = kind
        reader.places.setdefault(key, node_place(node))

    @property
    def file(self) -> Path:
        """The file that contains the value."""
        return Path(self.reader.places[self.key].file)

    @property
    def sound(self) -> bool:
        """Whether no error was recorded in this value or in a part of it.

        What is concluded from a value that is not sound may be wrong: don't report it.
        """
        return self.reader.sound(self.key)

    def fault(self, what: str) -> None:
        """Record an error in this value, unless it isn't sound: one mistake, one message."""
        if self.sound:
            self.reader.fault(self.key, what)

    def warn(self, what: str) -> None:
        """Log a warning about this value: it is allowed, but may be a mistake."""
        file, line = self.reader.places[self.key]
        _log.warning("%s", InputError(file, line, None, f"{self.key}: {what}"))

    def below(self, name: str) -> str:
        """The dotted key of the child ``name``."""
        return f"{self.key}.{name}".lstrip(".")

    def pairs(self) -> Iterator[tuple[str, yaml.Node, yaml.Node]]:
        """Name, key node and value node of each entry.

        A repeated name is an error, and a key that belongs to the entry above.
        """
        if not isinstance(self.node, yaml.MappingNode):
            self.fault(f"expected a mapping of keys to values, got {_kind(self.node)}")
            return
        above = ""
        good: dict[str, tuple[str, yaml.Node, yaml.Node]] = {}
        for key_node, value in self.node.value:
            name = str(key_node.value)
            key, place = self.below(name), node_place(key_node)
            if name in good:
                self.reader.fault(key, "is given twice", place)
                if is_null(good[name][2]):  # that one was the slip
                    good[name] = (name, key_node, value)
            elif above and self._belongs_below(name, value):
                if self.reader.sound(self.below(above)):
                    what = f"is indented no deeper than '{above}', to which it belongs"
                    self.reader.fault(f"{self.below(above)}.{name}", what, place)
            else:
                self.reader.places[key] = place
                good[name] = (name, key_node, value)
                above = name
        yield from good.values()

    def _belongs_below(self, name: str, value: yaml.Node) -> bool:
        """Whether ``name`` is no name of the user's but a key of what is named."""
        of = self.kind.of if isinstance(self.kind, Named) else None
        if not isinstance(of, Fields) or name not in of.kinds:
            return False
        return not isinstance(value, yaml.MappingNode) or not any(
            key.value in of.kinds for key, _ in value.value
        )

    def named(self) -> dict[str, Entry]:
        """The entries of a mapping with arbitrary keys."""
        of = self.kind.of if isinstance(self.kind, Named) else None
        kinds = self.kind.kinds if isinstance(self.kind, Fields) else {}
        return {
            name: Entry(self.reader, value, self.below(name), kinds.get(name, of))
            for name, _, value in self.pairs()
        }

    def fields(
        self, required: tuple[str, ...] = (), optional: tuple[str, ...] = ()
    ) -> dict[str, Entry]:
        """The entries of a mapping with fixed keys; unknown and missing keys are errors.

        A misspelt key is read as the one that was meant, which is then not reported as missing.
        """
        kinds: dict[str, Kind] = {}
        if self.kind is not None:
            assert isinstance(self.kind, Fields), f"{self.key} is declared as {self.kind}"
            required, optional = tuple(self.kind.required), tuple(self.kind.optional)
            kinds = self.kind.kinds
        known = (*required, *optional)
        entries: dict[str, Entry] = {}
        misspelt: dict[str, Entry] = {}
        for name, _, node in self.pairs():
            entry = Entry(self.reader, node, self.below(name), kinds.get(name))
            if name in known:
                entries[name] = entry
                continue
            match = closest_match(name, known)
            hint = f"did you mean '{match}'?" if match else f"known are {', '.join(known)}"
            entry.fault(f"unknown key; {hint}")
            if match:
                entry.kind = kinds.get(match)
                misspelt.setdefault(match, entry)
        entries = {**misspelt, **entries}
        if isinstance(self.node, yaml.MappingNode):
            for name in required:
                if name not in entries and self.reader.sound(self.below(name)):
                    self.reader.fault(self.key, f"needs the key '{name}'")
        return entries

    def elements(self) -> list[Entry]:
        """The entries of a list."""
        if not isinstance(self.node, yaml.SequenceNode):
            self.fault(f"expected a list, got {_kind(self.node)}")
            return []
        of = self.kind.of if isinstance(self.kind, Items) else None
        return [
            Entry(self.reader, node, f"{self.key}[{i}]", of)
            for i, node in enumerate(self.node.value)
        ]

    def text(self, choices: Names = None) -> str:
        """A string; one of ``choices`` if given, or of those that its kind declares."""
        if isinstance(self.kind, Text):
            choices = self.kind.choices or choices
        absent = isinstance(self.kind, Text) and is_null(self.node)
        if not isinstance(self.node, yaml.ScalarNode) or absent:
            self.fault(f"expected a word, got {'nothing' if absent else _kind(self.node)}")
            return choices[0] if choices else ""
        value = str(self.node.value)
        if not value.isprintable():
            self.fault(f"has a character that can't be printed: '{value}'")
            return choices[0] if choices else ""
        if choices is not None and value not in choices:
            hint = did_you_mean(value, choices) or f"; known are {', '.join(choices) or 'none'}"
            removed = self.reader.removed.get(value)
            what = f"names '{value}', which is removed here" if removed else ""
            if self.sound:
                self.reader.fault(self.key, what or f"unknown value '{value}'{hint}", removed)
            return choices[0] if choices else ""
        return value

    def flag(self) -> bool:
        """A boolean, ``true`` or ``false``."""
        return self.text(("true", "false")) == "true"

    def number(
        self, *, positive: bool = False, at_least: float | None = None, at_most: float | None = None
    ) -> float:
        """A finite number within the bounds, which are its kind's if it has one."""
        if self.kind is not None:
            assert isinstance(self.kind, Number), f"{self.key} is declared as {self.kind}"
            positive, at_least, at_most = (
                self.kind.positive,
                self.kind.at_least,
                self.kind.at_most,
            )
        default = 1.0 if at_least is None else max(1.0, at_least)
        if not isinstance(self.node, yaml.ScalarNode):
            self.fault(f"expected a number, got {_kind(self.node)}")
            return default
        try:
            value = float(self.node.value)
        except ValueError:
            # .nan and .inf in YAML
            spelled = self.node.value.lower().lstrip("+-").lstrip(".")
            if spelled in ("nan", "inf"):
                self.fault(f"must be a finite number, got {self.node.value}")
            else:
                self.fault(f"expected a number, got '{self.node.value}'")
            return default
        if not math.isfinite(value):
            self.fault(f"must be a finite number, got {self.node.value}")
            return default
        if abs(value) > LARGEST:
            self.fault(f"must be at most {LARGEST:g} in magnitude, got {self.node.value}")
            return default
        if positive and value <= 0.0:
            self.fault(f"must be greater than 0, got {value:g}")
            return default
        if at_least is not None and value < at_least:
            self.fault(f"must be at least {at_least:g}, got {value:g}")
            return default
        if at_most is not None and value > at_most:
            self.fault(f"must be at most {at_most:g}, got {value:g}")
            return at_most
        return value

    def vector(self, n: int, *, positive: bool = False, at_least: float | None = None) -> Array:
        """A vector of n finite numbers (n,)."""
        declared = self.kind
        assert not isinstance(declared, Items) or declared.least == declared.most == n, self.key
        entries = self.elements()
        if isinstance(self.node, yaml.SequenceNode) and len(entries) != n:
            self.fault(f"expected {n} numbers, got {len(entries)}")
        if len(entries) != n:
            return np.ones(n)
        return np.array([e.number(positive=positive, at_least=at_least) for e in entries])

    def interval(self, *, wide: bool = False) -> tuple[float, float]:
        """[low, high] with low <= high, or low < high if it must be ``wide``."""
        low, high = self.vector(2)
        if wide and low == high:
            self.fault(f"must be wider than 0, got [{low:g}, {high:g}]")
        if low > high:
            self.fault(f"the lower bound {low:g} is above the upper bound {high:g}")
            return float(high), float(low)
        return float(low), float(high)


def read_linked_file(
    entry: Entry, path: Path | str, marks: tuple[str, ...], kind: Kind | None = None
) -> Entry | None:
    """The root of another file, which ``entry`` names; None if it can't be read.

    Its errors are added to those of the entry's file. For ``marks`` see ``Reader.root``.
    """
    errors = entry.reader.errors
    try:
        return Reader(path, errors).root(marks, kind)
    except BadInput as bad:
        for error in bad.errors:
            if error.line is None:  # of the whole file: report where it is named
                entry.fault(f"{error.file}: {error.what}")
            elif error not in errors:
                errors.append(error)
        return None


def is_null(node: yaml.Node) -> bool:
    """Whether the value is ``null`` or missing."""
    return isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:null"


def node_place(node: yaml.Node) -> SourceLocation:
    """The file and line of a value or key."""
    return SourceLocation(str(node.start_mark.name), int(node.start_mark.line) + 1)


def _kind(node: yaml.Node) -> str:
    if isinstance(node, yaml.MappingNode):
        return "a mapping"
    if isinstance(node, yaml.SequenceNode):
        return "a list"
    return f"'{node.value}'" if node.value else "nothing"
