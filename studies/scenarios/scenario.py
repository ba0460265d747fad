"""A scenario: a scene, a task and the expected outcome, in a YAML file (docs/scenarios.md)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import yaml

from galley.domain.errors import BadInput, InputError, did_you_mean
from galley.domain.failure import FailureKind
from galley.domain.files import read_text
from galley.domain.pddl.model import Domain
from galley.domain.pddl.reader import read_domain, read_problem
from galley.domain.scene.model import Scene
from galley.domain.scene.reader import load_scene
from galley.domain.scene.yaml_nodes import document
from galley.domain.scene.yaml_reader import LARGEST_SCENE, Entry, Reader
from galley.domain.shipped import SCENARIOS, did_you_mean_file, shipped_file

VERSION = 1
STATUSES = ("success", "refused", "budget")
_KINDS = tuple(kind.value for kind in FailureKind if kind is not FailureKind.BAD_INPUT)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


@dataclass(frozen=True)
class Expectation:
    """The expected outcome.

    Attributes:
        status: ``success``, ``refused`` or ``budget``.
        kind: of the failure (``blocked``, ...); None for any.
        names: objects that the failure must name.
        within_s: seconds in which a failure should be found. Only reported: it depends on the
            machine.
        plan_has: patterns of actions that the plan must contain, see ``matches``.
        plan_lacks: patterns of actions that it must not contain.
        plan_at_most: most actions in the plan; None for any number.
    """

    status: str
    kind: str | None = None
    names: tuple[str, ...] = ()
    within_s: float | None = None
    plan_has: tuple[str, ...] = ()
    plan_lacks: tuple[str, ...] = ()
    plan_at_most: int | None = None

    def __str__(self) -> str:
        kind = f" {self.kind}" if self.kind else ""
        return self.status + kind + (f": {', '.join(self.names)}" if self.names else "")


@dataclass(frozen=True)
class Scenario:
    """A task with its expected outcome.

    Attributes:
        name: a word, unique in a suite.
        says: a description, one sentence.
        scene, domain, problem: the files of the task.
        expect: the expected outcome.
        skills: a Python file with further skills, or None.
        file: the scenario file.
        lines: its line for each dotted key (``expect.names[0]``), for messages.
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
    """Read a scenario file.

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
        reader.path,
        {key: place.line for key, place in reader.places.items()},
    )


def _file(entry: Entry) -> Path:
    """The file that an entry names: beside the scenario, else a shipped one."""
    text = entry.text()
    path = shipped_file(text, entry.file.parent)
    if not text:
        entry.fault("expected a file name, got nothing")
    elif not path.is_file():
        entry.fault(f"no such file: {path}{did_you_mean_file(path)}")
    return path


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
    texts = []
    for element in entry.elements():
        texts.append(element.text())
        if not action_words(texts[-1]):
            element.fault("is empty")
    return tuple(texts)


def find_scenarios(paths: Sequence[str | Path] = ()) -> tuple[Scenario, ...]:
    """The scenarios in files and folders, sorted by name; without paths, the shipped suite.

    In a folder these are all ``*.yaml`` and ``*.yml`` with the key ``galley_scenario``.

    Raises:
        BadInput: a fault in any file, a folder without scenarios, a name used twice.
    """
    found: dict[str, Scenario] = {}
    faults: list[InputError] = []
    for path in _files(paths or (SCENARIOS,), faults):
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
    files: dict[Path, Path] = {}  # by resolved path, so that a file named twice runs once
    for path in map(shipped_file, paths):
        if not path.is_dir():
            files.setdefault(path.resolve(), path)
            continue
        inside = sorted(p for p in path.iterdir() if p.suffix in (".yaml", ".yml") and p.is_file())
        scenarios = [p for p in inside if _is_scenario(p)]
        if not scenarios:
            what = "holds no scenario: no .yaml with the key 'galley_scenario'"
            faults.append(InputError(str(path), None, None, what))
        for file in scenarios:
            files.setdefault(file.resolve(), file)
    return list(files.values())


def _is_scenario(path: Path) -> bool:
    """Whether a file has the key ``galley_scenario``, or can't be parsed."""
    try:
        data = document(read_text(path, LARGEST_SCENE), str(path))
    except (BadInput, yaml.YAMLError, RecursionError):
        return True  # the reader will report the fault
    if not isinstance(data, yaml.MappingNode):
        return False
    return any(key.value == "galley_scenario" for key, _ in data.value)


def check_scenario(scenario: Scenario) -> frozenset[str]:
    """Read a scenario's scene and task, and check that the names it expects exist there.

    Returns:
        All files that the outcome depends on.

    Raises:
        BadInput: the faults of the first faulty file.
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
    files = (scenario.file, scenario.skills, scenario.domain, scenario.problem, scene.source)
    places = {file for file, _ in scene.places.values()}
    return frozenset(places | {str(file) for file in files if file is not None})


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
            name = action_words(pattern)[0]
            if not set(name) & set("*?[") and name not in known:
                hint = did_you_mean(name, known)
                found.append(scenario.fault(f"expect.{key}[{k}]", f"no action '{name}'{hint}"))
    return found


# -- comparing a run's outcome with the expected one ----------------------------------------------


def action_words(action: str) -> list[str]:
    """The words of ``(pick sugar burner h1)``, with or without parentheses."""
    return action.strip().removeprefix("(").removesuffix(")").lower().split()


def matches(pattern: str, action: str) -> bool:
    """Whether an action starts with the pattern's words, in which ``*`` and ``?`` are wildcards.

    ``pick sugar`` matches ``(pick sugar burner h1)``, and so does ``(pick * burner)``.
    """
    globs, words = action_words(pattern), action_words(action)
    return len(globs) <= len(words) and all(map(fnmatchcase, words, globs))


def judge_report(
    expected: Expectation,
    report: Mapping[str, Any],
    aliases: Mapping[str, Set[str]] | None = None,
) -> tuple[str, ...]:
    """Why a run's outcome is not the expected one; empty if it is.

    Args:
        expected: the expected outcome.
        report: the run's ``report.json``.
        aliases: other names that a failure may use for an object.
    """
    wrong = []
    status, failure = report["status"], report["failure"] or {}
    if status != expected.status:
        wrong.append(f"{status} instead of {expected.status}")
    elif expected.kind is not None and failure.get("kind") != expected.kind:
        wrong.append(f"refused as {failure.get('kind')} instead of {expected.kind}")
    if status == expected.status:
        for name in expected.names:
            if not _named({name, *(aliases or {}).get(name, ())}, failure):
                wrong.append(f"the failure does not name {name}")
    wrong += _about_plan(expected, report["plan"])
    return tuple(wrong)


def _named(names: Set[str], failure: Mapping[str, Any]) -> bool:
    words = re.split(r"[^\w-]+", failure.get("message", ""))
    return not names.isdisjoint([*failure.get("objects", ()), *words])


def _about_plan(expected: Expectation, plan: Sequence[str]) -> list[str]:
    wrong = [
        f"no action of the plan is {pattern}"
        for pattern in expected.plan_has
        if not any(matches(pattern, action) for action in plan)
    ]
    for pattern in expected.plan_lacks:
        found = next((action for action in plan if matches(pattern, action)), None)
        if found is not None:
            wrong.append(f"the plan has {found}")
    if expected.plan_at_most is not None and len(plan) > expected.plan_at_most:
        wrong.append(f"the plan has {len(plan)} actions, at most {expected.plan_at_most} expected")
    return wrong
