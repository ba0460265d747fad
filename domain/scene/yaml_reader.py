"""YAML with positions: every value knows its file, line and key, and says what is wrong with it.

A ``Reader`` collects faults; the typed accessors of an ``Entry`` return a harmless stand-in after
recording one, so that a file's faults are all reported at once. Where a value is written is kept in
its YAML node (the mark's name is the file), so that nodes of several files can make up one tree.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import yaml

from galley.domain.errors import BadInput, InputError, SourceLocation, did_you_mean
from galley.domain.files import read_text
from galley.domain.frames import Array

_log = logging.getLogger(__name__)
LARGEST_SCENE = 2**21  # bytes: some 20,000 shapes; YAML is read at 100 kB/s
_LARGEST = 1e6  # of any number: no kitchen needs more, and engines overflow


class Reader:
    """A YAML file being read, and the faults found in it so far.

    Attributes:
        path: the file.
        errors: the faults; a file that belongs to another one shares the other's list.
        places: where each dotted key met so far is written.
    """

    def __init__(self, path: str | Path, errors: list[InputError] | None = None) -> None:
        self.path = Path(path)
        self.errors: list[InputError] = [] if errors is None else errors
        self.places: dict[str, SourceLocation] = {}

    def root(self, marks: tuple[str, ...] = ()) -> Entry:
        """The document's root.

        Args:
            marks: words that such a file holds. One without any of them is no such file, and
                nothing of what it holds is told: another file may have named it by mistake.

        Raises:
            BadInput: no such file, not YAML, or empty.
        """
        text = read_text(self.path, LARGEST_SCENE)
        strange = bool(marks) and not any(mark in text for mark in marks)
        try:
            loader = yaml.SafeLoader(text)
            loader.name = str(self.path)  # the marks of all nodes carry it
            node = loader.get_single_node()
        except RecursionError:
            raise BadInput.one(self.path, "is nested too deeply to be a scene") from None
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            why = " ".join(part for part in (error.context, error.problem) if part)
            what = "not valid YAML" if strange else f"not valid YAML: {why}"
            line, column = (mark.line + 1, mark.column + 1) if mark else (None, None)
            raise BadInput.one(self.path, what, line, column) from None
        except yaml.YAMLError as error:
            what = "not valid YAML" if strange else f"not valid YAML: {error}".replace("\n", " ")
            raise BadInput.one(self.path, what) from None
        if node is None:
            raise BadInput.one(self.path, "is empty", 1)
        if strange:
            raise BadInput.one(self.path, f"needs the key '{marks[0]}'", 1)
        return Entry(self, node, "")

    def fault(self, key: str, what: str, place: SourceLocation | None = None) -> None:
        """Record a fault of the value at ``key``; once, however often the value is read.

        ``place`` is where it stands, if not where ``key`` was first met.
        """
        file, line = self.places[key] if place is None else place
        error = InputError(file, line, None, f"{key}: {what}" if key else what)
        if error not in self.errors:
            self.errors.append(error)

    def bad_input(self) -> BadInput:
        """The faults as an exception: this file's first, in the order of the file."""
        own = str(self.path)
        return BadInput(
            sorted(self.errors, key=lambda e: (e.file != own, e.file, e.line or 0, e.what))
        )

    def finish(self) -> None:
        """Raise BadInput if any fault was recorded."""
        if self.errors:
            raise self.bad_input()


class Entry:
    """A value in the file: its YAML node and its dotted key (empty for the root)."""

    def __init__(self, reader: Reader, node: yaml.Node, key: str) -> None:
        self.reader = reader
        self.node = node
        self.key = key
        reader.places.setdefault(key, _place(node))

    @property
    def file(self) -> Path:
        """The file in which the value is written."""
        return Path(self.reader.places[self.key].file)

    def fault(self, what: str) -> None:
        """Record a fault of this value."""
        self.reader.fault(self.key, what)

    def warn(self, what: str) -> None:
        """Tell of what is allowed, but may not be meant."""
        file, line = self.reader.places[self.key]
        _log.warning("%s", InputError(file, line, None, f"{self.key}: {what}"))

    def below(self, name: str) -> str:
        """The dotted key of ``name`` in this mapping."""
        return f"{self.key}.{name}".lstrip(".")

    def pairs(self) -> Iterator[tuple[str, yaml.Node, yaml.Node]]:
        """Name, key node and value node of each entry; a name's second appearance is a fault."""
        if not isinstance(self.node, yaml.MappingNode):
            self.fault(f"expected a mapping of keys to values, got {_kind(self.node)}")
            return
        seen = set()
        for key_node, value in self.node.value:
            name = str(key_node.value)
            key, place = self.below(name), _place(key_node)
            if name in seen:
                self.reader.fault(key, "stands here twice", place)
                continue
            seen.add(name)
            self.reader.places[key] = place
            yield name, key_node, value

    def named(self) -> dict[str, Entry]:
        """The entries of a section whose keys are the user's own names."""
        return {n: Entry(self.reader, value, self.below(n)) for n, _, value in self.pairs()}

    def fields(self, required: tuple[str, ...], optional: tuple[str, ...] = ()) -> dict[str, Entry]:
        """The entries of a mapping with known keys; unknown and missing ones are faults."""
        known = (*required, *optional)
        found: dict[str, Entry] = {}
        for name, _, node in self.pairs():
            if name in known:
                found[name] = Entry(self.reader, node, self.below(name))
            else:
                self.reader.fault(
                    self.below(name),
                    f"unknown key{did_you_mean(name, known) or '; known are ' + ', '.join(known)}",
                )
        if isinstance(self.node, yaml.MappingNode):
            for name in required:
                if name not in found:
                    self.fault(f"needs the key '{name}'")
        return found

    def elements(self) -> list[Entry]:
        """The entries of a list."""
        if not isinstance(self.node, yaml.SequenceNode):
            self.fault(f"expected a list, got {_kind(self.node)}")
            return []
        return [
            Entry(self.reader, node, f"{self.key}[{i}]") for i, node in enumerate(self.node.value)
        ]

    def text(self, choices: tuple[str, ...] | None = None) -> str:
        """A word; one of ``choices`` if given."""
        if not isinstance(self.node, yaml.ScalarNode):
            self.fault(f"expected a word, got {_kind(self.node)}")
            return choices[0] if choices else ""
        value = str(self.node.value)
        if choices is not None and value not in choices:
            hint = did_you_mean(value, choices) or f"; known are {', '.join(choices) or 'none'}"
            self.fault(f"unknown value '{value}'{hint}")
            return choices[0] if choices else ""
        return value

    def flag(self) -> bool:
        """true or false."""
        return self.text(("true", "false")) == "true"

    def number(
        self, *, positive: bool = False, at_least: float | None = None, at_most: float | None = None
    ) -> float:
        """A finite number within the bounds."""
        stand_in = 1.0 if at_least is None else max(1.0, at_least)
        if not isinstance(self.node, yaml.ScalarNode):
            self.fault(f"expected a number, got {_kind(self.node)}")
            return stand_in
        try:
            value = float(self.node.value)
        except ValueError:
            # YAML spells them .nan and .inf; Python does not.
            spelled = self.node.value.lower().lstrip("+-").lstrip(".")
            if spelled in ("nan", "inf"):
                self.fault(f"must be a finite number, got {self.node.value}")
            else:
                self.fault(f"expected a number, got '{self.node.value}'")
            return stand_in
        if not math.isfinite(value):
            self.fault(f"must be a finite number, got {self.node.value}")
            return stand_in
        if abs(value) > _LARGEST:
            self.fault(f"must be at most {_LARGEST:g} in size, got {self.node.value}")
            return stand_in
        if positive and value <= 0.0:
            self.fault(f"must be greater than 0, got {value:g}")
            return stand_in
        if at_least is not None and value < at_least:
            self.fault(f"must be at least {at_least:g}, got {value:g}")
            return stand_in
        if at_most is not None and value > at_most:
            self.fault(f"must be at most {at_most:g}, got {value:g}")
            return at_most
        return value

    def vector(self, n: int, *, positive: bool = False, at_least: float | None = None) -> Array:
        """n finite numbers (n,)."""
        entries = self.elements()
        if isinstance(self.node, yaml.SequenceNode) and len(entries) != n:
            self.fault(f"expected {n} numbers, got {len(entries)}")
        if len(entries) != n:
            return np.ones(n)
        return np.array([e.number(positive=positive, at_least=at_least) for e in entries])

    def interval(self, *, wide: bool = False) -> tuple[float, float]:
        """[low, high] with low <= high, or low < high if it must be ``wide``."""
        faults = len(self.reader.errors)
        low, high = self.vector(2)
        if wide and low == high and len(self.reader.errors) == faults:
            self.fault(f"must be wider than 0, got [{low:g}, {high:g}]")
        if low > high:
            self.fault(f"the lower end {low:g} lies above the upper end {high:g}")
            return float(high), float(low)
        return float(low), float(high)


def root_of_other(entry: Entry, path: Path, marks: tuple[str, ...]) -> Entry | None:
    """The root of a further file, which ``entry`` names; None if it can't be read.

    The further file's faults are kept with those of the entry's own. For ``marks`` see ``root``.
    """
    errors = entry.reader.errors
    try:
        return Reader(path, errors).root(marks)
    except BadInput as bad:
        for error in bad.errors:
            if error.line is None:  # of the file as a whole: say who named it
                entry.fault(f"{error.file}: {error.what}")
            elif error not in errors:
                errors.append(error)
        return None


def is_null(node: yaml.Node) -> bool:
    """Whether the value is ``null``, or nothing."""
    return isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:null"


def _place(node: yaml.Node) -> SourceLocation:
    return SourceLocation(str(node.start_mark.name), int(node.start_mark.line) + 1)


def _kind(node: yaml.Node) -> str:
    if isinstance(node, yaml.MappingNode):
        return "a mapping"
    if isinstance(node, yaml.SequenceNode):
        return "a list"
    return f"'{node.value}'" if node.value else "nothing"
