"""Query files (docs/comparison.md): reads the user's own query from YAML or JSON.

A query file uses the names of its scene, so it is read in two steps: ``read_query`` checks the form
and finds the scene file; ``resolve_query`` checks everything else against that scene.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import Field

from galley.collision.scene_kernel import SceneKernel
from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import Array, frozen
from galley.domain.scene.entries import Posed
from galley.domain.shipped import shipped_file
from galley.domain.state import State, initial_state
from galley.domain.yaml_models import (
    At,
    FileModel,
    Number,
    Triple,
    Word,
    YamlFile,
    unknown,
    version,
)
from galley.motion.planners.planning import goal_configurations, in_collision
from galley.robots.model import JointGroup
from galley.skills.manipulation.grasps import grasps_of
from galley.studies.comparison.queries import ArmQuery, arm_view, stands_free, with_item_in_hand

VERSION = 1
_TOLERANCE = 1e-9  # rad or m that a value may lie beyond its limit


class _HandPose(Posed):
    """The pose X_WT of the grasp frame: its origin is between the fingertips, z out of the hand."""

    xyz: Triple


class _Configuration(FileModel):
    """A start or a goal: either joint angles of the arm, or a pose of the hand."""

    one_of = ("arm", "hand")

    arm: tuple[Number, ...] | None = None
    hand: _HandPose | None = None


class _Holding(FileModel):
    """The item in the hand and its grasp. Without a grasp, any of the item's grasps will do."""

    item: Word
    grasp: Word | None = None


class _Query(FileModel):
    """The contents of a query file. Keys that it omits are as at the start of the scene."""

    galley_query: Annotated[Number, version(VERSION)]
    goal: _Configuration
    scene: Word | None = None
    base: Triple | None = None
    start: _Configuration | None = None
    joints: dict[str, Number] = Field(default_factory=dict)
    holding: _Holding | None = None


@dataclass(frozen=True)
class QueryFile:
    """A query file whose form has been checked.

    Attributes:
        file: the YAML file, which knows the line of each key and collects faults.
        query: the contents of the file.
    """

    file: YamlFile
    query: _Query

    @property
    def scene(self) -> Path | None:
        """The scene file that the query names, or None for the default scene."""
        name = self.query.scene
        return None if name is None else shipped_file(name, self.file.path.parent)


def read_query(path: Path | str) -> QueryFile:
    """Read a query file and check its form.

    Raises:
        BadInput: lists all faults of form, with line and key.
    """
    file = YamlFile(path)
    return QueryFile(file, file.read(_Query))


def resolve_query(read: QueryFile, kernel: SceneKernel) -> ArmQuery | Failure:
    """Make the query of a file, in its scene.

    Returns:
        The query; a Failure if the goal is out of reach or in collision.

    Raises:
        BadInput: the file has unknown names, values beyond limits, or no collision-free start.
    """
    file, query, robot = read.file, read.query, kernel.robot
    state = _set_scene_joints(read, kernel, initial_state(kernel.scene))
    q = state.q.copy()
    if query.base is not None:
        q[robot.slice("base")] = query.base
        _check_limits(file, ("base",), query.base, robot.group("base"))
    states = _grasp_states(read, kernel, state.with_robot(q))
    for key, given in (("start", query.start), ("goal", query.goal)):
        if given is not None and given.arm is not None:
            _check_limits(file, (key, "arm"), given.arm, robot.group("arm"))
    file.finish()
    chosen = _free_start(read, kernel, states)
    file.finish()
    assert chosen is not None
    if query.goal.arm is not None:
        return _query(read, kernel, chosen, np.array([query.goal.arm]))
    assert query.goal.hand is not None
    view = arm_view(kernel, chosen)
    goals = goal_configurations(kernel.world(chosen), view, query.goal.hand.X)
    if isinstance(goals, Failure):
        return goals.within("goal")
    return _query(read, kernel, chosen, goals)


def _query(read: QueryFile, kernel: SceneKernel, state: State, goals: Array) -> ArmQuery | Failure:
    """The query to the collision-free ones of ``goals`` (m, n); a Failure if none is free."""
    view = arm_view(kernel, state)
    free = view.free_many(goals)
    if free.any():
        path = read.file.path
        return ArmQuery(path.stem, state, frozen(goals[free]), None, f"as {path} says")
    failed = [f for f in (in_collision(view, q, "the goal") for q in goals) if f is not None]
    if not failed:
        return Failure(FailureKind.BLOCKED, "the goal is at the margin of a collision")
    # All goals collide: report the one with the smallest penetration.
    return min(failed, key=lambda f: f.numbers["depth_m"])


def _free_start(read: QueryFile, kernel: SceneKernel, states: list[State]) -> State | None:
    """The first grasp state in which the robot has a collision-free start, at that start.

    None if there is no such state; the reason is then a fault of the file.
    """
    joints, reason, start = kernel.robot.slice("arm"), "", read.query.start
    for state in states:
        view = arm_view(kernel, state)
        if start is None or start.hand is None:
            arms = state.q[None, joints] if start is None else np.array([start.arm])
        else:
            reached = goal_configurations(kernel.world(state), view, start.hand.X)
            if isinstance(reached, Failure):
                reason = reason or str(reached)  # the first reason is reported
                continue
            arms = reached
        for arm in arms:
            q = state.q.copy()
            q[joints] = arm
            placed = state.with_robot(q)
            failed = in_collision(view, arm, "the arm")
            if failed is None and stands_free(kernel, placed):
                return placed
            touching = kernel.checker(placed).contacts(q)
            base = ", ".join(f"{c.a} and {c.b}" for c in touching[:1])
            reason = reason or (str(failed) if failed is not None else f"in collision: {base}")
    read.file.fault(("start",), f"no free start: {reason}")
    return None


def _set_scene_joints(read: QueryFile, kernel: SceneKernel, state: State) -> State:
    """The state with drawers and doors at the values in the file."""
    scene, scene_q = kernel.scene, state.scene_q.copy()
    for name, value in read.query.joints.items():
        at = ("joints", name)
        if name not in scene.joint_index:
            read.file.fault(at, unknown("key", name, scene.joint_index))
            continue
        joint = scene.joint(name)
        if not joint.lower - _TOLERANCE <= value <= joint.upper + _TOLERANCE:
            limits = f"[{joint.lower:g}, {joint.upper:g}]"
            read.file.fault(at, f"{value:g} lies outside its limits {limits}")
        scene_q[scene.joint_index[name]] = value
    return state.with_scene(frozen(scene_q)) if read.query.joints else state


def _grasp_states(read: QueryFile, kernel: SceneKernel, state: State) -> list[State]:
    """A state for each grasp of the held item that the file allows; ``state`` without an item."""
    scene, robot, file, holding = kernel.scene, kernel.robot, read.file, read.query.holding
    if holding is None:
        return [state]
    if holding.item not in scene.item_index:
        file.fault(("holding", "item"), unknown("value", holding.item, scene.item_index))
        return [state]
    item, index = scene.item(holding.item), scene.item_index[holding.item]
    grasps = grasps_of(item, robot.gripper)
    if not grasps:
        file.fault(("holding", "item"), f"'{item.name}' has no grasp: it is too wide for the hand")
    elif holding.grasp is not None:
        names = [grasp.name for grasp in grasps]
        if holding.grasp not in names:
            file.fault(("holding", "grasp"), unknown("value", holding.grasp, names))
        grasps = tuple(grasp for grasp in grasps if grasp.name == holding.grasp)
    return [with_item_in_hand(robot, state, index, grasp) for grasp in grasps]


def _check_limits(file: YamlFile, at: At, values: Sequence[float], group: JointGroup) -> None:
    """Collect a fault for a wrong number of values, or for each value beyond its joint's limits."""
    if len(values) != group.size:
        return file.fault(at, f"expected {group.size} entries, a joint each, got {len(values)}")
    for name, unit, value, low, high in zip(
        group.joints, group.units, values, group.lower, group.upper, strict=True
    ):
        if not low - _TOLERANCE <= value <= high + _TOLERANCE:
            limits = f"[{low:.4f}, {high:.4f}]"
            file.fault(at, f"{name} at {value:.4f} {unit} lies outside its limits {limits}")
