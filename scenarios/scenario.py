"""A scenario: a scene, a task in it, and the outcome that is right. One YAML file each."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from galley.domain.errors import BadInput, InputError, did_you_mean
from galley.domain.failure import FailureKind
from galley.domain.pddl import Domain
from galley.domain.pddl_reader import read_domain, read_problem
from galley.domain.scene import Scene
from galley.domain.scene_file import load_scene
from galley.domain.yaml_reader import Entry, Reader
from galley.scenarios.expectation import STATUSES, Expectation, words

VERSION = 1
_DOMAIN = Path(__file__).parent.parent / "domain"
KITCHEN = _DOMAIN / "kitchen"  # its files are found by their bare names
SHIPPED = _DOMAIN / "scenarios"
_KINDS = tuple(kind.value for kind in FailureKind if kind is not FailureKind.BAD_INPUT)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


@dataclass(frozen=True)
class Scenario:
    """A task with its right outcome.

    Attributes:
        name: a word, unique in a suite.
        says: what it is about, one sentence.
        scene, domain, problem: the files of the task.
        expect: the outcome that is right.
        skills: a Python file with skills of its own, or None.
        file: where it was read from.
        lines: line in it of each dotted key (``expect.names[0]``), for messages.
    """

    name: str
    says: str
    scene: Path
    domain: Path
    problem: Path
    expect: Expectation
    skills: Path | None
    file: Path
    lines: Mapping[str, int] = field(default_factory=dict, compare=False)

    def fault(self, key: str, what: str) -> InputError:
        """A fault of the value at ``key``."""
        return InputError(str(self.file), self.lines.get(key), None, f"{key}: {what}")


def read_scenario(path: str | Path) -> Scenario:
    """Read one file (docs/scenarios.md).

    Raises:
        BadInput: with every fault of the file.
    """
    reader = Reader(path)
    parts = reader.root().fields(
        ("galley_scenario", "name", "says", "scene", "domain", "problem", "expect"), ("skills",)
    )
    if "galley_scenario" in parts:
        parts["galley_scenario"].text((str(VERSION),))
    name = parts["name"].text() if "name" in parts else ""
    if "name" in parts and not _NAME.fullmatch(name):
        parts["name"].fault(f"'{name}' is not a word of letters, digits, _ and -")
    says = " ".join(parts["says"].text().split()) if "says" in parts else ""
    files = {
        key: _file(parts[key]) if key in parts else Path()
        for key in ("scene", "domain", "problem", "skills")
    }
    expect = _expectation(parts["expect"]) if "expect" in parts else Expectation("success")
    reader.finish()
    return Scenario(
        name,
        says,
        files["scene"],
        files["domain"],
        files["problem"],
        expect,
        files["skills"] if "skills" in parts else None,
        Path(path),
        {key: place.line for key, place in reader.places.items()},
    )


def _file(entry: Entry) -> Path:
    """The file that an entry names: beside the scenario, or else the kitchen's."""
    text = entry.text()
    beside = entry.file.parent / text
    found = beside
    if not beside.is_file() and Path(text).name == text and (KITCHEN / text).is_file():
        found = KITCHEN / text
    if not text or not found.is_file():
        entry.fault(f"no such file: {beside}" if text else "expected a file name, got nothing")
    return found


def _expectation(entry: Entry) -> Expectation:
    parts = entry.fields(
        ("status",), ("kind", "names", "within_s", "plan_has", "plan_lacks", "plan_at_most")
    )
    status = parts["status"].text(STATUSES) if "status" in parts else ""
    for key in ("kind", "names", "within_s"):
        if key in parts and status == "success":
            parts[key].fault("belongs to a failure, and success is expected")
    kind = parts["kind"].text(_KINDS) if "kind" in parts else None
    if kind is not None and status and (kind == "budget") != (status == "budget"):
        parts["kind"].fault(f"'{kind}' is not a way to end as {status}")
    within = parts["within_s"].number(positive=True) if "within_s" in parts else None
    most = parts["plan_at_most"].number(at_least=0) if "plan_at_most" in parts else None
    if most is not None and most != int(most):
        parts["plan_at_most"].fault(f"must be a whole number, got {most:g}")
    return Expectation(
        status,
        kind,
        _texts(parts.get("names")),
        within,
        _texts(parts.get("plan_has")),
        _texts(parts.get("plan_lacks")),
        None if most is None else int(most),
    )


def _texts(entry: Entry | None) -> tuple[str, ...]:
    if entry is None:
        return ()
    found = []
    for each in entry.elements():
        found.append(each.text())
        if not words(found[-1]):
            each.fault("is empty")
    return tuple(found)


def find(paths: Sequence[str | Path] = ()) -> tuple[Scenario, ...]:
    """The scenarios of files and folders, in order of their names; the shipped suite without any.

    Of a folder, all ``*.yaml`` and ``*.yml`` that have the key ``galley_scenario``.

    Raises:
        BadInput: a fault in any of the files, no scenario in a folder, a name used twice.
    """
    found: dict[str, Scenario] = {}
    faults: list[InputError] = []
    for path in _files(paths or (SHIPPED,), faults):
        try:
            scenario = read_scenario(path)
        except BadInput as error:
            faults += error.errors
            continue
        other = found.setdefault(scenario.name, scenario)
        if other.file != path:
            what = f"'{scenario.name}' is also the name of {other.file}"
            faults.append(scenario.fault("name", what))
    if faults:
        raise BadInput(faults)
    return tuple(sorted(found.values(), key=lambda scenario: scenario.name))


def _files(paths: Iterable[str | Path], faults: list[InputError]) -> list[Path]:
    files: dict[Path, Path] = {}  # by what they are, so that one named twice is run once
    for path in map(Path, paths):
        if not path.is_dir():
            files.setdefault(path.resolve(), path)
            continue
        inside = sorted(p for p in path.iterdir() if p.suffix in (".yaml", ".yml") and p.is_file())
        scenarios = [p for p in inside if _is_scenario(p)]
        if not scenarios:
            what = "holds no scenario: no .yaml with the key 'galley_scenario'"
            faults.append(InputError(str(path), None, None, what))
        for each in scenarios:
            files.setdefault(each.resolve(), each)
    return list(files.values())


def _is_scenario(path: Path) -> bool:
    """Whether the file says so, or is too broken to say."""
    try:
        data = yaml.compose(path.read_text(encoding="utf-8"), Loader=yaml.SafeLoader)
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError):
        return True  # the reader says what is wrong
    if not isinstance(data, yaml.MappingNode):
        return False
    return any(key.value == "galley_scenario" for key, _ in data.value)


def check(scenario: Scenario) -> None:
    """Read a scenario's scene and task too; what it expects must be of this world.

    Raises:
        BadInput: with the faults of the first file that has any.
    """
    scene = load_scene(scenario.scene)
    domain = read_domain(scenario.domain)
    read_problem(scenario.problem, domain)
    known = _names(scene)
    faults = [
        scenario.fault(
            f"expect.names[{k}]", f"nothing is called '{name}'{did_you_mean(name, known)}"
        )
        for k, name in enumerate(scenario.expect.names)
        if name not in known
    ]
    faults += _unknown_actions(scenario, domain)
    if faults:
        raise BadInput(faults)


def _names(scene: Scene) -> frozenset[str]:
    named = (scene.bodies, scene.joints, scene.regions, scene.handles, scene.items, scene.stances)
    return frozenset(
        {entry.name for group in named for entry in group}
        | {binding.object for binding in scene.bindings}
        | {scene.robot.name}
    )


def _unknown_actions(scenario: Scenario, domain: Domain) -> list[InputError]:
    known = [action.name for action in domain.actions]
    expect, found = scenario.expect, []
    for key, patterns in (("plan_has", expect.plan_has), ("plan_lacks", expect.plan_lacks)):
        for k, pattern in enumerate(patterns):
            name = words(pattern)[0]
            if not set(name) & set("*?[") and name not in known:
                hint = did_you_mean(name, known)
                found.append(scenario.fault(f"expect.{key}[{k}]", f"no action '{name}'{hint}"))
    return found
