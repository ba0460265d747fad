"""``compat="gym-pusht"``: gym-pusht's interface to our simulation; its policies run unchanged.

    env = gymnasium.make("galley/Push-v0", compat="gym-pusht", obs_type="pixels_agent_pos")

Spaces, their dtypes, reward, info and ``options={"reset_to_state": (5,)}`` are those of
``gym_pusht/PushT-v0`` 0.1.8. The same holds for the end of an episode, at 300 steps or a coverage
above 0.95, and for the attributes that other scripts use. A seed gives gym-pusht's start, unless
the block overlaps the pusher or a wall there: then the next draw counts.

Lengths are in px, 0 to 512, y downwards: a T of 120 px, walls whose inner sides are at 7 and
504 px; 1 px is 1 mm of our table. A block's pose is that of the middle of the T's top edge.
gym-pusht's block isn't a T of uniform density: for a mass of 1 its moment of inertia is 3000 px^2
about (0, 45) px, but that of the outline 1931.6 px^2 about (0, 40.71) px. So in gym-pusht a push
turns the block less.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from math import cos, pi, sin
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import ArrayLike

from galley.domain.frames import Array
from galley.planar.pushing.arm import PushArm
from galley.planar.pushing.config import PushConfig
from galley.planar.pushing.config_file import load_config
from galley.planar.pushing.environment import Actions, Info, PushEnv, Seen, known, point
from galley.planar.pushing.picture import SIZE as SIZE_OBSERVED
from galley.planar.pushing.picture import Painter, Picture, PictureArea, view_of
from galley.planar.pushing.rollout import SUCCESS, Rollout, held
from galley.planar.pushing.shapes import shape
from galley.planar.pushing.simulation import PushSimulation, PushState

OBSERVATIONS = ("state", "environment_state_agent_pos", "pixels", "pixels_agent_pos")
SIZE = 512.0  # px, range of observed and commanded positions
GOAL = np.array([256.0, 256.0, pi / 4.0])  # pose of the block
KEYPOINTS = np.array(
    [(-60, 0), (60, 0), (60, 30), (-60, 30), (-15, 30), (15, 30), (15, 120), (-15, 120)],
    dtype=float,
)
"""Corners of bar and stem (8, 2) in the block's frame, px."""
PHYSICS = {"galley": "galley.gym:galley/Push-v0", "upstream": "gym_pusht:gym_pusht/PushT-v0"}
"""Environments with this interface, by the name of their physics."""
ARRAYS = {
    "image": "what the environment paints",
    "state": "agent x, agent y (px)",
    "environment_state": "x and y of the block's eight keypoints, px",
    "action": "target x, target y (px): where the agent is driven to",
    "next_reward": "share of the goal that is covered after the action, by 0.95, at most 1",
    "next_done": "whether the action ends the episode",
    "next_success": "whether more than 0.95 of the goal is covered after the action",
}
"""Arrays of an episode and their meanings, see ``play``."""
_GRAVITY_CENTER = np.array([0.0, 45.0])  # px in the block's frame, as in gym-pusht
_WALL, _FAR = 7.0, 504.0  # px: the walls' inner sides
_SCALE = 1000.0  # px/m
_RADIUS = 15.0  # px, of the pusher
_TRIES = 1000  # draws of a start; about half are free of overlaps
_RENDERED = 680  # pixels, as in gym-pusht
_T = shape("T")  # in the frame of gym-pusht's block
_CENTROID = _T.mass_properties(1.0).centroid  # m


def metres(p: Array) -> Array:
    """Points (..., 2) of our table, whose origin is the walls' inner corner, from px."""
    return (p - _WALL) / _SCALE


def pixels(p: Array) -> Array:
    """Points (..., 2) in px, from metres on our table."""
    return p * _SCALE + _WALL


def body_pose(block: Array) -> Array:
    """Pose (3,) of the centroid on our table (m), from the block's pose in px."""
    theta = float(block[2])
    return np.array([*(metres(block[:2]) + _turn(theta) @ _CENTROID), theta])


def keypoints(block: Array) -> Array:
    """``KEYPOINTS`` at a block's pose (3,), one after the other: (16,), px."""
    x, y, theta = block.tolist()
    return np.asarray(KEYPOINTS @ _turn(theta).T + (x, y)).ravel()


def table_state(sim: PushSimulation, info: Info) -> PushState:
    """The state of our table by an ``info`` in px, which doesn't have the block's velocity."""
    state = sim.states(body_pose(info["block_pose"]), metres(info["pos_agent"]))
    state.values[2:4, 0] = np.asarray(info["vel_agent"]) / _SCALE
    return state


def play(
    config: PushConfig, physics: str, act: Callable[[PushState], Any], seed: int, size: int | None
) -> tuple[Rollout, dict[str, Any]]:
    """Run an episode in an environment of ``PHYSICS``, until it ends or ``act`` returns None.

    Args:
        config: a table of ``table_config``.
        physics: a name of ``PHYSICS``.
        act: returns the next target (2,), px, for the state of our table by the environment's
            ``info``.
        seed: of the environment.
        size: side of the pictures, pixels; None: no pictures.

    Returns:
        The episode on our table, and the arrays (T, ...) of ``ARRAYS``; ``image`` is a picture only
        with a size.
    """
    more: Info = {"compat": "gym-pusht", "config": config} if physics == "galley" else {}
    more |= {f"observation_{side}": size for side in ("width", "height") if size}
    environment = gymnasium.make(PHYSICS[physics], obs_type="pixels" if size else "state", **more)
    seen, info = environment.reset(seed=seed)
    sim, over, steps = PushSimulation(config), False, []
    states = [table_state(sim, info)]
    while not over and (target := act(states[-1])) is not None:
        action = np.clip(target, 0.0, SIZE).astype(np.float32)
        step = [seen, info["pos_agent"], keypoints(info["block_pose"]), action]
        seen, _, done, late, info = environment.step(action)
        over = done or late
        states.append(table_state(sim, info))
        # The coverage is computed here, because gym-pusht's last bit differs from run to run.
        reward = min(states[-1].coverage[0] / SUCCESS, 1.0)
        steps.append([*step, [reward], [over], [info["is_success"]]])
    arrays = dict(zip(ARRAYS, map(np.array, zip(*steps, strict=True)), strict=True))
    rows = np.hstack([state.values for state in states]).T
    targets, angles = metres(arrays["action"].astype(float)), held(PushArm(config.arm), rows[:, :2])
    return Rollout(config, rows, targets, angles, seed), arrays


def table_config(config: PushConfig | None = None) -> PushConfig:
    """A config with gym-pusht's table, pusher and goal; the other parameters stay.

    Raises:
        ValueError: the config's body isn't the T.
    """
    config = PushConfig() if config is None else config
    if "shape" in config.ranges or not np.array_equal(config.shape.vertices, _T.vertices):
        raise ValueError('shape: compat="gym-pusht" has the T only')
    inside = (_FAR - _WALL) / _SCALE
    x, y, theta = body_pose(GOAL)
    return replace(
        config, width=inside, height=inside, pusher_radius=_RADIUS / _SCALE,
        goal_x=x, goal_y=y, goal_theta=theta,
    )  # fmt: skip


class GymPushTEnv(PushEnv):
    """One table with gym-pusht's interface; see the module.

    Args:
        observation: one of ``OBSERVATIONS``; gym-pusht's name for it is ``obs_type``.
        config: parameters of body, contacts and friction, or the path of a YAML file.
        render_mode: None, ``rgb_array`` or ``human``.
        observation_width, observation_height: of observed pictures, pixels.
        visualization_width, visualization_height: of rendered pictures, pixels. If a width differs
            from the height, the plane is in the middle.

    Attributes:
        dt: a substep, s.
        control_hz: control steps a second.
        success_threshold: coverage above which an episode ends with success.

    Raises:
        ValueError: an unknown observation or render mode, or a bad config.
    """

    def __init__(
        self,
        observation: str = "state",
        config: PushConfig | str | Path | None = None,
        render_mode: str | None = None,
        *,
        obs_type: str | None = None,
        observation_width: int = SIZE_OBSERVED,
        observation_height: int = SIZE_OBSERVED,
        visualization_width: int = _RENDERED,
        visualization_height: int = _RENDERED,
    ) -> None:
        self.obs_type = known("observation", obs_type or observation, OBSERVATIONS)
        if not (config is None or isinstance(config, PushConfig)):
            config = load_config(config)
        super().__init__(config=table_config(config), render_mode=render_mode)
        self.sim, self.dt = self._table.sim, self.config.dt
        self.control_hz = round(1.0 / (self.dt * self.config.substeps), 3)
        self.success_threshold = SUCCESS
        self.observation_width, self.observation_height = observation_width, observation_height
        self.visualization_width = visualization_width
        self.visualization_height = visualization_height
        self._painter = Painter(self.sim, _view(observation_width, observation_height))
        self._driven = False
        self.action_space = spaces.Box(0.0, SIZE, (2,), dtype=np.float32)
        agent = spaces.Box(0.0, SIZE, (2,), dtype=np.float64)
        points = spaces.Box(0.0, SIZE, (KEYPOINTS.size,), dtype=np.float64)
        pixels = spaces.Box(0, 255, self._painter.background.shape, np.uint8)
        high = np.array([SIZE, SIZE, SIZE, SIZE, 2.0 * np.pi])
        seen: dict[str, spaces.Space[Any]] = {
            "state": spaces.Box(np.zeros(5), high, dtype=np.float64),
            "environment_state_agent_pos": spaces.Dict(
                {"environment_state": points, "agent_pos": agent}
            ),
            "pixels": pixels,
            "pixels_agent_pos": spaces.Dict({"pixels": pixels, "agent_pos": agent}),
        }
        self.observation_space = seen[self.obs_type]

    def _look(self) -> tuple[Array, Array, Array]:
        """Pusher's position (2,), px, and velocity (2,), px/s; block's pose (3,), px and rad."""
        values = self.state.values[:, 0]
        x, y, theta = values[4:7].tolist()
        c, s = cos(theta), sin(theta)
        (u, v), scale = _CENTROID.tolist(), _SCALE
        block = scale * (x - c * u + s * v) + _WALL, scale * (y - s * u - c * v) + _WALL, theta
        return pixels(values[0:2]), scale * values[2:4], np.array(block)

    @property
    def agent(self) -> Any:
        """The pusher: its ``position`` (px) and ``velocity`` (px/s)."""
        position, velocity, _ = self._look()
        return SimpleNamespace(position=position, velocity=velocity)

    @property
    def block(self) -> Any:
        """The block: what ``agent`` has, with ``angle`` (rad) and ``angular_velocity`` (rad/s)."""
        x, y, theta = self._look()[2].tolist()
        vx, vy, omega = self.state.body_velocity[:, 0].tolist()
        velocity = np.array([_SCALE * vx, _SCALE * vy])
        return SimpleNamespace(
            position=np.array([x, y]), velocity=velocity, angle=theta, angular_velocity=omega
        )

    @property
    def goal_pose(self) -> Array:
        """Pose of the block at the goal (3,): px, px, rad."""
        return GOAL.copy()

    def get_obs(self) -> Seen:
        """The observation, in arrays that later steps don't change."""
        return self._observed(*self._look()[::2])

    def _observed(self, pusher: Array, block: Array) -> Seen:
        if self.obs_type == "pixels":
            return self._painter.observe(self.state)[0]
        x, y, theta = block.tolist()
        if self.obs_type == "state":
            return np.array([*pusher, x, y, theta % (2.0 * pi)])
        if self.obs_type == "pixels_agent_pos":
            return {"pixels": self._painter.observe(self.state)[0], "agent_pos": pusher.copy()}
        return {"environment_state": keypoints(block), "agent_pos": pusher.copy()}

    def _set_state(self, state: ArrayLike) -> None:
        """Put pusher and block at a state (5,), as gym-pusht's method does; scripts call it.

        gym-pusht first moves the block to the position, at its old angle, and then turns it about
        its centre of gravity, which moves its frame.
        """
        self._place("state", state, self.state.body[2, 0])

    def _place(self, name: str, state: ArrayLike, before: float) -> None:
        """``_set_state`` for a block that has the angle ``before`` (rad); ``name`` for messages."""
        start = np.asarray(state, dtype=np.float64)
        if start.shape != (5,) or not np.isfinite(start).all():
            raise ValueError(f"{name} = {start.tolist()}: must be 5 finite numbers")
        place = start[2:4] + _turn(before) @ _GRAVITY_CENTER - _turn(start[4]) @ _GRAVITY_CENTER
        self.state = self.sim.states(body_pose(np.append(place, start[4])), metres(start[:2]))

    def _put(self, options: Info | None) -> None:
        options = options or {}
        if unknown := set(options) - {"reset_to_state"}:
            raise ValueError(f"options {sorted(unknown)}: must be reset_to_state")
        self._driven = False
        if options.get("reset_to_state") is not None:
            self._place("reset_to_state", options["reset_to_state"], 0.0)
            return
        rng, bounds = self.np_random, ((50, 450), (50, 450), (100, 400), (100, 400))
        for _ in range(_TRIES):
            start = [float(rng.integers(*bound)) for bound in bounds]
            self._place("start", [*start, rng.uniform(-np.pi, np.pi)], 0.0)
            if self.sim.free(self.state.body.T, self.state.pusher.T)[0]:
                return

    def _command(self, action: Actions) -> None:
        self._target[0] = metres(np.array(point(action)))
        self._driven = True

    def _seen(self) -> tuple[Seen, Info]:
        state, sim = self.state, self.sim
        px, py, _, _, x, y, _, _, _, _, coverage = state.values.ravel().tolist()
        sim.check(x, y)
        pusher, velocity, block = self._look()
        near = math.hypot(px - x, py - y) < sim.radius + self.config.pusher_radius
        return self._observed(pusher, block), {
            "pos_agent": pusher,
            "vel_agent": velocity,
            "block_pose": block,
            "goal_pose": GOAL.copy(),
            "n_contacts": int(near and sim.gap(state.body.T, state.pusher.T)[0] <= 0.0),
            "is_success": coverage > SUCCESS,
            "coverage": coverage,
        }

    def _picture(self) -> Picture:
        target = self._target[0] if self._driven else None
        return self._large.draw(self.state.values[:, 0], target=target)

    @cached_property
    def _large(self) -> Painter:
        return Painter(self.sim, _view(self.visualization_width, self.visualization_height))


def _view(width: int, height: int) -> PictureArea:
    """The view of the plane from 0 to 512 px, in a picture of this width and height, pixels."""
    return view_of(metres(np.zeros(2)), metres(np.full(2, SIZE)), width, height)


def _turn(theta: float) -> Array:
    return np.array([[cos(theta), -sin(theta)], [sin(theta), cos(theta)]])


def make_env(*, compat: str | None = None, **more: Any) -> PushEnv:
    """Entry point of ``gymnasium.make("galley/Push-v0", ...)``.

    Args:
        compat: None or ``gym-pusht``, which chooses the class.
        more: arguments of ``PushEnv`` or ``GymPushTEnv``.

    Raises:
        ValueError: an unknown ``compat``.
    """
    known("compat", compat, (None, "gym-pusht"))
    return PushEnv(**more) if compat is None else GymPushTEnv(**more)
