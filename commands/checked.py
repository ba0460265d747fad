"""Reads what ``galley check`` judges: a run's log, the scene and the goal that belong to it."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from galley.domain.errors import BadInput, InputError, read_bytes, read_text
from galley.domain.formula import Fact
from galley.domain.log import Log
from galley.domain.pddl import Domain, Problem
from galley.domain.pddl_reader import read_domain, read_problem
from galley.domain.scene import Scene
from galley.domain.scene_file import load_scene
from galley.domain.sexpr import SList, parse_sexprs
from galley.planning import GroundAction, validate_actions
from galley.run_folder import REPORT
from galley.validation import Goal

STATES = "states.npz"


@dataclass(frozen=True)
class Stored:
    """A stored run.

    Attributes:
        file: the log's. goal: None where no problem is known.
        changes: a sentence for each input file that is not what it was.
    """

    file: Path
    log: Log
    scene: Scene
    goal: Goal | None
    changes: tuple[str, ...]


def read_stored(
    run: Path, scene_file: Path | None, domain_file: Path | None, problem_file: Path | None
) -> Stored:
    """A run's folder, or a log; the files given take the place of those that its report names.

    Raises:
        BadInput: something is missing, malformed, or does not fit together.
    """
    if os.path.isdir(run):
        file = run / STATES
        if not file.is_file():
            raise BadInput.one(run, f"holds no {STATES}: it is no run, or nothing was executed")
    else:
        file = run
    log = Log.load(file)
    path = file.parent / REPORT
    report = _report(path) if file.name == STATES and path.exists() else {}
    scene_path = _file(path, report, "scene", scene_file)
    if scene_path is None:
        raise BadInput.one(run, "no report says which scene this is; name one: --scene")
    scene = load_scene(scene_path)
    domain_path = _file(path, report, "domain", domain_file)
    problem_path = _file(path, report, "problem", problem_file)
    goal = None
    if (domain_path is None) != (problem_path is None):
        given, missing = ("domain", "problem") if problem_path is None else ("problem", "domain")
        raise BadInput.one(run, f"a goal needs both: --{given} is given, name --{missing} too")
    if domain_path is not None and problem_path is not None:
        domain = read_domain(domain_path)
        problem = read_problem(problem_path, domain)
        _check_bound(scene, problem)
        goal = Goal(domain, problem, _symbols(path, report, domain, problem))
    replaced = {"scene": scene_file, "domain": domain_file, "problem": problem_file}
    others = {str(report.get(key)) for key, value in replaced.items() if value is not None}
    return Stored(file, log, scene, goal, _changes(path, report, others))


def _report(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise BadInput.one(path, f"is not JSON ({error.msg})", error.lineno) from None
    except RecursionError:
        raise BadInput.one(path, "is nested too deeply to be a report") from None
    if not isinstance(found, dict):
        raise BadInput.one(path, "is not the report of a run")
    return found


def _file(path: Path, report: dict[str, Any], key: str, given: Path | None) -> Path | None:
    """The file given, or the one that the report at ``path`` names; None where it names none."""
    if given is not None:
        return given
    name = report.get(key)
    if name is None:
        return None
    if not isinstance(name, str) or not name:
        raise BadInput.one(path, f"'{key}' must be the name of a file; name one: --{key}")
    if not os.path.exists(name):
        raise BadInput.one(name, f"the run's {key} is no longer there; name one: --{key}")
    return Path(name)


def _check_bound(scene: Scene, problem: Problem) -> None:
    """Raise BadInput if the scene does not know an object of the problem."""
    known = {binding.object for binding in scene.bindings}
    errors = [
        InputError(
            thing.file,
            thing.line,
            thing.column,
            f"object '{thing.name}' maps to nothing in {scene.source}",
        )
        for thing in problem.objects
        if thing.name not in known
    ]
    if errors:
        raise BadInput(errors)


def _symbols(
    path: Path, report: dict[str, Any], domain: Domain, problem: Problem
) -> frozenset[Fact]:
    """Facts with which the run ended: those it says it executed, else those of its plan."""
    execution = report.get("execution")
    if isinstance(execution, dict) and "facts" in execution:
        rows = _forms(path, execution["facts"], "facts")
        return frozenset(Fact(row[0], tuple(row[1:])) for row in rows)
    rows = _forms(path, report.get("plan", []), "plan")
    actions = tuple(GroundAction(row[0], tuple(row[1:])) for row in rows)
    return validate_actions(domain, problem, actions).states[-1]


def _forms(path: Path, lines: object, key: str) -> list[list[str]]:
    """The words of each ``"(name object ...)"`` of a list in the report."""
    fault = BadInput.one(path, f"'{key}' must be a list of texts such as \"(on sugar burner)\"")
    if not isinstance(lines, Sequence) or isinstance(lines, str):
        raise fault
    found = []
    for line in lines:
        nodes = parse_sexprs(line, str(path)) if isinstance(line, str) else ()
        if len(nodes) != 1 or not isinstance(nodes[0], SList) or not nodes[0].items:
            raise fault
        words = [str(each) for each in nodes[0].items if not isinstance(each, SList)]
        if len(words) != len(nodes[0].items):
            raise fault
        found.append(words)
    return found


def _changes(path: Path, report: dict[str, Any], others: set[str]) -> tuple[str, ...]:
    """What is no longer as the run read it, by the digests in its report.

    Args:
        others: names of files in whose place others are read now.
    """
    inputs = report.get("inputs", {})
    if not isinstance(inputs, dict):
        raise BadInput.one(path, "'inputs' must map files to their SHA-256")
    found = []
    for name, digest in inputs.items():
        if name in others:
            continue
        if not os.path.isfile(name):
            found.append(f"{name} is no longer there")
        elif hashlib.sha256(read_bytes(name)).hexdigest() != digest:
            found.append(f"{name} has changed since the run")
    return tuple(found)
