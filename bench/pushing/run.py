"""Pushing: every row of its table in one run, beside gym-pusht, shapely and SciPy.

    python bench/pushing/run.py [FILE.json] [--without-demonstrators]

gym-pusht 0.1.8 runs in an environment of its own, which the first run makes in ``runs/outside``
with pip. Times are CPU times of one thread; both simulators run by turns, the best of each counts.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import shapely

import galley.planar.pushing.environment
from galley.bench.pushing import scipy_ik
from galley.bench.pushing.demonstrators import score
from galley.bench.pushing.peer import PEER, ask
from galley.bench.report import Target, conclude, table
from galley.planar.pushing.arm import PushArm
from galley.planar.pushing.config import PushConfig
from galley.planar.pushing.shapes import SHAPES, shape
from galley.planar.pushing.simulation import PushSimulation

ID = galley.planar.pushing.environment.ID
ROUNDS = 5
CASES = 1000  # of inverse kinematics
BATCH = 1024
EPISODES = 100  # of the planned demonstrator, for each shape

# Both are timed by this text, so that they are timed alike.
CLOCK = """
import time
def clock(env, steps):
    env.reset(seed=0)
    env.action_space.seed(0)
    actions = [env.action_space.sample() for _ in range(steps)]
    began = time.process_time()
    for action in actions:
        _, _, ended, late, _ = env.step(action)
        if ended or late:
            env.reset()
    return steps / (time.process_time() - began)
"""
THEIRS = """
import gymnasium, gym_pusht, sys, warnings
warnings.filterwarnings("ignore")
for kind, steps in (("state", 1500), ("pixels", 300)):
    print(clock(gymnasium.make("gym_pusht/PushT-v0", obs_type=kind), steps))
"""


def speed(figures: dict[str, Any]) -> list[Target]:
    """Steps per second with random actions, under the Gymnasium API."""
    names: dict[str, Any] = {"__name__": "clock"}
    exec(CLOCK, names)
    peer = {"compat": "gym-pusht"}
    ours = {
        f"{ID}, state": (gymnasium.make(ID), 10000),
        f"{ID}, pixels": (gymnasium.make(ID, observation="pixels"), 3000),
        f"{ID}, joints": (gymnasium.make(ID, action="joints"), 2000),
        f"{ID}, compat, state": (gymnasium.make(ID, **peer), 3000),
        f"{ID}, compat, pixels": (gymnasium.make(ID, observation="pixels", **peer), 2000),
    }
    found: dict[str, list[float]] = {f"{PEER}, {kind}": [] for kind in ("state", "pixels")}
    found |= {name: [] for name in ours} | {f"vector of {BATCH}, state": []}
    batch = gymnasium.make_vec(ID, num_envs=BATCH)
    batch.reset(seed=0)
    batch.action_space.seed(0)
    actions = [batch.action_space.sample() for _ in range(100)]
    for _ in range(ROUNDS):
        for kind, rate in zip(("state", "pixels"), ask(CLOCK + THEIRS).split(), strict=True):
            found[f"{PEER}, {kind}"].append(float(rate))
        for name, (env, steps) in ours.items():
            found[name].append(names["clock"](env, steps))
        began = time.process_time()
        for action in actions:
            batch.step(action)
        found[f"vector of {BATCH}, state"].append(100 * BATCH / (time.process_time() - began))
    best = {name: max(rates) for name, rates in found.items()}

    def ratio(name: str) -> float:
        return best[name] / best[f"{PEER}, {'pixels' if 'pixels' in name else 'state'}"]

    single = best[f"{ID}, state"]
    rows = [
        [name, f"{rate:.0f}", f"{ratio(name):.1f}x", f"{rate / single:.2f}x"]
        for name, rate in best.items()
    ]
    table(["steps per second", "best", "gym-pusht's", "our single environment's"], rows)
    figures["steps per second"] = found
    return [
        Target.at_least("state, single, against gym-pusht", 40, ratio(f"{ID}, state")),
        Target.at_least("pixels, single, against gym-pusht", 5, ratio(f"{ID}, pixels")),
        Target.at_least(
            f"vector of {BATCH}, per step, against gym-pusht", 300,
            ratio(f"vector of {BATCH}, state"),
        ),
    ]  # fmt: skip


def coverage(figures: dict[str, Any]) -> list[Target]:
    """Coverage against shapely."""
    rows, worst = [], 0.0
    for name in SHAPES:
        sim = PushSimulation(PushConfig(shape=shape(name)))
        rng = np.random.default_rng(0)
        bodies = np.column_stack([rng.normal(0.256, 0.05, (2000, 2)), rng.uniform(-4, 4, 2000)])
        state = sim.states(bodies, np.full((2000, 2), 0.02))
        began = time.process_time()
        sim.measure(state)
        each = (time.process_time() - began) / 2000
        goal = shapely.Polygon(sim.goal.vertices)
        theirs = [
            shapely.Polygon(sim.body.moved(body).vertices).intersection(goal).area / goal.area
            for body in bodies
        ]
        off = np.abs(state.coverage - theirs).max()
        worst = max(worst, float(off))
        rows.append([name, f"{off:.1e}", f"{1e6 * each:.2f}"])
    table(["coverage", "largest difference from shapely", "us each"], rows)
    figures["coverage"] = worst
    return [Target.at_most("coverage against shapely", 1e-9, worst, "")]


def kinematics(figures: dict[str, Any]) -> list[Target]:
    """Compiled inverse kinematics against SciPy's, from the same starts."""
    arm, rng = PushArm(PushConfig().arm), np.random.default_rng(0)
    starts, targets = rng.normal(0.0, 0.8, (CASES, 5)), rng.uniform(0.0, 0.512, (CASES, 2))
    arm.ik(starts, targets)
    began = time.process_time()
    _, ours = arm.ik(starts, targets)
    each = (time.process_time() - began) / CASES
    began = time.process_time()
    found = [scipy_ik.ik(arm, start, target) for start, target in zip(starts, targets, strict=True)]
    theirs = (time.process_time() - began) / CASES
    costs = np.array([scipy_ik.cost(arm, q, to) for q, to in zip(found, targets, strict=True)])
    table(
        ["inverse kinematics", "compiled", "SciPy"],
        [
            ["us each", f"{1e6 * each:.0f}", f"{1e6 * theirs:.0f} ({theirs / each:.0f}x)"],
            ["cost at most SciPy's + 1e-6 m^2", f"{100 * np.mean(ours <= costs + 1e-6):.1f} %", ""],
            ["without penalty", f"{100 * np.mean(ours < 1e-8):.1f} %",
             f"{100 * np.mean(costs < 1e-8):.1f} %"],
        ],
    )  # fmt: skip
    share = float(np.mean(ours <= costs + 1e-6))
    figures["inverse kinematics"] = {"compiled_s": each, "scipy_s": theirs, "no worse": share}
    return [
        Target.at_least("inverse kinematics, compiled against SciPy", 30, theirs / each),
        Target.at_least("of which no worse than SciPy + 1e-6 m^2", 0.99, share, ""),
    ]


def planned(figures: dict[str, Any]) -> list[Target]:
    """The planned demonstrator from random starts; more in ``pushing/demonstrators.py``."""
    found, rows = [], []
    for name in SHAPES:
        runs = score("planned", PushConfig(shape=shape(name)), EPISODES)
        share, mean = float(runs.success.mean()), float(runs.steps.mean())
        rows.append([name, f"{100 * share:.0f} %", f"{mean:.0f}", f"{runs.seconds / EPISODES:.2f}"])
        found.append(Target.at_least(f"planned demonstrator, {name}", 0.9, share, ""))
    table([f"planned, {EPISODES} starts", "success", "mean steps", "CPU s each"], rows)
    figures["planned"] = rows
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("json", nargs="?", type=Path, help="a file for all figures")
    parser.add_argument("--without-demonstrators", action="store_true", help="they take minutes")
    args = parser.parse_args()
    sections = [speed, coverage, kinematics]
    if not args.without_demonstrators:
        sections.append(planned)
    figures: dict[str, Any] = {}
    conclude(figures, [each for section in sections for each in section(figures)], args.json)


if __name__ == "__main__":
    main()
