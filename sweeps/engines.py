"""Sweeps: one function over many jobs, in parallel, with results in the order of the jobs.

The engines differ in where the work is done, never in what comes out: a job's result may depend on
the job alone. So function, jobs and results must be picklable, and the function must be one of a
module that workers can import (not of a script that calls ``sweep`` outside its
``if __name__ == "__main__"``).

Each worker process has a pipe of its own: one that dies takes only its own job with it. An executor
of ``concurrent.futures`` is broken for good by the first worker that is killed (out of memory,
say), and loses the jobs of all others.
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

logger = logging.getLogger(__name__)
ENGINES = ("process", "ray")
_TRIES = 2  # workers that may die over a job
_GRACE_S = 5.0  # from a closed pipe to the end of the process
_MISSING = "--engine ray needs Ray: pip install 'galley-tamp[ray]'"

_Job = TypeVar("_Job")
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class Lost:
    """In place of a result: the job raised, or its worker died.

    Attributes:
        why: one sentence. trace: where it was raised, or empty.
    """

    why: str
    trace: str = ""


class MissingRay(RuntimeError):
    """Ray is not installed; the message says how to install it."""


def cores() -> int:
    """The cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def sweep(
    function: Callable[[_Job], _Result],
    jobs: Sequence[_Job],
    workers: int | None = None,
    engine: str = "process",
    progress: Callable[[int, _Result | Lost], None] | None = None,
) -> list[_Result | Lost]:
    """The function's result for every job, in the order of the jobs.

    Args:
        function: takes a job; deterministic, so that the result is the same on any worker.
        jobs: what to work through.
        workers: how many at a time; None for one a core. With one and ``process`` all is done in
            this process.
        engine: ``process``: processes of this machine; ``ray``: Ray, started here for the sweep
            unless it runs already or RAY_ADDRESS says where.
        progress: told index and result of each job as it comes, which is not the order of the jobs.
            What it was told is what remains when the sweep is interrupted.

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

    over = _over_ray if engine == "ray" else _over_processes
    if jobs:
        over(function, jobs, count, done)
    return [found[index] for index in range(len(jobs))]


# -- processes of this machine --------------------------------------------------------------------


def _attempt(function: Callable[[_Job], _Result], job: _Job) -> _Result | Lost:
    """The function's result, or what it raised."""
    try:
        return function(job)
    except Exception as error:  # whatever it is, the other jobs go on
        return Lost(f"{type(error).__name__}: {error}", traceback.format_exc())


def _over_processes(
    function: Callable[[_Job], _Result],
    jobs: Sequence[_Job],
    workers: int,
    done: Callable[[int, _Result | Lost], None],
) -> None:
    """Tell ``done`` the index and the result of every job, as they come."""
    if workers == 1:
        for k, job in enumerate(jobs):
            done(k, _attempt(function, job))
        return
    waiting = list(reversed(range(len(jobs))))
    tries = [0] * len(jobs)
    crew: list[_Worker] = []
    try:
        while waiting or any(worker.index is not None for worker in crew):
            while waiting and len(crew) < workers:
                crew.append(_Worker(function))
            for worker in crew:
                if waiting and worker.index is None:
                    worker.give(waiting.pop(), jobs)
            ready = wait([worker.pipe for worker in crew if worker.index is not None])
            for worker in [worker for worker in crew if worker.pipe in ready]:
                index = worker.take()
                try:
                    result = worker.pipe.recv()
                except (EOFError, OSError):
                    crew.remove(worker)
                    tries[index] += 1
                    why = f"its worker ended with exit status {worker.end(_GRACE_S)}"
                    if tries[index] < _TRIES:
                        logger.warning("job %d is tried again: %s", index, why)
                        waiting.append(index)
                        continue
                    result = Lost(why)
                done(index, result)
    finally:
        for worker in crew:
            worker.end()


class _Worker:
    """A process that does one job after the other.

    Attributes:
        pipe: jobs go in, results come out; it ends when the process does.
        index: of the job under way, None while it is idle.
    """

    def __init__(self, function: Callable[[Any], Any]) -> None:
        # Spawned, not forked: physics engines and compiled code bring threads along.
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.index: int | None = None
        self.process: SpawnProcess = context.Process(
            target=_work, args=(function, theirs), daemon=False
        )
        self.process.start()
        theirs.close()

    def give(self, index: int, jobs: Sequence[Any]) -> None:
        """Begin with the job at ``index``. A dead worker is found out when its pipe is read."""
        self.index = index
        try:
            self.pipe.send(jobs[index])
        except OSError as error:
            logger.debug("a worker is gone: %s", error)

    def take(self) -> int:
        """The index of the job under way; the worker is idle from now on."""
        index, self.index = self.index, None
        assert index is not None
        return index

    def end(self, grace_s: float = 0.0) -> int | None:
        """End the process, at the latest after ``grace_s``; its exit status (minus the signal's
        number if it was killed)."""
        self.pipe.close()
        self.process.join(timeout=grace_s)
        self.process.terminate()
        self.process.join()
        return self.process.exitcode


def _work(function: Callable[[Any], Any], pipe: Connection) -> None:
    """What a worker does, until its pipe is closed."""
    # An interrupt from the keyboard reaches all processes: the one that owns us ends us.
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
            return  # nobody listens any more
        except Exception as error:  # it can't be pickled
            pipe.send(Lost(f"its result can't be sent: {error}", traceback.format_exc()))


# -- Ray (https://docs.ray.io), which also spreads it over several machines ------------------------


def _over_ray(
    function: Callable[[_Job], _Result],
    jobs: Sequence[_Job],
    workers: int,
    done: Callable[[int, _Result | Lost], None],
) -> None:
    """Tell ``done`` the index and the result of every job, as they come.

    Raises:
        MissingRay: it is not installed.
    """
    ray = _ray()
    ours = not ray.is_initialized()
    if ours:
        _start(ray, workers)
    try:
        # Its worker has died: once more on another, as with processes.
        remote = ray.remote(num_cpus=1, max_retries=1)(_attempt)
        waiting = list(reversed(range(len(jobs))))
        running: dict[Any, int] = {}
        while waiting or running:
            while waiting and len(running) < workers:
                index = waiting.pop()
                running[remote.remote(function, jobs[index])] = index
            ready, _ = ray.wait(list(running), num_returns=1)
            for each in ready:
                done(running.pop(each), _result(ray, each))
    finally:
        if ours:
            ray.shutdown()


def _ray() -> Any:
    # It reports to its makers by default; nothing here calls home.
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    try:
        ray: Any = importlib.import_module("ray")
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise MissingRay(_MISSING) from None
    if not hasattr(ray, "init"):  # some folder of that name
        raise MissingRay(_MISSING)
    return ray


def _start(ray: Any, workers: int) -> None:
    quiet = {"logging_level": logging.ERROR, "log_to_driver": False}
    if os.environ.get("RAY_ADDRESS"):
        ray.init(**quiet)
    else:
        ray.init(num_cpus=workers, include_dashboard=False, **quiet)


def _result(ray: Any, reference: Any) -> Any:
    try:
        return ray.get(reference)
    except ray.exceptions.WorkerCrashedError:
        return Lost("its worker ended twice")
    except ray.exceptions.RayError as error:  # out of memory, a node lost, can't be pickled
        return Lost(f"{type(error).__name__}: {str(error).splitlines()[0]}")
