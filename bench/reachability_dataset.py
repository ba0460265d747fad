"""Section b: rows of p(Q | H) to parquet, with one and two workers."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

from planning_runs import shown, table
from planning_sections import Section, Target

from galley.reachability.planar import DonutSampler, PlanarArm
from galley.reachability.planar.dataset import DatasetSettings, row_count, write_dataset

_BOUNDS = ((-2.0, 2.0), (-2.0, 2.0))
_ROWS, _RATIO = 1.5, 1.6  # million rows per second; two workers over one


def writer(quick: bool) -> Section:
    """b. Million rows per second from the call to the last file, worker processes' start and all.

    The workers take turns; the ratio is that of the rates once the first file is there, and
    the start of two processes is shown by itself.
    """
    bases, repeats = (400_000, 1) if quick else (3_000_000, 3)
    rates: dict[int, list[float]] = {1: [], 2: []}
    whole: dict[int, list[float]] = {1: [], 2: []}
    starts: dict[int, list[float]] = {1: [], 2: []}
    for seed in range(repeats):
        for workers in rates:
            rows, first, last, shards = _write(bases, workers, seed)
            whole[workers].append(rows / last / 1e6)
            # In the first file's time each worker makes one.
            rates[workers].append(rows * (1 - workers / shards) / (last - first) / 1e6)
            starts[workers].append(first)
    running, all_of_it = (
        median(two / one for one, two in zip(each[1], each[2], strict=True))
        for each in (rates, whole)
    )
    lines = [
        [f"{workers} worker{'s' * (workers > 1)}", *(shown(median(v)) for v in values)]
        for workers, values in ((w, (rates[w], whole[w], starts[w])) for w in rates)
    ]
    table(
        ["b. to parquet", "million rows a second", "with the start", "first file after s"],
        [*lines, ["two over one", shown(running), shown(all_of_it), ""]],
    )
    raw = {"rates": rates, "whole": whole, "starts": starts}
    return raw, [
        Target.at_least("b. to parquet, one process", _ROWS, median(whole[1]), " M rows/s"),
        Target.at_least("b. two workers over one, once running", _RATIO, running),
    ]


def _write(bases: int, workers: int, seed: int) -> tuple[int, float, float, int]:
    """Rows, seconds to the first file and to the last, number of files."""
    sampler = DonutSampler(PlanarArm(1.0, 0.8), epsilon=0.05, heading_sigma=0.3)
    settings = DatasetSettings(sampler, bases, bounds=_BOUNDS, seed=seed)
    folder = Path(tempfile.mkdtemp(prefix="galley-dataset-"))
    ends: list[float] = []
    began = perf_counter()
    try:
        lost = write_dataset(
            settings, folder, workers, progress=lambda *_: ends.append(perf_counter() - began)
        )
        assert not lost, lost[0].why
        return row_count(folder), ends[0], perf_counter() - began, settings.shards
    finally:
        shutil.rmtree(folder)
