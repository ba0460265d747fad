"""Collects the stages' results in a Report and, given a folder, writes files as they come."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from galley.domain.files import write_atomically
from galley.domain.listener import Listener, Relay
from galley.motion.trajectory.store import save_trajectories
from galley.results.report import Report
from galley.results.run_folder import STATES, store_name
from galley.stages import Execution, Solution
from galley.tamp.checks import AuditedMotions, PlanCheck
from galley.tamp.feedback.constraints import SearchRecord


class ReportRecorder(Relay):
    """Keeps what each stage comes to, also where it is interrupted, and passes progress on.

    Args:
        report: is completed. folder: for the files; None writes none.
        listener: hears of progress, too.
    """

    def __init__(
        self, report: Report, folder: Path | str | None = None, listener: Listener | None = None
    ) -> None:
        super().__init__(Listener() if listener is None else listener)
        self.report, self.folder = report, None if folder is None else Path(folder)

    def finished(self, result: Any) -> None:
        """Record a stage's result."""
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
                save_trajectories(folder / store_name(len(report.audited) - 1), result.motions)
                report.write(folder)
        elif isinstance(result, Execution):
            report.run = result
            if folder is not None:
                result.log.save(folder / STATES)
        self.listener.finished(result)


def record(result: Solution | Execution, recorder: ReportRecorder) -> None:
    """Tell a recorder of a result as if its stages had just ended."""
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
