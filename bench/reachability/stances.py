"""Section on stances in whole tasks: draws tried in their order (the ring), or the best first."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from statistics import mean, median
from unittest.mock import patch

import numpy as np

from galley.bench.report import Section, Target, shown, table
from galley.bench.tamp import scenes
from galley.bench.tamp.runs import SOLVED, Job, plan
from galley.domain.frames import Array
from galley.robots.panda.mobile_kinematics import MobilePandaKinematics
from galley.studies.scenarios import find_scenarios

_SUITE = ("pack_three", "swap", "hemmed_in", "cook_and_wash", "four_items", "unpack")
_COLUMNS = ("solved", "median s", "mean s", "refinements")
_WORSE = 1.05  # a ratio up to this counts as noise
_SEEDS = 60  # a ratio's error is 3 to 5 % then


def stances(quick: bool) -> Section:
    """Both ways on each task, same seeds; by turns one or the other is first."""
    with tempfile.TemporaryDirectory() as folder:
        jobs = _jobs(Path(folder), 2 if quick else _SEEDS)
        raw, rows, worst = {}, [], 0.0
        for name, group in groupby(jobs, key=lambda job: job.series):
            ring, scored = [], []
            for job in group:
                if job.seed % 2:
                    scored.append(plan(job))
                with _in_order_of_drawing():
                    ring.append(plan(job))
                if not job.seed % 2:
                    scored.append(plan(job))
            raw[name] = {"ring": [r.raw() for r in ring], "scored": [r.raw() for r in scored]}
            cells: list[str] = []
            for runs in (ring, scored):
                times = [run.solve_s for run in runs]
                solved = sum(run.status == SOLVED for run in runs)
                cells += [f"{solved}/{len(runs)}", shown(median(times)), shown(mean(times))]
                cells.append(shown(mean(run.refinements for run in runs)))
            pairs = zip(ring, scored, strict=True)
            logs = np.log([other.cpu_s / one.cpu_s for one, other in pairs])
            ratio, error = float(np.exp(logs.mean())), float(logs.std() / np.sqrt(len(logs)))
            worst = max(worst, ratio)
            rows.append([name, *cells, f"{ratio:.3f} +- {ratio * error:.3f}"])
    heads = [f"{way}: {what}" for way in ("ring", "scored") for what in _COLUMNS]
    table(["task", *heads, "processor time, mean ratio"], rows)
    what = "scored over ring, processor time, the worst task"
    return raw, [Target.at_most(what, _WORSE, worst, "")]


def _jobs(folder: Path, seeds: int) -> list[Job]:
    scenarios = {scenario.name: scenario for scenario in find_scenarios()}
    suite = [scenarios[name] for name in _SUITE]
    tasks = [Job(), *(Job(t.name, 0, t.scene, t.domain, t.problem) for t in suite)]
    cluttered = (
        scenes.crowded(folder, 20, False),
        scenes.items(folder, 6),
        scenes.hemmed_in(folder, 3),
    )
    tasks += [Job(t.name, t.size, t.scene, t.domain, t.problem) for t in cluttered]
    return [replace(task, seed=seed) for task in tasks for seed in range(seeds)]


@contextmanager
def _in_order_of_drawing() -> Iterator[None]:
    """All base poses in reach have one score: the first free ones drawn are tried, as before."""

    best = MobilePandaKinematics.best_configurations

    def equal(
        self: MobilePandaKinematics, X_WH: Array, bases: Array, redundant: Array
    ) -> tuple[Array, Array]:
        reached = best(self, X_WH, bases, redundant)[0].any(axis=1)
        return np.zeros((len(bases), 7)), np.repeat(reached[:, None].astype(float), 2, axis=1)

    with patch.object(MobilePandaKinematics, "best_configurations", equal):
        yield
