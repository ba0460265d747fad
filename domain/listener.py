"""The progress protocol: the command line prints what it hears, a sweep keeps silent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Listener:
    """Hears of progress. Every method does nothing here; override those that matter."""

    def stage(self, text: str) -> None:
        """A stage begins."""

    def loaded(self, scene: Any) -> None:
        """The task's Scene has been read."""

    def fraction(self, text: str, done: float) -> None:
        """A long step is done to this share, in [0, 1]."""

    def skeleton(self, actions: tuple[str, ...]) -> None:
        """A plan is about to be refined."""

    def action(self, index: int, total: int, text: str, event: str) -> None:
        """An action's refinement: ``start``, ``done``, or why it is tried again."""

    def tried(self, base: Any, contact: Any, found: bool) -> None:
        """A base pose (3,) was tried for a grasp, pose (4, 4) in the world; whether it will do."""

    def refined(self, index: int, state: Any, motions: Any) -> None:
        """An action's Motions were found, by its index, from a State on."""

    def executing(self, name: str) -> None:
        """A motion begins to be executed: its label in the log."""

    def moved(self, q: Any, scene_q: Any, items: Any) -> None:
        """Execution took a sample: robot (n,), scene joints (nj,), poses of items (ni, 7)."""

    def learned(self, text: str) -> None:
        """A constraint was learned, and why."""

    def finished(self, result: Any) -> None:
        """A stage ended: its SearchRecord, PlanCheck, AuditedMotions or Execution."""

    def motions(self, report: Any) -> None:
        """All motions are planned: they are in the run's ``Report``."""

    def results(self, results: Any, summaries: Any) -> None:
        """All queries of a comparison are done: see ``studies.comparison.summary``."""


class Relay(Listener):
    """Passes on to ``listener`` all but the methods of its own."""

    def __init__(self, listener: Listener) -> None:
        self.listener = listener
        for name, method in vars(Listener).items():
            if getattr(type(self), name) is method and not name.startswith("_"):
                setattr(self, name, getattr(listener, name))


def is_heard(method: Callable[..., None]) -> bool:
    """Whether a listener's method, ``listener.moved`` say, does anything."""
    function = getattr(method, "__func__", method)
    return function is not getattr(Listener, method.__name__, None)
