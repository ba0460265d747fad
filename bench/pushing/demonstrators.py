"""Demonstrators of pushing: how often they succeed, in how many steps, at what cost.

    python bench/pushing/demonstrators.py [EPISODES]

Each runs from the same random starts, those of seeds 0 to 99. CPU times are of one thread.
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass, replace

import numpy as np

from galley.bench.report import table
from galley.domain.frames import Array
from galley.planar.geometry.polygon import SimplePolygon
from galley.planar.pushing.config import PushConfig
from galley.planar.pushing.config_file import load_config
from galley.planar.pushing.demonstrators import DEMONSTRATORS, demonstrator
from galley.planar.pushing.rollout import STEPS, roll_out
from galley.planar.pushing.shapes import SHAPES, shape
from galley.planar.pushing.simulation import PushSimulation

PLUS = SimplePolygon(
    np.array(
        [
            (-0.015, -0.06), (0.015, -0.06), (0.015, -0.015), (0.06, -0.015), (0.06, 0.015),
            (0.015, 0.015), (0.015, 0.06), (-0.015, 0.06), (-0.015, 0.015), (-0.06, 0.015),
            (-0.06, -0.015), (-0.015, -0.015),
        ]
    )
)  # fmt: skip
U = SimplePolygon(
    np.array(
        [
            (-0.07, 0.0), (0.07, 0.0), (0.07, 0.1), (0.045, 0.1),
            (0.045, 0.025), (-0.045, 0.025), (-0.045, 0.1), (-0.07, 0.1),
        ]
    )
)  # fmt: skip
TRIANGLE = SimplePolygon(np.array([(0.0, 0.0), (0.15, 0.0), (0.02, 0.06)]))
DEFAULT = PushConfig()
OTHERS = {
    "plus": replace(DEFAULT, shape=PLUS),
    "U": replace(DEFAULT, shape=U),
    "triangle": replace(DEFAULT, shape=TRIANGLE),
    "T, friction 0.1": replace(DEFAULT, friction=0.1),
    "T, friction 1": replace(DEFAULT, friction=1.0),
    "T of 3 kg": replace(DEFAULT, mass=3.0),
    "T, contact friction 0.3": replace(DEFAULT, contact_friction=0.3),
    "T, pusher of 1 kg": replace(DEFAULT, pusher_mass=1.0),
    "T, pusher's radius 10 mm": replace(DEFAULT, pusher_radius=0.01),
    "T, pusher's radius 35 mm": replace(DEFAULT, pusher_radius=0.035),
    "T, goal 29 and 40 mm from walls": replace(DEFAULT, goal_x=0.1, goal_y=0.07, goal_theta=0.0),
    "L, goal 2 mm from a wall": replace(
        DEFAULT, shape=shape("L"), goal_x=0.256, goal_y=0.45, goal_theta=1.57
    ),
    "examples/pushing/pushing.yaml": load_config("examples/pushing/pushing.yaml"),
}


@dataclass(frozen=True, eq=False)
class Score:
    """Of n episodes, each (n,).

    Attributes:
        success: of each. steps: that it took. seconds: CPU time of all, with the arm's.
    """

    success: Array
    steps: Array
    seconds: float


def score(name: str, config: PushConfig, episodes: int) -> Score:
    """A demonstrator from the starts of seeds 0 to ``episodes`` - 1.

    Raises:
        ValueError: the arm can't hold the pusher in one of them.
    """
    sim, driver = PushSimulation(config), demonstrator(name, config)
    roll_out(sim, driver, 0, steps=1)  # loads compiled code
    began = time.process_time()
    runs = [roll_out(sim, driver, seed) for seed in range(episodes)]
    return Score(
        np.array([each.success for each in runs]),
        np.array([len(each.targets) for each in runs]),
        time.process_time() - began,
    )


def demonstrators(episodes: int = 100) -> None:
    """Every demonstrator on every shape, then the planned one on other tables."""
    cases = [
        (name, each, replace(DEFAULT, shape=shape(each)))
        for name in DEMONSTRATORS
        for each in SHAPES
    ]
    rows = [_row(f"{name}: {each}", score(name, config, episodes)) for name, each, config in cases]
    some = max(episodes // 5, 1)
    rows += [_row(f"planned: {each}", score("planned", OTHERS[each], some)) for each in OTHERS]
    heads = [f"within {STEPS} steps", "success", "mean steps", "of successes", "CPU s each"]
    table(heads, rows)


def _row(name: str, found: Score) -> list[str]:
    n, wins = len(found.success), int(found.success.sum())
    won = f"{found.steps[found.success].mean():.0f}" if wins else "-"
    print(f"{name}: {wins} of {n}", file=sys.stderr)
    return [name, f"{wins} of {n}", f"{found.steps.mean():.0f}", won, f"{found.seconds / n:.2f}"]


if __name__ == "__main__":
    demonstrators(*map(int, sys.argv[1:2]))
