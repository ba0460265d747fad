"""Motion planning compared with pybullet-planning, OMPL and roboplan in one kitchen.

    pip install pybullet-planning==0.6.1 ompl==2.0.1 roboplan==0.7.0 eaik==1.2.2
    python bench/motion/run.py [--quick] [--json FILE] [--figure [FILE]] [--only abcd]
    python bench/motion/run.py --problems FILE [--seeds 3] [--json FILE]

Ratios are more telling than seconds: all planners take turns at every query, on one machine in the
same minutes. Sections: a, planners on 63 everyday queries and three narrow sets of 20; b, the
compiled checker by itself; c, inverse kinematics; d, time to plan against the number of obstacles.
Setting up a planner's scene is not counted, nor is its first plan. Every path is checked in
PyBullet and in Drake at 0.02 rad: 2 mm of overlap is a hit.
With ``--problems`` only a file of public problems is run (``problems.py``), beside VAMP where that
is installed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from galley.bench.motion import figures, inverse_kinematics, kernel, problems
from galley.bench.motion.peers.ours import PROVEN, RAW, SHORT
from galley.bench.motion.peers.planners import BIRRT, PACKAGES, ROBOPLAN, planners
from galley.bench.motion.queries import KITCHEN_SET, NARROW, SETS, kitchen_queries, load_kitchen
from galley.bench.motion.runs import Run, Summary, objections, race, show, summed_up
from galley.bench.motion.verdicts import Judge
from galley.bench.report import Section, Target, command_line, installed, measure, shown, table

FIGURE = Path(__file__).resolve().parents[2] / "docs" / "motion_obstacles.png"


def main() -> int:
    parser = command_line(__doc__, "abcd", "few queries and samples")
    parser.add_argument("--figure", type=Path, nargs="?", const=FIGURE, help="draw the curves")
    parser.add_argument("--limit", type=float, default=10.0, help="seconds of a search")
    parser.add_argument("--problems", type=Path, help="a file of problems in VAMP's JSON form")
    parser.add_argument("--seeds", type=int, default=3, help="of each of those problems")
    arguments = parser.parse_args()
    quick, limit = arguments.quick, arguments.limit
    steps: dict[str, Callable[[], Section]] = {
        "a": lambda: race_all(quick, limit),
        "b": lambda: checker(quick),
        "c": lambda: ik(quick),
        "d": lambda: obstacles(quick, limit, arguments.figure),
    }
    if arguments.problems:
        try:
            asked = problems.read(arguments.problems)
        except ValueError as error:
            parser.error(str(error))
        steps = {"p": lambda: problems.measure(asked, arguments.seeds)}
        arguments.only = "p"
    return measure(arguments, steps, installed(*PACKAGES))


def race_all(quick: bool, limit: float) -> Section:
    """a. All planners on all queries."""
    scene, robot = load_kitchen()
    queries = kitchen_queries(scene, robot, quick=quick)
    found, missing = planners(scene, robot)
    for sentence in missing:
        print(sentence)
    print(flush=True)
    judge = Judge(scene, robot)
    try:
        runs = race(found, queries, judge, limit)
    finally:
        for each in found:
            each.close()
        judge.close()
    summaries = {name: show(runs, (name,), limit) for name in SETS}
    wrong = objections(runs)
    if wrong:
        table(["paths that an engine objects to", "query", "what it says"], wrong)
    raw = {
        "runs": [asdict(run) for run in runs],
        "summaries": {
            name: {k: asdict(v) for k, v in each.items()} for name, each in summaries.items()
        },
    }
    return raw, planner_targets(runs, summaries, limit)


def planner_targets(
    runs: list[Run], summaries: dict[str, dict[str, Summary]], limit: float
) -> list[Target]:
    """What is wanted of the planners."""
    everyday = summaries[KITCHEN_SET]
    found = []
    for ours, theirs, bound in ((SHORT, BIRRT, 500), (PROVEN, BIRRT, 100), (RAW, ROBOPLAN, 5)):
        for what in ("median", "p95"):
            figure = None
            if theirs in everyday:
                figure = getattr(everyday[theirs], what) / getattr(everyday[ours], what)
            found.append(Target.at_least(f"{ours}: {what} against {theirs}", bound, figure))
    for ours in (RAW, SHORT, PROVEN):
        all_sets = summed_up(runs, ours, SETS, limit)
        share = 100.0 * all_sets.valid / all_sets.solved if all_sets.solved else None
        found.append(Target.at_least(f"{ours}: paths free in both engines", 100, share, " %"))
    for name in NARROW:
        mine = summaries[name][PROVEN]
        share = 100.0 * mine.soon / mine.asked
        found.append(Target.at_least(f"{name}: solved and proven within 1 s", 95, share, " %"))
    return found


def checker(quick: bool) -> Section:
    """b. The compiled checker by itself."""
    scene, robot = load_kitchen()
    found = kernel.measure(scene, robot, kitchen_queries(scene, robot, quick=quick), quick)
    table(
        ["checker", "measured", "unit"],
        [[what, shown(value), unit] for what, value, unit in found.rows()],
    )
    batch, single = (rate / found.bullet for rate in (found.batch, found.single))
    targets = [
        Target.at_least("M states a second along free edges", 10, found.edges / 1e6, ""),
        Target.at_least("the same, as far as hoped", 20, found.edges / 1e6, ""),
        Target.at_least("single checks in one call against PyBullet's", 20, batch),
        Target.at_least("single checks from Python against PyBullet's", 20, single),
    ]
    for engine, tally in found.own.items():
        missed = 100.0 * tally.missed / tally.states
        targets.append(Target.at_most(f"self-collisions missed, {engine}", 0.1, missed, " %"))
    return found.raw(), targets


def ik(quick: bool) -> Section:
    """c. Inverse kinematics."""
    return inverse_kinematics.measure(*((100, 3) if quick else ()))


def obstacles(quick: bool, limit: float, figure: Path | None) -> Section:
    """d. Time to plan against the number of obstacles."""
    scene, robot = load_kitchen()
    return figures.growth(scene, robot, limit, figure, quick), []


if __name__ == "__main__":
    sys.exit(main())
