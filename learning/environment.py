"""The kitchen as a Gymnasium environment, ``galley/Kitchen-v0``.

    import gymnasium
    import galley.gym  # registers it

    env = gymnasium.make("galley/Kitchen-v0", problem="sugar_only.pddl", cameras=("front",))

The robot is driven under the physics of ``galley run``, by commands at a rate. Observations and
actions have the names, units and frames of what ``galley demos collect`` writes
(docs/demonstrations.md): an episode's actions, from the same seed, do here what they did there.

An action is the next configuration: base (m, m, rad; none of a robot that stands), arm (rad; with
``actions="hand"`` the pose of the grasp frame in the base) and the gripper's opening (m). It is cut
to what the joints' limits and speeds allow. Below 5 mm of opening the fingers close by force, and
press as hard as in ``galley run`` on what is between them.

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

RENDERED = 480  # pixels a side, of what is rendered
SHUT = 0.005  # m: with less of an opening commanded the hand grips
# Of inverse kinematics; the last two in m or rad.
_ITERATIONS, _DAMPING, _NUDGE, _FARTHEST = 8, 0.03, 1e-5, 0.2
_Info = dict[str, Any]


class KitchenEnv(gymnasium.Env[Arrays, Array]):
    """One kitchen; see the module.

    ``reset(seed=s)`` starts as the seed s of ``galley demos collect`` with the same ``noise``.
    ``reset(options={"problem": ..., "scene": ..., "robot": ...})`` changes the task, if what is
    observed and commanded keeps its shape.

    Args:
        problem, scene, domain, skills, robot: files, as for ``engine.load``.
        actions: ``joints`` or ``hand``. rate: steps a second; it must divide 120.
        cameras: pictures to observe: ``front``, ``top``, ``hand``. size: of these, pixels a side.
        noise: random errors of the world, as ``galley run`` takes them; None: it is as in the file.
        render_mode: None or ``rgb_array``.

    Attributes:
        task: that was loaded. robot: its robot.

    Raises:
        BadInput: a file, a camera, a rate or the noise is bad, or the robot has several hands.
        ValueError: no such ``render_mode``.
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
        """Read the task of these files."""
        self.task: TampTask = engine.load(**files)
        if hands := self.task.scene.robot.hands:
            what = f"the environment is of robots with one hand, this one has {len(hands)}"
            raise BadInput.one(self.task.scene.source, what)
        self.robot = robot_of(self.task.scene.robot)
        pictured = self.recording.cameras or self.render_mode
        ensure(REACH, KINEMATICS, *((RENDERER,) if pictured else ()))
        draw = partial(drawer, scene=self.task.scene, robot=self.robot)
        self._drawers = {name: draw(name, self.recording.size) for name in self.recording.cameras}
        self._rendered = draw("front", RENDERED) if self.render_mode else None

    def _spaces(self) -> tuple[spaces.Space[Any], spaces.Space[Any]]:
        """Of observations and actions; the fingers' limits are those of their opening."""
        robot, pose = self.robot, np.array([2.0, 2.0, 2.0, 1.0, 1.0, 1.0, 1.0])
        low, high = (by_group(robot, limit[None]) for limit in robot.limits)
        low["gripper"][:], high["gripper"][:] = 0.0, 2.0 * robot.gripper.open
        if self.recording.actions == "hand":
            low["joints"], high["joints"] = -pose[None], pose[None]
        bounds = (np.concatenate(list(each.values()), axis=1)[0] for each in (low, high))
        self._bounds = tuple(bounds)
        self._begin(0)
        assert self._servo is not None
        seen: dict[str, spaces.Space[Any]] = {}
        for name, each in self._look().items():
            least, most = (0, 255) if each.dtype == np.uint8 else (-np.inf, np.inf)
            if each.dtype.kind == "i":
                least, most = -1, len(self.task.scene.items) - 1
            seen[name] = spaces.Box(least, most, each.shape, each.dtype.type)
        return spaces.Dict(seen), spaces.Box(*self._bounds, dtype=np.float64)

    def _begin(self, seed: int) -> None:
        """Put the world where the seed starts it."""
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
            ValueError: unknown options, or a task whose observations or actions differ.
            BadInput: a file is bad.
        """
        super().reset(seed=seed)
        options = options or {}
        if unknown := set(options) - {"problem", "scene", "robot"}:
            raise ValueError(f"options {sorted(unknown)}: must be problem, scene or robot")
        if options != self._options:
            self._options = None  # what fails below is read again by the next call
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
            ValueError: an action of another shape, or not finite.
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
        """Put into ``target`` (n,) arm joints with the grasp frame at a pose (7,) in the base.

        Damped least squares (Wampler, 1986) from the present joints on: where the pose is out of
        reach the hand comes as near as it can, and no elbow jumps.
        """
        robot, arm = self.robot, self.robot.slice("arm")
        size = np.linalg.norm(pose[3:])
        to = from_pose7([*pose[:3], *(pose[3:] / size if size > 0.0 else (0.0, 0.0, 0.0, 1.0))])
        wanted = base_pose(target) @ to @ inverse(transform(None, robot.p_HT))
        n = robot.group("arm").size
        nudges = _NUDGE * np.eye(n + 1, n, -1)
        low, high = (limit[arm] for limit in robot.limits)
        for _ in range(_ITERATIONS):
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
        """The observation; quaternions have the sign nearer to that of the step before."""
        servo = self._running
        now, held = servo.sample, -1 if servo.sample.held is None else servo.sample.held
        seen = observed(self.task.scene, self.robot, now, np.array([held]))
        found = {name: each[0] for name, each in seen.items()}
        for name in found:
            if name == "hand_pose" or name.startswith(ITEM):
                last = self._seen.get(name, found[name])
                if last[3:] @ found[name][3:] < 0.0:
                    found[name][3:] *= -1.0
        self._seen = found
        state = now.q[0], now.scene_q[0], now.items[0]
        return found | {name: draw(*state) for name, draw in self._drawers.items()}

    def _info(self) -> _Info:
        """What holds of the goal."""
        facts = self._facts()
        held = [fact.holds for fact in facts]
        why = {fact.fact: fact.why for fact in facts}
        return {"is_success": all(held), "goal": sum(held) / max(len(held), 1), "facts": why}

    def _facts(self) -> tuple[GoalFact, ...]:
        """The parts of the goal, as validation judges them in the present state."""
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
            for name, each in task.bindings.items()
            if each.kind == "item" and scene.item_index[each.target] == now.held
        }
        judges = tuple(
            lambda predicate, things, of=skill: of.judge(scene, self.log(), predicate, things)
            for skill in task.skills.values()
        )
        symbols = hand_facts(task, task.problem.init, held)
        return evaluate_goal(Goal(task.domain, task.problem, symbols, judges), final)

    def log(self) -> Log:
        """The episode so far, as ``galley run`` logs it: to film or judge it."""
        return self._running.log()

    def render(self) -> Any:
        """The room (480, 480, 3), with ``rgb_array``."""
        if self._rendered is None:
            return None
        now = self._running.sample
        return self._rendered(now.q[0], now.scene_q[0], now.items[0])

    def close(self) -> None:
        """End the simulation."""
        if self._servo is not None:
            self._servo.close()
            self._servo = None


def twists(X_WA: Array, X_WB: Array) -> Array:
    """What takes A to each B (k, 4, 4) in a second (k, 6): m/s, then rad/s, in the world."""
    from scipy.spatial.transform import Rotation

    turns = Rotation.from_matrix(X_WB[:, :3, :3] @ X_WA[:3, :3].T).as_rotvec()
    return np.concatenate([X_WB[:, :3, 3] - X_WA[:3, 3], turns], axis=1)
