"""The kitchen as a Gymnasium environment, ``galley/Kitchen-v0``.

    import gymnasium
    import galley.gym  # registers it

    env = gymnasium.make("galley/Kitchen-v0", problem="sugar_only.pddl", cameras=("front",))

The robot is driven in the physics of ``galley run``, by commands at a fixed rate. Observations and
actions have the names, units and frames of the episodes of ``galley demos collect``
(docs/demonstrations.md): from the same seed, an episode's actions have the same effect here.

An action is the next configuration: base (m, m, rad; not for a robot with a fixed base), arm (rad;
with ``actions="hand"`` the pose of the grasp frame in the base) and the gripper's opening (m). It
is cut to the limits and speeds of the joints. Below 5 mm of opening the fingers close by force, and
press as hard as in ``galley run`` on the item between them.

The reward is 1 when the PDDL goal holds, which ends the episode with success, else 0. ``info`` has
``is_success``, ``goal``: the share of the goal's facts that hold, and ``facts``: why each holds or
not. ``reset`` adds ``task``, the goal as text. ``make`` truncates after 2,000 steps, 100 s.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Literal

import gymnasium
import numpy as np
from gymnasium import spaces

from galley import engine
from galley.compiled.build import KINEMATICS, REACH, RENDERER, ensure
from galley.domain.errors import BadInput
from galley.domain.frames import Array, from_pose7, inverse, transform
from galley.domain.log import Log
from galley.domain.state import base_pose, initial_state
from galley.execution.disturbance.noise import parse_noise, stream
from galley.execution.physics.servo import Servo
from galley.execution.recovery.observed_task import hand_facts
from galley.learning.collection.arrays import ITEM, Arrays, by_group, observed
from galley.learning.collection.recording import LOG_RATE, Recording
from galley.robots.catalog import robot_of
from galley.tamp.task import TampTask
from galley.validation.goal import FinalState, Goal, evaluate_goal
from galley.validation.poses import furniture_poses
from galley.validation.verdict import GoalFact
from galley.viz.film.pictures import drawer

RENDERED = 480  # pixels, side of a rendered picture
SHUT = 0.005  # m: below this commanded opening the hand grips
# Inverse kinematics: iterations; damping; difference step and longest step (m or rad).
_ITERATIONS, _DAMPING, _NUDGE, _FARTHEST = 8, 0.03, 1e-5, 0.2
_Info = dict[str, Any]


class KitchenEnv(gymnasium.Env[Arrays, Array]):
    """The kitchen as a Gymnasium environment; see the module.

    ``reset(seed=s)`` starts like seed s of ``galley demos collect`` with the same ``noise``.
    ``reset(options={"problem": ..., "scene": ..., "robot": ...})`` changes the task, if
    observations and actions keep their shapes.

    Args:
        problem, scene, domain, skills, robot: files, as for ``engine.load``.
        actions: ``joints`` or ``hand``.
        rate: steps a second; it must divide 120.
        cameras: pictures to observe: ``front``, ``top``, ``hand``.
        size: side of these pictures, pixels.
        noise: random errors of the world, as ``galley run`` takes them; None: no errors.
        render_mode: None or ``rgb_array``.

    Attributes:
        task: the task that is loaded.
        robot: the robot of the task.

    Raises:
        BadInput: a file, a camera, a rate or the noise is bad, or the robot has several hands.
        ValueError: an unknown ``render_mode``.
    """

    metadata = {"render_modes": ["rgb_array"], "render_fps": 20}  # noqa: RUF012 (as Gymnasium's)

    def __init__(
        self,
        problem: str | Path | None = None,
        scene: str | Path | None = None,
        domain: str | Path | None = None,
        skills: str | Path | None = None,
        robot: str | Path | None = None,
        actions: Literal["joints", "hand"] = "joints",
        rate: int = 20,
        cameras: tuple[str, ...] = (),
        size: int = 96,
        noise: str | None = None,
        render_mode: str | None = None,
    ) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise ValueError(f"render_mode = {render_mode!r}: must be rgb_array or None")
        self.recording = Recording(rate, tuple(cameras), size, actions)
        self.render_mode, self.metadata = render_mode, {**self.metadata, "render_fps": rate}
        self._noise = None if noise is None else parse_noise(noise)
        given = {"problem": problem, "scene": scene, "domain": domain, "skills": skills}
        self._files = {**given, "robot": robot}
        self._servo: Servo | None = None
        self._options: _Info | None = {}
        self._load(self._files)
        self.observation_space, self.action_space = self._spaces()

    def _load(self, files: dict[str, Any]) -> None:
        """Load the task of these files, and make the functions that draw its cameras."""
        self.task: TampTask = engine.load(**files)
        if hands := self.task.scene.robot.hands:
            reason = f"the environment is of robots with one hand, this one has {len(hands)}"
            raise BadInput.one(self.task.scene.source, reason)
        self.robot = robot_of(self.task.scene.robot)
        pictured = self.recording.cameras or self.render_mode
        ensure(REACH, KINEMATICS, *((RENDERER,) if pictured else ()))
        draw = partial(drawer, scene=self.task.scene, robot=self.robot)
        self._drawers = {name: draw(name, self.recording.size) for name in self.recording.cameras}
        self._rendered = draw("front", RENDERED) if self.render_mode else None

    def _spaces(self) -> tuple[spaces.Space[Any], spaces.Space[Any]]:
        """The spaces of observations and actions; the gripper's limits are those of its opening."""
        robot, pose = self.robot, np.array([2.0, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0])
        low, high = (by_group(robot, limit[None]) for limit in robot.limits)
        low["gripper"][:], high["gripper"][:] = 0.0, 2.0 * robot.gripper.open
        if self.recording.actions == "hand":
            low["joints"], high["joints"] = -pose[None], pose[None]
        bounds = (np.concatenate(list(limits.values()), axis=1)[0] for limits in (low, high))
        self._bounds = tuple(bounds)
        self._begin(0)
        assert self._servo is not None
        seen: dict[str, spaces.Space[Any]] = {}
        for name, array in self._look().items():
            least, most = (0, 255) if array.dtype == np.uint8 else (-np.inf, np.inf)
            if array.dtype.kind == "i":  # an index of an item; -1: none
                least, most = -1, len(self.task.scene.items) - 1
            seen[name] = spaces.Box(least, most, array.shape, array.dtype.type)
        return spaces.Dict(seen), spaces.Box(*self._bounds, dtype=np.float64)

    def _begin(self, seed: int) -> None:
        """Start the simulation at the state of a seed."""
        self.close()
        scene, start = self.task.scene, self.task.start
        if self._noise is not None:
            scene = self._noise.true_scene(scene, stream(seed, "world"))
            start = initial_state(scene)
        self._servo = Servo(scene, self.robot, start)
        self._seen: Arrays = {}

    def reset(
        self, *, seed: int | None = None, options: _Info | None = None
    ) -> tuple[Arrays, _Info]:
        """Begin an episode.

        Raises:
            ValueError: unknown options, or a task with other shapes of observations or actions.
            BadInput: a file is bad.
        """
        super().reset(seed=seed)
        options = options or {}
        if unknown := set(options) - {"problem", "scene", "robot"}:
            raise ValueError(f"options {sorted(unknown)}: must be problem, scene or robot")
        if options != self._options:
            self._options = None  # if loading fails, the next call loads again
            self._load(self._files | options)
            if self._spaces() != (self.observation_space, self.action_space):
                self.close()
                raise ValueError(
                    f"options {options}: observations or actions would have another shape; "
                    "make another environment"
                )
            self._options = options
        self._begin(int(self.np_random.integers(2**31)) if seed is None else seed)
        return self._look(), self._info() | {"task": " ".join(map(str, self.task.problem.goal))}

    def step(self, action: Array) -> tuple[Arrays, float, bool, bool, _Info]:
        """Drive the robot for one step.

        Raises:
            ValueError: an action of the wrong shape, or not finite.
        """
        shape = self.action_space.shape
        try:
            given = np.asarray(action, dtype=np.float64)
            good = given.shape == shape and np.isfinite(given).all()
        except (TypeError, ValueError):
            good = False
        if not good:
            words = " ".join(repr(action).split())
            raise ValueError(f"action = {words:.60}: must be {shape} finite numbers")
        servo = self._running
        given = np.clip(given, *self._bounds)
        servo.command(self._target(given), given[-1] < SHUT, LOG_RATE // self.recording.rate)
        info = self._info()
        return self._look(), float(info["is_success"]), info["is_success"], False, info

    @property
    def _running(self) -> Servo:
        if self._servo is None:
            raise ValueError("the environment is closed: call reset")
        return self._servo

    def _target(self, action: Array) -> Array:
        """The configuration (n,) that an action, within its bounds, commands."""
        robot, target, arm = self.robot, self._running.setpoint, action[:-1]
        if not robot.standing_links:
            target[robot.slice("base")], arm = action[:3], action[3:-1]
        target[robot.slice("fingers")] = robot.fingers_at(action[-1] / 2.0)
        if self.recording.actions == "joints":
            target[robot.slice("arm")] = arm
        else:
            self._reach(target, arm)
        return target

    def _reach(self, target: Array, pose: Array) -> None:
        """Set the arm joints of ``target`` (n,) for a pose (7,) of the grasp frame in the base.

        Inverse kinematics by damped least squares (Wampler, 1986) from the present joints. If the
        pose is out of reach, the hand comes as near as it can, and the elbow doesn't jump.
        """
        robot, arm = self.robot, self.robot.slice("arm")
        size = np.linalg.norm(pose[3:])
        to = from_pose7([*pose[:3], *(pose[3:] / size if size > 0.0 else (0.0, 0.0, 0.0, 1.0))])
        wanted = base_pose(target) @ to @ inverse(transform(None, robot.p_HT))
        n = robot.group("arm").size
        nudges = _NUDGE * np.eye(n + 1, n, -1)
        low, high = (limit[arm] for limit in robot.limits)
        for _ in range(_ITERATIONS):
            # The Jacobian by differences: the first row is the present one, then one joint each.
            tried = robot.with_groups(target, arm=target[arm] + nudges)
            now, *near = robot.kinematics.hand_poses(tried)
            *rows, left = twists(now, np.array([*near, wanted]))
            if np.linalg.norm(left) < _NUDGE:
                return
            J = np.array(rows).T / _NUDGE
            left = left * (_FARTHEST / max(float(np.linalg.norm(left)), _FARTHEST))
            step = J.T @ np.linalg.solve(J @ J.T + _DAMPING**2 * np.eye(6), left)
            target[arm] = np.clip(target[arm] + step, low, high)

    def _look(self) -> Arrays:
        """The observation; quaternions have the signs nearest to those of the last step."""
        servo = self._running
        now, held = servo.sample, -1 if servo.sample.held is None else servo.sample.held
        seen = observed(self.task.scene, self.robot, now, np.array([held]))
        arrays = {name: rows[0] for name, rows in seen.items()}
        for name in arrays:
            if name == "hand_pose" or name.startswith(ITEM):
                last = self._seen.get(name, arrays[name])
                if last[3:] @ arrays[name][3:] < 0.0:
                    arrays[name][3:] *= -1.0
        self._seen = arrays
        state = now.q[0], now.scene_q[0], now.items[0]
        return arrays | {name: draw(*state) for name, draw in self._drawers.items()}

    def _info(self) -> _Info:
        """The info of a step: success, share of the goal's facts that hold, and why."""
        facts = self._facts()
        held = [fact.holds for fact in facts]
        why = {fact.fact: fact.why for fact in facts}
        return {"is_success": all(held), "goal": sum(held) / max(len(held), 1), "facts": why}

    def _facts(self) -> tuple[GoalFact, ...]:
        """The facts of the goal, as validation judges them in the present state."""
        servo, task, scene = self._running, self.task, self.task.scene
        now = servo.sample
        final = FinalState(
            scene,
            now.q[0][self.robot.slice("base")],
            now.scene_q[0],
            {name: poses[-1] for name, poses in furniture_poses(scene, now.scene_q).items()},
            now.items[0],
            tuple(k == now.held for k in range(len(scene.items))),
            servo.at_rest,
        )
        held = {
            name: ""
            for name, binding in task.bindings.items()
            if binding.kind == "item" and scene.item_index[binding.target] == now.held
        }
        judges = tuple(
            lambda predicate, things, of=skill: of.judge(scene, self.log(), predicate, things)
            for skill in task.skills.values()
        )
        symbols = hand_facts(task, task.problem.init, held)
        return evaluate_goal(Goal(task.domain, task.problem, symbols, judges), final)

    def log(self) -> Log:
        """The log of the episode so far, as of ``galley run``, to film or judge it."""
        return self._running.log()

    def render(self) -> Any:
        """A picture of the room (480, 480, 3) with ``rgb_array``, else None."""
        if self._rendered is None:
            return None
        now = self._running.sample
        return self._rendered(now.q[0], now.scene_q[0], now.items[0])

    def close(self) -> None:
        """End the simulation; ``reset`` starts it again."""
        if self._servo is not None:
            self._servo.close()
            self._servo = None


def twists(X_WA: Array, X_WB: Array) -> Array:
    """Velocities (k, 6) that move pose A (4, 4) to each B (k, 4, 4) in one second.

    They are linear (m/s), then angular (rad/s), in the world.
    """
    from scipy.spatial.transform import Rotation

    turns = Rotation.from_matrix(X_WB[:, :3, :3] @ X_WA[:3, :3].T).as_rotvec()
    return np.concatenate([X_WB[:, :3, 3] - X_WA[:3, 3], turns], axis=1)
