"""A scenario: a scene, a task and the expected outcome, in a YAML file (docs/scenarios.md)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, ConfigDict, Field, ValidationInfo

from galley.domain.errors import BadInput, InputError, SourceLocation, did_you_mean
from galley.domain.failure import FailureKind
from galley.domain.files import read_text
from galley.domain.pddl.model import Domain
from galley.domain.pddl.reader import read_domain, read_problem
from galley.domain.scene.model import Scene
from galley.domain.scene.reader import load_scene
from galley.domain.shipped import SCENARIOS, did_you_mean_file, shipped_file
from galley.domain.yaml_models import (
    LARGEST_FILE,
    FileModel,
    Number,
    Word,
    YamlFile,
    one_of,
    version,
)

VERSION = 1
STATUSES = ("success", "refused", "budget")
_KINDS = tuple(kind.value for kind in FailureKind if kind is not FailureKind.BAD_INPUT)
_MARK = re.compile(r"""^[{\s"']*galley_scenario["']?\s*:""", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


def _of_failure(value: Any, info: ValidationInfo) -> Any:
    """Reject a key that describes a failure if success is expected."""
    if info.data.get("status") == "success":
        raise ValueError("belongs to a failure, and success is expected")
    return value


def _pattern(text: str) -> str:
    """Accept a text with at least one word."""
    if not action_words(text):
        raise ValueError("is empty")
    return text


_Pattern = Annotated[Word, AfterValidator(_pattern)]


@dataclass(frozen=True)
class Expectation:
    """The expected outcome.

    Attributes:
        status: ``success``, ``refused`` or ``budget``.
        kind: of the failure (``blocked``, ...); None for any.
        names: objects that the failure must name.
        plan_has: patterns of actions that the plan must contain, see ``matches``.
        plan_lacks: patterns of actions that it must not contain.
        plan_at_most: most actions in the plan; None for any number.
    """

    __pydantic_config__ = ConfigDict(extra="forbid")

    status: Annotated[Word, one_of(STATUSES)]
    kind: Annotated[Word | None, one_of(_KINDS), AfterValidator(_of_failure)] = None
    names: Annotated[tuple[_Pattern, ...], AfterValidator(_of_failure)] = ()
    plan_has: tuple[_Pattern, ...] = ()
    plan_lacks: tuple[_Pattern, ...] = ()
    plan_at_most: Annotated[int, Field(ge=0)] | None = None

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
        places: the place of each dotted key (``expect.names[0]``), for messages.
    """

    name: str
    says: str
    scene: Path
    domain: Path
    problem: Path
    expect: Expectation
    skills: Path | None
    file: Path
    places: Mapping[str, SourceLocation] = field(default_factory=dict, compare=False)

    def fault(self, key: str, what: str) -> InputError:
        """A fault of the value at ``key``."""
        return InputError(*self.places[key], f"{key}: {what}")


def _name(text: str) -> str:
    """Accept a word that can be the name of a scenario and of a folder."""
    if not _NAME.fullmatch(text):
        raise ValueError(f"'{text}' is not a word of letters, digits, _ and -")
    return text


def _file(text: str, info: ValidationInfo) -> Path:
    """The file that a scenario names: beside it, else a shipped one."""
    if not text:
        raise ValueError("expected a file name, got nothing")
    path = shipped_file(text, info.context or Path())
    if not path.is_file():
        raise ValueError(f"no such file: {path}{did_you_mean_file(path)}")
    return path


_File = Annotated[Word, AfterValidator(_file)]


class _ScenarioFile(FileModel):
    """The contents of a scenario file, key by key; see ``Scenario``."""

    galley_scenario: Annotated[Number, version(VERSION)]
    name: Annotated[Word, AfterValidator(_name)]
    says: Annotated[Word, AfterValidator(lambda text: " ".join(text.split()))]
    scene: _File
    domain: _File
    problem: _File
    expect: Expectation
    skills: _File | None = None


def read_scenario(path: str | Path) -> Scenario:
    """Read a scenario file.

    Raises:
        BadInput: with every fault of the file.
    """
    file = YamlFile(path)
    contents = file.read(_ScenarioFile, file.path.parent)
    given = {key: value for key, value in contents if key != "galley_scenario"}
    return Scenario(**given, file=file.path, places=file.places())


def find_scenarios(paths: Sequence[str | Path] = ()) -> tuple[Scenario, ...]:
    """The scenarios in files and folders, sorted by name; without paths, the shipped suite.

    In a folder these are all ``*.yaml`` and ``*.yml`` with the key ``galley_scenario``.

    Raises:
        BadInput: a fault in any file, a folder without scenarios, a name used twice.
    """
    scenarios: dict[str, Scenario] = {}
    faults: list[InputError] = []
    for path in _files(paths or (SCENARIOS,), faults):
        try:
            scenario = read_scenario(path)
        except BadInput as error:
            faults += error.errors
            continue
        other = scenarios.setdefault(scenario.name, scenario)
        if other.file != path:
            message = f"'{scenario.name}' is also the name of {other.file}"
            faults.append(scenario.fault("name", message))
    if faults:
        raise BadInput(faults)
    return tuple(sorted(scenarios.values(), key=lambda scenario: scenario.name))


def _files(paths: Iterable[str | Path], faults: list[InputError]) -> list[Path]:
    """The scenario files in files and folders; a folder without any is added to ``faults``."""
    files: dict[Path, Path] = {}  # by resolved path, so that a file named twice runs once
    for path in map(shipped_file, paths):
        if not path.is_dir():
            files.setdefault(path.resolve(), path)
            continue
        inside = sorted(p for p in path.iterdir() if p.suffix in (".yaml", ".yml") and p.is_file())
        scenarios = [p for p in inside if _is_scenario(p)]
        if not scenarios:
            message = "holds no scenario: no .yaml with the key 'galley_scenario'"
            faults.append(InputError(str(path), None, None, message))
        for file in scenarios:
            files.setdefault(file.resolve(), file)
    return list(files.values())


def _is_scenario(path: Path) -> bool:
    """Whether a file has the key ``galley_scenario``; also true if it can't be read."""
    try:
        return _MARK.search(read_text(path, LARGEST_FILE)) is not None
    except BadInput:
        return True  # the reader will report the fault


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
    places = {place.file for place in scene.places.values()}
    return frozenset(places | {str(file) for file in files if file is not None})


def _names(scene: Scene) -> frozenset[str]:
    """All names that a failure in this scene may mention."""
    named = (scene.bodies, scene.joints, scene.regions, scene.handles, scene.items, scene.stances)
    return frozenset(
        {entry.name for group in named for entry in group}
        | {binding.object for binding in scene.bindings}
        | {scene.robot.name}
    )


def _unknown_actions(scenario: Scenario, domain: Domain) -> list[InputError]:
    """A fault for each pattern whose action the domain doesn't have; wildcards are accepted."""
    known = [action.name for action in domain.actions]
    expect, faults = scenario.expect, []
    for key, patterns in (("plan_has", expect.plan_has), ("plan_lacks", expect.plan_lacks)):
        for k, pattern in enumerate(patterns):
            name = action_words(pattern)[0]
            if not set(name) & set("*?[") and name not in known:
                hint = did_you_mean(name, known)
                faults.append(scenario.fault(f"expect.{key}[{k}]", f"no action '{name}'{hint}"))
    return faults


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
    expected: Expectation, report: Mapping[str, Any], aliases: Mapping[str, Set[str]] | None = None
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
    """Whether a failure mentions one of the names, among its objects or in its message."""
    words = re.split(r"[^\w-]+", failure.get("message", ""))
    return not names.isdisjoint([*failure.get("objects", ()), *words])


def _about_plan(expected: Expectation, plan: Sequence[str]) -> list[str]:
    """The differences between a plan and the expected actions, one sentence each."""
    wrong = [
        f"no action of the plan is {pattern}"
        for pattern in expected.plan_has
        if not any(matches(pattern, action) for action in plan)
    ]
    for pattern in expected.plan_lacks:
        match = next((action for action in plan if matches(pattern, action)), None)
        if match is not None:
            wrong.append(f"the plan has {match}")
    if expected.plan_at_most is not None and len(plan) > expected.plan_at_most:
        wrong.append(f"the plan has {len(plan)} actions, at most {expected.plan_at_most} expected")
    return wrong
