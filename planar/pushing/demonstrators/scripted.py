"""A demonstrator of hand-written geometric rules, which doesn't look ahead.

1. The body has to move by the error of its pose. A push along the outline's normal n at p moves it
   along (n, p x n / c^2), with the characteristic length c of support friction
   (``planar.geometry.support``). Choose the contact whose motion is most like the error, among
   those that the pusher can reach; a long way there counts against it.
2. Go round the body to the contact and push along the normal, slower near the goal.
3. When the error grows again, draw back and begin with step 1.
"""

from __future__ import annotations

import numpy as np

from galley.domain.frames import Array, rotation_z
from galley.planar.geometry.support import characteristic_length
from galley.planar.pushing.config import PushConfig
from galley.planar.pushing.demonstrators.motion import GoalDistance, PusherTiming
from galley.planar.pushing.demonstrators.roadmap import Roadmap
from galley.planar.pushing.simulation import PushSimulation, PushState

_SLOWEST, _FASTEST = 0.03, 0.6  # speeds of a push, as shares of the speed of travel
_BRAKE = 1.5  # 1/s, speed of a push per distance from the goal
_WAY = 0.5  # 1/m: what a way costs of the likeness, a cosine
_PATIENCE = 30  # steps without progress after which a push ends


class Scripted:
    """The demonstrator of the module."""

    def __init__(self, config: PushConfig) -> None:
        self._pace, sim = PusherTiming.of(config), PushSimulation(config)
        self._aim, self._roadmap = GoalDistance(sim), Roadmap(sim)
        self._length = characteristic_length(sim.body)
        self._direction, self._reference = np.zeros(2), np.zeros(2)
        self._least, self._waited = np.inf, 0
        self.reset(0)

    def reset(self, seed: int) -> None:
        """Begin an episode; the seed changes nothing."""
        self._targets: list[Array] = []
        self._pushes = False

    def act(self, state: PushState) -> Array:
        """The next target of the pusher (2,), m."""
        return self._roadmap.on_table(self._next(state))

    def _next(self, state: PushState) -> Array:
        """The next target (2,), m, which may be off the table."""
        if not self._targets and not self._pushes:
            self._choose(state)
        if self._targets:
            return self._targets.pop(0)
        error = float(self._aim.distances(state.body.T)[0])
        self._waited += 1
        if error < self._least - 1e-9:
            self._least, self._waited = error, 0
        elif error > self._least + 1e-4 or self._waited > _PATIENCE:
            self._pushes = False
            back = state.pusher[:, 0] - self._direction * self._pace.travel * self._pace.ahead
            self._targets = [back]  # for two steps
            return back
        pace = self._pace
        share = np.clip(_BRAKE * error / pace.travel, _SLOWEST, _FASTEST)
        self._reference = self._reference + self._direction * share * pace.travel * pace.step
        return self._reference

    def _choose(self, state: PushState) -> None:
        """Choose the next contact, and plan the way to it; wait if none can be reached."""
        body, pusher = state.body[:, 0], state.pusher[:, 0]
        error = self._aim.errors(body[None])[0]
        turn = rotation_z(float(body[2]))[:2, :2]
        roadmap, length = self._roadmap, self._length
        into = -roadmap.normals
        p = roadmap.points
        lever = (p[:, 0] * into[:, 1] - p[:, 1] * into[:, 0]) / length
        motions = np.column_stack([into @ turn.T, lever])
        wanted = error * np.array([1.0, 1.0, length])
        alike = (
            motions @ wanted / np.linalg.norm(motions, axis=1) / (np.linalg.norm(wanted) + 1e-12)
        )
        paths = roadmap.paths(body, pusher)
        self._least, self._waited = np.inf, 0
        if not np.isfinite(paths.lengths).any():
            self._targets = [pusher.copy()]
            return
        best = int((alike - _WAY * paths.lengths).argmax())
        points = paths.to(best)
        steps = np.arange(int(self._pace.steps(paths.lengths[best])) + 1)
        self._targets = list(self._pace.along(points, steps))
        self._pushes, self._direction, self._reference = True, turn @ into[best], points[-1]
