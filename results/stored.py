"""Reads what a run left behind: what it executed, with its goal, and the motions it planned."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from galley.domain.errors import BadInput, InputError
from galley.domain.files import read_bytes
from galley.domain.log import Log
from galley.domain.pddl.formula import Fact
from galley.domain.pddl.model import Domain, Problem
from galley.domain.pddl.reader import read_domain, read_problem
from galley.domain.pddl.syntax import SList, parse_sexprs
from galley.domain.scene.model import Scene
from galley.domain.scene.reader import load_scene
from galley.domain.shipped import KITCHEN
from galley.domain.state import State, initial_state
from galley.motion.motion import Motion
from galley.motion.path import Path as JointPath
from galley.motion.sequence import states_along
from galley.motion.trajectory.archive import read_archive
from galley.motion.trajectory.store import load_motions
from galley.motion.trajectory.trajectory import Trajectory
from galley.planning import validate_actions
from galley.results.inputs import DOMAIN, NO_SCENE, PROBLEM, SCENE, kept_input
from galley.results.run_folder import REPORT, STATES, STORE, UNFINISHED
from galley.results.schema import read_report
from galley.robots.catalog import robot_of
from galley.robots.model import RobotModel
from galley.validation import Goal
from galley.validation.log_format import check_format

_INPUTS = (SCENE, DOMAIN, PROBLEM)


@dataclass(frozen=True)
class Stored:
    """A stored run.

    Attributes:
        file: the log's. goal: None where no problem is known.
        changes: a sentence for each file of own skills that is not what it was.
        mixed: a sentence for each file of the folder that is not the one its report tells of.
    """

    file: Path
    log: Log
    scene: Scene
    goal: Goal | None
    changes: tuple[str, ...]
    mixed: tuple[str, ...]


@dataclass(frozen=True)
class Recorded:
    """Motions of a run, or trajectories that stand for themselves.

    Attributes:
        file: the npz. motions: (m,). lines: for each, ``(pick sugar burner h1) | approach``.
        scene, robot: what they belong to.
        states: where each begins, what it holds in the hand.
        complete: whether the file says what the hand holds.
    """

    file: Path
    motions: tuple[Motion, ...]
    lines: tuple[str, ...]
    scene: Scene
    robot: RobotModel
    states: tuple[State, ...]
    complete: bool


def read_stored(
    run: Path | str,
    scene_file: Path | str | None,
    domain_file: Path | str | None,
    problem_file: Path | str | None,
) -> Stored:
    """A run's folder, or a log; the files given take the place of those that its report names.

    Raises:
        BadInput: something is missing, malformed, or does not fit together.
    """
    run = Path(run)
    if os.path.isdir(run):
        _check_ended(run)
        file = run / STATES
        if not file.is_file():
            raise BadInput.one(run, f"holds no {STATES}: it is no run, or nothing was executed")
    else:
        file = run
    log = Log.load(file)
    path = file.parent / REPORT
    report = read_report(path) if file.name == STATES and path.exists() else {}
    scene_path, domain_path, problem_path = (
        given or (kept_input(file.parent, name) if report else None)
        for given, name in zip((scene_file, domain_file, problem_file), _INPUTS, strict=True)
    )
    if scene_path is None:
        raise BadInput.one(run, NO_SCENE)
    scene = load_scene(scene_path)
    check_log(file, log, scene)
    goal = None
    if (domain_path is None) != (problem_path is None):
        given, missing = ("domain", "problem") if problem_path is None else ("problem", "domain")
        raise BadInput.one(run, f"a goal needs both: --{given} is given, name --{missing} too")
    if domain_path is not None and problem_path is not None:
        domain = read_domain(domain_path)
        problem = read_problem(problem_path, domain)
        _check_bound(scene, problem)
        goal = Goal(domain, problem, _symbols(path, report, domain, problem))
    return Stored(file, log, scene, goal, _changes(report), _mixed(path, report))


def read_recorded(path: Path | str, scene_file: Path | str | None = None) -> Recorded:
    """A run's folder, or an npz of trajectories.

    A run's report is read where there is one and ``path`` is its folder, or has the name of a
    run's file; beside any other npz it belongs to something else.

    Args:
        path: the folder or the file.
        scene_file: instead of the scene that the run's report names; without either, the kitchen.

    Raises:
        BadInput: something is missing, malformed, or does not fit together.
    """
    path = Path(path)
    file = path / STORE if os.path.isdir(path) else path
    if file.name == STORE:
        _check_ended(file.parent)
    archive = read_archive(file)
    if not archive.curves:
        raise BadInput.one(file, "holds no motion: the goal held already")
    report_path = file.parent / REPORT
    report = read_report(report_path) if file.name == STORE and report_path.exists() else {}
    for what in _mixed(report_path, report, (STORE,)):
        raise BadInput.one(file, what)
    kept = kept_input(file.parent, SCENE) if report else KITCHEN / "kitchen.yaml"
    scene_path = scene_file or kept
    if scene_path is None:
        raise BadInput.one(path, NO_SCENE)
    scene = load_scene(scene_path)
    robot = robot_of(scene.robot)
    alone = tuple(_alone(Trajectory(*curve)) for curve in archive.curves)
    _check_groups(file, alone, robot)
    complete = archive.version > 1 and "phase" in archive.columns
    if not complete:
        start = initial_state(scene)
        states = tuple(_with_start(robot, start, motion) for motion in alone)
        return Recorded(file, alone, tuple("" for _ in alone), scene, robot, states, False)
    motions = load_motions(file)
    plan = report.get("plan", [])
    actions = [plan[m.action_index] if 0 <= m.action_index < len(plan) else "" for m in motions]
    lines = tuple(f"{a} | {m.phase}" for a, m in zip(actions, motions, strict=True))
    states = _states(file, motions, scene, robot)
    return Recorded(file, motions, lines, scene, robot, states, True)


def check_log(file: Path | str, log: Log, scene: Scene) -> None:
    """Raise BadInput if a log does not fit the scene; with every column that does not."""
    wrong = check_format(scene, robot_of(scene.robot), log)
    if wrong:
        raise BadInput([InputError(str(file), None, None, each.what) for each in wrong])


# -- the report ------------------------------------------------------------------------------------


def _check_ended(folder: Path) -> None:
    """Raise BadInput if a run still writes to its folder, or was killed before it ended."""
    if os.path.exists(folder / UNFINISHED):
        what = f"its run has not ended, or was cut short (see {UNFINISHED}): files may be missing"
        raise BadInput.one(folder, what)


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
    path: Path, report: Mapping[str, Any], domain: Domain, problem: Problem
) -> frozenset[Fact]:
    """Facts with which the run ended as its report has them; without one, those of its start."""
    if report:
        rows = _forms(path, report["execution"]["facts"])
        return frozenset(Fact(row[0], tuple(row[1:])) for row in rows)
    return validate_actions(domain, problem, ()).states[-1]


def _forms(path: Path, lines: Sequence[str]) -> list[list[str]]:
    """The words of each ``"(name object ...)"`` of a list in the report."""
    found = []
    for line in lines:
        nodes = parse_sexprs(line, str(path))
        words = nodes[0].items if len(nodes) == 1 and isinstance(nodes[0], SList) else ()
        if not words or any(isinstance(each, SList) for each in words):
            what = "'execution.facts' must be a list of texts such as \"(on sugar burner)\""
            raise BadInput.one(path, what)
        found.append([str(each) for each in words])
    return found


def _changes(report: Mapping[str, Any]) -> tuple[str, ...]:
    """Which files of own skills are not as the run read them: they are the only ones not copied."""
    found = []
    for name, digest in report.get("skills", {}).items():
        if not os.path.isfile(name):
            found.append(f"{name} is no longer there")
        elif hashlib.sha256(read_bytes(name)).hexdigest() != digest:
            found.append(f"{name} has changed since the run")
    return tuple(found)


def _mixed(path: Path, report: Mapping[str, Any], only: Sequence[str] = ()) -> tuple[str, ...]:
    """Which files beside the report are not those that it tells of; one that is gone may be.

    Args:
        only: these files; empty: all.
    """
    return tuple(
        f"{name} is not the file that {path} tells of: it was changed, or comes from another run"
        for name, digest in report.get("files", {}).items()
        if (not only or name in only)
        and os.path.isfile(path.parent / name)
        and hashlib.sha256(read_bytes(path.parent / name)).hexdigest() != digest
    )


# -- motions ---------------------------------------------------------------------------------------


def _alone(trajectory: Trajectory) -> Motion:
    """A trajectory as a motion of which nothing more is known."""
    path = JointPath(trajectory.group, np.array([trajectory.start, trajectory.end]))
    return Motion(0, "", trajectory.group, path, trajectory)


def read_motions(file: Path | str, robot: RobotModel) -> tuple[Motion, ...]:
    """The motions in a file, of which the robot has the joints.

    Raises:
        BadInput: as ``load_motions``, or they are another robot's.
    """
    motions = load_motions(file)
    _check_groups(file, motions, robot)
    return motions


def _check_groups(file: Path | str, motions: Sequence[Motion], robot: RobotModel) -> None:
    for k, motion in enumerate(motions):
        try:
            robot.slice(motion.group)
            size = robot.group(motion.group).size
        except KeyError as error:
            raise BadInput.one(file, f"motion {k}: {error.args[0]}") from None
        found = motion.trajectory.coefficients.shape[2]
        if found != size:
            raise BadInput.one(file, f"motion {k} has {found} joints, '{motion.group}' has {size}")


def _with_start(robot: RobotModel, state: State, motion: Motion) -> State:
    q = state.q.copy()
    q[robot.slice(motion.group)] = motion.trajectory.start
    return state.with_robot(q)


def _states(
    file: Path, motions: tuple[Motion, ...], scene: Scene, robot: RobotModel
) -> tuple[State, ...]:
    """Where each motion begins when they run one after another, what is attached in the hand."""
    try:
        return states_along(scene, robot, motions, initial_state(scene))
    except ValueError as error:
        raise BadInput.one(file, str(error)) from None
