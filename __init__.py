"""Galley: task-and-motion planning for a mobile arm in a kitchen.

    import galley

    solution = galley.solve(galley.load())
    run = galley.execute(solution)
    print(run.verdict)

The functions are those of ``galley.engine`` (docs/python.md). Each is imported when it is first
used, so that ``import galley`` and ``galley plan`` take milliseconds.
"""

from __future__ import annotations

TYPE_CHECKING = False  # importing ``typing`` would take longer than this module
if TYPE_CHECKING:
    from typing import Any

    from galley.domain.errors import BadInput
    from galley.domain.failure import Failure, FailureError
    from galley.domain.listener import Listener
    from galley.engine import compare, execute, film, judge, load, plan_task, report, solve
    from galley.stages import Execution, Solution
    from galley.tamp.task import TampTask
    from galley.viz.replay.motion_page import view

__version__ = "0.1.0"

_HOME = {
    **dict.fromkeys(
        ("load", "solve", "execute", "judge", "film", "report", "compare", "plan_task"), "engine"
    ),
    "view": "viz.replay.motion_page",
    "TampTask": "tamp.task",
    "Solution": "stages",
    "Execution": "stages",
    "Failure": "domain.failure",
    "FailureError": "domain.failure",
    "BadInput": "domain.errors",
    "Listener": "domain.listener",
}
__all__ = [
    "BadInput",
    "Execution",
    "Failure",
    "FailureError",
    "Listener",
    "Solution",
    "TampTask",
    "compare",
    "execute",
    "film",
    "judge",
    "load",
    "plan_task",
    "report",
    "solve",
    "view",
]


def __getattr__(name: str) -> Any:
    """Import one of the public names when it is first used."""
    if name not in _HOME:
        raise AttributeError(f"module 'galley' has no attribute '{name}'")
    from importlib import import_module

    value = getattr(import_module(f"galley.{_HOME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME})
