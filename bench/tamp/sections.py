"""The sections: runs, tables, targets; of section d, what grows with the task, also the figure."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Any

import numpy as np

from galley import engine
from galley.bench.report import Section, Target, note, shown, table
from galley.bench.tamp import runs, scenes
from galley.bench.tamp.brute_force import Kitchen
from galley.bench.tamp.runs import SOLVED, Job, Row
from galley.bench.tamp.scenes import Task
from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.robots.panda.models import mobile_panda
from galley.studies.scenarios import Scenario, find_scenarios

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
SOLVE_S, SMOOTH_S, FIRST_S, REFUSAL_S = 0.5, 3.0, 1.0, 1.0
PEER_S, PEER_RATIO = 8.9, 10.0  # PDDLStream's mobile packing of three items, 10 of 10
_PACK = "pack_three"
_NO_SEARCH = ("unreachable", "does-not-fit", "contradiction")
_QUICK = ("out_of_reach", "too_tall")  # of them
_SEARCHED = ("bin_", "crammed_", "row_", "shaft_", "slot_")  # exhaustively
_WALLS = 3  # whole processes timed


def default_task(seeds: int) -> Section:
    """a. The default task: seconds of planning, and of ``galley.solve`` with its audits."""
    rows = _planned([Job(seed=seed, finished=True) for seed in range(seeds)])
    _tell_failed("a", rows)
    solve_s: dict[str, list[float]] = {"none": [], "smooth": []}
    for seed in range(min(seeds, 8)):
        for how, times in solve_s.items():
            began = perf_counter()
            engine.solve(engine.load(), seed, optimize=how)
            times.append(perf_counter() - began)
    figures = {
        "plan, motions, proofs": [row.solve_s for row in rows],
        "and the first motion finished": [s for row in rows if (s := row.first_s) is not None],
        "and all motions finished (smooth)": [s for row in rows if (s := row.smooth_s) is not None],
        **{f"galley.solve, optimize='{how}'": times for how, times in solve_s.items()},
    }
    lines = [
        [what, str(len(v)), *(shown(float(np.percentile(v, p))) for p in (50, 95, 100))]
        for what, v in figures.items()
        if v
    ]
    table(["a. default task, warm, one process: s", "seeds", "median", "p95", "longest"], lines)
    solve, first, smooth, *_ = figures.values()
    targets = [
        Target.at_most("a. plan, motions, proofs: median", SOLVE_S, _middle(solve), " s"),
        Target.at_most("a. all motions smooth: median", SMOOTH_S, _middle(smooth), " s"),
        Target.at_most("a. first motion ready: median", FIRST_S, _middle(first), " s"),
    ]
    return {"rows": [row.raw() for row in rows], "solve_s": solve_s}, targets


def refusals(seeds: int, quick: bool) -> Section:
    """b. How long refusals take that need no search."""
    scenarios = [each for each in find_scenarios() if each.expect.kind in _NO_SEARCH]
    scenarios = [each for each in scenarios if not quick or each.name in _QUICK]
    rows = _planned([_job(each, seed) for each in scenarios for seed in range(seeds)])
    slowest = {s.name: max(r.solve_s for r in rows if r.series == s.name) for s in scenarios}
    whole = {each.name: _whole_process(each, quick) for each in scenarios}
    table(
        ["b. refusals", "expected", "refused in s", "`galley run`, s"],
        [[s.name, str(s.expect), shown(slowest[s.name]), shown(whole[s.name])] for s in scenarios],
    )
    print(
        "Refused in: the longest over seeds, in one warm process. `galley run`: a whole process\n"
        "from its start, imports and reading included, median.\n"
    )
    targets = [
        Target.at_most("b. refusals without search, longest", REFUSAL_S, _top(slowest), " s"),
        Target("b. the same, whole process, longest", "no target", _top(whole), None),
    ]
    return {"refusals": [row.raw() for row in rows], "whole_process_s": whole}, targets


def packing(seeds: int) -> Section:
    """c. Three items from three places onto one tray, by the mobile base."""
    (scenario,) = [each for each in find_scenarios() if each.name == _PACK]
    rows = _planned([_job(scenario, seed) for seed in range(seeds)])
    _tell_failed("c", rows)
    solved = [row.solve_s for row in rows if row.status == SOLVED]
    ratio = PEER_S / median(solved) if solved else None
    share = 100.0 * len(solved) / len(rows)
    table(
        ["c. packing three items", "solved", "median s", "longest s"],
        [
            ["galley, pack_three", f"{len(solved)}/{len(rows)}", shown(_middle(solved)),
             shown(max(solved, default=None))],
            ["PDDLStream, mobile packing", "10/10", shown(PEER_S), "-"],
        ],
    )  # fmt: skip
    print(
        "PDDLStream's figure was measured earlier, on this kind of machine, with its own\n"
        "comparable example (a mobile robot packs three items); it was not run here beside ours,\n"
        "and scene and robot differ. Neither figure includes trajectory optimisation; ours\n"
        "includes continuous proofs that the motions are free.\n"
    )
    return [row.raw() for row in rows], [
        Target.at_least("c. three items packed: solved", 100, share, " %"),
        Target.at_least("c. PDDLStream's 8.9 s over our median", PEER_RATIO, ratio),
    ]


def brute_force(quick: bool) -> Section:
    """e. The kitchens whose answer must be right, against exhaustive search on grids."""
    rows, wrong = [], 0
    for each in find_scenarios():
        if not each.name.startswith(_SEARCHED[:2] if quick else _SEARCHED):
            continue
        note(f"exhaustive search: {each.name}")
        task = engine.load(each.scene, each.domain, each.problem)
        with PyBulletWorld(task.scene, mobile_panda(task.scene.robot.base)) as world:
            began = process_time()
            solved = Kitchen(task, world).solved()
        wrong += solved != (each.expect.status == "success")
        seconds = shown(process_time() - began)
        rows.append([each.name, "solvable" if solved else "not", str(each.expect), seconds])
    table(["e. kitchens", "exhaustive search", "expected", "CPU s"], rows)
    return rows, [Target.at_most("e. expected otherwise than found", 0, float(wrong), "")]


def _planned(jobs: Sequence[Job]) -> list[Row]:
    """One after the other in this process: nothing of ours takes time from another."""
    rows = []
    for k, job in enumerate(jobs, 1):
        rows.append(runs.plan(job))
        if k % 20 == 0 or k == len(jobs):
            note(f"{k} of {len(jobs)} planned")
    return rows


def _job(scenario: Scenario, seed: int) -> Job:
    assert scenario.skills is None, f"{scenario.name} has skills of its own"
    return Job(scenario.name, 0, scenario.scene, scenario.domain, scenario.problem, seed)


def _whole_process(scenario: Scenario, quick: bool) -> float:
    """Median wall time (s) of ``galley run``, from the start of the process, after a warm-up."""
    times = []
    for _ in range(2 if quick else _WALLS + 1):
        with tempfile.TemporaryDirectory(prefix="galley-bench-") as folder:
            command = [sys.executable, str(engine.__file__), "run", "--no-video"]
            for option in ("scene", "domain", "problem"):
                command += [f"--{option}", str(getattr(scenario, option))]
            command += ["--out", str(Path(folder) / "run")]
            began = perf_counter()
            code = subprocess.run(command, cwd=folder, capture_output=True, timeout=120).returncode
            times.append(perf_counter() - began)
            if code != 1:
                raise RuntimeError(f"{scenario.name} ended with {code}, a refusal ends with 1")
    return median(times[1:])


def _tell_failed(letter: str, rows: Iterable[Row]) -> None:
    for row in rows:
        if row.status != SOLVED:
            print(f"{letter}. not solved: {row.series} {row.size}, seed {row.seed}: {row.message}")


def _middle(values: Sequence[float]) -> float | None:
    return median(values) if values else None


def _top(values: dict[str, float]) -> float | None:
    return max(values.values(), default=None)


def growth(seeds: int, quick: bool, figure: Path | None) -> Section:
    """Every series over its sizes and seeds, a table, and the figure."""
    with tempfile.TemporaryDirectory(prefix="galley-bench-") as name:
        jobs = []
        for series, _, _, _, make, full, short in SERIES:
            for size in short if quick else full:
                task = make(Path(name), size)
                files = (task.scene, task.domain, task.problem)
                jobs += [Job(series, size, *files, seed) for seed in range(seeds)]
        rows = _planned(jobs)
    _tell_failed("d", rows)
    _tabulate(rows, seeds)
    if figure is not None:
        draw(rows, figure)
    return [row.raw() for row in rows], []


def _tabulate(rows: Sequence[Row], seeds: int) -> None:
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
    print(
        f"Seconds of planning without trajectory optimisation over {seeds} seeds, of those\n"
        "solved; anything else, a used-up budget too, counts as a failure.\n"
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
