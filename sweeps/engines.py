"""Applies a function to many jobs in parallel; results come in the order of the jobs.

Results do not depend on the engine: a job's result may depend on the job alone. Function, jobs and
results must be picklable, and workers must be able to import the function's module (so a script
calls ``sweep`` inside ``if __name__ == "__main__"``).

Each worker process has its own pipe, so a killed one loses only its own job. An executor of
``concurrent.futures`` would break with the first killed worker and lose all jobs.
"""

from __future__ import annotations

import importlib
import logging
import multiprocessing
import os
import signal
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any, TypeVar

from galley.domain.errors import BadInput

logger = logging.getLogger(__name__)
ENGINES = ("process", "ray")
_GRACE_S = 5.0  # for a process to end after its pipe closed
_MISSING = "needs Ray: pip install 'galley-tamp[ray]'"

_Job = TypeVar("_Job")
_Result = TypeVar("_Result")


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
    function: Callable[[_Job], _Result],
    jobs: Sequence[_Job],
    workers: int,
    done: Callable[[int, _Result | LostJob], None],
) -> None:
    """Call ``done`` with index and result of each job as it ends."""
    if workers == 1:
        for k, job in enumerate(jobs):
            done(k, _attempt(function, job))
        return
    waiting = list(reversed(range(len(jobs))))
    pool: list[_Worker] = []
    try:
        while waiting or any(worker.index is not None for worker in pool):
            while waiting and len(pool) < workers:
                pool.append(_Worker(function))
            for worker in pool:
                if waiting and worker.index is None:
                    worker.assign(waiting.pop(), jobs)
            ready = wait([worker.pipe for worker in pool if worker.index is not None])
            for worker in [worker for worker in pool if worker.pipe in ready]:
                index = worker.release()
                try:
                    result = worker.pipe.recv()
                except (EOFError, OSError):
                    pool.remove(worker)
                    status = worker.stop(_GRACE_S)
                    result = LostJob(f"its worker ended with exit status {status}")
                done(index, result)
    finally:
        for worker in pool:
            worker.stop()


class _Worker:
    """A process that works on one job at a time.

    Attributes:
        pipe: sends jobs and receives results; closes when the process ends.
        index: of the current job, None while idle.
    """

    def __init__(self, function: Callable[[Any], Any]) -> None:
        # Spawned, not forked: physics engines and compiled code have threads.
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.index: int | None = None
        self.process: SpawnProcess = context.Process(
            target=_work, args=(function, theirs), daemon=False
        )
        self.process.start()
        theirs.close()

    def assign(self, index: int, jobs: Sequence[Any]) -> None:
        """Send the job at ``index``. A dead worker is noticed when its pipe is read."""
        self.index = index
        try:
            self.pipe.send(jobs[index])
        except OSError as error:
            logger.debug("a worker has died: %s", error)

    def release(self) -> int:
        """Index of the current job; the worker becomes idle."""
        index, self.index = self.index, None
        assert index is not None
        return index

    def stop(self, grace_s: float = 0.0) -> int | None:
        """End the process, by force after ``grace_s`` seconds; returns its exit status."""
        self.pipe.close()
        self.process.join(timeout=grace_s)
        self.process.terminate()
        self.process.join()
        return self.process.exitcode


def _work(function: Callable[[Any], Any], pipe: Connection) -> None:
    """The loop of a worker process, until its pipe closes."""
    # Ctrl-C reaches all processes; the parent ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while True:
        try:
            job = pipe.recv()
        except (EOFError, OSError):
            return
        result = _attempt(function, job)
        try:
            pipe.send(result)
        except OSError:
            return  # the parent has gone
        except Exception as error:  # it can't be pickled
            pipe.send(LostJob(f"its result can't be sent: {error}", traceback.format_exc()))


# -- Ray (https://docs.ray.io), also for several machines ------------------------------------------


def _run_on_ray(
    function: Callable[[_Job], _Result],
    jobs: Sequence[_Job],
    workers: int,
    done: Callable[[int, _Result | LostJob], None],
) -> None:
    """Call ``done`` with index and result of each job as it ends."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # no usage reports
    try:
        ray: Any = importlib.import_module("ray")
    except ModuleNotFoundError:
        raise BadInput.one("--engine ray", _MISSING) from None
    ours = not ray.is_initialized()
    if ours:
        here = (
            {}
            if os.environ.get("RAY_ADDRESS")
            else {"num_cpus": workers, "include_dashboard": False}
        )
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
