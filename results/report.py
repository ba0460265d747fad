"""The report of a run: ``report.json``, schema version 2 (docs/report.md)."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from galley import __version__
from galley.domain.failure import Failure, FailureKind
from galley.domain.files import write_atomically
from galley.motion.motion import FREE, Motion
from galley.results.run_folder import REPORT, digests, folder_digests
from galley.results.schema import SCHEMA_VERSION
from galley.results.starts import parts_of, spans
from galley.validation.verdict import Verdict

if TYPE_CHECKING:  # these load the planners, which reading a report does not need
    from galley.results.stages import Execution
    from galley.tamp.checks import AuditedMotions, PlanCheck
    from galley.tamp.feedback.constraints import SearchRecord
    from galley.tamp.task import TampTask

_OURS = ("audit", "executed-states")  # certificates of faults of Galley, not of the task
_PACKAGES = ("numpy", "pybullet", "drake", "pddlgym", "imageio", "imageio-ffmpeg")
_FORK = {"pybullet": "pybullet-arm64"}  # installed in its place where it has no wheel


@dataclass
class Report:
    """Everything known about a run; can be written at any time."""

    scene: str
    domain: str
    problem: str
    seed: int
    options: dict[str, Any]
    inputs: dict[str, str] = field(default_factory=dict)
    skills: dict[str, str] = field(default_factory=dict)
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
    reasons: list[dict[str, Any]] = field(default_factory=list)
    validation: Verdict | None = None
    later: list[tuple[Motion, ...]] = field(default_factory=list)
    recoveries: list[dict[str, Any]] = field(default_factory=list)
    executed_motions: int = 0
    releases: list[dict[str, Any]] = field(default_factory=list)
    final_facts: tuple[str, ...] = ()
    injected: tuple[str, ...] = ()
    starts: dict[tuple[int, int], float] = field(default_factory=dict)
    video: dict[str, Any] | None = None

    def __repr__(self) -> str:
        return f"Report({self.status}, {len(self.plan)} actions, {len(self.motions)} motions)"

    @classmethod
    def of(cls, task: TampTask, seed: int, options: dict[str, Any]) -> Report:
        """A report that knows the task and no more."""
        files = (task.scene.source, task.domain.file, task.problem.file)
        own = map(os.path.abspath, task.own_skills)  # the others lie in the run's folder
        return cls(*files, seed, options, digests(task.files), digests(own))

    def fail(self, failure: Failure) -> None:
        """Record why there is no solution; the status follows from the kind."""
        self.failure = failure
        self.goal_reached = False
        kind = (failure.certificate or {}).get("kind")
        if failure.kind is FailureKind.BUDGET:
            self.status = "budget"
        elif kind in _OURS or failure.kind is FailureKind.BAD_INPUT:
            self.status = "failed"
        else:
            self.status = "refused"

    def searched(self, search: SearchRecord) -> None:
        """Record how the search for plan and motions went."""
        self.plan = tuple(map(str, search.plan))
        self.attempts, self.skeletons = search.refinements, search.skeletons
        self.lessons = [
            {"fact": str(each.fact), "why": str(each.failure), "proven": each.proven}
            for each in search.constraints
        ]
        self.reasons = [{"action_index": k, "why": why} for k, why in search.reasons]
        self._spent({"task": search.task_s, "motion": search.motion_s})

    def checked(self, check: PlanCheck) -> None:
        """Record what the validator and PDDLGym say of the plan."""
        self.replay = asdict(check)

    def planned(self, audited: AuditedMotions) -> str:
        """Record final motions, of the plan or of a recovery; the name of the file for them."""
        if not self.motions and not self.later:
            self.motions = audited.motions
            self._spent({"motion": audited.checks_s, "optimization": audited.optimization_s})
            return "trajectories.npz"
        self.later.append(audited.motions)  # their time comes with the execution's
        return f"trajectories_recovery_{len(self.later)}.npz"

    def executed(self, run: Execution) -> None:
        """Record the result of the execution."""
        planned = iter(self.later)
        began = [start for start, _ in spans(run.log)]
        self.starts = {k: began[i] for k, i in parts_of(run.log.motions.tolist()).items()}
        self.recoveries = []
        for number, each in enumerate(run.recoveries, 1):
            motions = next(planned, ()) if each.motions else ()
            self.recoveries.append({**each.as_json(), "motions": self._motions(number, motions)})
        self.executed_motions = run.motions
        self.releases = [asdict(each) for each in run.releases]
        self.final_facts = tuple(sorted(map(str, run.facts)))
        self.injected = run.faults
        self._spent(run.timing_s)

    def judged(self, run: Execution) -> None:
        """Record the verdict, and with it how the run ended."""
        self.validation = run.verdict
        self.goal_reached = run.verdict.goal_reached
        self.failure = run.failure
        self.status = "success" if run.failure is None else "failed"

    def _spent(self, timing_s: Mapping[str, float]) -> None:
        for stage, seconds in timing_s.items():
            self.timing_s[stage] = self.timing_s.get(stage, 0.0) + seconds

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
            "reasons": self.reasons,
            "motions": self._motions(0, self.motions),
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
            "skills": self.skills,
            "scene": self.scene,
            "domain": self.domain,
            "problem": self.problem,
            "seed": self.seed,
            "options": self.options,
            "versions": versions(),
        }

    def _motions(self, part: int, motions: Sequence[Motion]) -> list[dict[str, Any]]:
        """The motions of the plan (part 0) or of the N-th recovery."""
        return [_motion(motion, self.starts.get((part, k))) for k, motion in enumerate(motions)]

    def _audit(self) -> dict[str, int]:
        """How many motions Drake checked, and how many of them it found in collision."""
        every = (*self.motions, *(motion for motions in self.later for motion in motions))
        verdicts = [m.record.audit for m in every if m.record.audit is not None]
        return {"motions": len(verdicts), "disagreements": sum(v != FREE for v in verdicts)}

    def write(self, folder: Path | str) -> None:
        """Write report.json into ``folder`` atomically, with digests of the folder's files."""
        folder = Path(folder)
        report = self.as_json() | {"files": folder_digests(folder)}
        text = json.dumps(report, indent=1, default=_plain) + "\n"
        write_atomically(folder / REPORT, text)


def _motion(motion: Motion, start: float | None) -> dict[str, Any]:
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
        "start_s": start,
        "duration_s": motion.trajectory.duration,
        "min_clearance_m": record.min_clearance_m,
        "velocity_ratio": record.velocity_ratio,
        "acceleration_ratio": record.acceleration_ratio,
        "jerk_ratio": record.jerk_ratio,
        "optimizer": record.optimizer,
        "torque_slowdown": record.torque_slowdown,
        "audit": record.audit,
        "reason": record.reason,
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
