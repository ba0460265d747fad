"""The flagship task with one part of the pipeline taken out at a time, under moderate noise.

    python bench/flagship.py [--seeds 20] [--jobs 2] [--only full,bases] [--out FOLDER]

A part is taken out by replacing a function or a constant of the product in the benchmark's own
process. Each run is planned, executed and judged as `galley run` does, in a fresh process, with
180 s of processor time to plan; it is a line of OUT/runs.jsonl, and what is listed there is not
repeated. Planning, simulated time, and so on are medians of the runs that came so far.
"""

from __future__ import annotations

import argparse
import re
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

import galley
from galley import engine
from galley.bench.report import resumed, shown, table
from galley.compiled.build import ensure
from galley.domain.failure import Failure
from galley.domain.frames import Array
from galley.domain.log import Log
from galley.execution.monitor import ExecutionMonitor
from galley.execution.physics.executor import PhysicsExecutor
from galley.motion.thresholds import THRESHOLDS
from galley.planar.pushing import straight
from galley.skills.manipulation.manipulation import LOWER_SPEED

PLANNING, EXECUTION = 180, 900  # s of processor time, that a run gets
_HARD = re.compile(r"contact, (\d+) N")
_RECOVER = ExecutionMonitor._recover


def _with_the_hand(
    slider: straight.Slider, starts: Array, along: Array, length: float
) -> tuple[Array, Array]:
    """``Slider.rolled`` if a body went along with the hand from the contact on, unturned."""
    gone = np.minimum(
        np.arange(np.ceil(length / straight._STEP - 1e-9) + 1) * straight._STEP, length
    )
    way = np.maximum(gone - straight._STANDOFF, 0.0)[None, :, None] * along[:, None]
    motions = np.concatenate([way, np.zeros((*way.shape[:2], 1))], axis=2)
    return motions, np.zeros((*motions.shape[:2], 2))


def _once(monitor: ExecutionMonitor, current: Any, interruption: Any) -> Any:
    """``ExecutionMonitor._recover`` that plans anew at the start, where things are displaced."""
    monitor.limits = replace(monitor.limits, recoveries=int(not interruption.name))
    return _RECOVER(monitor, current, interruption)


_MONITOR = "galley.execution.monitor.ExecutionMonitor"
_RESUMES = {f"{_MONITOR}._recover": _once}
_HASTY = partial(PhysicsExecutor, limits=replace(THRESHOLDS, creep=LOWER_SPEED))
VARIANTS: dict[str, tuple[str, dict[str, Any]]] = {
    "full": ("(nothing)", {}),
    "bases": (
        "scored base placement: a base is drawn, none compared",
        {"galley.skills.manipulation.step._BASES": 1},
    ),
    "feedback": (
        "geometric feedback: a failure says only that this plan failed",
        {"galley.tamp.feedback.failure_analysis.FailureAnalyzer.__call__": lambda *_: None},
    ),
    "guards": (
        "guards' speeds: contact is sought at 0.15 m/s, items are met at 0.10 m/s",
        {
            "galley.skills.manipulation.optimize.fastest": lambda *_: LOWER_SPEED,
            "galley.skills.manipulation.pushes.fastest": lambda *_: LOWER_SPEED,
            "galley.engine.PhysicsExecutor": _HASTY,
        },
    ),
    "pushes": (
        "push model: what is pushed goes with the hand, unturned",
        {"galley.planar.pushing.straight.Slider.rolled": _with_the_hand},
    ),
    "recovery": ("recovery, but from where things stand at the start", _RESUMES),
    "corrections": (
        "the same, and corrections of pushes",
        {**_RESUMES, f"{_MONITOR}._corrects": lambda *_: ""},
    ),
}


def run(variant: str, seed: int) -> dict:
    """One run; plain data."""
    with ExitStack() as stack:
        for target, other in VARIANTS[variant][1].items():
            stack.enter_context(patch(target, other))  # AttributeError: it isn't there any more
        return {"variant": variant, "seed": seed, **_outcome(seed)}


def _outcome(seed: int) -> dict:
    task = galley.load(problem="flagship.pddl")
    ensure(*engine.compiled_parts(task))
    began = time.process_time()
    solution = _within(PLANNING, partial(galley.solve, task, seed=seed))
    row = {"good": False, "solve_s": time.process_time() - began}
    if isinstance(solution, Failure | None):
        tried = {} if solution is None else solution.numbers
        row |= {key: int(tried[key]) for key in ("refinements", "plans") if key in tried}
        return {**row, "why": f"no plan: {solution or 'out of time'}"}
    tried = solution.search.effort.counts
    row |= {"refinements": tried["refinements"], "plans": tried["plans"]}
    done = _within(EXECUTION, partial(galley.execute, solution, noise="moderate"))
    if done is None:
        return {**row, "why": "execution: out of time"}
    kept = [each for each in done.recoveries if not each.correction]
    return {
        **row,
        "good": done.success and done.verdict.goal_reached,
        "why": "" if done.failure is None else str(done.failure),
        "simulated_s": done.log.duration,
        "recoveries": len(kept),
        "noticed": [[each.motion, each.how, *map(str, each.noticed)] for each in kept],
        "corrections": len(done.recoveries) - len(kept),
        "contact_N": max([int(n) for end in done.log.ends for n in _HARD.findall(end)], default=0),
        "push_N": _pushed(done.log),
    }


def _within(seconds: float, work: Callable[[], Any]) -> Any:
    """What comes of some work; None if it takes more processor time."""

    def stop(*_: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        return work()
    except TimeoutError:
        return None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)


def _pushed(log: Log) -> float:
    """The highest force (N) with which a finger pushed an item: the mean over 1/240 s."""
    pushes = [k for k, name in enumerate(log.motions) if name.endswith(": push")]
    steps = np.isin(log.motion[log.contact_step], pushes)
    fingers = np.char.find(log.names[log.contact_pair], "finger") >= 0
    return float(log.contact_force[steps & fingers.any(axis=1)].max(initial=0.0))


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default=",".join(VARIANTS))
    parser.add_argument("--out", type=Path, default=Path("runs/flagship"))
    arguments = parser.parse_args()
    chosen = [name for name in VARIANTS if name in arguments.only.split(",")]
    wanted = [(name, seed) for seed in range(arguments.seeds) for name in chosen]
    # A fresh process each: what is kept of a variant is not found by the next.
    store = arguments.out / "runs.jsonl"
    rows = resumed(store, ("variant", "seed"), run, wanted, arguments.jobs, fresh=True)
    keys = "solve_s", "refinements", "simulated_s", "recoveries", "corrections"
    figures = []
    for name in chosen:
        mine = [row for row in rows if row["variant"] == name]
        none = sum(row["why"].startswith("no plan") for row in mine)
        good = f"{sum(row['good'] for row in mine)} of {len(mine)}"
        cells = [VARIANTS[name][0], good, str(none)]
        for key in keys:
            some = [row[key] for row in mine if key in row]
            cells.append(shown(float(np.median(some))) if some else "-")
        for key in ("contact_N", "push_N"):
            cells.append(shown(max((float(row[key]) for row in mine if key in row), default=None)))
        figures.append(cells)
    headers = ["taken out", "success", "no plan", "plan, CPU s", "refinements", "run, s"]
    headers += ["recoveries", "corrections", "hardest contact, N", "hardest push, N"]
    table(headers, figures)


if __name__ == "__main__":
    main()
