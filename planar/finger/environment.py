"""The finger as a Gymnasium environment, ``galley/Finger-v0`` (extra ``planar``).

    import gymnasium
    import galley.gym  # registers it

    env = gymnasium.make("galley/Finger-v0", task="push")

Each reset makes a random world. Observation, four numbers: position (m) and velocity (m/s) of the
fingertip, the sensor's reading (N), and the goal. The object is felt, but not observed; only
``render`` shows it. Action: the force (N) until the next control step, and for ``tell`` a
declaration. Tasks:

- ``push`` the object until its near face rests at a position (m): 5 cm to either side count;
- ``press`` on the resting object with a force (N): within 5 % (or 0.02 N) for half a second;
- ``tell`` which object it is: declare -1 for the light one (0.5 kg) or 1 for the heavy one (2 kg).

The reward is how much nearer a step brings the goal (``push``: metres; ``press``: newtons), and 1
at success, which ends the episode; a wrong declaration ends it with -1. ``make`` truncates it
after ``max_episode_steps``, 600, which are 30 s.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from galley.domain.parameters import FORCE, FORCE_LIMIT
from galley.gym import FINGER
from galley.planar.finger.model import Finger
from galley.planar.finger.simulation import RunError, Simulation, Solver
from galley.planar.finger.trace import Epoch

ID = FINGER
TASKS = ("push", "press", "tell")
PERIOD = 0.05  # s, of a control step
MAX_FORCE = 5.0  # N, of an action
MASSES = (0.5, 2.0)  # kg, of the light and the heavy object of ``tell``
TOLERANCE = 0.05  # m, of ``push``
PRESS_TOLERANCE, PRESS_LEAST = 0.05, 0.02  # share of the force, N: the larger counts
HOLD = 0.5  # s, of ``press``
_SURE = 0.5  # a declaration of this size counts
_SOLVER = Solver(rtol=1e-6, atol=1e-9, max_step=PERIOD)

_SIZE = 480, 96  # pixels, width and height, of what is rendered
_LEFT, _SCALE = -1.0, 96.0  # m, of the picture's edge; pixels/m
_GOAL, _OBJECT, _TIP, _FELT = (205, 232, 205), (138, 90, 43), (27, 108, 168), (198, 40, 40)

Numbers = NDArray[np.float32]


def random_world(task: str, rng: np.random.Generator) -> tuple[Finger, float]:
    """A finger with an object, and the goal of a task: m, N, or 0 for ``tell``."""
    static = rng.uniform(0.5, 2.0)
    mass = rng.uniform(*MASSES) if task != "tell" else MASSES[rng.integers(2)]
    finger = Finger(
        object_mass=mass,
        restitution=rng.uniform(0.0, 0.6),
        static_friction=static,
        kinetic_friction=static * rng.uniform(0.4, 0.9),
        gap=rng.uniform(0.3, 1.5),
    )
    if task == "push":
        return finger, finger.gap + rng.uniform(0.3, 1.0)
    return finger, static * rng.uniform(0.2, 0.9) if task == "press" else 0.0


class FingerEnv(gymnasium.Env[Numbers, Numbers]):
    """A finger that feels an object, as a Gymnasium environment; see the module.

    ``reset(options={"finger": Finger(...), "goal": 1.0})`` sets the world instead of a random one.

    Args:
        task: one of ``TASKS``.
        noise: standard deviation of the sensor's white noise, N.
        render_mode: None or ``rgb_array``.

    Raises:
        ValueError: an unknown task or render mode, or the noise is out of its bounds.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 20}  # noqa: RUF012 (as Gymnasium's)

    def __init__(
        self, task: str = "push", noise: float = 0.0, render_mode: str | None = None
    ) -> None:
        if render_mode not in (None, "rgb_array"):
            raise ValueError(f"render_mode = {render_mode!r}: must be None or rgb_array")
        self.render_mode = render_mode
        if task not in TASKS:
            raise ValueError(f"task = {task!r}: must be one of {', '.join(TASKS)}")
        self.task, self.noise = task, FORCE_LIMIT.checked("noise", noise)
        most = np.array([MAX_FORCE, 1.0][: 2 if task == "tell" else 1], dtype=np.float32)
        self.action_space = spaces.Box(-most, most, dtype=np.float32)
        self.observation_space = spaces.Box(-np.inf, np.inf, (4,), dtype=np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Numbers, dict[str, Any]]:
        """Make a world; returns the first observation, and the parameters of the world as info."""
        super().reset(seed=seed)
        options = options or {}
        if unknown := set(options) - {"finger", "goal"}:
            raise ValueError(f"options {sorted(unknown)}: must be finger or goal")
        finger, goal = random_world(self.task, self.np_random)
        finger = options.get("finger", finger)
        self._goal = FORCE.checked("goal", options.get("goal", goal))
        self._run, self._held = Simulation(finger, solver=_SOLVER), 0
        self._missing = self._distance()
        return self._observation(), {"finger": dataclasses.asdict(finger), "goal": self._goal}

    def step(self, action: Numbers) -> tuple[Numbers, float, bool, bool, dict[str, Any]]:
        """One control step; info: ``success``, ``object_position`` (m) and a ``fault`` or None.

        Raises:
            ValueError: an action of the wrong shape or not finite.
        """
        values = np.asarray(action, dtype=np.float64)
        if values.shape != self.action_space.shape or not np.isfinite(values).all():
            raise ValueError(f"action = {action}: must be {self.action_space.shape} finite numbers")
        force = float(np.clip(values[0], -MAX_FORCE, MAX_FORCE))
        run, fault = self._run, None
        try:
            run.advance(force, run.time + PERIOD)
        except RunError as error:
            fault = str(error)
        missing = self._distance()
        reward, self._missing = self._missing - missing, missing
        success, terminated = self._judged(float(values[-1]))
        reward += float(success) - float(terminated and not success)
        truncated = fault is not None
        info = {"success": success, "object_position": run.x_o, "fault": fault}
        return self._observation(), reward, terminated, truncated, info

    def render(self) -> Any:
        """The picture (96, 480, 3) of finger and object from -1 to 4 m, with ``rgb_array``.

        The goal is green. The bar below is the sensor's reading, a metre for each newton.
        """
        if self.render_mode is None:
            return None
        width, height = _SIZE
        picture = np.full((height, width, 3), 255, dtype=np.uint8)

        def fill(left: float, right: float, rows: slice, color: tuple[int, int, int]) -> None:
            a, b = np.clip(np.rint((np.array([left, right]) - _LEFT) * _SCALE), 0, width)
            picture[rows, int(a) : int(b)] = color

        run, about = self._run, slice(16, 64)
        if self.task == "push":
            fill(self._goal - TOLERANCE, self._goal + TOLERANCE, slice(0, 64), _GOAL)
        elif self.task == "press":
            fill(0.0, self._goal, slice(64, height), _GOAL)
        fill(run.x_o, run.x_o + 0.4, about, _OBJECT)
        fill(_LEFT, run.x_f, slice(32, 48), _TIP)
        fill(0.0, run.sense().sensor, slice(72, 88), _FELT)
        return picture

    def _judged(self, declared: float) -> tuple[bool, bool]:
        """Whether the task is done, and whether the episode ends."""
        run = self._run
        if self.task == "tell":
            right = (declared > 0.0) == (run.finger.object_mass > sum(MASSES) / 2.0)
            return right and abs(declared) >= _SURE, abs(declared) >= _SURE
        if self.task == "push":
            done = run.v_o == 0.0 and self._missing <= TOLERANCE
        else:
            close = self._missing <= max(PRESS_TOLERANCE * self._goal, PRESS_LEAST)
            self._held = self._held + 1 if close and run.epoch is Epoch.STUCK else 0
            done = self._held >= round(HOLD / PERIOD)
        return done, done

    def _distance(self) -> float:
        """Distance from the goal, m or N; 0 for ``tell``."""
        if self.task == "tell":
            return 0.0
        now = self._run.x_o if self.task == "push" else self._run.sense().sensor
        return abs(now - self._goal)

    def _observation(self) -> Numbers:
        felt = self._run.sense()
        sensor = felt.sensor + (self.np_random.normal(0.0, self.noise) if self.noise else 0.0)
        return np.array([felt.position, felt.velocity, sensor, self._goal], dtype=np.float32)
