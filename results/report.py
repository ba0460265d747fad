"""The report of a run: ``report.json``, schema version 2 (docs/report.md)."""

from __future__ import annotations

import json
import platform
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from galley import __version__
from galley.domain.failure import Failure, FailureKind
from galley.domain.files import write_whole
from galley.motion.motion import FREE, Motion
from galley.results.run_folder import REPORT, folder_digests
from galley.validation.verdict import Verdict

if TYPE_CHECKING:  # these load the planners, which reading a report does not need
    from galley.execution.disturbance.faults import InjectedFaults
    from galley.execution.monitor import ExecutionMonitor
    from galley.tamp.search import Search

SCHEMA_VERSION = 2
_OURS = ("audit", "executed-states")  # certificates of faults of Galley, not of the task
_PACKAGES = ("numpy", "pybullet", "drake", "pddlgym", "imageio", "imageio-ffmpeg")
_FORK = {"pybullet": "pybullet-arm64"}  # installed in its place where it has no wheel


@dataclass
class Report:
    """The results of a run so far; ``write`` may be called at any time."""

    scene: str
    domain: str
    problem: str
    seed: int
    options: dict[str, Any]
    inputs: dict[str, str] = field(default_factory=dict)
    status: str = "unfinished"
    goal_reached: bool = False
    plan: tuple[str, ...] = ()
    replay: dict[str, Any] | None = None
    failure: Failure | None = None
    timing_s: dict[str, float] = field(default_factory=dict)
    motions: tuple[Motion, ...] = ()
    attempts: int = 0
    skeletons: int = 0
    lessons: list[dict[str, Any]] = field(default_factory=list)
    validation: Verdict | None = None
    later: list[tuple[Motion, ...]] = field(default_factory=list)
    recoveries: list[dict[str, Any]] = field(default_factory=list)
    executed_motions: int = 0
    releases: list[dict[str, Any]] = field(default_factory=list)
    final_facts: tuple[str, ...] = ()
    injected: tuple[str, ...] = ()
    video: dict[str, Any] | None = None

    def fail(self, failure: Failure) -> None:
        """Record a failure; the status follows from its kind."""
        self.failure = failure
        self.goal_reached = False
        kind = (failure.certificate or {}).get("kind")
        if failure.kind is FailureKind.BUDGET:
            self.status = "budget"
        elif kind in _OURS or failure.kind is FailureKind.BAD_INPUT:
            self.status = "failed"
        else:
            self.status = "refused"

    def planned(self, motions: tuple[Motion, ...]) -> str:
        """Record the motions of the plan or of a recovery; returns the name of their file."""
        if not self.motions and not self.later:
            self.motions = motions
            return "trajectories.npz"
        self.later.append(motions)
        return f"trajectories_recovery_{len(self.later)}.npz"

    def fail_execution(self, failure: Failure) -> None:
        """Record a failure of the execution, whether or not the goal facts hold."""
        self.failure = failure
        self.status = "failed"

    def executed(self, loop: ExecutionMonitor, faults: InjectedFaults | None) -> None:
        """Record the result of the execution."""
        planned = iter(self.later)
        self.recoveries = []
        for each in loop.recoveries:
            motions = next(planned, ()) if each.motions else ()
            told = {**each.as_json(), "motions": [_motion(motion) for motion in motions]}
            self.recoveries.append(told)
        self.executed_motions = len(loop.motions)
        self.releases = [asdict(each) for each in loop.releases]
        self.final_facts = tuple(sorted(map(str, loop.facts)))
        self.injected = () if faults is None else faults.told

    def searched(self, search: Search) -> None:
        """Record the result of the search; the plan is the last one tried."""
        self.plan = tuple(str(action) for action in search.latest)
        self.attempts, self.skeletons = search.refinements, search.skeletons
        self.lessons = [
            {"fact": str(each.fact), "why": str(each.failure), "proven": each.proven}
            for each in search.told
        ]

    def as_json(self) -> dict[str, Any]:
        """The report as plain data."""
        stages = ("compile", "task", "motion", "optimization", "execution", "video")
        return {
            "schema_version": SCHEMA_VERSION,
            "status": self.status,
            "goal_reached": self.goal_reached,
            "plan": list(self.plan),
            "plan_replay": self.replay,
            "failure": self.failure.as_json() if self.failure is not None else None,
            "timing_s": {stage: self.timing_s.get(stage, 0.0) for stage in stages},
            "refinements": self.attempts,
            "plans_tried": self.skeletons,
            "lessons": self.lessons,
            "motions": [_motion(motion) for motion in self.motions],
            "audit": self._audit(),
            "execution": {
                "motions": self.executed_motions,
                "recoveries": self.recoveries,
                "released": [
                    {
                        "time_s": each["time"],
                        "item": each["item"],
                        "off_m": each["off"],
                        "turned_rad": each["turned"],
                    }
                    for each in self.releases
                ],
                "faults": list(self.injected),
                "facts": list(self.final_facts),
            },
            "validation": None if self.validation is None else self.validation.as_json(),
            "video": self.video,
            "inputs": self.inputs,
            "scene": self.scene,
            "domain": self.domain,
            "problem": self.problem,
            "seed": self.seed,
            "options": self.options,
            "versions": versions(),
        }

    def _audit(self) -> dict[str, int]:
        """Number of motions that Drake audited, and of disagreements with the plan."""
        every = (*self.motions, *(motion for motions in self.later for motion in motions))
        verdicts = [m.record.audit for m in every if m.record.audit is not None]
        return {"motions": len(verdicts), "disagreements": sum(v != FREE for v in verdicts)}

    def write(self, folder: Path) -> None:
        """Write report.json into ``folder`` atomically, with digests of the folder's files."""
        told = self.as_json() | {"files": folder_digests(folder)}
        text = json.dumps(told, indent=1, default=_plain) + "\n"
        write_whole(folder / REPORT, text)


def _motion(motion: Motion) -> dict[str, Any]:
    record = motion.record
    return {
        "action_index": motion.action_index,
        "phase": motion.phase,
        "group": motion.group,
        "planner": record.planner,
        "planning_ms": record.planning_ms,
        "optimization_ms": record.optimization_ms,
        "waypoints": len(motion.path),
        "length": {
            "rrt": record.length_rrt,
            "shortcut": record.length_shortcut,
            "optimized": record.length_optimized,
        },
        "duration_s": motion.trajectory.duration,
        "min_clearance_m": record.min_clearance_m,
        "velocity_ratio": record.velocity_ratio,
        "acceleration_ratio": record.acceleration_ratio,
        "jerk_ratio": record.jerk_ratio,
        "optimizer": record.optimizer,
        "torque_slowdown": record.torque_slowdown,
        "audit": record.audit,
        "declared_contacts": [list(names) for names in sorted(motion.allowed)],
    }


def versions() -> dict[str, str]:
    """Versions of Python, Galley and the packages that results depend on."""
    found = {"python": platform.python_version(), "galley": __version__}
    for name in _PACKAGES:
        found[name] = "missing"
        with suppress(PackageNotFoundError):
            if name in _FORK:
                found[name] = f"{version(_FORK[name])} ({_FORK[name]})"
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def _plain(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} does not belong in a report")
