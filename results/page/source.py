"""What a run left, as the page needs it: its report, its log and its motions."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from galley.domain.errors import BadInput
from galley.domain.files import read_text
from galley.domain.log import Log
from galley.domain.scene.model import Scene
from galley.domain.scene.reader import load_scene
from galley.motion.motion import Motion
from galley.motion.trajectory.store import load_motions
from galley.results.run_folder import REPORT
from galley.results.starts import parts_of, spans
from galley.results.stored import STATES, STORE
from galley.robots.catalog import robot_of
from galley.robots.model import RobotModel

_NEEDED = {"status": str, "plan": list, "timing_s": dict, "motions": list, "execution": dict}


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

    @cached_property
    def spans(self) -> list[tuple[float, float]]:
        """Seconds into the run at which each motion of the log began and ended."""
        return [] if self.log is None else spans(self.log)

    @cached_property
    def executed(self) -> dict[tuple[int, int], int]:
        """The log's index of motion k of part p (0: the plan, N: the N-th recovery)."""
        return {} if self.log is None else parts_of(self.log.motions.tolist())


def read_source(folder: Path | str, scene_file: Path | str | None = None) -> Source:
    """A run's folder, also of a run that was refused or cut short.

    Args:
        folder: the run's.
        scene_file: instead of the scene that the report names.

    Raises:
        BadInput: it holds no run, or a file is missing or malformed.
    """
    folder = Path(folder)
    scene_file = None if scene_file is None else Path(scene_file)
    file = folder / REPORT
    try:
        report = json.loads(read_text(file))
    except json.JSONDecodeError as error:
        raise BadInput.one(file, f"is not JSON ({error.msg})", error.lineno) from None
    except RecursionError:
        raise BadInput.one(file, "is nested too deeply to be a report") from None
    if not isinstance(report, dict):
        raise BadInput.one(file, "is not the report of a run")
    for key, kind in _NEEDED.items():
        if not isinstance(report.get(key), kind):
            raise BadInput.one(file, f"'{key}' is missing or malformed: it is no report of a run")
    name = scene_file or Path(str(report.get("scene", "")))
    if scene_file is None and not name.is_file():
        raise BadInput.one(name, "the run's scene is no longer there; name one: --scene")
    scene = load_scene(name)
    states = folder / STATES
    log = Log.load(states) if states.is_file() else None
    return Source(folder, report, scene, robot_of(scene.robot), log, _motions(folder, report))


def _motions(folder: Path, report: Mapping[str, Any]) -> tuple[tuple[Motion, ...], ...]:
    """The stored trajectories; those of a recovery that found none are empty."""
    if not (folder / STORE).is_file():
        return ()
    found = [load_motions(folder / STORE)]
    files = (folder / f"trajectories_recovery_{k}.npz" for k in range(1, 10_000))
    for recovery in report["execution"].get("recoveries", []):
        file = next(files) if recovery.get("motions") else None
        found.append(load_motions(file) if file is not None and file.is_file() else ())
    return tuple(found)
