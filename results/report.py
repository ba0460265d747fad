"""The report of a run: ``report.json``, schema version 2 (docs/report.md), and its recorder.

The recorder collects the results of the stages and, if it has a folder, writes files at once.
"""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from galley import __version__
from galley.domain.failure import Failure, FailureKind
from galley.domain.files import write_atomically
from galley.domain.listener import Listener, Relay
from galley.execution.monitor import Recovery
from galley.motion.motion import FREE, Motion
from galley.motion.trajectory.store import save_trajectories
from galley.results.run_folder import REPORT, STATES, digests, folder_digests, trajectory_file
from galley.results.schema import MOTION, SCHEMA_VERSION
from galley.results.schema import REPORT as FORM
from galley.stages import Execution, Options, Solution
from galley.tamp.checks import AuditedMotions, PlanCheck
from galley.tamp.record import SearchRecord
from galley.tamp.task import TampTask
from galley.validation.verdict import Verdict

_OURS = ("audit", "executed-states")  # certificates of errors of Galley, not of the task
_PACKAGES = ("numpy", "pybullet", "drake", "pddlgym", "imageio", "imageio-ffmpeg")
_FORK = {"pybullet": "pybullet-arm64"}  # installed in its place where it has no wheel


@dataclass
class Report:
    """Everything known about a run; can be written at any time.

    Attributes:
        scene, domain, problem: files of the task.
        options: options of the run, as plain data.
        inputs: SHA-256 of the files of the task, by name.
        skills: SHA-256 of the user's skill files, by name.
        status: ``unfinished``, or how the run ended (docs/report.md).
        failure: why the run did not succeed, or None.
        search: record of the search for plan and motions.
        check: the check of the plan in PDDLGym.
        audited: the motions of the plan, then of each recovery that planned some.
        run: the execution.
        validation: the verdict on the execution.
        video: figures of the film, or the error.
        timing_s: seconds of the stages ``compile`` and ``video``.
    """

    scene: str
    domain: str
    problem: str
    options: dict[str, Any]
    inputs: dict[str, str] = field(default_factory=dict)
    skills: dict[str, str] = field(default_factory=dict)
    status: str = "unfinished"
    failure: Failure | None = None
    search: SearchRecord | None = None
    check: PlanCheck | None = None
    audited: list[AuditedMotions] = field(default_factory=list)
    run: Execution | None = None
    validation: Verdict | None = None
    video: dict[str, Any] | None = None
    timing_s: dict[str, float] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Report({self.status}, {len(self.plan)} actions, {len(self.motions)} motions)"

    @classmethod
    def of(cls, task: TampTask, options: Options) -> Report:
        """A new report, with the task and the options only."""
        files = (task.scene.source, task.domain.file, task.problem.file)
        own = map(os.path.abspath, task.own_skills)  # these are not copied
        plain = {k: str(v) if isinstance(v, Path) else v for k, v in asdict(options).items()}
        plain |= zip(("scene", "domain", "problem"), files, strict=True)
        return cls(*files, plain, digests(task.files), digests(own))

    @property
    def plan(self) -> tuple[str, ...]:
        """The actions of the plan, or of the last one considered."""
        return () if self.search is None else tuple(map(str, self.search.plan))

    @property
    def motions(self) -> tuple[Motion, ...]:
        """The final motions of the plan."""
        return self.audited[0].motions if self.audited else ()

    @property
    def recoveries(self) -> tuple[Recovery, ...]:
        """The recoveries of the execution: what was done about deviations."""
        return () if self.run is None else self.run.recoveries

    @property
    def injected(self) -> tuple[str, ...]:
        """A sentence for each fault that was injected."""
        return () if self.run is None else self.run.faults

    @property
    def spent_s(self) -> dict[str, float]:
        """Seconds of wall time by stage, recoveries included."""
        search, first, run = self.search, self.audited[:1], self.run
        parts = [self.timing_s, {} if run is None else run.timing_s]
        if search is not None:
            parts.append({"task": search.task_s, "motion": search.motion_s})
        # The execution's timing includes the recoveries.
        parts += [{"motion": a.checks_s, "optimization": a.optimization_s} for a in first]
        return {stage: sum(part.get(stage, 0.0) for part in parts) for stage in FORM["timing_s"]}

    def fail(self, failure: Failure) -> None:
        """Record why there is no solution, and set the status by the kind of failure."""
        self.failure = failure
        kind = (failure.certificate or {}).get("kind")
        if failure.kind is FailureKind.BUDGET:
            self.status = "budget"
        elif kind in _OURS or failure.kind is FailureKind.BAD_INPUT:
            self.status = "failed"
        else:
            self.status = "refused"

    def interrupted(self) -> None:
        """Record an interruption by the user; if only the film is missing, the verdict stays."""
        what = "interrupted by the user"
        if self.validation is None:
            self.fail(Failure(FailureKind.BUDGET, what))
        else:
            self.video = {"error": what}

    def judged(self, run: Execution) -> None:
        """Record the verdict on an execution, and set the status by it."""
        self.validation, self.failure = run.verdict, run.failure
        self.status = "success" if run.failure is None else "failed"

    def as_json(self) -> dict[str, Any]:
        """The report as plain data."""
        search, verdict = self.search, self.validation
        lessons = () if search is None else search.constraints
        reasons = () if search is None else search.reasons
        data = {
            **vars(self),
            "schema_version": SCHEMA_VERSION,
            "goal_reached": verdict is not None and verdict.goal_reached,
            "plan": list(self.plan),
            "plan_replay": None if self.check is None else asdict(self.check),
            "failure": None if self.failure is None else self.failure.as_json(),
            "timing_s": self.spent_s,
            "refinements": 0 if search is None else search.effort.counts["refinements"],
            "plans_tried": 0 if search is None else len(search.tried),
            "effort": None if search is None else search.effort_as_json(),
            "lessons": [
                {"fact": str(lesson.fact), "why": str(lesson.failure), "proven": lesson.proven}
                for lesson in lessons
            ],
            "reasons": [{"action_index": k, "why": why} for k, why in reasons],
            "motions": self._motions(0, self.motions),
            "audit": self._audit(),
            "execution": self._execution(),
            "validation": None if verdict is None else verdict.as_json(),
            "seed": self.options["seed"],
            "versions": versions(),
        }
        return {key: data[key] for key in FORM if key in data}

    def _execution(self) -> dict[str, Any]:
        """The execution and its recoveries as plain data."""
        run, later = self.run, iter(self.audited[1:])
        if run is None:
            return {"motions": 0, "recoveries": [], "released": [], "faults": [], "facts": []}
        recoveries = []
        for number, recovery in enumerate(run.recoveries, 1):
            audited = next(later, None) if recovery.motions else None
            motions = self._motions(number, () if audited is None else audited.motions)
            recoveries.append({**recovery.as_json(), "motions": motions})
        return {
            "motions": run.motions,
            "recoveries": recoveries,
            "released": [asdict(release) for release in run.releases],
            "faults": list(run.faults),
            "facts": sorted(map(str, run.facts)),
        }

    def _motions(self, part: int, motions: Sequence[Motion]) -> list[dict[str, Any]]:
        """The motions of the plan (part 0) or of the N-th recovery."""
        log = None if self.run is None else self.run.log
        at = {} if log is None else log.parts
        spans = [] if log is None else log.spans
        starts = [spans[at[part, k]][0] if (part, k) in at else None for k in range(len(motions))]
        return [_motion(motion, start) for motion, start in zip(motions, starts, strict=True)]

    def _audit(self) -> dict[str, int]:
        """How many motions Drake checked, and how many of them it found in collision."""
        every = [motion.record.audit for part in self.audited for motion in part.motions]
        verdicts = [audit for audit in every if audit is not None]
        return {"motions": len(verdicts), "disagreements": sum(v != FREE for v in verdicts)}

    def write(self, folder: Path | str) -> None:
        """Write report.json into ``folder`` atomically, with digests of the folder's files."""
        folder = Path(folder)
        report = self.as_json() | {"files": folder_digests(folder)}
        text = json.dumps(report, indent=1, default=_plain) + "\n"
        write_atomically(folder / REPORT, text)


class ReportRecorder(Relay):
    """Records each stage's result at once, so that an interruption loses none; passes progress on.

    Args:
        report: the report to complete.
        folder: folder for the files; None writes none.
        listener: receives the progress, too.
    """

    def __init__(
        self, report: Report, folder: Path | str | None = None, listener: Listener | None = None
    ) -> None:
        super().__init__(Listener() if listener is None else listener)
        self.report, self.folder = report, None if folder is None else Path(folder)

    def finished(self, result: Any) -> None:
        """Record the result of a stage in the report, and write its files."""
        report, folder = self.report, self.folder
        if isinstance(result, SearchRecord):
            report.search = result
            if folder is not None and (result.plan or result.solved):
                write_atomically(folder / "plan.txt", "".join(f"{line}\n" for line in report.plan))
        elif isinstance(result, PlanCheck):
            report.check = result
        elif isinstance(result, AuditedMotions):
            report.audited.append(result)
            if folder is not None:
                save_trajectories(folder / trajectory_file(len(report.audited) - 1), result.motions)
                report.write(folder)
        elif isinstance(result, Execution):
            report.run = result
            if folder is not None:
                result.log.save(folder / STATES)
        self.listener.finished(result)


def record(result: Solution | Execution, recorder: ReportRecorder) -> None:
    """Pass the results of all stages of a solution or an execution to a recorder."""
    solution = result.solution if isinstance(result, Execution) else result
    recorder.report.timing_s["compile"] = solution.timing_s["compile"]
    parts: list[object] = [solution.search, solution.check, solution.audited]
    if isinstance(result, Execution):
        parts += [*result.replanned, result]
    for part in parts:
        recorder.finished(part)
    if isinstance(result, Execution):
        recorder.report.judged(result)
    else:
        recorder.report.status = "success"


def _motion(motion: Motion, start: float | None) -> dict[str, Any]:
    record = motion.record
    data = {
        **vars(record),
        "action_index": motion.action_index,
        "phase": motion.phase,
        "group": f"{motion.hand} {motion.group}".strip(),
        "waypoints": len(motion.path),
        "length": {
            "rrt": record.length_rrt,
            "shortcut": record.length_shortcut,
            "optimized": record.length_optimized,
        },
        "start_s": start,
        "duration_s": motion.trajectory.duration,
        "declared_contacts": [list(names) for names in sorted(motion.allowed)],
    }
    return {key: data[key] for key in MOTION}


def versions() -> dict[str, str]:
    """Versions of Python, Galley and the packages that results depend on."""
    numbers = {"python": platform.python_version(), "galley": __version__}
    for name in _PACKAGES:
        numbers[name] = "missing"
        with suppress(PackageNotFoundError):
            if name in _FORK:
                numbers[name] = f"{version(_FORK[name])} ({_FORK[name]})"
        with suppress(PackageNotFoundError):
            numbers[name] = version(name)
    return numbers


def _plain(value: object) -> object:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} does not belong in a report")
