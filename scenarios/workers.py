"""Worker processes, each with a pipe of its own: one that dies takes only its own job with it.

An executor of ``concurrent.futures`` is broken for good by the first worker that is killed (out of
memory, say), and loses the jobs of all others.
"""

from __future__ import annotations

import logging
import multiprocessing
import signal
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess
from typing import Any, TypeVar

logger = logging.getLogger(__name__)
_TRIES = 2  # workers that may die over a job
_GRACE_S = 5.0  # from a closed pipe to the end of the process

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


def attempt(function: Callable[[_Job], _Result], job: _Job) -> _Result | Lost:
    """The function's result, or what it raised."""
    try:
        return function(job)
    except Exception as error:  # whatever it is, the other jobs go on
        return Lost(f"{type(error).__name__}: {error}", traceback.format_exc())


def over_processes(
    function: Callable[[_Job], _Result],
    jobs: Sequence[_Job],
    workers: int,
    done: Callable[[int, _Result | Lost], None],
) -> None:
    """Tell ``done`` the index and the result of every job, as they come."""
    if workers == 1:
        for k, job in enumerate(jobs):
            done(k, attempt(function, job))
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
        result = attempt(function, job)
        try:
            pipe.send(result)
        except OSError:
            return  # nobody listens any more
        except Exception as error:  # it can't be pickled
            pipe.send(Lost(f"its result can't be sent: {error}", traceback.format_exc()))
