"""Reads what a run left behind: its motions, the scene they belong to, and where each begins."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from galley.domain.errors import BadInput, read_text
from galley.domain.frames import Array
from galley.domain.scene import Scene
from galley.domain.scene_file import load_scene
from galley.domain.state import State, initial_state
from galley.motion.archive import read_archive
from galley.motion.effects import effects
from galley.motion.motion import Motion
from galley.motion.path import Path as JointPath
from galley.motion.store import load_motions
from galley.motion.trajectory import Trajectory
from galley.robots.model import RobotModel
from galley.robots.panda_models import mobile_panda
from galley.run_folder import REPORT

KITCHEN = Path(__file__).parents[1] / "domain" / "kitchen" / "kitchen.yaml"
STORE = "trajectories.npz"
_GAP = 1e-3  # m or rad between a motion's start and where the one before it ended


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


def read_recorded(path: Path, scene_file: Path | None = None) -> Recorded:
    """A run's folder, or an npz of trajectories.

    A run's report is read where there is one and ``path`` is its folder, or has the name of a
    run's file; beside any other npz it belongs to something else.

    Args:
        path: the folder or the file.
        scene_file: instead of the scene that the run's report names; without either, the kitchen.

    Raises:
        BadInput: something is missing, malformed, or does not fit together.
    """
    file = path / STORE if os.path.isdir(path) else path
    archive = read_archive(file)
    if not archive.curves:
        raise BadInput.one(file, "holds no motion: the goal held already")
    report = _report(file.parent / REPORT) if file.name == STORE else {}
    scene = load_scene(scene_file or _scene_of(file.parent / REPORT, report))
    robot = mobile_panda(scene.robot.base)
    alone = tuple(_alone(Trajectory(*curve)) for curve in archive.curves)
    for k, motion in enumerate(alone):
        _check_group(file, k, motion, robot)
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


def _report(path: Path) -> dict[str, Any]:
    """The run's report; empty where there is none."""
    if not path.exists():
        return {}
    try:
        found = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise BadInput.one(path, f"is not JSON ({error.msg})", error.lineno) from None
    if not isinstance(found, dict) or not isinstance(found.get("plan", []), list):
        raise BadInput.one(path, "is not the report of a run")
    return found


def _scene_of(path: Path, report: dict[str, Any]) -> Path:
    """The scene's file that the report at ``path`` names; without one, the kitchen's."""
    if "scene" not in report:
        return KITCHEN
    name = report["scene"]
    if not isinstance(name, str) or not name:
        raise BadInput.one(path, "'scene' must be the name of a file; name one: --scene")
    if not os.path.exists(name):
        raise BadInput.one(name, "the run's scene is no longer there; name one: --scene")
    return Path(name)


def _alone(trajectory: Trajectory) -> Motion:
    """A trajectory as a motion of which nothing more is known."""
    path = JointPath(trajectory.group, np.array([trajectory.start, trajectory.end]))
    return Motion(0, "", trajectory.group, path, trajectory)


def _check_group(file: Path, k: int, motion: Motion, robot: RobotModel) -> None:
    try:
        robot.slice(motion.group)
        size = robot.group(motion.group).size
    except KeyError as error:
        raise BadInput.one(file, f"motion {k}: {error.args[0]}") from None
    if motion.trajectory.coefficients.shape[2] != size:
        found = motion.trajectory.coefficients.shape[2]
        raise BadInput.one(file, f"motion {k} has {found} joints, '{motion.group}' has {size}")


def _with_start(robot: RobotModel, state: State, motion: Motion) -> State:
    q = state.q.copy()
    q[robot.slice(motion.group)] = motion.trajectory.start
    return state.with_robot(q)


def _states(
    file: Path, motions: tuple[Motion, ...], scene: Scene, robot: RobotModel
) -> tuple[State, ...]:
    """Where each motion begins when they run one after another, what is attached in the hand."""
    state, found = initial_state(scene), []
    known = {"item": scene.item_index, "joint": scene.joint_index}
    for k, motion in enumerate(motions):
        for attachment in motion.attachments:
            if attachment.name not in known.get(attachment.kind, {}):
                what = f"motion {k} moves '{attachment.name}', which {scene.source} does not have"
                raise BadInput.one(file, what)
    for k, motion in enumerate(motions):
        path, trajectory = motion.path, motion.trajectory
        size = robot.group(motion.group).size
        if path.waypoints.shape[1] != size:
            what = f"motion {k} has waypoints of {path.waypoints.shape[1]} joints, not {size}"
            raise BadInput.one(file, what)
        if not _near(trajectory.start, path.start) or not _near(trajectory.end, path.end):
            raise BadInput.one(file, f"motion {k}: its trajectory does not follow its waypoints")
        if not _near(trajectory.start, state.q[robot.slice(motion.group)]):
            raise BadInput.one(
                file,
                f"motion {k} does not begin where the robot is by then; was it planned in "
                f"another scene than {scene.source}?",
            )
        model = effects(scene, robot, motion, state)
        found.append(model.state)
        state = model.at(path.end)
    return tuple(found)


def _near(a: Array, b: Array) -> bool:
    return bool(np.abs(a - b).max() <= _GAP)
