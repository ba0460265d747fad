"""The sections of the planning benchmark: runs, tables, raw figures, targets."""

from __future__ import annotations

import sys
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

from galley.bench.planning.runs import Bench, geometric_mean, outcome, ratio, walls
from galley.bench.planning.tasks import Case, blocks, gripper, kitchen, logistics
from galley.bench.report import Section, Target, shown, table

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
    kinds = ("pyperplan/galley", "FD/galley")
    long: dict[str, list[float]] = {kind: [] for kind in kinds}
    every: dict[str, list[float]] = {kind: [] for kind in kinds}
    for case in cases:
        ours, pyperplan, theirs = results = bench.compare(planners, case)
        raw[case.name] = dict(zip(planners, results, strict=True))
        factors = [ratio(pyperplan, ours), ratio(theirs, ours)]
        for kind, factor in zip(kinds, factors, strict=True):
            if factor is not None:
                every[kind].append(factor)
                if pyperplan["status"] == "time" or (pyperplan.get("search_s") or 0) > 0.01:
                    long[kind].append(factor)
        rows.append(
            [case.name]
            + [outcome(each, "expanded") for each in results]
            + [outcome(each, "search_s", 1e3) for each in results]
            + [shown(each) for each in factors]
            + [outcome(each, "total_s") for each in results]
        )
        lengths = {each["length"] for each in results if each["status"] == "solved"}
        assert len(lengths) <= 1, f"{case.name}: plans of {lengths} actions"
    heads = ["galley", "pyperplan", "FD blind"]
    print(
        "Everything after grounding (Fast Downward: after translation, which finds its "
        "variables), in milliseconds; whole processes in seconds."
    )
    print()
    table(
        [
            "task",
            *(f"{each} states" for each in heads),
            *(f"{each} ms" for each in heads),
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
    mean = geometric_mean(long[kinds[0]])
    return raw, [Target.at_least(f"breadth-first search, {kinds[0]}", 3, mean)]


def memory(bench: Bench, quick: bool) -> Section:
    """b. Peak memory of whole processes, breadth-first."""
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
    """c. The console script on the default task, against Fast Downward's driver."""
    import galley

    folder = Path(galley.__file__).parent / "domain" / "kitchen"
    files = [str(folder / "kitchen.pddl"), str(folder / "task.pddl")]
    commands = {"galley": [str(Path(sys.executable).with_name("galley")), "plan"]}
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
        Target.at_most("`galley plan` on the kitchen task, whole process", 0.15, ours, " s"),
    ]


def satisficing(bench: Bench, quick: bool) -> Section:
    """d. Any plan for large kitchens."""
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
    """e. The cheapest plans, with their costs."""
    rows, raw = [], {}
    for case, count in ((kitchen(4), 20), (kitchen(1), 60)):
        ours = raw[case.name] = bench.run("galley-topk", case, plans=count)
        costs = outcome(ours)
        if ours["status"] == "solved":
            counts = sorted(Counter(ours["costs"]).items())
            costs = ", ".join(f"{cost:g} x{number}" for cost, number in counts)
        rows.append([f"{case.name}, {count} plans", outcome(ours, "search_s", 1e3), costs])
    table(["", "galley ms", "costs"], rows)
    first = raw["kitchen-4x4"]
    seconds = first["search_s"] if first["status"] == "solved" else None
    return raw, [Target.at_most("20 plans of the 4-item kitchen", 0.3, seconds, " s")]
