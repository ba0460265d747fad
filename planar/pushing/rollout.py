"""One episode of a demonstrator: states, targets, and configurations of the arm."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from galley.domain.frames import Array
from galley.planar.pushing.arm import PushArm
from galley.planar.pushing.config import PushConfig
from galley.planar.pushing.demonstrators import Demonstrator
from galley.planar.pushing.simulation import PushSimulation

SUCCESS = 0.95  # coverage of the goal above which an episode ends with success
STEPS = 300  # control steps of an episode, at most


class Stopped(Exception):
    """Raised by a demonstrator's ``act``: the episode ends here."""


@dataclass(frozen=True, eq=False)
class Rollout:
    """T control steps of one table.

    Attributes:
        config: parameters of the simulation.
        states: (T + 1, 11), see ``simulation_kernel``; the first is the start.
        targets: (T, 2), where the pusher was driven to, m.
        angles: (T + 1, N), joint angles of the arm, rad; no row collides with itself.
        seed: of the start and of the demonstrator.
    """

    config: PushConfig
    states: Array
    targets: Array
    angles: Array
    seed: int

    @property
    def coverage(self) -> Array:
        """Share (T + 1,) of the goal that the body covers in each state."""
        return self.states[:, 10]

    @property
    def success(self) -> bool:
        """Whether the last state covers the goal."""
        return bool(self.coverage[-1] > SUCCESS)


def roll_out(
    sim: PushSimulation,
    demonstrator: Demonstrator,
    seed: int,
    steps: int = STEPS,
    progress: Callable[[int, int], None] | None = None,
) -> Rollout:
    """Drive a random table until the goal is covered or the demonstrator stops, at most ``steps``.

    The start is that of ``gymnasium.make("galley/Push-v0").reset(seed=seed)``.

    Args:
        sim: simulation of the table.
        demonstrator: drives the pusher.
        seed: of the start and of the demonstrator.
        steps: most control steps.
        progress: called with (steps done, ``steps``).

    Raises:
        ValueError: the arm can't hold the pusher without crossing itself.
    """
    state = sim.random_states(np.random.default_rng(seed), 1)
    demonstrator.reset(seed)
    states: list[Array] = [state.values[:, 0].copy()]
    targets: list[Array] = []
    while len(targets) < steps and state.coverage[0] <= SUCCESS:
        try:
            targets.append(np.array(demonstrator.act(state), dtype=np.float64))
        except Stopped:
            break
        sim.advance(state, targets[-1][None])
        states.append(state.values[:, 0].copy())
        if progress is not None:
            progress(len(targets), steps)
    recorded = np.array(states)
    angles = held(PushArm(sim.config.arm), recorded[:, :2])
    return Rollout(sim.config, recorded, np.array(targets).reshape(-1, 2), angles, seed)


def held(arm: PushArm, pusher: Array) -> Array:
    """Angles (T, N), rad, of an arm whose tip follows ``pusher`` (T, 2), m, each from the last.

    Raises:
        ValueError: at one of the points the arm crosses itself, or can't reach it.
    """
    angles = np.zeros((len(pusher), len(arm.config.links)))
    for k, point in enumerate(pusher):
        angles[k] = arm.follow(angles[max(k - 1, 0)], point)
    return angles
