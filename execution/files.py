"""Execution into files, from which the controller of a real arm can run the motions.

The folder has one CSV file per motion, an index ``motions.json`` with allowed contacts, guards and
end poses, and a README.txt that explains both. Another executor runs and observes the motions.
"""

from __future__ import annotations

import json
import re
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np

from galley.domain.files import write_atomically, write_fault
from galley.domain.frames import inverse, to_pose7
from galley.domain.log import Log
from galley.domain.scene.model import Scene
from galley.domain.state import State
from galley.execution.executor import Executor, Observation
from galley.motion.effects import effects
from galley.motion.motion import Motion
from galley.motion.thresholds import THRESHOLDS
from galley.motion.trajectory.export import CSV_RATE, write_csv
from galley.robots.model import RobotModel

INDEX = "motions.json"
SCHEMA_VERSION = 2
_LONGEST = 80  # characters of a file's name, without number and suffix

README = """\
{title}
{line}

Run the motions in the order of motions.json. Each entry names a file beside it.
All units are SI: m, rad, s, N. Poses are x, y, z, qx, qy, qz, qw.

Files of kind "trajectory" (arm and base) are CSV: a row every 1/rate s (rate_Hz), and the last row
at the exact end: time, then position, velocity and acceleration of each joint. Motions begin and
end at rest, each where the previous one ends. The set-points keep the limits under "groups", so
they can be streamed to a position or impedance controller. The base moves by x, y, heading.

Files of kind "gripper" have one row: width between the fingers, its speed, and the force. "move"
goes to that width; "grasp" closes until the fingers hold something, then presses with the force.

The entry of each motion in motions.json has:
  guard        stop early when the force against "direction" (in the world) exceeds "force"; until
               then the hand may move at most at "speed"; null: no guard
  holds        the item, or the joint of the furniture, that the hand holds
  hand         the hand that acts, if the robot has several; group and hand_at_end refer to it
  may_touch    pairs that may touch; any other contact is a fault: stop
  hand_at_end, scene_joints_at_end
               where the hand (hand_link), drawers and doors should be: compare before going on

This is not a safety system. Nobody has run these files on your arm: check the start pose, begin at
a fraction of the speed, and keep a hand on the stop button. If the world differs from the plan, the
motions that follow no longer fit: observe, and plan again.
"""


class FileExecutor:
    """Writes Motions into files (see ``Executor``) and has another executor run them.

    It replaces the files of an earlier run that the folder's index names.

    Args:
        inner: runs and observes the motions.
        scene: the scene as planned.
        robot: the robot's model.
        folder: folder for the files. It is created if it is missing, but its parent must exist.

    Raises:
        BadInput: the folder can't be created or written.
    """

    def __init__(
        self, inner: Executor, scene: Scene, robot: RobotModel, folder: Path | str
    ) -> None:
        self.inner, self.scene, self.robot = inner, scene, robot
        self.folder = folder = Path(folder)
        self._motions: list[dict[str, Any]] = []
        try:
            folder.mkdir(exist_ok=True)
        except OSError as error:
            raise write_fault(folder, error) from None
        self._clear()
        title = f"Motions of {robot.name}, planned by Galley"
        text = README.format(title=title, line="=" * len(title))
        write_atomically(folder / "README.txt", text)
        self._index(finished=False)

    # -- the interface ---------------------------------------------------------------------------

    def observe(self) -> State:
        return self.inner.observe()

    def execute(self, motion: Motion, name: str) -> Observation:
        """See ``Executor.execute``. The file is complete before the motion runs."""
        before = self.inner.observe()
        file = f"{len(self._motions):03d}-{_slug(name)}.csv"
        robot = self.robot.acting(motion.hand)
        if motion.group == "fingers":
            how = self._gripper(self.folder / file, motion)
        else:
            group = robot.group(motion.group)
            rows = write_csv(self.folder / file, motion.trajectory, group)
            how = {"kind": "trajectory", "rows": rows, "joints": list(group.joints)}
        self._motions.append(self._entry(motion, name, file, how, before))
        self._index(finished=False)
        return self.inner.execute(motion, name)

    def wait(self, seconds: float) -> None:
        """See ``Executor.wait``. Writes nothing: the arm stands still anyway."""
        self.inner.wait(seconds)

    def log(self) -> Log:
        """See ``Executor.log``: the inner executor's, in the mode ``files``."""
        return replace(self.inner.log(), mode="files")

    def close(self) -> None:
        """See ``Executor.close``. Marks the index as finished."""
        self._index(finished=True)
        self.inner.close()

    # -- files -----------------------------------------------------------------------------------

    def _gripper(self, path: Path, motion: Motion) -> dict[str, Any]:
        """Write a command for the gripper: width between the fingers (m), its speed, and a force.

        The command is ``grasp`` if the fingers close on something that they may touch, else
        ``move``. A grasp's force is the scene's ``finger_force`` (N); speeds are m/s.

        Returns:
            What the motion's entry in the index says of the command.
        """
        ends = motion.trajectory.start, motion.trajectory.end
        robot = self.robot.acting(motion.hand)
        start, width = (2.0 * float(robot.half_width(end)) for end in ends)
        rates = np.abs(robot.finger_rates(width / 2.0))
        speed = float((2.0 * motion.trajectory.peaks(1) / rates).min())
        closes = width < start
        grasps = closes and bool(motion.allowed)
        force = self.scene.physics.finger_force if grasps else 0.0
        header = "time [s],width [m],speed [m/s],force [N]"
        write_atomically(path, f"{header}\n0.0,{width!r},{speed!r},{force!r}\n")
        command = {"command": "grasp" if grasps else "move", "width_m": width, "speed_m_s": speed}
        return {"kind": "gripper", "rows": 1, **command, "force_N": force}

    def _entry(
        self, motion: Motion, name: str, file: str, how: dict[str, Any], before: State
    ) -> dict[str, Any]:
        """The entry of one motion in the index, with the State ``before`` it.

        ``how`` has the keys that depend on the kind of file.
        """
        model = effects(self.scene, self.robot, motion, before)
        state = model.at(motion.path.end)
        robot = model.robot
        X_WH, X_WA = robot.kinematics.hand_pose(state.q), robot.foot_pose(state.q)
        guard, joints = motion.guard, zip(self.scene.joints, state.scene_q, strict=True)
        return {
            "file": file,
            "name": name,
            "phase": motion.phase,
            "action_index": motion.action_index,
            "group": motion.group,
            **({"hand": motion.hand, "hand_link": robot.palm} if motion.hand else {}),
            **how,
            "duration_s": motion.trajectory.duration,
            "start": motion.trajectory.start.tolist(),
            "end": motion.trajectory.end.tolist(),
            "guard": None if guard is None else _plain(asdict(guard)),
            "holds": [{"kind": a.kind, "name": a.name} for a in motion.attachments if not a.hand],
            "pushes": None if motion.slide is None else _plain(asdict(motion.slide)),
            "may_touch": [list(names) for names in sorted(motion.allowed)],
            "hand_at_end": {
                "in_world": to_pose7(X_WH).tolist(),
                "in_arm_base": to_pose7(inverse(X_WA) @ X_WH).tolist(),
            },
            "scene_joints_at_end": {joint.name: float(value) for joint, value in joints},
        }

    def _index(self, finished: bool) -> None:
        """Write the index of the motions so far; ``finished`` after the last one."""
        index = {
            "schema_version": SCHEMA_VERSION,
            "finished": finished,
            "scene": self.scene.name,
            "robot": self.robot.name,
            "hand_link": self.robot.palm,
            "rate_Hz": CSV_RATE,
            "joint_order": list(self.robot.joints),
            "groups": [_plain(asdict(group)) for group in self.robot.groups],
            "thresholds": asdict(THRESHOLDS),
            "motions": self._motions,
        }
        write_atomically(self.folder / INDEX, json.dumps(index, indent=1) + "\n")

    def _clear(self) -> None:
        """Remove the files of an earlier run."""
        try:
            old = json.loads((self.folder / INDEX).read_text())
            names = [str(motion["file"]) for motion in old["motions"]]
        except (OSError, ValueError, KeyError, TypeError):
            return  # there is no index, or not one of ours
        # Only names that this class writes: an index from elsewhere must not delete other files.
        for name in names:
            if re.fullmatch(r"\d{3,}-[a-z0-9-]*\.csv", name):
                (self.folder / name).unlink(missing_ok=True)


def _slug(name: str) -> str:
    """A motion's name in lower case, with hyphens for other characters."""
    return re.sub(r"[^a-z0-9]+", "-", name.lower())[:_LONGEST].strip("-")


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    """The values with arrays as lists, for JSON."""
    return {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in values.items()}
