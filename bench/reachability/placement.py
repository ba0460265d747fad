"""Sections on base placement: a valid base for a kitchen grasp, and the reachability field."""

from __future__ import annotations

import tempfile
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import pybullet

from galley.bench.report import Section, Target, note, shown, table
from galley.collision.checker import pairs
from galley.collision.scene_kernel import SceneKernel
from galley.domain.frames import Array, inverse, to_pose7, transform
from galley.domain.scene.reader import load_scene
from galley.domain.shipped import KITCHEN
from galley.domain.state import initial_state
from galley.robots.panda.description import panda_arm
from galley.robots.panda.kinematics import JOINTS
from galley.robots.panda.mobile import link0_pose
from galley.robots.panda.models import mobile_panda
from galley.skills.base_placement.field import REDUNDANT, reachability_field, square
from galley.skills.base_placement.placement import score_bases
from galley.skills.base_placement.stances import sample_stances
from galley.skills.manipulation.grasps import grasps_at

_STANCE, _ITEM = "burner", "sugar_box"
_RESTARTS, _MOST_BASES = 4, 400  # PyBullet's
_DRAWN, _ROUNDS = 32, 16  # ours


class _Kitchen:
    """The kitchen at its start, and PyBullet's own robot for its inverse kinematics."""

    def __init__(self) -> None:
        self.scene = load_scene(KITCHEN / "kitchen.yaml")
        self.robot = mobile_panda(self.scene.robot.base)
        self.state = initial_state(self.scene)
        index = self.scene.item_index[_ITEM]
        item = self.scene.items[index]
        X_TH = transform(None, -self.robot.p_HT)
        self.hands = np.array(
            [
                item.X_WI @ grasp.X_IT @ X_TH
                for grasp in grasps_at(self.scene, self.state, index, self.robot.gripper)
            ]
        )
        kernel = SceneKernel(self.scene, self.robot)
        touching = pairs((*self.robot.fingers, self.robot.palm), (_ITEM,))
        self.folded, self.at_item = kernel.checker(self.state), kernel.checker(self.state, touching)
        self.stance = self.scene.stance(_STANCE)

    def stands(self, bases: Array) -> Any:
        """The base, the arm folded."""
        return self.folded.free_many(self.robot.with_groups(self.state.q, base=bases))

    def reaches(self, bases: Array, arms: Array) -> Any:
        """The arm at the item, fingers open."""
        fingers = np.full(self.robot.group("fingers").size, self.robot.gripper.open)
        Q = self.robot.with_groups(self.state.q, base=bases, arm=arms, fingers=fingers)
        return self.at_item.free_many(Q)

    def found(self, X_WH: Array, rng: np.random.Generator) -> bool:
        """Whether a base was found: ours, scored."""
        start = self.state.q[self.robot.slice("base")]
        redundant = np.linspace(*self.robot.kinematics.redundant_range, REDUNDANT)
        for _ in range(_ROUNDS):
            bases = sample_stances(X_WH, self.stance, self.robot, _DRAWN, rng)
            bases = bases[self.stands(bases)] if len(bases) else bases
            for each in score_bases(self.robot, X_WH, bases, start, redundant):
                if self.reaches(each.base[None], each.arm[None])[0]:
                    return True
        return False


def placement(quick: bool) -> Section:
    """A valid collision-free base for each grasp: scored, and uniform annulus with PyBullet."""
    kitchen, rows = _Kitchen(), []
    client = pybullet.connect(pybullet.DIRECT)
    try:
        peer = _Peer(kitchen, client)
        # Loads what is compiled.
        kitchen.found(kitchen.hands[0], np.random.default_rng(0))
        for k, X_WH in enumerate(kitchen.hands):
            ours, theirs = [], []
            for seed in range(2 if quick else 5):
                rng = np.random.default_rng([k, seed])
                began = perf_counter()
                found = kitchen.found(X_WH, rng)
                ours.append((perf_counter() - began, found))
                began = perf_counter()
                theirs.append((peer.find(X_WH, rng), perf_counter() - began))
            rows.append((k, ours, theirs))
            note(f"grasp {k + 1} of {len(kitchen.hands)}")
    finally:
        pybullet.disconnect(client)
    lines, ratios = [], []
    for k, ours, theirs in rows:
        a, b = median(s for s, _ in ours), median(s for _, s in theirs)
        solved, peers = sum(ok for _, ok in ours), sum(ok for ok, _ in theirs)
        if solved or peers:  # a grasp without a base from either is no race
            ratios.append(b / a if solved == len(ours) else 0.0)
        lines.append([str(k), f"{solved}/{len(ours)}", shown(1e3 * a),
                      f"{peers}/{len(theirs)}", shown(1e3 * b), shown(b / a)])  # fmt: skip
    table(["grasp", "ours found", "ms", "PyBullet found", "ms", "ratio"], lines)
    least, middle = (min(ratios), median(ratios)) if ratios else (None, None)
    return [list(map(str, line)) for line in lines], [
        Target.at_least("base for a grasp, PyBullet over ours: least", 10, least, ""),
        Target.at_least("the same, median over grasps", 10, middle, ""),
    ]


class _Peer:
    """Uniform annulus, PyBullet's inverse kinematics of the arm with restarts, the same checker."""

    def __init__(self, kitchen: _Kitchen, client: int) -> None:
        self._kitchen, self._client = kitchen, client
        arm = panda_arm()
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "arm.urdf"
            file.write_text(arm.urdf)
            self._body = pybullet.loadURDF(str(file), useFixedBase=True, physicsClientId=client)
        count = pybullet.getNumJoints(self._body, physicsClientId=client)
        info = [pybullet.getJointInfo(self._body, k, physicsClientId=client) for k in range(count)]
        moving = [k for k, row in enumerate(info) if row[2] != pybullet.JOINT_FIXED]
        names = [info[k][1].decode() for k in moving]
        self._joints = [moving[names.index(name)] for name in JOINTS]
        self._rows = [names.index(name) for name in JOINTS]
        self._hand = next(k for k, row in enumerate(info) if row[12].decode() == arm.palm)

    def find(self, X_WH: Array, rng: np.random.Generator) -> bool:
        """Whether a base was found among so many draws."""
        robot = self._kitchen.robot
        group = robot.group("arm")
        for _ in range(_MOST_BASES):
            for base in sample_stances(X_WH, self._kitchen.stance, robot, 1, rng):
                pose = to_pose7(inverse(link0_pose(base, self._kitchen.scene.robot.base)) @ X_WH)
                for _ in range(_RESTARTS):
                    arm = self._solve(rng.uniform(group.lower, group.upper), pose)
                    error = robot.kinematics.hand_pose(np.r_[base, arm]) - X_WH
                    if (
                        np.abs(error).max() < 1e-3
                        and ((arm >= group.lower) & (arm <= group.upper)).all()
                        and self._kitchen.stands(base[None])[0]
                        and self._kitchen.reaches(base[None], arm[None])[0]
                    ):
                        return True
        return False

    def _solve(self, q: Array, pose: Array) -> Array:
        for joint, value in zip(self._joints, q, strict=True):
            pybullet.resetJointState(self._body, joint, value, physicsClientId=self._client)
        found = pybullet.calculateInverseKinematics(
            self._body, self._hand, pose[:3].tolist(), pose[3:].tolist(),
            maxNumIterations=100, residualThreshold=1e-5, physicsClientId=self._client,
        )  # fmt: skip
        return np.array(found)[self._rows]


def field(quick: bool) -> Section:
    """The exact field of 61 x 61 places, all headings, of one grasp and of all."""
    kitchen = _Kitchen()
    x, y = square(kitchen.hands[0][:2, 3], 1.5, 61)
    times = {}
    for name, hands in (("one grasp", kitchen.hands[:1]), ("all grasps", kitchen.hands)):
        reachability_field(kitchen.robot, hands, x, y)
        found = []
        for _ in range(5 if quick else 21):
            began = perf_counter()
            reachability_field(kitchen.robot, hands, x, y)
            found.append(1e3 * (perf_counter() - began))
        times[name] = median(found)
    table(["61 x 61 field", "ms, median"], [[name, shown(ms)] for name, ms in times.items()])
    return times, [
        Target.at_most("61 x 61 field, all headings, one grasp", 20, times["one grasp"], " ms")
    ]
