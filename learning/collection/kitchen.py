"""A run as an episode of demonstrations (docs/demonstrations.md has its arrays).

Here, for neither side may import the other: ``demonstrations`` knows no robot, ``execution`` no
demonstrations.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from galley import engine
from galley.domain.errors import BadInput
from galley.domain.failure import Failure
from galley.domain.frames import Array, continuous, transform
from galley.domain.log import Log
from galley.domain.scene.model import Scene
from galley.execution.disturbance.noise import Noise
from galley.learning.collection.recording import SYMBOLIC_ACTION, Recording
from galley.learning.demonstrations import Collection, Episode, NoEpisode
from galley.robots.catalog import robot_of
from galley.robots.model import RobotModel
from galley.stages import Execution
from galley.sweeps import digest
from galley.tamp.task import TampTask
from galley.viz.film.captions import split_recovery
from galley.viz.film.frames import split_line
from galley.viz.film.pictures import pictures

_ITEM = "item_"
_GROUPS = {"base": "base", "joints": "arm", "gripper": "fingers"}  # observation: robot's group


@dataclass(frozen=True)
class Demonstrator:
    """Runs a task with the planner; can be pickled if the task's skills can.

    Attributes:
        task: see ``engine.load``.
        executor, noise: see ``engine.execute``. optimize: see ``engine.solve``.
        recording: what is kept.
    """

    task: TampTask
    executor: str = "physics"
    noise: Noise | None = None
    optimize: str = "smooth"
    recording: Recording = field(default_factory=Recording)

    def __call__(self, seed: int) -> Episode:
        """The episode of a seed. One that failed on the way is an episode too.

        Raises:
            NoEpisode: there is no plan, nothing to do, or execution gave up before any motion.
        """
        solution = engine.solve(self.task, seed, optimize=self.optimize)
        if isinstance(solution, Failure):
            raise NoEpisode(f"no plan: {solution}")
        run = engine.execute(solution, self.executor, noise=self.noise)
        if not run.motions:
            raise NoEpisode(str(run.aborted or "nothing to do: the goal holds at the start"))
        return episode_of(run, self.recording)

    @property
    def collection(self) -> Collection:
        """What its episodes have in common."""
        task, recording = self.task, self.recording
        if hands := task.scene.robot.hands:
            what = f"demonstrations are of robots with one hand, this one has {len(hands)}"
            raise BadInput.one(task.scene.source, what)
        settings: dict[str, Any] = {
            "scene": task.scene.name,
            "robot": robot_of(task.scene.robot).name,
            "domain": task.domain.name,
            "problem": task.problem.name,
            "executor": self.executor,
            "noise": None if self.noise is None else asdict(self.noise),
            "optimize": self.optimize,
            **asdict(recording),
            # Any of them changes what a seed does.
            "digest of files and code": digest(task.files),
        }
        if not recording.cameras:
            del settings["size"]
        return Collection(
            f"{task.problem.name} in {task.scene.name}",
            settings,
            description="Runs of a task-and-motion planner: the plan, as it was executed.",
            arrays=_meanings(task.scene, robot_of(task.scene.robot), recording),
        )


def episode_of(run: Execution, recording: Recording) -> Episode:
    """The episode of a run: every so many samples of its log, as they are.

    An action is what is commanded one step later: without physics the command at a time is the
    position at that time, from which nothing can be learned.
    """
    log, task = run.log, run.solution.task
    robot = robot_of(task.scene.robot)
    steps = np.arange(0, len(log.time), round(1.0 / (recording.rate * log.period)))
    later = np.minimum(steps + steps[1:2].sum(), len(log.time) - 1)
    actions, which = _symbolic_actions(log)
    at = partial(_by_group, robot)
    items = np.concatenate([log.items[..., :3], continuous(log.items[..., 3:])], axis=-1)[steps]
    own = at(log.q[steps])
    observations = {
        "state": np.concatenate(list(own.values()), axis=1),
        **own,
        "hand_pose": _hand(robot, log.q[steps]),
        **{f"{name}_velocity": each for name, each in _rates(robot, log, steps).items()},
        **{_ITEM + item.name: items[:, k] for k, item in enumerate(task.scene.items)},
        "held": log.held[steps, None],
        SYMBOLIC_ACTION: which[steps, None],
    }
    if task.scene.joints:
        observations["scene_joints"] = log.scene_q[steps]
    states = (log.q[steps], log.scene_q[steps], log.items[steps])
    for camera in recording.cameras:
        film = np.empty((len(steps), recording.size, recording.size, 3), dtype=np.uint8)
        for k, each in enumerate(pictures(camera, recording.size, task.scene, robot, states)):
            film[k] = each
        film.setflags(write=False)
        observations[camera] = film
    metadata: dict[str, Any] = {
        "task": " ".join(map(str, task.problem.goal)),
        "items": [item.name for item in task.scene.items],
        SYMBOLIC_ACTION: actions,
        "recoveries": len(run.recoveries),
    }
    if run.failure is not None:
        # Why a search ended may name the seconds that it took, which differ from run to run.
        metadata["failure"] = run.aborted.kind.value if run.aborted else str(run.failure)
    commanded = at(log.command[later])
    if recording.actions == "hand":
        commanded["joints"] = _hand(robot, log.command[later])
    command = np.concatenate(list(commanded.values()), axis=1)
    seed = run.options.seed
    return Episode(observations, command, log.time[steps], run.success, seed, metadata)


def _groups(robot: RobotModel) -> dict[str, str]:
    """The robot's groups by observation: a base that stands is none."""
    return dict(list(_GROUPS.items())[bool(robot.standing_links) :])


def _by_group(robot: RobotModel, values: Array) -> dict[str, Array]:
    """Columns of (T, n) by group; of the fingers the width between them."""
    found = {name: values[:, robot.slice(group)] for name, group in _groups(robot).items()}
    return found | {"gripper": 2.0 * robot.half_width(found["gripper"])[:, None]}


def _hand(robot: RobotModel, Q: Array) -> Array:
    """Poses of the grasp frame in the base (T, 7): position (m), quaternion without jumps."""
    from scipy.spatial.transform import Rotation

    standing = robot.with_groups(Q[0], base=np.zeros(3), arm=Q[:, robot.slice("arm")])
    X = robot.kinematics.hand_poses(standing) @ transform(None, robot.p_HT)
    turned = Rotation.from_matrix(X[:, :3, :3]).as_quat()
    return np.concatenate([X[:, :3, 3], continuous(turned)], axis=1)


def _rates(robot: RobotModel, log: Log, steps: NDArray[np.int64]) -> dict[str, Array]:
    """The same of velocities."""
    groups = _groups(robot).items()
    found = {name: log.velocity[steps][:, robot.slice(group)] for name, group in groups}
    rates = robot.finger_rates(robot.half_width(log.q[steps][:, robot.slice("fingers")]))
    return found | {"gripper": 2.0 * (found["gripper"] / rates).mean(axis=1, keepdims=True)}


def _symbolic_actions(log: Log) -> tuple[list[str], Array]:
    """The actions that occur, in order, and the index of the present one (T,)."""
    names = [split_line(split_recovery(str(line))[1])[0] for line in log.motions]
    texts = list(dict.fromkeys(names))
    of_motion = np.array([texts.index(name) for name in names])
    return texts, of_motion[log.motion]


def _meanings(scene: Scene, robot: RobotModel, recording: Recording) -> dict[str, str]:
    """What each array is; first the names of its components, if it has several."""
    base, joints = (", ".join(robot.group(name).joints) for name in ("base", "arm"))
    parts = [base, joints, "gripper"][bool(robot.standing_links) :]
    whole, ahead, pose = ", ".join(parts), parts.copy(), "x, y, z, qx, qy, qz, qw"
    if recording.actions == "hand":
        ahead[-2] = pose
    return {
        "action": f"{', '.join(ahead)} (m, rad, quaternion): commanded one step later; of the "
        "gripper its opening, while it grips by force as measured",
        "state": f"{whole} (m, rad): as measured",
        "hand_pose": f"{pose} (m, quaternion): of the grasp frame in the base, qw >= 0 first, then "
        "without jumps",
        "base": f"{base} (m, rad): in the world",
        "base_velocity": f"{base} (m/s, rad/s)",
        "joints": f"{joints} (rad)",
        "joints_velocity": f"{joints} (rad/s)",
        "gripper": "opening between the fingers (m)",
        "gripper_velocity": "of gripper (m/s)",
        **{
            _ITEM + item.name: "x, y, z, qx, qy, qz, qw (m, quaternion): true pose in the world, "
            "qw >= 0 first, then without jumps"
            for item in scene.items
        },
        "held": "index into metadata 'items' of what the hand holds, -1: nothing",
        SYMBOLIC_ACTION: f"index into metadata '{SYMBOLIC_ACTION}' of the action under way",
        "scene_joints": f"{', '.join(joint.name for joint in scene.joints) or 'none'} (m or rad)",
        **{name: f"camera '{name}'" for name in recording.cameras},
    }
