"""The progress protocol: the command line prints what it hears, a sweep keeps silent."""

from __future__ import annotations

from typing import Any


class Listener:
    """Hears of progress. Every method does nothing here; override those that matter."""

    def stage(self, text: str) -> None:
        """A stage begins."""

    def fraction(self, text: str, done: float) -> None:
        """A long step is done to this share, in [0, 1]."""

    def skeleton(self, actions: tuple[str, ...]) -> None:
        """A plan is about to be refined."""

    def action(self, index: int, total: int, text: str, event: str) -> None:
        """An action's refinement: ``start``, ``done``, or why it is tried again."""

    def learned(self, text: str) -> None:
        """A constraint was learned, and why."""

    def finished(self, result: Any) -> None:
        """A stage ended: its SearchRecord, PlanCheck, AuditedMotions or Execution."""

    def motions(self, report: Any) -> None:
        """All motions are planned: they are in the run's ``Report``."""

    def results(self, results: Any, summaries: Any) -> None:
        """All queries of a comparison are done: see ``comparison.summary``."""
