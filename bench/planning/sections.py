"""The sections of the planning benchmark: runs, tables, raw figures, targets."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from galley.bench.planning.runs import Bench, geometric_mean, outcome, ratio, walls
from galley.bench.planning.tasks import Case, blocks, gripper, kitchen, logistics
from galley.bench.report import Section, Target, shown, table
from galley.domain.pddl.reader import read_domain, read_problem
from galley.planning.checks.validation import validate_actions
from galley.planning.operators import GroundAction

# Planner, label, colour, line: ours solid, peers dashed.
LINES = (
    ("galley-bfs", "galley bfs", "#1b6ca8", "-"),
    ("galley-astar", "galley A*", "#0a8f6c", "-"),
    ("galley-gbfs", "galley gbfs", "#b5179e", "-"),
    ("pyperplan-bfs", "pyperplan bfs", "#1b6ca8", "--"),
    ("fd-blind", "FD blind", "#5fa8d3", ":"),
    ("fd-lmcut", "FD lmcut", "#0a8f6c", ":"),
    ("fd-lama", "FD lama-first", "#b5179e", ":"),
)
ITEMS = range(2, 11)
# Tasks of the PDDLGym collection that pyperplan and Fast Downward read, from the smallest to those
# that take pyperplan seconds.
COLLECTION = (
    "blocks/problem3",
    "blocks/problem7",
    "blocks_test/problem10",
    "depot/pfile1",
    "depot/pfile2",
    "doors_test/problem10",
    "easynewspapers/problem1",
    "easynewspapers/problem10",
    "generated_blocks/problem10",
    "generated_blocks_test/problem42",
    "gripper/prob01",
    "gripper/prob03",
    "gripper_test/prob04",
    "hanoi_test/test_problem0",
    "hanoi_test/test_problem2",
    "lifelong_blocks6/problem1",
    "manyblockssmallpiles/problem10",
    "manyferry/problem11",
    "manyferry/problem1",
    "manylogistics/problem0",
    "minecraft/problem1",
    "newspapers/problem0",
    "newspapers/problem1",
    "onearmedgripper_test/prob05",
    "searchandrescue_level1/problem0",
    "spannerlearning_test/problem11",
    "trapnewspapers/problem0",
    "tsp_operator_actions_test/problem10",
    "visit_all/p02",
)
QUICK = ("blocks/problem7", "depot/pfile1", "gripper/prob03", "hanoi_test/test_problem0")


def from_collection(name: str) -> Case:
    """A task that PDDLGym ships."""
    spec = find_spec("pddlgym")
    assert spec is not None
    assert spec.submodule_search_locations
    root = Path(spec.submodule_search_locations[0]) / "pddl"
    folder, problem = name.split("/")
    domain = root / f"{folder.removesuffix('_test')}.pddl"
    text = (root / folder / f"{problem}.pddl").read_text()
    return Case(name.replace("/", "-"), domain.read_text(), text)


def breadth_first(bench: Bench, quick: bool) -> Section:
    """a. The same blind search by three planners: states, seconds of search, whole processes."""
    cases = [from_collection(each) for each in (QUICK if quick else COLLECTION)]
    cases += [kitchen(2), kitchen(3), kitchen(4)]
    if not quick:
        cases += [kitchen(4, 6), kitchen(5), gripper(6), blocks(7), logistics(4)]
    planners = ("galley-bfs", "pyperplan-bfs", "fd-blind")
    rows, raw = [], {}
    # Each ratio: whose time, which of theirs, which of ours.
    kinds = {
        "pyperplan/galley, all": (1, "search_s", "prepared_and_search_s"),
        "pyperplan/galley, search": (1, "search_s", "search_s"),
        "FD/galley, all": (2, "prepared_and_search_s", "prepared_and_search_s"),
        "FD/galley, search": (2, "search_s", "search_s"),
    }
    long: dict[str, list[float]] = {kind: [] for kind in kinds}
    every: dict[str, list[float]] = {kind: [] for kind in kinds}
    for case in cases:
        ours, pyperplan, theirs = results = bench.compare(planners, case)
        raw[case.name] = dict(zip(planners, results, strict=True))
        factors = []
        for kind, (who, key, own) in kinds.items():
            factor = ratio(results[who], {**ours, key: ours.get(own)}, key)
            factors.append(factor)
            if factor is not None:
                every[kind].append(factor)
                if pyperplan["status"] == "time" or (pyperplan.get("search_s") or 0) > 0.01:
                    long[kind].append(factor)
        rows.append(
            [case.name]
            + [outcome(each, "expanded") for each in results]
            + [outcome(ours, "prepared_and_search_s", 1e3), outcome(ours, "search_s", 1e3)]
            + [outcome(pyperplan, "search_s", 1e3)]
            + [outcome(theirs, "prepared_and_search_s", 1e3), outcome(theirs, "search_s", 1e3)]
            + [shown(each) for each in factors]
            + [outcome(each, "total_s") for each in results]
        )
        lengths = {each["length"] for each in results if each["status"] == "solved"}
        assert len(lengths) <= 1, f"{case.name}: plans of {lengths} actions"
    heads = ["galley", "pyperplan", "FD blind"]
    print(
        "'all' is everything after grounding (Fast Downward: after translation, which finds its "
        "variables); 'search' is what remains once successors are ready. Pyperplan has no such "
        "preparations. Milliseconds; whole processes in seconds."
    )
    print()
    table(
        [
            "task",
            *(f"{each} states" for each in heads),
            *("galley all", "galley search", "pyperplan", "FD blind all", "FD blind search"),
            *kinds,
            *(f"{each} process" for each in heads),
        ],
        rows,
    )
    for kind in kinds:
        print(
            f"{kind}, geometric mean: {shown(geometric_mean(long[kind]))} over the "
            f"{len(long[kind])} tasks on which pyperplan takes over 10 ms, "
            f"{shown(geometric_mean(every[kind]))} over all {len(every[kind])}"
        )
    print()
    what = "breadth-first search, "
    return raw, [
        Target.at_least(f"{what}{kind}", 10 if who == 1 else 1, geometric_mean(long[kind]))
        for kind, (who, _, _) in kinds.items()
    ]


def expansions(bench: Bench, quick: bool) -> Section:
    """b. States expanded a second, against PDDLGym's own successors."""
    case = kitchen(4 if quick else 5)
    ours = bench.run("galley-bfs", case)
    theirs = bench.within(2.0 if quick else 10.0, 1).run("pddlgym", case)
    rates = [
        each["expanded"] / each["search_s"] if each["status"] == "solved" else None
        for each in (ours, theirs)
    ]
    factor = rates[0] / rates[1] if rates[0] and rates[1] else None
    table(
        ["states expanded a second", "galley", "PDDLGym", "ratio"],
        [[case.name, shown(rates[0]), shown(rates[1]), shown(factor)]],
    )
    raw = {"galley": ours, "pddlgym": theirs}
    return raw, [Target.at_least("states a second, galley / PDDLGym", 300, factor)]


def memory(bench: Bench, quick: bool) -> Section:
    """c. Peak memory of whole processes, breadth-first."""
    case = kitchen(5 if quick else 6)
    slow = bench.within(900.0, 1)
    results = [slow.run(each, case) for each in ("galley-bfs", "pyperplan-bfs", "fd-blind")]
    table(
        ["peak memory, MiB", "galley", "pyperplan", "FD blind"],
        [[case.name, *(outcome(each, "rss_mib") for each in results)]],
    )
    factor = ratio(results[0], results[1], "rss_mib")
    raw = dict(zip(("galley", "pyperplan", "fd-blind"), results, strict=True))
    return raw, [
        Target.at_most(f"peak memory on {case.name}, galley / pyperplan", 0.5, factor, "x")
    ]


def whole_process(bench: Bench, quick: bool) -> Section:
    """d. The console script on the default task, against Fast Downward's driver."""
    import galley

    folder = Path(galley.__file__).parent / "domain" / "kitchen"
    files = [str(folder / "kitchen.pddl"), str(folder / "task.pddl")]
    commands = {"galley": [str(Path(sys.executable).with_name("galley")), "plan", *files]}
    if "driver" in bench.installed:
        driver = [bench.peers, bench.installed["driver"]]
        commands["blind"] = [*driver, *files, "--search", "astar(blind())"]
        commands["lama-first"] = [*driver, "--alias", "lama-first", *files]
    theirs = walls(commands, bench.folder, 5 if quick else 21)
    ours = theirs.pop("galley")
    best = min(theirs.values(), default=None)
    factor = best / ours if best else None
    table(
        ["whole process, ms", "galley plan", "FD blind", "FD lama-first", "faster of FD/galley"],
        [
            [
                "kitchen/task.pddl",
                shown(1e3 * ours),
                *(shown(1e3 * theirs[k] if k in theirs else None) for k in ("blind", "lama-first")),
                shown(factor),
            ]
        ],
    )
    raw = {"galley_s": ours, **{f"fd-{k}_s": v for k, v in theirs.items()}}
    return raw, [
        Target.at_most("`galley plan` on the kitchen task, whole process", 0.3, ours, " s"),
        Target.at_least("the same, Fast Downward's driver / galley", 3, factor),
    ]


def satisficing(bench: Bench, quick: bool) -> Section:
    """e. Any plan for large kitchens."""
    rows, raw, times = [], {}, []
    for seed in range(1 if quick else 3):
        case = kitchen(10, 6, seed)
        planners = ("galley-gbfs", "fd-lama", "pyperplan-gbf")
        results = bench.compare(planners, case)
        raw[case.name] = dict(zip(planners, results, strict=True))
        if results[0]["status"] == "solved":
            times.append(results[0]["search_s"])
        rows.append(
            [case.name]
            + [outcome(each, "search_s", 1e3) for each in results]
            + [outcome(each, "length") for each in results]
            + [outcome(each, "total_s") for each in results]
        )
    heads = ("galley gbfs", "FD lama-first", "pyperplan gbf hff")
    columns = [f"{each} {what}" for what in ("ms", "actions", "whole s") for each in heads]
    table(["task", *columns], rows)
    worst = max(times) if len(times) == len(rows) else None
    return raw, [Target.at_most("greedy search, 10 items and 6 furniture", 0.1, worst, " s")]


def top_k(bench: Bench, quick: bool) -> Section:
    """f. The cheapest plans, beside K*, whose plans may come back to a state."""
    rows, raw = [], {}
    for case, count in ((kitchen(4), 20), (kitchen(1), 60)):
        planners = ("galley-topk", "kstar")
        ours, theirs = results = bench.compare(planners, case, plans=count)
        raw[case.name] = dict(zip(planners, results, strict=True))
        simple: list[float] | None = None
        if theirs["status"] == "solved":
            many = bench.within(60.0, 1).run("kstar", case, plans=1000 if quick else 5000)
            simple = loop_free(bench, case, many)[:count]
            raw[case.name]["kstar_loop_free_costs"] = simple
        rows.append(
            [
                f"{case.name}, {count} plans",
                outcome(ours, "search_s", 1e3),
                outcome(ours, "total_s"),
                outcome(theirs, "total_s"),
                costs(ours),
                costs(theirs),
                "-" if simple is None else shown_costs(simple),
            ]
        )
    heads = ["", "galley ms", "galley whole s", "K* whole s", "costs, galley", "costs, K*"]
    table([*heads, "costs, those of K* without loops"], rows)
    ours = raw["kitchen-4x4"]["galley-topk"]
    seconds = ours["search_s"] if ours["status"] == "solved" else None
    return raw, [Target.at_most("20 plans of the 4-item kitchen", 0.1, seconds, " s")]


def loop_free(bench: Bench, case: Case, found: dict[str, Any]) -> list[float]:
    """The costs of those plans that visit no state twice."""
    files = case.write(bench.folder)
    domain = read_domain(files[0])
    problem = read_problem(files[1], domain)
    kept = []
    for cost, lines in zip(found["costs"], found["plans"], strict=True):
        words = [line.strip("()").split() for line in lines]
        actions = [GroundAction(each[0], tuple(each[1:])) for each in words]
        states = validate_actions(domain, problem, actions).states
        if len(set(states)) == len(states):
            kept.append(float(cost))
    return kept


def costs(result: dict[str, Any]) -> str:
    """The costs of a run's plans."""
    return shown_costs(result["costs"]) if result["status"] == "solved" else result["status"]


def shown_costs(values: list[float]) -> str:
    """``12 x1, 13 x19``."""
    counts = {value: values.count(value) for value in sorted(set(values))}
    return ", ".join(f"{value:g} x{count}" for value, count in counts.items())


def growth(bench: Bench, figure: Path | None) -> Section:
    """g. How searches grow with the items to move; a planner stops where it exceeds the limit."""
    raw: dict[str, dict[int, Any]] = {planner: {} for planner, *_ in LINES}
    for planner, *_ in LINES:
        for items in ITEMS:
            result = bench.run(planner, kitchen(items))
            raw[planner][items] = result
            if result["status"] != "solved" or result["search_s"] > bench.seconds:
                break
    rows = [
        [
            label,
            *(outcome(raw[planner][n]) if n in raw[planner] else "" for n in ITEMS),
        ]
        for planner, label, *_ in LINES
    ]
    table(["seconds of search; items:", *map(str, ITEMS)], rows)
    if figure is not None:
        draw(raw, figure, bench.seconds)
    return raw, []


def draw(raw: dict[str, dict[int, Any]], path: Path, limit: float) -> None:
    """Draws the curves on a log axis, each labelled at its end."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    canvas, axes = pyplot.subplots(figsize=(8, 4.8), dpi=120)
    ends: list[tuple[float, int, str, str]] = []
    for planner, label, colour, style in LINES:
        points = [
            (items, max(result["search_s"], 1e-4))
            for items, result in raw[planner].items()
            if result["status"] == "solved" and result.get("search_s") is not None
        ]
        if points:
            x, y = zip(*points, strict=True)
            axes.plot(x, y, style, color=colour, marker="o", markersize=3.5, linewidth=1.8)
            ends.append((y[-1], x[-1], label, colour))
    axes.set_yscale("log")
    axes.set_xlim(ITEMS[0] - 0.2, ITEMS[-1] + 2.2)
    axes.set_ylim(2e-4, 4 * limit)
    axes.set_xticks(list(ITEMS))
    _label(axes, ends)
    axes.set_xlabel("items to move, 4 pieces of furniture")
    axes.set_ylabel("seconds of search")
    axes.set_title(f"Kitchens of growing size, at most {limit:g} s a search", loc="left")
    axes.grid(axis="y", color="#dddddd", linewidth=0.7)
    axes.spines[["top", "right"]].set_visible(False)
    canvas.tight_layout()
    canvas.savefig(path)
    pyplot.close(canvas)


def _label(axes: Any, ends: list[tuple[float, int, str, str]]) -> None:
    """Labels to the right of the last points, pushed apart where they would overlap."""
    apart = 1.75  # factor on the log axis
    placed: list[tuple[int, float]] = []
    for y, x, label, colour in sorted(ends):
        height = y
        while any(
            abs(x - other) < 2 and max(height / h, h / height) < apart for other, h in placed
        ):
            height *= 1.1
        placed.append((x, height))
        behind = {"facecolor": "white", "edgecolor": "none", "alpha": 0.85, "pad": 0.2}
        axes.text(
            x + 0.15, height, label, color=colour, va="center", fontsize=9, bbox=behind, zorder=5
        )
