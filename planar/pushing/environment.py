"""Pushing as a Gymnasium environment, ``galley/Push-v0``, and as a vector environment.

    import gymnasium
    import galley.gym  # registers it

    env = gymnasium.make("galley/Push-v0", observation="keypoints", config="pushing.yaml")
    many = gymnasium.make_vec("galley/Push-v0", num_envs=1024)

The task is to push the body to the goal. Action: the pusher's target (2,), m, for 0.1 s by default.
Observations, float64:

- ``state`` (5,): pusher's x, y (m), body's centroid x, y (m), its angle from 0 to 2 pi (rad);
- ``keypoints`` (2 n + 2,): the outline's n vertices (m), in order, then the pusher's x, y;
- ``pixels`` (96, 96, 3), uint8: goal, body and pusher, as ``planar.pushing.picture`` draws them;
- ``pixels_state``: a dict of ``pixels`` and ``agent_pos`` (2,), the pusher's x, y (m).

The reward is coverage / 0.95, at most 1, where coverage is the share of the goal that the body
covers. Above 0.95 the episode ends with success; ``make`` truncates it after ``max_episode_steps``,
300. The vector steps all its tables in one compiled call. With the seed s, table k starts as a
single environment of seed s + k. A table that is done is reset in the next step, which ignores its
action (Gymnasium's default, ``AutoresetMode.NEXT_STEP``). ``render_mode`` is ``rgb_array`` or, for
one table, ``human``: a window.

With ``action="joints"`` an action is the joint angles (N,), rad, of the arm that holds the pusher;
``config.arm`` has N links. The pusher is driven to the tip of that configuration, or to the table's
rim if the tip is beyond it. The arm's own angles follow the pusher by inverse kinematics, each from
the last. They are from -pi to pi, at the end of ``state`` and ``keypoints``, as ``angles`` in
``pixels_state``, and in ``info["angles"]``; ``pixels`` don't show the arm. So the arm reaches the
commanded tip, but with more than two links perhaps by another configuration. No reported
configuration collides with itself. A commanded one that does is refused: the pusher is driven to
the last valid target. A step in which the arm can't follow is refused, too: the table stays as it
was, and the pusher stops. ``info["refused"]`` says so.

``compat="gym-pusht"`` has gym-pusht's interface: see ``gym_pusht``. The compiled vector supports
neither; ``gymnasium.make_vec(..., vectorization_mode="sync")`` steps single environments in turn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from galley.domain.frames import Array
from galley.gym import PUSH
from galley.planar.pushing.arm import PushArm
from galley.planar.pushing.config import PushConfig
from galley.planar.pushing.config_file import load_config
from galley.planar.pushing.picture import SIZE, Painter, Picture, table_view
from galley.planar.pushing.rollout import STEPS, SUCCESS
from galley.planar.pushing.simulation import PushSimulation, PushState

if TYPE_CHECKING:
    from galley.planar.window import Window

ID = PUSH
OBSERVATIONS = ("state", "keypoints", "pixels", "pixels_state")
ACTIONS = ("pusher", "joints")
_TURN = 2.0 * math.pi
_RENDERED = 512  # pixels, width and height of a rendered picture

_TRIES = 1000  # random starts, until the arm can hold the pusher at one

Actions = NDArray[np.float32]
Flags = NDArray[np.bool_]
Info = dict[str, Any]
Seen = Any
"""An observation: an array, or a dict of them."""


def known(name: str, value: Any, values: Sequence[Any]) -> Any:
    """``value``, if it is one of ``values``.

    Raises:
        ValueError: it isn't; the message names all of them.
    """
    if value not in values:
        raise ValueError(f"{name} = {value!r}: must be one of {', '.join(map(str, values))}")
    return value


class _Table:
    """What a single and a vector environment share: simulation, spaces and observations."""

    def __init__(
        self, observation: str, config: PushConfig | str | Path | None, resolution: int
    ) -> None:
        known("observation", observation, OBSERVATIONS)
        if not isinstance(config, PushConfig):
            config = PushConfig() if config is None else load_config(config)
        self.config, self.sim = config, PushSimulation(config)
        self.observation, self.keypoints = observation, observation == "keypoints"
        size = np.array([config.width, config.height])
        points = len(self.sim.body.vertices) + 1 if self.keypoints else 2
        low, high = np.tile(-size, points), np.tile(2.0 * size, points)  # the walls are soft
        if not self.keypoints:
            low, high = np.append(low, 0.0), np.append(high, 2.0 * np.pi)
        self.observation_space: spaces.Space[Any] = spaces.Box(low, high, dtype=np.float64)
        if observation.startswith("pixels"):
            self.painter = Painter(self.sim, table_view(config, resolution))
            pixels = spaces.Box(0, 255, self.painter.background.shape, np.uint8)
            place = spaces.Box(low[:2], high[:2], dtype=np.float64)
            self.observation_space = (
                pixels
                if observation == "pixels"
                else spaces.Dict({"pixels": pixels, "agent_pos": place})
            )
        self.action_space = spaces.Box(
            np.zeros(2, dtype=np.float32), size.astype(np.float32), dtype=np.float32
        )

    @cached_property
    def large(self) -> Painter:
        """The painter of rendered pictures, which are larger than observed ones."""
        return Painter(self.sim, table_view(self.config, _RENDERED))

    def observed(self, state: PushState) -> Seen:
        """Observations (n, ...) of n tables."""
        if self.observation == "pixels":
            return self.painter.observe(state)
        if self.observation == "pixels_state":
            return {"pixels": self.painter.observe(state), "agent_pos": state.pusher.T.copy()}
        x, y, theta = state.body
        if not self.keypoints:
            return np.stack([*state.pusher, x, y, np.remainder(theta, 2.0 * np.pi)], axis=1)
        points = [self.sim.outlines(state.body.T), state.pusher.T[:, None]]
        return np.concatenate(points, axis=1).reshape(len(x), -1)

    def start(
        self, rng: np.random.Generator | Sequence[np.random.Generator], n: int, options: Info | None
    ) -> PushState:
        """The state of n random tables, or of ``options["state"]``, (5,) or (n, 5)."""
        options = options or {}
        if unknown := set(options) - {"state"}:
            raise ValueError(f"options {sorted(unknown)}: must be state")
        if options.get("state") is None:
            return self.sim.random_states(rng, n)
        given = np.asarray(options["state"], dtype=np.float64)
        if given.shape not in ((5,), (n, 5)) or not np.isfinite(given).all():
            raise ValueError(f"options: state = {given.tolist()}: must be 5 finite numbers")
        given = np.broadcast_to(given, (n, 5))
        table = np.array([self.config.width, self.config.height])
        if (given[:, :4] < 0.0).any() or (given[:, :4] > np.tile(table, 2)).any():
            raise ValueError(
                f"options: state = {given.tolist()}: pusher and body must be on the table, "
                f"{table[0]:g} x {table[1]:g} m"
            )
        return self.sim.states(given[:, 2:], given[:, :2])


class PushEnv(gymnasium.Env[Seen, Actions]):
    """One table as a Gymnasium environment; see the module.

    ``reset(options={"state": (5,)})`` starts at an observation of ``state``, not a random one.

    Args:
        observation: one of ``OBSERVATIONS``.
        config: parameters of the simulation, or the path of a YAML file.
        render_mode: None, ``rgb_array`` or ``human``.
        resolution: side of the observed picture, pixels.
        action: one of ``ACTIONS``.

    Attributes:
        arm: the arm that holds the pusher; None: actions are targets of the pusher.
        angles: (N,), joint angles of the arm, rad; only with an arm.

    Raises:
        ValueError: an unknown observation, action or render mode, or a bad config.
    """

    metadata = {  # noqa: RUF012 (as Gymnasium declares it)
        "render_modes": ["human", "rgb_array"],
        "render_fps": 10,
    }

    def __init__(
        self,
        observation: str = "state",
        config: PushConfig | str | Path | None = None,
        render_mode: str | None = None,
        resolution: int = SIZE,
        action: str = "pusher",
    ) -> None:
        self._table = _Table(observation, config, resolution)
        self.config = self._table.config
        self.render_mode = known("render_mode", render_mode, (None, *self.metadata["render_modes"]))
        step = self.config.dt * self.config.substeps
        self.metadata = {**self.metadata, "render_fps": round(1.0 / step, 3)}
        self.observation_space = self._table.observation_space
        self.action_space = self._table.action_space
        self._target = np.empty((1, 2))
        self._window: Window | None = None
        self.arm: PushArm | None = None
        if known("action", action, ACTIONS) == "joints":
            self._add_arm()

    def _add_arm(self) -> None:
        """Make actions joint angles, and add the arm's angles to the observations."""
        self.arm, n = PushArm(self.config.arm), len(self.config.arm.links)
        self.action_space = spaces.Box(-np.pi, np.pi, (n,), dtype=np.float32)
        angles, seen = spaces.Box(-np.pi, np.pi, (n,), dtype=np.float64), self.observation_space
        if isinstance(seen, spaces.Dict):
            self.observation_space = spaces.Dict({**seen.spaces, "angles": angles})
        elif isinstance(seen, spaces.Box) and len(seen.shape) == 1:
            low, high = np.append(seen.low, angles.low), np.append(seen.high, angles.high)
            self.observation_space = spaces.Box(low, high, dtype=np.float64)

    def __getstate__(self) -> dict[str, Any]:
        """A copy has no window until it shows a picture."""
        return {**vars(self), "_window": None}

    def reset(self, *, seed: int | None = None, options: Info | None = None) -> tuple[Seen, Info]:
        """Put body and pusher on the table; returns the first observation and info."""
        super().reset(seed=seed)
        self._put(options)
        if self.render_mode == "human":
            self.render()
        return self._seen()

    def step(self, action: Actions) -> tuple[Seen, float, bool, bool, Info]:
        """One control step.

        Info has ``coverage`` and ``is_success``; with joints also ``angles`` and ``refused``.

        Raises:
            ValueError: an action of the wrong shape or not finite, or an unstable config, see
                ``PushSimulation.check``.
        """
        self._command(action)
        self._drive()
        if self.render_mode == "human":
            self.render()
        seen, info = self._seen()
        reward = min(info["coverage"] / SUCCESS, 1.0)
        return seen, reward, info["is_success"], False, info

    def _put(self, options: Info | None) -> None:
        """Put body and pusher on the table, the pusher where the arm can hold it."""
        for _ in range(_TRIES):
            self.state = self._table.start(self.np_random, 1, options)
            if self.arm is None:
                return
            self._refused = False
            try:
                self._target[0] = self.state.pusher[:, 0]
                self.angles = self.arm.follow(np.zeros(len(self.config.arm.links)), self._target[0])
                return
            except ValueError as error:
                if (options or {}).get("state") is not None:
                    raise
                reason = error
        raise ValueError(f"arm: it can hold the pusher hardly anywhere on the table: {reason}")

    def _command(self, action: Actions) -> None:
        """Take an action's target (m); for a configuration that collides the last target stays.

        Raises:
            ValueError: an action of the wrong shape or not finite.
        """
        if self.arm is None:
            self._target[0] = point(action)
            return
        try:
            self._refused = self.arm.collides(action)
        except (TypeError, ValueError):
            wanted = f"({len(self.config.arm.links)},) finite angles"
            raise ValueError(f"action = {action}: must be {wanted}") from None
        if not self._refused:
            self._target[0] = self.arm.tip(np.asarray(action, dtype=np.float64))

    def _drive(self) -> None:
        """Drive the pusher to its target for a control step, if the arm can follow."""
        if self.arm is None:
            self._table.sim.run(self.state, self._target)
            return
        before = self.state.values.copy()
        self._table.sim.run(self.state, self._target)
        try:
            self.angles = self.arm.follow(self.angles, self.state.pusher[:, 0])
        except ValueError:
            self.state.values[:] = before
            self.state.pusher_velocity[:] = 0.0
            self._refused = True

    def _seen(self) -> tuple[Seen, Info]:
        """Observation and info of the present state."""
        # One list, because indexing an array number by number would take most of a step's time.
        px, py, _, _, x, y, theta, _, _, _, coverage = self.state.values.ravel().tolist()
        self._table.sim.check(x, y)
        info = {"coverage": coverage, "is_success": coverage > SUCCESS}
        if self._table.observation == "state":
            seen: Seen = np.array([px, py, x, y, theta % _TURN])
        else:
            seen = self._table.observed(self.state)
            if isinstance(seen, dict):
                seen = {name: values[0] for name, values in seen.items()}
            else:
                seen = seen[0]
        if self.arm is None:
            return seen, info
        angles = np.remainder(self.angles + np.pi, _TURN) - np.pi
        if isinstance(seen, dict):
            seen["angles"] = angles.copy()
        elif seen.ndim == 1:
            seen = np.append(seen, angles)
        return seen, {**info, "angles": angles, "refused": self._refused}

    def _picture(self) -> Picture:
        """The rendered picture (h, w, 3)."""
        values = self.state.values[:, 0]
        if self.arm is None:
            return self._table.large.draw(values)
        return self._table.large.draw(values, self.angles, self._target[0])

    def render(self) -> Any:
        """The picture (h, w, 3) with ``rgb_array``; with ``human`` show it in the window.

        Raises:
            ImportError: ``human``, and pygame is missing.
            RuntimeError: ``human``, and the window can't be opened.
        """
        if self.render_mode is None:
            return None
        picture = self._picture()
        if self.render_mode == "rgb_array":
            return picture
        if self._window is None:
            from galley.planar.window import Window

            height, width, _ = picture.shape
            self._window = Window(width, height, "galley/Push-v0", seen=False)
        self._window.read()
        self._window.show(picture, self.metadata["render_fps"])
        return None

    def close(self) -> None:
        """Close the window, if there is one."""
        if self._window is not None:
            self._window.close()
            self._window = None


def point(action: Actions) -> tuple[float, float]:
    """An action as two finite numbers.

    Raises:
        ValueError: it isn't two finite numbers.
    """
    try:
        x, y = np.asarray(action, dtype=np.float64).tolist()
        good = math.isfinite(x) and math.isfinite(y)
    except (TypeError, ValueError):
        good = False
    if not good:
        raise ValueError(f"action = {action}: must be (2,) finite numbers")
    return x, y


class PushVectorEnv(VectorEnv[Seen, Actions, NDArray[Any]]):
    """``num_envs`` tables as a Gymnasium vector environment; see the module.

    The arguments are those of ``PushEnv``, and two more: ``max_episode_steps``, after which a
    table's episode is truncated (None or -1: never); and ``autoreset_mode``, when a table that is
    done is reset: ``NextStep`` or ``SameStep``, as in Gymnasium. With the latter
    ``info["final_obs"]`` has the last observation of each table that was reset, None for others.

    Raises:
        ValueError: as ``PushEnv``, or an argument that only a single environment supports.
    """

    metadata = {  # noqa: RUF012 (as Gymnasium declares it)
        "render_modes": ["rgb_array"],
        "autoreset_mode": AutoresetMode.NEXT_STEP,
    }

    def __init__(
        self,
        num_envs: int = 1,
        observation: str = "state",
        config: PushConfig | str | Path | None = None,
        render_mode: str | None = None,
        resolution: int = SIZE,
        max_episode_steps: int | None = STEPS,
        *,
        action: str = "pusher",
        compat: str | None = None,
        autoreset_mode: AutoresetMode | str = AutoresetMode.NEXT_STEP,
    ) -> None:
        modes = AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP
        given = getattr(autoreset_mode, "value", autoreset_mode)
        known("autoreset_mode", given, [mode.value for mode in modes])
        self.metadata = {**self.metadata, "autoreset_mode": AutoresetMode(given)}
        for name, value, only in (("action", action, "pusher"), ("compat", compat, None)):
            if value != only:
                advice = 'the compiled vector doesn\'t support it; use vectorization_mode="sync"'
                raise ValueError(f"{name} = {value!r}: {advice}")
        if num_envs < 1:
            raise ValueError(f"num_envs = {num_envs}: must be at least 1")
        self.num_envs, self._table = num_envs, _Table(observation, config, resolution)
        self.render_mode = known("render_mode", render_mode, (None, *self.metadata["render_modes"]))
        self._longest = math.inf if max_episode_steps in (None, -1) else max_episode_steps
        self._rngs = [seeding.np_random(None)[0] for _ in range(num_envs)]
        self.single_observation_space = self._table.observation_space
        self.single_action_space = self._table.action_space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: Info | None = None
    ) -> tuple[Seen, Info]:
        """Reset all tables, each with its own seed: the k-th of a sequence, or ``seed`` + k.

        Raises:
            ValueError: a sequence of another length, or bad options.
        """
        n = self.num_envs
        if seed is None or isinstance(seed, (int, np.integer)):
            seed = [None if seed is None else int(seed) + k for k in range(n)]
        if len(seed) != n:
            raise ValueError(f"seed = {seed}: must be one number, or one for each of {n} tables")
        for k, number in enumerate(seed):
            if number is not None:
                self._rngs[k] = seeding.np_random(int(number))[0]
        self.state = self._table.start(self._rngs, n, options)
        self._steps = np.zeros(self.num_envs, dtype=np.int64)
        self._done = np.zeros(self.num_envs, dtype=bool)
        return self._table.observed(self.state), self._info()

    def step(self, actions: Actions) -> tuple[Seen, Array, Flags, Flags, Info]:
        """One control step of each table, or its reset.

        Raises:
            ValueError: actions of the wrong shape or not finite, or an unstable config.
        """
        again = np.nonzero(self._done)[0]  # done in the last step: reset in this one
        self._table.sim.advance(self.state, actions)
        self._steps += 1
        self._reset_tables(again)
        info = self._info()
        reward = np.minimum(info["coverage"] / SUCCESS, 1.0)
        reward[again] = 0.0
        terminated = info["is_success"] & (self._steps > 0)
        truncated = self._steps >= self._longest
        self._done = terminated | truncated
        seen = self._table.observed(self.state)
        if self.metadata["autoreset_mode"] == AutoresetMode.SAME_STEP and self._done.any():
            again, last = np.nonzero(self._done)[0], np.full(self.num_envs, None, dtype=object)
            for k in again.tolist():
                last[k] = _of_table(seen, k)
            info |= {"final_obs": last, "_final_obs": self._done}
            self._reset_tables(again)
            seen, self._done = self._table.observed(self.state), np.zeros_like(self._done)
        return seen, reward, terminated, truncated, info

    def _reset_tables(self, tables: NDArray[np.int64]) -> None:
        """Put new random states on the tables of these indices."""
        if len(tables):
            rngs = [self._rngs[k] for k in tables]
            self.state.values[:, tables] = self._table.sim.random_states(rngs, len(tables)).values
            self._steps[tables] = 0

    def render(self) -> tuple[Picture, ...] | None:
        """A picture (512, 512, 3) of each table."""
        if self.render_mode is None:
            return None
        return tuple(self._table.large.draw(values) for values in self.state.values.T)

    def _info(self) -> Info:
        coverage = self.state.coverage.copy()
        return {"coverage": coverage, "is_success": coverage > SUCCESS}


def _of_table(seen: Seen, k: int) -> Seen:
    """A copy of table k's part of the observations of all tables."""
    if isinstance(seen, dict):
        return {name: values[k].copy() for name, values in seen.items()}
    return seen[k].copy()
