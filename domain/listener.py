"""The progress callbacks of planning and execution.

The command line prints progress, and a sweep ignores it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class Listener:
    """Receives progress. The methods of this class do nothing; override those that you need."""

    def stage(self, text: str) -> None:
        """A stage of planning or execution begins; ``text`` describes it."""

    def loaded(self, scene: Any) -> None:
        """The task's Scene has been read."""

    def fraction(self, text: str, done: float) -> None:
        """A long step, described by ``text``, is done to a share in [0, 1]."""

    def skeleton(self, actions: tuple[str, ...]) -> None:
        """A plan is about to be refined."""

    def action(self, index: int, total: int, text: str, event: str) -> None:
        """The refinement of an action: ``event`` is ``start``, ``done``, or why it is repeated."""

    def tried(self, base: Any, contact: Any, found: bool) -> None:
        """A base pose (3,) was tried for a hand pose (4, 4), world frame, with or without success.

        ``found`` says whether the base pose is suitable.
        """

    def refined(self, index: int, state: Any, motions: Any) -> None:
        """The Motions of the action with this index were found; ``state`` is the State before."""

    def executing(self, name: str) -> None:
        """The execution of a motion begins; ``name`` is its label in the log."""

    def moved(self, q: Any, scene_q: Any, items: Any) -> None:
        """Execution has logged a sample: q (n,), scene_q (nj,), poses of the items (ni, 7)."""

    def learned(self, text: str) -> None:
        """A constraint was learned, and why."""

    def finished(self, result: Any) -> None:
        """A stage ended: its SearchRecord, PlanCheck, AuditedMotions or Execution."""

    def motions(self, report: Any) -> None:
        """All motions are planned; they are in the run's ``Report``."""

    def results(self, results: Any, summaries: Any) -> None:
        """All queries of a comparison are done; see ``studies.comparison.summary``."""


class Relay(Listener):
    """A listener that passes progress on to another, except for the methods that it overrides."""

    def __init__(self, listener: Listener) -> None:
        self.listener = listener
        for name, method in vars(Listener).items():
            if getattr(type(self), name) is method and not name.startswith("_"):
                setattr(self, name, getattr(listener, name))


def is_heard(method: Callable[..., None]) -> bool:
    """Whether a listener overrides a method, such as ``listener.moved``."""
    function = getattr(method, "__func__", method)
    return function is not getattr(Listener, method.__name__, None)
