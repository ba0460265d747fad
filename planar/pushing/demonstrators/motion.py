"""Targets along a path, and the distance of a body from the goal, for demonstrators.

The pusher obeys a = gain (target - p) - damping v, so at a steady speed it lags damping / gain
seconds behind its target. A target that runs ahead on the path by this time and half a control
step keeps the pusher on the path.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array
from galley.planar.pushing.config import PushConfig
from galley.planar.pushing.simulation import PushSimulation

_SPEED = 3.0  # of travel: radii of the pusher per lag; corners are cut by less than the clearance
_LATEST = 10.0  # s, longest lag of a pusher that a demonstrator drives
_TURNS = 360  # angles at which a body's symmetry is tested
_SAME = 0.99  # share of the goal that a turned body must cover to count as the same


@dataclass(frozen=True)
class PusherTiming:
    """Speeds and times of a config's pusher.

    Attributes:
        step: control step, s.
        ahead: time by which targets run ahead of the pusher, s.
        travel: speed on the way to a contact, the highest of all, m/s.
    """

    step: float
    ahead: float
    travel: float

    @classmethod
    def of(cls, config: PushConfig) -> PusherTiming:
        """The pace for a config's pusher.

        Raises:
            ValueError: targets don't move the pusher, or it lags too far behind.
        """
        if config.pusher_gain <= 0.0:
            raise ValueError("pusher_gain = 0: no target moves this pusher")
        step = config.dt * config.substeps
        lag = config.pusher_damping / config.pusher_gain
        if lag > _LATEST:
            raise ValueError(
                f"pusher_damping / pusher_gain = {lag:g} s: the pusher lags behind its target by "
                f"this time; at most {_LATEST:g} s"
            )
        return cls(step, lag + 0.5 * step, _SPEED * config.pusher_radius / max(lag, step))

    def arrival(self, lengths: Array) -> Array:
        """Times (s) at which targets reach the ends of paths of these lengths (m)."""
        return np.asarray(lengths / self.travel - self.ahead)

    def steps(self, lengths: Array) -> NDArray[np.int64]:
        """Control steps until the target reaches the end of each path; 0 if it does at once."""
        return np.ceil(np.maximum(self.arrival(lengths) / self.step, 0.0)).astype(np.int64)

    def along(self, points: Array, steps: NDArray[np.int64]) -> Array:
        """Targets (k, 2), m, at control steps (k,) of travel through points (n, 2), to the last."""
        ends = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1)))
        at = (steps * self.step + self.ahead) * self.travel
        return np.stack([np.interp(at, ends, axis) for axis in points.T], axis=1)


class GoalDistance:
    """Distances of bodies from the goal.

    Attributes:
        arm: radius of gyration, m; a turn counts as angle times arm.
        turns: (k,), rad: symmetries; a body turned by one of them covers the goal as well.
    """

    def __init__(self, sim: PushSimulation) -> None:
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
        """Motions (n, 3), m, m, rad, from poses (n, 3) to the goal, by its nearest symmetry."""
        move = self._goal - bodies
        turn = move[:, 2:] + self.turns
        turn = np.remainder(turn + np.pi, 2.0 * np.pi) - np.pi
        best = np.abs(turn).argmin(axis=1)
        move[:, 2] = turn[np.arange(len(turn)), best]
        return move

    def distances(self, bodies: Array) -> Array:
        """Distances (n,), m, of poses (n, 3) from the goal: root mean square over a body's points.

        It is an approximation: arm times angle stands for the chord.
        """
        return self._lengths(self.errors(bodies))

    def apart(self, a: Array, b: Array) -> Array:
        """Distances (n,), m, between poses (n, 3), measured in the same way."""
        return self._lengths(np.asarray(a - b))

    def _lengths(self, moves: Array) -> Array:
        return np.asarray(
            np.sqrt(moves[:, 0] ** 2 + moves[:, 1] ** 2 + (self.arm * moves[:, 2]) ** 2)
        )
