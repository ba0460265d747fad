"""Runs of the kitchen as episodes of demonstrations (docs/demonstrations.md has the arrays).

This module is apart because neither side may import the other: ``demonstrations`` doesn't know
robots, and ``execution`` doesn't know demonstrations.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from galley import engine
from galley.domain.errors import BadInput
from galley.domain.failure import Failure
from galley.domain.frames import Array
from galley.domain.log import CLOSE, OPEN, Log
from galley.execution.disturbance.noise import Noise
from galley.execution.executor import COLUMNS, Sample
from galley.learning.collection.arrays import by_group, hand_poses, meanings, observed
from galley.learning.collection.recording import SYMBOLIC_ACTION, Recording
from galley.learning.demonstrations import Collection, Episode, NoEpisode
from galley.robots.catalog import robot_of
from galley.stages import Execution
from galley.sweeps import digest
from galley.tamp.task import TampTask
from galley.viz.film.captions import split_recovery
from galley.viz.film.frames import split_line
from galley.viz.film.pictures import drawer


@dataclass(frozen=True)
class KitchenDemonstrator:
    """Plans and executes a task for a seed; can be pickled if the task's skills can.

    Attributes:
        task: see ``engine.load``.
        executor, noise: see ``engine.execute``.
        optimize: see ``engine.solve``.
        recording: rate, cameras and kind of actions.
    """

    task: TampTask
    executor: str = "physics"
    noise: Noise | None = None
    optimize: str = "smooth"
    recording: Recording = field(default_factory=Recording)

    def __call__(self, seed: int) -> Episode:
        """The episode of a seed; a run that failed is an episode, too.

        Raises:
            NoEpisode: there is no plan, nothing to do, or execution aborted before any motion.
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
        """The collection of its episodes: title, settings and meanings of the arrays."""
        task, recording = self.task, self.recording
        if hands := task.scene.robot.hands:
            reason = f"demonstrations are of robots with one hand, this one has {len(hands)}"
            raise BadInput.one(task.scene.source, reason)
        settings: dict[str, Any] = {
            "scene": task.scene.name,
            "robot": robot_of(task.scene.robot).name,
            "domain": task.domain.name,
            "problem": task.problem.name,
            "executor": self.executor,
            "noise": None if self.noise is None else asdict(self.noise),
            "optimize": self.optimize,
            **asdict(recording),
            # Because a change of any file or code may change the episode of a seed.
            "digest of files and code": digest(task.files),
        }
        if not recording.cameras:
            del settings["size"]
        return Collection(
            f"{task.problem.name} in {task.scene.name}",
            settings,
            description="Runs of a task-and-motion planner: the plan, as it was executed.",
            arrays=meanings(task.scene, robot_of(task.scene.robot), recording),
        )


def episode_of(run: Execution, recording: Recording) -> Episode:
    """The episode of a run: samples of its log at the rate of the recording.

    An action is the command one step later. Without physics, the command at a time is the position
    at that time, from which nothing can be learned.
    """
    log, task = run.log, run.solution.task
    robot = robot_of(task.scene.robot)
    steps = np.arange(0, len(log.time), round(1.0 / (recording.rate * log.period)))
    later = np.minimum(steps + steps[1:2].sum(), len(log.time) - 1)
    actions, which = _symbolic_actions(log)
    samples = Sample(**{name: getattr(log, name)[steps] for name in COLUMNS}, held=None)
    observations = observed(task.scene, robot, samples, log.held[steps])
    observations[SYMBOLIC_ACTION] = which[steps, None]
    for camera in recording.cameras:
        draw = drawer(camera, recording.size, task.scene, robot)
        film = np.empty((len(steps), recording.size, recording.size, 3), dtype=np.uint8)
        for k, row in enumerate(zip(samples.q, samples.scene_q, samples.items, strict=True)):
            film[k] = draw(*row)
        film.setflags(write=False)
        observations[camera] = film
    metadata: dict[str, Any] = {
        "task": " ".join(map(str, task.problem.goal)),
        "items": [item.name for item in task.scene.items],
        SYMBOLIC_ACTION: actions,
        "recoveries": len(run.recoveries),
    }
    if run.failure is not None:
        # Only the kind of an abort: its text may have the seconds that a search took.
        metadata["failure"] = run.aborted.kind.value if run.aborted else str(run.failure)
    commanded = by_group(robot, log.command[later])
    commanded["gripper"][_grips(log)[later]] = 0.0
    if recording.actions == "hand":
        commanded["joints"] = hand_poses(robot, log.command[later])
    command = np.concatenate(list(commanded.values()), axis=1)
    seed = run.options.seed
    return Episode(observations, command, log.time[steps], run.success, seed, metadata)


def _symbolic_actions(log: Log) -> tuple[list[str], Array]:
    """The texts of the actions that occur, in order, and the index (T,) of the present one."""
    names = [split_line(split_recovery(str(line))[1])[0] for line in log.motions]
    texts = list(dict.fromkeys(names))
    of_motion = np.array([texts.index(name) for name in names])
    return texts, of_motion[log.motion]


def _grips(log: Log) -> NDArray[np.bool_]:
    """Whether (T,) the fingers grip at a sample: close by force, or hold an item."""
    grips, now = [], False
    for line in log.motions:
        phase = split_line(str(line))[1].rpartition(": ")[2]
        now = phase == CLOSE or (now and phase != OPEN)
        grips.append(now)
    return np.array(grips, dtype=bool)[log.motion]


Demonstrator = KitchenDemonstrator  # its name in the scripts of users
