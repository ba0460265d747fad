"""Sweeps: one function over many jobs, in parallel, with results in the order of the jobs.

The engines differ in where the work is done, never in what comes out: a job's result may depend on
the job alone. So function, jobs and results must be picklable, and the function must be one of a
module that workers can import (not of a script that calls ``sweep`` outside its
``if __name__ == "__main__"``).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from galley.scenarios.ray_workers import over_ray
from galley.scenarios.workers import Lost, over_processes

__all__ = ["ENGINES", "Lost", "Progress", "cores", "sweep"]

ENGINES = ("process", "ray")
_Job = TypeVar("_Job")
_Result = TypeVar("_Result")
_Told = TypeVar("_Told", contravariant=True)


class Progress(Protocol[_Told]):
    """Hears of each job when it is done."""

    def __call__(self, index: int, result: _Told | Lost) -> None:
        """The job at ``index`` is done."""
        ...


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def sweep(
    function: Callable[[_Job], _Result],
    jobs: Sequence[_Job],
    workers: int | None = None,
    engine: str = "process",
    progress: Progress[_Result] | None = None,
) -> list[_Result | Lost]:
    """The function's result for every job, in the order of the jobs.

    Args:
        function: takes a job; deterministic, so that the result is the same on any worker.
        jobs: what to work through.
        workers: how many at a time; None for one a core. With one and ``process`` all is done in
            this process.
        engine: ``process``: processes of this machine; ``ray``: Ray, started here for the sweep
            unless it runs already or RAY_ADDRESS says where.
        progress: told of each result as it comes, which is not the order of the jobs. What it was
            told is what remains when the sweep is interrupted.

    Returns:
        A result for every job. ``Lost`` for one that raised, or whose worker died twice over it.

    Raises:
        ValueError: no such engine, or fewer than one worker.
        MissingRay: Ray is not installed; the message says how to install it.
        KeyboardInterrupt: after all workers have been ended.
    """
    if engine not in ENGINES:
        raise ValueError(f"no engine '{engine}', there are {', '.join(ENGINES)}")
    if workers is not None and workers < 1:
        raise ValueError(f"a sweep needs at least one worker, got {workers}")
    count = max(1, min(workers or cores(), len(jobs)))
    found: dict[int, _Result | Lost] = {}

    def done(index: int, result: _Result | Lost) -> None:
        found[index] = result
        if progress is not None:
            progress(index, result)

    over = over_ray if engine == "ray" else over_processes
    if jobs:
        over(function, jobs, count, done)
    return [found[index] for index in range(len(jobs))]
