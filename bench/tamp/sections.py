"""The sections: runs, tables, targets; of section d, what grows with the task, also the figure."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
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
from galley.studies.scenarios.outcome import ScenarioJob, ScenarioResult, run_scenario
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
SOLVE_S, SMOOTH_S, FIRST_S, REFUSAL_S = 0.5, 3.0, 1.0, 1.0
RIGHT = 95.0  # % of the suite's runs
PEER_S, PEER_RATIO = 8.9, 10.0  # PDDLStream's mobile packing of three items, 10 of 10
_DEFAULT, _PACK = "seed_task", "pack_three"
_NO_SEARCH = ("unreachable", "does-not-fit", "contradiction")
_QUICK = ("seed_task", "swap", "out_of_reach", "too_tall")  # of the suite
_SEARCHED = ("bin_", "crammed_", "row_", "shaft_", "slot_")  # exhaustively
_WALLS = 3  # whole processes timed


@dataclass(frozen=True)
class Plan:
    """How much is measured.

    Attributes:
        seeds: of the default task; suite: of each scenario; packing: of pack_three; refusals: of
            each refusal; growth: of each size.
        jobs: runs at a time where no seconds are measured. engine: ``process`` or ``ray``.
    """

    seeds: int
    suite: int
    packing: int
    refusals: int
    growth: int
    jobs: int | None
    engine: str
    quick: bool


def default_task(how: Plan) -> Section:
    """a. The default task: success of whole runs, and seconds of planning in one process."""
    (scenario,) = [each for each in find_scenarios() if each.name == _DEFAULT]
    runs = _run([ScenarioJob(scenario, seed) for seed in range(how.seeds)], how)
    good = [run for run in runs if isinstance(run, ScenarioResult) and run.right]
    rows = _planned([Job(seed=seed, finished=True) for seed in range(how.seeds)])
    for run in runs:
        if run not in good:
            what = (
                run.why if isinstance(run, LostJob) else f"seed {run.seed}: {'; '.join(run.wrong)}"
            )
            print(f"a. not as expected: {what}")
    _tell_failed("a", rows)
    figures = {
        "plan, motions, proofs": [row.solve_s for row in rows],
        "and the first motion finished": [s for row in rows if (s := row.first_s) is not None],
        "and all motions finished (smooth)": [s for row in rows if (s := row.smooth_s) is not None],
    }
    lines = [
        [what, str(len(v)), *(shown(float(np.percentile(v, p))) for p in (50, 95, 100))]
        for what, v in figures.items()
        if v
    ]
    table(["a. default task, warm, one process: s", "seeds", "median", "p95", "longest"], lines)
    solve, first, smooth = figures.values()
    share = 100.0 * len(good) / how.seeds
    targets = [
        Target.at_least(f"a. default task, {how.seeds} runs validated", 100, share, " %"),
        Target.at_most("a. plan, motions, proofs: median", SOLVE_S, _middle(solve), " s"),
        Target.at_most("a. all motions smooth: median", SMOOTH_S, _middle(smooth), " s"),
        Target.at_most("a. first motion ready: median", FIRST_S, _middle(first), " s"),
    ]
    return {"runs": [_raw(run) for run in runs], "rows": [row.raw() for row in rows]}, targets


def suite(how: Plan) -> Section:
    """b. All shipped scenarios, and how long refusals take that need no search."""
    scenarios = [each for each in find_scenarios() if not how.quick or each.name in _QUICK]
    jobs = [ScenarioJob(each, seed) for each in scenarios for seed in range(how.suite)]
    runs = _run(jobs, how)
    right: Counter[str] = Counter()
    for job, run in zip(jobs, runs, strict=True):
        if isinstance(run, ScenarioResult) and run.right:
            right[job.scenario.name] += 1
        else:
            why = run.why if isinstance(run, LostJob) else f"{'; '.join(run.wrong)} {run.message}"
            print(f"b. wrong: {job.scenario.name}, seed {job.seed}: {why}")
    refusals = [each for each in scenarios if each.expect.kind in _NO_SEARCH]
    rows = _planned(
        [_job(each, seed) for each in refusals for seed in range(how.refusals)], "planning only"
    )
    slowest = {s.name: max(r.solve_s for r in rows if r.series == s.name) for s in refusals}
    whole = {each.name: _whole_process(each, how.quick) for each in refusals}
    table(
        ["b. suite", "right", "expected", "refused in s", "`galley run`, s"],
        [
            [
                each.name,
                f"{right[each.name]}/{how.suite}",
                str(each.expect),
                shown(slowest.get(each.name)),
                shown(whole.get(each.name)),
            ]
            for each in scenarios
        ],
    )
    print(
        "Refused in: the longest over seeds, in one warm process. `galley run`: a whole process\n"
        "from its start, imports and reading included, median.\n"
    )
    share = 100.0 * sum(right.values()) / len(jobs)
    targets = [
        Target.at_least(f"b. suite, right of {len(jobs)} runs", RIGHT, share, " %"),
        Target.at_most("b. refusals without search, longest", REFUSAL_S, _top(slowest), " s"),
        Target("b. the same, whole process, longest", "no target", _top(whole), None),
    ]
    raw = {"runs": [_raw(run) for run in runs], "refusals": [row.raw() for row in rows]}
    return {**raw, "whole_process_s": whole}, targets


def packing(how: Plan) -> Section:
    """c. Three items from three places onto one tray, by the mobile base."""
    (scenario,) = [each for each in find_scenarios() if each.name == _PACK]
    rows = _planned([_job(scenario, seed) for seed in range(how.packing)])
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


def brute_force(how: Plan) -> Section:
    """e. The kitchens whose answer must be right, against exhaustive search on grids."""
    rows, wrong = [], 0
    for each in find_scenarios():
        if not each.name.startswith(_SEARCHED[:2] if how.quick else _SEARCHED):
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


def _run(jobs: Sequence[ScenarioJob], how: Plan) -> list[ScenarioResult | LostJob]:
    """Whole runs of the engine, without film, several at a time."""
    note(f"{len(jobs)} whole runs")
    return sweep(run_scenario, jobs, how.jobs, how.engine, _counter(len(jobs)))


def _planned(jobs: Sequence[Job], what: str = "planning only") -> list[Row]:
    """One after the other in this process: nothing of ours takes time from another."""
    note(f"{len(jobs)} times {what}")
    tell = _counter(len(jobs))
    rows = []
    for k, job in enumerate(jobs):
        rows.append(runs.plan(job))
        tell(k, rows[-1])
    return rows


def _counter(total: int) -> Callable[[int, object], None]:
    done = 0

    def told(index: int, result: object) -> None:
        nonlocal done
        done += 1
        if done % 20 == 0 or done == total:
            note(f"{done} of {total}")

    return told


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
            print(f"{letter}. not solved: {row.series}, seed {row.seed}: {row.message}")


def _middle(values: Sequence[float]) -> float | None:
    return median(values) if values else None


def _top(values: dict[str, float]) -> float | None:
    return max(values.values(), default=None)


def _raw(run: ScenarioResult | LostJob) -> dict[str, Any]:
    return asdict(run)


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
