"""What a run left, as the page needs it: its report, its log and its motions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from galley.domain.errors import BadInput
from galley.domain.log import Log
from galley.domain.scene.model import Scene
from galley.domain.scene.reader import load_scene
from galley.motion.motion import Motion
from galley.results.inputs import NO_SCENE, SCENE, kept_input
from galley.results.run_folder import REPORT, STATES, STORE, store_name
from galley.results.schema import read_report
from galley.results.stored import check_log, read_motions
from galley.robots.catalog import robot_of
from galley.robots.model import RobotModel


@dataclass(frozen=True)
class Source:
    """A run that was kept.

    Attributes:
        folder: where it lies. report: ``report.json``.
        scene, robot: what it ran on.
        log: what was executed, or None.
        motions: the trajectories of the plan, then of each recovery; empty where there are none.
    """

    folder: Path
    report: Mapping[str, Any]
    scene: Scene
    robot: RobotModel
    log: Log | None
    motions: tuple[tuple[Motion, ...], ...]


def read_source(folder: Path | str, scene_file: Path | str | None = None) -> Source:
    """A run's folder, also of a run that was refused or cut short.

    Args:
        folder: the run's.
        scene_file: instead of the run's own.

    Raises:
        BadInput: it holds no run, or a file is missing or malformed.
    """
    folder = Path(folder)
    report = read_report(folder / REPORT)
    name = scene_file or kept_input(folder, SCENE)
    if name is None:
        raise BadInput.one(folder, NO_SCENE)
    scene = load_scene(name)
    robot, states = robot_of(scene.robot), folder / STATES
    log = Log.load(states) if states.is_file() else None
    if log is not None and not len(log.time) and not len(log.q):
        log = None  # it was cut short before the first state
    if log is not None:
        check_log(states, log, scene)
    return Source(folder, report, scene, robot, log, _motions(folder, report, robot))


def _motions(
    folder: Path, report: Mapping[str, Any], robot: RobotModel
) -> tuple[tuple[Motion, ...], ...]:
    """The stored trajectories; those of a recovery that found none are empty."""
    if not (folder / STORE).is_file():
        return ()
    found = [read_motions(folder / STORE, robot)]
    files = (folder / store_name(k) for k in count(1))
    for recovery in report["execution"]["recoveries"]:
        file = next(files) if recovery["motions"] else None
        found.append(read_motions(file, robot) if file is not None and file.is_file() else ())
    return tuple(found)
