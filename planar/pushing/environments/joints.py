"""``action="joints"``: the pusher is commanded by the angles of the arm that holds it.

    env = gymnasium.make("galley/Push-v0", action="joints")

An action is a configuration (N,) rad of the arm, which N links of ``config.arm`` make. The pusher
is driven to where the tip would be; a tip beyond the table counts as its rim. The arm's own angles
follow the pusher by inverse kinematics, each from the last. From -pi to pi, they stand at the end
of ``state`` and ``keypoints``, as ``angles`` in ``pixels_state``, and in ``info["angles"]``;
``pixels`` don't show the arm. So only the tip of what was commanded is reached: with more than two
links another configuration may hold it.

No configuration that is reported collides with itself. A commanded one that does is refused: the
pusher is driven to the last target that was not. A step is refused as well in which the arm can't
follow: the table stays as it was, and the pusher stands. ``info["refused"]`` says so.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces

from galley.domain.frames import Array
from galley.planar.pushing.arm import PushArm
from galley.planar.pushing.config import PushConfig
from galley.planar.pushing.environment import PushEnv
from galley.planar.pushing.environments.rendered import Actions, Info, Seen
from galley.planar.pushing.picture import Picture

_TRIES = 1000


class JointPushEnv(PushEnv):
    """One table and an arm; see the module. The arguments are those of ``PushEnv``."""

    def __init__(
        self,
        observation: str = "state",
        config: PushConfig | str | Path | None = None,
        **more: Any,
    ) -> None:
        super().__init__(observation, config, **more)
        self.arm, n = PushArm(self.config.arm), len(self.config.arm.links)
        self._links = n
        self.action_space = spaces.Box(-np.pi, np.pi, (n,), dtype=np.float32)
        angles, seen = spaces.Box(-np.pi, np.pi, (n,), dtype=np.float64), self.observation_space
        if isinstance(seen, spaces.Dict):
            self.observation_space = spaces.Dict({**seen.spaces, "angles": angles})
        elif isinstance(seen, spaces.Box) and observation != "pixels":
            low, high = np.append(seen.low, angles.low), np.append(seen.high, angles.high)
            self.observation_space = spaces.Box(low, high, dtype=np.float64)

    def step(self, action: Actions) -> tuple[Seen, float, bool, bool, Info]:
        """One control step; info: ``coverage``, ``is_success``, ``angles`` and ``refused``.

        Raises:
            ValueError: an action of the wrong shape or not finite.
        """
        try:
            self._refused = self.arm.collides(action)
        except (TypeError, ValueError):
            wanted = f"({self._links},) finite angles"
            raise ValueError(f"action = {action}: must be {wanted}") from None
        if not self._refused:
            self._tip = self.arm.tip(np.asarray(action, dtype=np.float64))
        return super().step(self._tip.astype(np.float64))

    def _put(self, options: Info | None) -> None:
        """Put body and pusher on the table, where the arm can hold it."""
        self._refused = False
        for _ in range(_TRIES):
            super()._put(options)
            try:
                self._tip = self.state.pusher[:, 0].copy()
                self.angles = self.arm.follow(np.zeros(self._links), self._tip)
                return
            except ValueError as error:
                if (options or {}).get("state") is not None:
                    raise
                reason = error
        raise ValueError(f"arm: it can hold the pusher hardly anywhere on the table: {reason}")

    def _drive(self, target: Array) -> None:
        before = self.state.values.copy()
        super()._drive(target)
        try:
            self.angles = self.arm.follow(self.angles, self.state.pusher[:, 0])
        except ValueError:
            self.state.values[:] = before
            self.state.pusher_velocity[:] = 0.0
            self._refused = True

    def _picture(self) -> Picture:
        return self._table.large.draw(self.state.values[:, 0], self.angles, self._tip)

    def _seen(self) -> tuple[Seen, Info]:
        seen, info = super()._seen()
        angles = np.remainder(self.angles + np.pi, 2.0 * np.pi) - np.pi
        if isinstance(seen, dict):
            seen = {**seen, "angles": angles.copy()}
        elif seen.ndim == 1:
            seen = np.append(seen, angles)
        return seen, {**info, "angles": angles, "refused": self._refused}
