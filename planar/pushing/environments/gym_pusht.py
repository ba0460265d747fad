"""gym-pusht's interface over our simulation, or over pymunk as gym-pusht uses it.

    env = gymnasium.make("galley/Push-v0", compat="gym-pusht", obs_type="pixels_agent_pos")
    env = gymnasium.make("galley/Push-v0", compat="gym-pusht", physics="upstream")

Spaces, their dtypes, reward, info and ``options={"reset_to_state": (5,)}`` are those of
``gym_pusht/PushT-v0`` 0.1.8; so is the end, at 300 steps or a coverage above 0.95, and so are the
attributes that others' scripts use. A seed gives gym-pusht's start (see ``GalleyPhysics.random``
for what differs).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike

from galley.domain.frames import Array
from galley.planar.pushing.config import PushConfig
from galley.planar.pushing.config_file import load_config
from galley.planar.pushing.environments.physics import (
    GOAL,
    KEYPOINTS,
    SIZE,
    GalleyPhysics,
    Physics,
    UpstreamPhysics,
    metres,
    simulation,
    view,
)
from galley.planar.pushing.environments.rendered import Actions, Info, RenderedEnv, Seen
from galley.planar.pushing.picture import SIZE as SIZE_OBSERVED
from galley.planar.pushing.picture import Painter, Picture
from galley.planar.pushing.rollout import SUCCESS
from galley.planar.pushing.simulation import Simulation

OBSERVATIONS = ("state", "environment_state_agent_pos", "pixels", "pixels_agent_pos")
PHYSICS: dict[str, Callable[[Simulation], Physics]] = {
    "galley": GalleyPhysics,
    "upstream": UpstreamPhysics,
}

_RENDERED = 680  # pixels, as there


class GymPushTEnv(RenderedEnv):
    """One table; see the module.

    Args:
        observation: one of ``OBSERVATIONS``; also by gym-pusht's name, ``obs_type``.
        config: of the body, the contacts and the friction, where the physics is ours; also the path
            of a YAML file.
        physics: ``galley`` or ``upstream``.
        render_mode: None, ``rgb_array`` or ``human``.
        observation_width, observation_height, visualization_width, visualization_height: pixels of
            what is observed and rendered. Where they differ, the plane is in the middle.

    Attributes:
        dt: s, of a substep. control_hz: control steps a second.
        success_threshold: coverage above which an episode ends with success.

    Raises:
        ValueError: no such observation, physics or way to render, or a bad config.
        ImportError: pymunk is missing.
    """

    def __init__(
        self,
        observation: str = "state",
        config: PushConfig | str | Path | None = None,
        physics: str = "galley",
        render_mode: str | None = None,
        *,
        obs_type: str | None = None,
        observation_width: int = SIZE_OBSERVED,
        observation_height: int = SIZE_OBSERVED,
        visualization_width: int = _RENDERED,
        visualization_height: int = _RENDERED,
    ) -> None:
        observation = obs_type or observation
        for name, value, known in (
            ("observation", observation, OBSERVATIONS),
            ("physics", physics, tuple(PHYSICS)),
        ):
            if value not in known:
                raise ValueError(f"{name} = {value!r}: must be one of {', '.join(known)}")
        if not (config is None or isinstance(config, PushConfig)):
            config = load_config(config)
        sim = simulation(config)
        step = sim.config.dt * sim.config.substeps if physics == "galley" else 0.1
        super().__init__(render_mode, step)
        self.config, self.physics = sim.config, PHYSICS[physics](sim)
        self.action_space = spaces.Box(0.0, SIZE, (2,), dtype=np.float32)
        self.obs_type, self.dt, self.control_hz = observation, self.physics.dt, round(1.0 / step, 3)
        self.success_threshold = SUCCESS
        self.observation_width, self.observation_height = observation_width, observation_height
        self.visualization_width = visualization_width
        self.visualization_height = visualization_height
        self._target: Array | None = None
        self._painter = Painter(sim, view(observation_width, observation_height))
        self.observation_space = self._space()

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[Seen, Info]:
        """Put block and pusher on the table; returns the first observation.

        ``options={"reset_to_state": (5,)}``: pusher's and block's x, y (px), the block's angle.
        """
        super().reset(seed=seed)
        options = options or {}
        if unknown := set(options) - {"reset_to_state"}:
            raise ValueError(f"options {sorted(unknown)}: must be reset_to_state")
        if options.get("reset_to_state") is None:
            start = self.physics.random(self.np_random)
        else:
            start = _checked("reset_to_state", options["reset_to_state"])
        self.physics.place(start)
        self._target = None
        if self.render_mode == "human":
            self.render()
        return self.get_obs(), {**self._info(), "is_success": False}

    def step(self, action: Actions) -> tuple[Seen, float, bool, bool, Info]:
        """One control step.

        Raises:
            ValueError: an action of the wrong shape or not finite, or an unstable config, see
                ``Simulation.check``.
        """
        given = np.asarray(action, dtype=np.float64)
        if given.shape != (2,) or not np.isfinite(given).all():
            raise ValueError(f"action = {action}: must be (2,) finite numbers")
        self.physics.step(*given.tolist())
        self._target = given
        if self.render_mode == "human":
            self.render()
        coverage = float(self.physics.state.coverage[0])
        success = coverage > self.success_threshold
        info = {**self._info(), "is_success": success, "coverage": coverage}
        reward = min(coverage / self.success_threshold, 1.0)
        return self.get_obs(), reward, success, False, info

    @property
    def agent(self) -> Any:
        """The pusher: its ``position`` and ``velocity``; with ``upstream`` pymunk's body."""
        return self.physics.bodies[0]

    @property
    def block(self) -> Any:
        """The block: as ``agent``, and ``angle``, ``angular_velocity``."""
        return self.physics.bodies[1]

    @property
    def goal_pose(self) -> Array:
        """(3,) px, px, rad."""
        return GOAL.copy()

    def _set_state(self, state: ArrayLike) -> None:
        """Move pusher and block as gym-pusht's does, see ``physics.turned``; scripts call it."""
        self.physics.move(_checked("state", state))

    def _picture(self) -> Picture:
        target = None if self._target is None else metres(self._target)
        return self._large.draw(self.physics.state.values[:, 0], target=target)

    @cached_property
    def _large(self) -> Painter:
        return Painter(self.physics.sim, view(self.visualization_width, self.visualization_height))

    def _space(self) -> spaces.Space[Any]:
        agent = spaces.Box(0.0, SIZE, (2,), dtype=np.float64)
        if self.obs_type == "state":
            high = np.array([SIZE, SIZE, SIZE, SIZE, 2.0 * np.pi])
            return spaces.Box(np.zeros(5), high, dtype=np.float64)
        pixels = spaces.Box(0, 255, self._painter.background.shape, np.uint8)
        if self.obs_type == "pixels":
            return pixels
        if self.obs_type == "pixels_agent_pos":
            return spaces.Dict({"pixels": pixels, "agent_pos": agent})
        points = spaces.Box(0.0, SIZE, (KEYPOINTS.size,), dtype=np.float64)
        return spaces.Dict({"environment_state": points, "agent_pos": agent})

    def get_obs(self) -> Seen:
        """The observation, in arrays that later steps leave alone."""
        if self.obs_type == "pixels":
            return self._painter.observe(self.physics.state)[0]
        pusher, (x, y, theta) = self.physics.pusher.copy(), self.physics.block.tolist()
        if self.obs_type == "state":
            return np.array([*pusher, x, y, theta % (2.0 * math.pi)])
        if self.obs_type == "pixels_agent_pos":
            return {"pixels": self._painter.observe(self.physics.state)[0], "agent_pos": pusher}
        c, s = math.cos(theta), math.sin(theta)
        u, v = KEYPOINTS.T
        points = np.stack([u * c - v * s + x, u * s + v * c + y], axis=1)
        return {"environment_state": points.ravel(), "agent_pos": pusher}

    def _info(self) -> Info:
        physics = self.physics
        return {
            "pos_agent": physics.pusher.copy(),
            "vel_agent": physics.pusher_velocity.copy(),
            "block_pose": physics.block.copy(),
            "goal_pose": GOAL.copy(),
            "n_contacts": physics.contacts,
        }


def _checked(name: str, state: ArrayLike) -> Array:
    """A start (5,) for ``Physics``."""
    start = np.asarray(state, dtype=np.float64)
    if start.shape != (5,) or not np.isfinite(start).all():
        raise ValueError(f"{name} = {start.tolist()}: must be 5 finite numbers")
    return start
