"""Applies a function to many jobs in parallel; results come in the order of the jobs.

Results do not depend on the engine: a job's result may depend on the job alone. Function, jobs and
results must be picklable, and workers must be able to import the function's module (so a script
calls ``sweep`` inside ``if __name__ == "__main__"``).

Each worker is a pool of one process, so a killed one loses only its own job: a larger pool would
break with its first killed process and lose all jobs.
"""

from __future__ import annotations

import importlib
import logging
import multiprocessing
import os
import signal
import traceback
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from threading import Thread
from typing import Any, TypeVar

from galley.domain.errors import BadInput

ENGINES = ("process", "ray")
_MISSING = "needs Ray: pip install 'galley-tamp[ray]'"

_Job = TypeVar("_Job")
_Result = TypeVar("_Result")
_Done = Callable[[int, Any], None]  # called with a job's index, and its result or LostJob


@dataclass(frozen=True)
class LostJob:
    """Stands for the result of a job that raised, or whose worker died.

    Attributes:
        why: a sentence. trace: the traceback, or empty.
    """

    why: str
    trace: str = ""


def available_cores() -> int:
    """Number of cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def sweep(
    function: Callable[[_Job], _Result],
    jobs: Sequence[_Job],
    workers: int | None = None,
    engine: str = "process",
    progress: Callable[[int, _Result | LostJob], None] | None = None,
) -> list[_Result | LostJob]:
    """Apply ``function`` to every job; returns the results in the order of the jobs.

    Args:
        function: takes a job; deterministic, so that the result is the same on any worker.
        jobs: its arguments.
        workers: jobs at a time; None for one per core. With one worker and ``process`` everything
            runs in this process.
        engine: ``process`` for local processes; ``ray`` for Ray: the running one, the one at
            RAY_ADDRESS, or one started for the sweep.
        progress: called with index and result of each job as it ends, in any order. After an
            interruption these results are all there is.

    Returns:
        The results; ``LostJob`` for a job that raised, or whose worker died.

    Raises:
        ValueError: unknown engine, or fewer than one worker.
        BadInput: Ray is not installed; the message says how to install it.
        KeyboardInterrupt: once all workers have ended.
    """
    if engine not in ENGINES:
        raise ValueError(f"no engine '{engine}', there are {', '.join(ENGINES)}")
    if workers is not None and workers < 1:
        raise ValueError(f"a sweep needs at least one worker, got {workers}")
    count = max(1, min(workers or available_cores(), len(jobs)))
    results: dict[int, _Result | LostJob] = {}

    def done(index: int, result: _Result | LostJob) -> None:
        results[index] = result
        if progress is not None:
            progress(index, result)

    run = _run_on_ray if engine == "ray" else _run_in_processes
    if jobs:
        run(function, jobs, count, done)
    return [results[index] for index in range(len(jobs))]


# -- processes of this machine --------------------------------------------------------------------


def _attempt(function: Callable[[_Job], _Result], job: _Job) -> _Result | LostJob:
    """The function's result, or a LostJob if it raised."""
    try:
        return function(job)
    except Exception as error:  # any error: the other jobs go on
        return LostJob(f"{type(error).__name__}: {error}", traceback.format_exc())


def _run_in_processes(
    function: Callable[[_Job], _Result], jobs: Sequence[_Job], workers: int, done: _Done
) -> None:
    """Call ``done`` with index and result of each job as it ends."""
    if workers == 1:
        for k, job in enumerate(jobs):
            done(k, _attempt(function, job))
        return
    others = set(multiprocessing.active_children())
    waiting = list(reversed(range(len(jobs))))
    idle = [_one_process() for _ in range(workers)]
    running: dict[Future[_Result | LostJob], tuple[int, ProcessPoolExecutor]] = {}
    try:
        while waiting or running:
            while waiting and idle:
                index, pool = waiting.pop(), idle.pop()
                running[pool.submit(_attempt, function, jobs[index])] = index, pool
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                index, pool = running.pop(future)
                result: _Result | LostJob
                try:
                    result = future.result()
                except BrokenProcessPool:
                    pool.shutdown()
                    pool = _one_process()
                    result = LostJob("its worker process died")
                except Exception as error:  # it can't be pickled
                    result = LostJob(
                        f"the job or its result can't be sent: {error}", traceback.format_exc()
                    )
                idle.append(pool)
                done(index, result)
    finally:
        if running:  # interrupted
            for child in set(multiprocessing.active_children()) - others:
                child.terminate()
        for pool in (*idle, *(pool for _, pool in running.values())):
            pool.shutdown()


def _one_process() -> ProcessPoolExecutor:
    # Spawned, not forked: physics engines and compiled code have threads.
    return ProcessPoolExecutor(1, multiprocessing.get_context("spawn"), _begin)


def _begin() -> None:
    """Prepare a worker process: it ends with its parent, and not before by Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


# -- Ray (https://docs.ray.io), also for several machines ------------------------------------------


def _run_on_ray(
    function: Callable[[_Job], _Result], jobs: Sequence[_Job], workers: int, done: _Done
) -> None:
    """Call ``done`` with index and result of each job as it ends."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no usage reports
    try:
        ray: Any = importlib.import_module("ray")
    except ModuleNotFoundError:
        raise BadInput.one("--engine ray", _MISSING) from None
    ours = not ray.is_initialized()
    if ours:
        alone = not os.environ.get("RAY_ADDRESS")
        here = {"num_cpus": workers, "include_dashboard": False} if alone else {}
        ray.init(logging_level=logging.ERROR, log_to_driver=False, **here)
    try:
        remote = ray.remote(num_cpus=1, max_retries=0)(_attempt)
        waiting = list(reversed(range(len(jobs))))
        running: dict[Any, int] = {}
        while waiting or running:
            while waiting and len(running) < workers:
                index = waiting.pop()
                running[remote.remote(function, jobs[index])] = index
            ready, _ = ray.wait(list(running), num_returns=1)
            for reference in ready:
                try:
                    result = ray.get(reference)
                except ray.exceptions.RayError as error:  # a worker or a node that died
                    result = LostJob(f"{type(error).__name__}: {str(error).splitlines()[0]}")
                done(running.pop(reference), result)
    finally:
        if ours:
            ray.shutdown()
