"""The same sweep on Ray (https://docs.ray.io), which also spreads it over several machines."""

from __future__ import annotations

import importlib
import logging
import os
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from galley.scenarios.workers import Lost, attempt

_Job = TypeVar("_Job")
_Result = TypeVar("_Result")
_MISSING = "--engine ray needs Ray: pip install 'galley-tamp[ray]'"


class MissingRay(RuntimeError):
    """Ray is not installed; the message says how to install it."""


def over_ray(
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
        remote = ray.remote(num_cpus=1, max_retries=1)(attempt)
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
