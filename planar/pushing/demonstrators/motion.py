"""How demonstrators move the pusher, and what they want of the body.

The pusher obeys a = gain (target - p) - damping v, so at a steady speed it is lag = damping / gain
behind its target. A target that runs ahead on the path by this time, and by half a control step,
keeps the pusher on it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array
from galley.planar.pushing.config import PushConfig
from galley.planar.pushing.simulation import Simulation

_SPEED = 3.0  # of travel: radii of the pusher per lag; corners are cut by less than the clearance
_LATEST = 10.0  # s
_TURNS = 360  # in which a body's symmetry is looked for
_SAME = 0.99  # of the goal covered by a turned body that counts as the same


@dataclass(frozen=True)
class Pace:
    """Speeds and times of a config's pusher.

    Attributes:
        step: s, of control. ahead: s, by which targets run ahead of the pusher.
        travel: m/s, the speed on the way to a contact; none is faster.
    """

    step: float
    ahead: float
    travel: float

    @classmethod
    def of(cls, config: PushConfig) -> Pace:
        """Of a config.

        Raises:
            ValueError: targets don't move its pusher, or it hardly follows.
        """
        if config.pusher_gain <= 0.0:
            raise ValueError("pusher_gain = 0: no target moves this pusher")
        step = config.dt * config.substeps
        lag = config.pusher_damping / config.pusher_gain
        if lag > _LATEST:
            raise ValueError(
                f"pusher_damping / pusher_gain = {lag:g} s: so far does the pusher lag behind its "
                f"target; at most {_LATEST:g} s"
            )
        return cls(step, lag + 0.5 * step, _SPEED * config.pusher_radius / max(lag, step))

    def arrival(self, lengths: Array) -> Array:
        """Times (s) at which targets are at the ends of paths (m)."""
        return np.asarray(lengths / self.travel - self.ahead)

    def steps(self, lengths: Array) -> NDArray[np.int64]:
        """Control steps before that; 0 where it is at once."""
        return np.ceil(np.maximum(self.arrival(lengths) / self.step, 0.0)).astype(np.int64)

    def along(self, points: Array, steps: NDArray[np.int64]) -> Array:
        """Targets (k, 2) m of control steps (k,) of travel along points (n, 2); then the last."""
        ends = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1)))
        at = (steps * self.step + self.ahead) * self.travel
        return np.stack([np.interp(at, ends, each) for each in points.T], axis=1)


class Aim:
    """How far bodies are from the goal.

    Attributes:
        arm: m, radius of gyration: a turn by an angle counts as this arm's way.
        turns: (k,) rad: a body turned by them from the goal covers it as well.
    """

    def __init__(self, sim: Simulation) -> None:
        config = sim.config
        self._goal = np.array(config.goal)
        self.arm = float(np.sqrt(sim.inertia / config.mass))
        turns = np.arange(_TURNS) * (2.0 * np.pi / _TURNS)
        poses = np.tile(self._goal, (_TURNS, 1))
        poses[:, 2] += turns
        same = sim.states(poses, np.zeros((_TURNS, 2))).coverage > _SAME
        same[0] = True
        self.turns = turns[same]

    def errors(self, bodies: Array) -> Array:
        """(n, 3) m, m, rad from bodies at (n, 3) to the goal, by the nearest of its turns."""
        move = self._goal - bodies
        turn = move[:, 2:] + self.turns
        turn = np.remainder(turn + np.pi, 2.0 * np.pi) - np.pi
        best = np.abs(turn).argmin(axis=1)
        move[:, 2] = turn[np.arange(len(turn)), best]
        return move

    def distances(self, bodies: Array) -> Array:
        """(n,) m, the root mean square way of a body's points to their places at the goal.

        About: arm times angle is taken for the chord.
        """
        return self._lengths(self.errors(bodies))

    def apart(self, a: Array, b: Array) -> Array:
        """(n,) m, the same between poses (n, 3)."""
        return self._lengths(np.asarray(a - b))

    def _lengths(self, moves: Array) -> Array:
        return np.asarray(
            np.sqrt(moves[:, 0] ** 2 + moves[:, 1] ** 2 + (self.arm * moves[:, 2]) ** 2)
        )
