"""Section b: rows of p(Q | H) to parquet, with one and two workers."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter

from galley.bench.report import Section, Target, shown, table
from galley.planar.reach import DonutSampler, PlanarArm
from galley.planar.reach.dataset import DatasetSettings, row_count, write_dataset
from galley.sweeps import sweep

_BOUNDS = ((-2.0, 2.0), (-2.0, 2.0))
_ROWS, _RATIO = 1.5, 1.6  # million rows per second; two workers over one


def writer(quick: bool) -> Section:
    """b. Million rows per second from the call to the last file, worker processes' start and all.

    The workers take turns; the ratio is that of the rates once the first file is there, and
    the start of two processes is shown by itself. Beside it, what two workers gain with jobs that
    do nothing but count: more than the machine gives can't be asked of the writer.
    """
    bases, repeats = (400_000, 1) if quick else (3_000_000, 3)
    rates: dict[int, list[float]] = {1: [], 2: []}
    whole: dict[int, list[float]] = {1: [], 2: []}
    starts: dict[int, list[float]] = {1: [], 2: []}
    loops: dict[int, list[float]] = {1: [], 2: []}
    for seed in range(repeats):
        for workers in rates:
            rows, ends = _write(bases, workers, seed)
            whole[workers].append(rows / ends[-1] / 1e6)
            rates[workers].append(rows / 1e6 * _running(ends, workers))
            starts[workers].append(ends[0])
            loops[workers].append(_running(_count(len(ends), workers), workers))
    running, all_of_it, most = (
        median(two / one for one, two in zip(each[1], each[2], strict=True))
        for each in (rates, whole, loops)
    )
    lines = [
        [f"{workers} worker{'s' * (workers > 1)}", *(shown(median(v)) for v in values), ""]
        for workers, values in ((w, (rates[w], whole[w], starts[w])) for w in rates)
    ]
    heads = ["million rows a second", "with the start", "first file after s", "plain loops"]
    table(
        ["b. to parquet", *heads],
        [*lines, ["two over one", shown(running), shown(all_of_it), "", shown(most)]],
    )
    raw = {"rates": rates, "whole": whole, "starts": starts, "loops": loops}
    return raw, [
        Target.at_least("b. to parquet, one process", _ROWS, median(whole[1]), " M rows/s"),
        Target.at_least("b. two workers over one, once running", _RATIO, running),
        Target.at_least("b. the same, over what plain loops gain", _RATIO / 2, running / most),
    ]


def _running(ends: list[float], workers: int) -> float:
    """The share of jobs a second, from when the first ended: until then each worker does one."""
    return (1 - workers / len(ends)) / (ends[-1] - ends[0])


def _write(bases: int, workers: int, seed: int) -> tuple[int, list[float]]:
    """Number of rows, and after how many seconds each file was there."""
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
        return row_count(folder), ends
    finally:
        shutil.rmtree(folder)


def _count(jobs: int, workers: int) -> list[float]:
    """After how many seconds each of some loops ended, by the same mechanism."""
    ends: list[float] = []
    began = perf_counter()
    sweep(_loop, range(jobs), workers, progress=lambda *_: ends.append(perf_counter() - began))
    return ends


def _loop(_: int) -> int:
    """About as long as a file takes."""
    return sum(k * k for k in range(500_000))
