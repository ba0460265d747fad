"""Section d: planning time and success against items, blockers and scene size, with a figure."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

from galley.bench.report import note, shown, table
from galley.bench.tamp import runs, scenes
from galley.bench.tamp.runs import SOLVED, Job, Row
from galley.bench.tamp.scenes import Task
from galley.bench.tamp.sections import Plan, Section
from galley.sweeps import LostJob, sweep

# Series, label, colour, panel, task of a size, sizes, sizes in a quick run.
_Maker = Callable[[Path, int], Task]
SERIES: tuple[tuple[str, str, str, int, _Maker, Sequence[int], Sequence[int]], ...] = (
    ("items", "items onto the table", "#1b6ca8", 0,
     scenes.items, range(2, 11), (2, 6)),
    ("beside", "beside what is wanted", "#b5179e", 1,
     scenes.hemmed_in, range(7), (0, 2)),
    ("occupied", "where it has to go", "#0a8f6c", 1,
     scenes.occupied, range(7), (0, 2)),
    ("silent", "only in the scene", "#1b6ca8", 2,
     lambda folder, n: scenes.crowded(folder, n, named=False), (0, 10, 20, 40), (0, 10)),
    ("named", "also in the problem", "#d1495b", 2,
     lambda folder, n: scenes.crowded(folder, n, named=True), (0, 10, 20, 40), (0, 10)),
)  # fmt: skip
_PANELS = (
    ("Items to move", "items, from three places to a fourth"),
    ("Blockers", "items in the way, all of which must be moved"),
    ("Size of the scene", "further crates, an item on every second"),
)


def growth(how: Plan, figure: Path | None) -> Section:
    """Every series over its sizes and seeds, a table, and the figure."""
    with tempfile.TemporaryDirectory(prefix="galley-bench-") as name:
        jobs = []
        for series, _, _, _, make, full, short in SERIES:
            for size in short if how.quick else full:
                task = make(Path(name), size)
                files = (task.scene, task.domain, task.problem)
                jobs += [Job(series, size, *files, seed) for seed in range(how.growth)]
        note(f"growth: {len(jobs)} times planning only, {how.jobs} at a time")

        def told(index: int, result: Row | LostJob) -> None:
            if index % how.growth == how.growth - 1:
                note(f"{jobs[index].series} {jobs[index].size}")

        found = sweep(runs.plan, jobs, how.jobs, how.engine, told)
    rows = [row for row in found if isinstance(row, Row)]
    for job, row in zip(jobs, found, strict=True):
        if isinstance(row, LostJob):
            print(f"d. lost: {job.series} {job.size}, seed {job.seed}: {row.why}")
        elif row.status != SOLVED:
            print(f"d. not solved: {job.series} {job.size}, seed {job.seed}: {row.message[:300]}")
    _tabulate(rows, how)
    if figure is not None:
        draw(rows, figure)
    return [row.raw() for row in rows], []


def _tabulate(rows: Sequence[Row], how: Plan) -> None:
    lines = []
    for series, label, _, panel, *_ in SERIES:
        for size in sorted({row.size for row in rows if row.series == series}):
            own = [row for row in rows if (row.series, row.size) == (series, size)]
            good = [row for row in own if row.status == SOLVED]
            times = [row.solve_s for row in good]
            lines.append(
                [
                    f"{_PANELS[panel][0].lower()}: {label}",
                    str(size),
                    f"{len(good)}/{len(own)}",
                    shown(median(times)) if times else "-",
                    f"{shown(min(times))} to {shown(max(times))}" if times else "-",
                    shown(median(row.task_s for row in own)),
                    shown(median(row.actions for row in good)) if good else "-",
                    shown(median(row.refinements for row in own)),
                ]
            )
    headers = ["d. growth", "size", "solved", "median s", "range", "symbols s", "actions"]
    table([*headers, "refined"], lines)
    one = how.jobs == 1 and how.engine == "process"
    print(
        f"Seconds of planning without trajectory optimisation over {how.growth} seeds, of those\n"
        "solved; anything else, a used-up budget too, counts as a failure.\n"
        + ("One run at a time.\n" if one else "Several runs at a time, which slows each of them.\n")
    )


def draw(rows: Sequence[Row], path: Path) -> None:
    """Three panels with one axis of time; a cross for every run that failed."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.ticker import FuncFormatter

    canvas, all_axes = pyplot.subplots(1, 3, figsize=(12, 4.2), dpi=120, sharey=True)
    for panel, (axes, (title, below)) in enumerate(zip(all_axes, _PANELS, strict=True)):
        shown_here = {each[0] for each in SERIES if each[3] == panel}
        for series, label, colour, where, *_ in SERIES:
            if where == panel:
                _curve(axes, [row for row in rows if row.series == series], label, colour)
        axes.set_title(title, loc="left")
        axes.set_xlabel(below)
        axes.set_xticks(sorted({row.size for row in rows if row.series in shown_here}))
        axes.grid(axis="y", color="#dddddd", linewidth=0.7)
        axes.spines[["top", "right"]].set_visible(False)
        if len(shown_here) > 1:
            axes.legend(frameon=False, fontsize=9, loc="upper left")
    first = all_axes[0]
    first.set_yscale("log")
    low, high = first.get_ylim()
    first.set_ylim(low, high * 1.8)  # room for the legends
    first.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    first.set_ylabel("seconds of planning")
    canvas.text(
        0.995, 0.01, "line: median; band: all seeds; cross: a run that failed",
        ha="right", va="bottom", fontsize=8.5, color="#555555",
    )  # fmt: skip
    canvas.tight_layout(rect=(0, 0.03, 1, 1))
    canvas.savefig(path)
    pyplot.close(canvas)


def _curve(axes: Any, rows: Sequence[Row], label: str, colour: str) -> None:
    good = [row for row in rows if row.status == SOLVED]
    sizes = sorted({row.size for row in good})
    times = [[row.solve_s for row in good if row.size == size] for size in sizes]
    axes.plot(sizes, [median(own) for own in times], "-o", color=colour, markersize=4, label=label)
    axes.fill_between(
        sizes, [min(own) for own in times], [max(own) for own in times], color=colour, alpha=0.15,
        linewidth=0,
    )  # fmt: skip
    failed = [row for row in rows if row.status != SOLVED]
    axes.plot(
        [row.size for row in failed], [row.solve_s for row in failed], "x", color=colour,
        markersize=7, markeredgewidth=1.8,
    )  # fmt: skip
