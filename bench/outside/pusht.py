"""gym-pusht: the demonstrator ``planned`` pushes the T in gym-pusht's own physics.

A row is an episode: gym-pusht's start for the seed, its 300 steps, its success (coverage above
0.95). The planner sees the state, its model is Galley's table, and it plans anew where the block
isn't where the model has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from statistics import mean, median
from typing import Any

KEYS = ("seed",)
VERSIONS = "gym-pusht 0.1.8, pymunk 6.11.1"
EPISODES, QUICK = 500, 12
SEEN = ("pos_agent", "vel_agent", "block_pose")
# Success in 500 episodes, from pixels, as LeRobot reports it (pull request 41).
PUBLISHED = {"diffusion policy, LeRobot": 42.4, "diffusion policy, the original": 60.2}

Ask = Callable[..., Any]
Row = dict[str, Any]


# ----------------------------------------------------------------------------- in Galley's process


@cache
def _planner() -> tuple[Any, Any]:
    from galley.planar.pushing.demonstrators import demonstrator
    from galley.planar.pushing.gym_pusht import table_config
    from galley.planar.pushing.simulation import PushSimulation

    config = table_config()
    return demonstrator("planned", config), PushSimulation(config)


def answer(request: Row) -> list[float] | float:
    """The next target (px) for what an ``info`` of gym-pusht has, see ``SEEN``.

    With a ``seed``: begins an episode. With nothing: CPU seconds of this process so far.
    """
    import time

    import numpy as np

    from galley.planar.pushing.gym_pusht import pixels, table_state

    planner, simulation = _planner()
    if not request:
        return time.process_time()
    if "seed" in request:
        planner.reset(request["seed"])
        return 0.0
    state = table_state(simulation, {key: np.array(value) for key, value in request.items()})
    target: list[float] = pixels(planner.act(state)).tolist()
    return target


def tell(rows: list[Row]) -> Iterator[str]:
    """The table."""
    good = [row for row in rows if row["success"]]
    yield "| method | sees | episodes | success | mean steps to it | CPU s per episode, median |"
    yield "|---|---|---:|---:|---:|---:|"
    share = 100.0 * len(good) / len(rows)
    steps = f"{mean(row['steps'] for row in good):.0f}" if good else "-"
    cpu = f"{median(row['cpu_s'] for row in rows):.1f}"
    yield f"| Galley, `planned` | state | {len(rows)} | {share:.1f} % | {steps} | {cpu} |"
    for name, figure in PUBLISHED.items():
        yield f"| {name}, as published | pixels | 500 | {figure} % | - | - |"


# ------------------------------------------------------------------------------ in their process


def wanted(ask: Ask, quick: bool) -> list[tuple[int]]:
    """Seeds."""
    del ask
    return [(seed,) for seed in range(QUICK if quick else EPISODES)]


def row(ask: Ask, seed: int) -> Row:
    """One episode."""
    import gym_pusht  # registers it
    import gymnasium
    import numpy as np

    assert gym_pusht
    environment = gymnasium.make("gym_pusht/PushT-v0", obs_type="state")
    _, info = environment.reset(seed=seed)
    before = ask()
    ask(seed=seed)
    done, steps, coverage = False, 0, 0.0
    while not done:
        target = ask(**{key: np.asarray(info[key]).tolist() for key in SEEN})
        _, _, reached, late, info = environment.step(np.array(target, dtype=np.float32))
        done, steps, coverage = reached or late, steps + 1, max(coverage, info["coverage"])
    environment.close()
    outcome = {"success": bool(info["is_success"]), "steps": steps, "coverage": coverage}
    return outcome | {"cpu_s": ask() - before, "why": "" if reached else f"covered {coverage:.2f}"}
