"""Pushing: speed beside gym-pusht, coverage beside shapely, IK beside SciPy.

    python bench/pushing.py

gym-pusht 0.1.8 runs in an environment of its own, which the first run makes in ``runs/gym-pusht``
with pip. Times are CPU times of one thread; both simulators run by turns, the best of each counts.
"""

from __future__ import annotations

import subprocess
import sys
import time
import venv
from pathlib import Path

import gymnasium
import numpy as np
import shapely
from planning_runs import table

import galley.pushing.environment
from galley.pushing.arm import PushArm
from galley.pushing.config import PushConfig
from galley.pushing.shapes import SHAPES, shape
from galley.pushing.simulation import Simulation

ID = galley.pushing.environment.ID
PEER = "gym-pusht==0.1.8"
FOLDER = Path("runs/gym-pusht")
ROUNDS = 5
CASES = 1000  # of inverse kinematics

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
import gymnasium, gym_pusht, warnings
warnings.filterwarnings("ignore")
print(clock(gymnasium.make("gym_pusht/PushT-v0", obs_type="state"), 1500))
"""


def peer() -> Path:
    """The Python of the peer's environment; made if it is not there."""
    python = FOLDER / "bin" / "python"
    if not (FOLDER / "made").exists():
        print(f"installing {PEER} in {FOLDER}", file=sys.stderr)
        venv.create(FOLDER, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "-q", PEER, "pymunk<7"], check=True)
        (FOLDER / "made").touch()
    return python


def speed() -> None:
    """Steps per second with random actions, observation ``state``."""
    python, names = peer(), {"__name__": "clock"}
    exec(CLOCK, names)
    theirs, ours, many = [], [], []
    env, batch = gymnasium.make(ID), gymnasium.make_vec(ID, num_envs=1024)
    batch.reset(seed=0)
    batch.action_space.seed(0)
    actions = [batch.action_space.sample() for _ in range(100)]
    for _ in range(ROUNDS):
        done = subprocess.run(
            [python, "-c", CLOCK + THEIRS], capture_output=True, text=True, check=True
        )
        theirs.append(float(done.stdout))
        ours.append(names["clock"](env, 10000))  # type: ignore[operator]
        began = time.process_time()
        for action in actions:
            batch.step(action)
        many.append(100 * 1024 / (time.process_time() - began))
    rows = []
    for name, found in ((PEER, theirs), (ID, ours), ("vector of 1024", many)):
        best = max(found)
        rows.append([name, f"{best:.0f}", f"{best / max(theirs):.0f}x", f"{best / max(ours):.1f}x"])
    table(["steps per second", "best", "gym-pusht's", "single environment's"], rows)


def coverage() -> None:
    """Coverage against shapely."""
    rows = []
    for name in SHAPES:
        sim = Simulation(PushConfig(shape=shape(name)))
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
        rows.append([name, f"{off:.1e}", f"{1e6 * each:.2f}"])
    table(["coverage", "largest difference from shapely", "us each"], rows)


def kinematics() -> None:
    """Compiled inverse kinematics against SciPy's, from the same starts."""
    arm, rng = PushArm(PushConfig().arm), np.random.default_rng(0)
    starts, targets = rng.normal(0.0, 0.8, (CASES, 5)), rng.uniform(0.0, 0.512, (CASES, 2))
    arm.ik(starts, targets)
    began = time.process_time()
    _, ours = arm.ik(starts, targets)
    each = (time.process_time() - began) / CASES
    began = time.process_time()
    found = [arm.ik_scipy(start, target) for start, target in zip(starts, targets, strict=True)]
    theirs = (time.process_time() - began) / CASES
    costs = np.array([arm.cost(q, to) for q, to in zip(found, targets, strict=True)])
    table(
        ["inverse kinematics", "compiled", "SciPy"],
        [
            ["us each", f"{1e6 * each:.0f}", f"{1e6 * theirs:.0f} ({theirs / each:.0f}x)"],
            ["cost at most SciPy's + 1e-6 m^2", f"{100 * np.mean(ours <= costs + 1e-6):.1f} %", ""],
            ["without penalty", f"{100 * np.mean(ours < 1e-8):.1f} %",
             f"{100 * np.mean(costs < 1e-8):.1f} %"],
        ],
    )  # fmt: skip


if __name__ == "__main__":
    speed()
    coverage()
    kinematics()
