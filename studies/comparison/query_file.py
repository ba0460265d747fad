"""Query files (docs/comparison.md): reads a query of the user's own from YAML or JSON.

Names in the file are the scene's, so it is read in two steps: ``read_query`` checks the form and
finds the scene's file, ``resolve_query`` checks everything else in that scene.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from galley.collision.scene_kernel import SceneKernel
from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import Array, frozen
from galley.domain.scene.model import Item
from galley.domain.scene.shapes import read_pose
from galley.domain.scene.yaml_reader import Entry, Reader
from galley.domain.shipped import shipped_file
from galley.domain.state import State, initial_state
from galley.motion.planners.planning import goal_configurations, in_collision
from galley.robots.model import JointGroup, RobotModel
from galley.skills.manipulation.grasps import grasps_of
from galley.studies.comparison.queries import ArmQuery, arm_view, stands_free, with_item_in_hand

VERSION = 1
_TOLERANCE = 1e-9  # beyond a limit
_OPEN = 0.04  # m, a finger's range


@dataclass(frozen=True)
class QueryFile:
    """A query file whose form has been checked.

    Attributes:
        reader: knows the lines and collects faults.
        root: the document. fields: its entries by key.
        scene: the scene file, or None for the default.
    """

    reader: Reader
    root: Entry
    fields: dict[str, Entry]
    scene: Path | None


def read_query(path: Path | str) -> QueryFile:
    """Read a query file and check its form.

    Raises:
        BadInput: all faults of form, with line and key.
    """
    path = Path(path)
    reader = Reader(path)
    root = reader.root()
    optional = ("scene", "base", "fingers", "start", "joints", "holding")
    fields = root.fields(("galley_query", "goal"), optional)
    if "galley_query" in fields and fields["galley_query"].number() != VERSION:
        fields["galley_query"].fault(f"this version of Galley reads query format {VERSION}")
    scene = shipped_file(fields["scene"].text(), path.parent) if "scene" in fields else None
    for key in ("start", "goal"):
        if key in fields:
            _check_alternatives(fields[key], {"arm": _joint_vector, "hand": _pose})
    if "base" in fields:
        fields["base"].vector(3)
    reader.finish()
    return QueryFile(reader, root, fields, scene)


def resolve_query(file: QueryFile, kernel: SceneKernel) -> ArmQuery | Failure:
    """The query in its scene.

    Returns:
        The query; a Failure if the goal is out of reach or in collision.

    Raises:
        BadInput: unknown names, values beyond limits, a start in collision.
    """
    fields, reader, robot = file.fields, file.reader, kernel.robot
    state = _set_scene_joints(file, kernel, initial_state(kernel.scene))
    q = state.q.copy()
    if "base" in fields:
        q[robot.slice("base")] = fields["base"].vector(3)
        _check_limits(fields["base"], q[robot.slice("base")], robot.group("base"))
    if "fingers" in fields:
        q[robot.slice("fingers")] = fields["fingers"].number(at_least=0.0, at_most=_OPEN)
    states = _grasp_states(file, kernel, state.with_robot(q))
    given = {k: _configurations(fields[k], robot) for k in ("start", "goal") if k in fields}
    reader.finish()
    chosen = _free_start(file, kernel, states, given.get("start"))
    reader.finish()
    assert chosen is not None
    goals = given["goal"]
    if goals is None:
        view = arm_view(kernel, chosen)
        found = goal_configurations(
            kernel.world(chosen), view, _pose(fields["goal"].named()["hand"])
        )
        if isinstance(found, Failure):
            return found.within("goal")
        goals = found
    return _query(file, kernel, chosen, goals)


def _query(file: QueryFile, kernel: SceneKernel, state: State, goals: Array) -> ArmQuery | Failure:
    view = arm_view(kernel, state)
    free = view.free_many(goals)
    if free.any():
        name = Path(file.reader.path).stem
        return ArmQuery(name, state, frozen(goals[free]), None, f"as {file.reader.path} says")
    failed = [f for f in (in_collision(view, q, "the goal") for q in goals) if f is not None]
    if not failed:
        return Failure(FailureKind.BLOCKED, "the goal is at the margin of a collision")
    return min(failed, key=lambda f: f.numbers["depth_m"])


def _free_start(
    file: QueryFile, kernel: SceneKernel, states: list[State], given: Array | None
) -> State | None:
    """The first of the grasp states in which the arm has a free start; None after a fault."""
    entry = file.fields.get("start", file.root)
    where, blocked = kernel.robot.slice("arm"), ""
    for state in states:
        view = arm_view(kernel, state)
        arms = state.q[None, where] if given is None and "start" not in file.fields else given
        if arms is None:
            pose = _pose(file.fields["start"].named()["hand"])
            found = goal_configurations(kernel.world(state), view, pose)
            if isinstance(found, Failure):
                blocked = blocked or str(found)
                continue
            arms = found
        for arm in arms:
            q = state.q.copy()
            q[where] = arm
            placed = state.with_robot(q)
            failed = in_collision(view, arm, "the arm")
            if failed is None and stands_free(kernel, placed):
                return placed
            touching = kernel.checker(placed).contacts(q)
            base = ", ".join(f"{c.a} and {c.b}" for c in touching[:1])
            blocked = blocked or (str(failed) if failed is not None else f"in collision: {base}")
    entry.fault(f"no free start: {blocked}")
    return None


def _set_scene_joints(file: QueryFile, kernel: SceneKernel, state: State) -> State:
    """The state with drawers and doors as in the file."""
    if "joints" not in file.fields:
        return state
    scene, scene_q = kernel.scene, state.scene_q.copy()
    entries = file.fields["joints"]
    named = entries.fields((), tuple(joint.name for joint in scene.joints))
    for name, entry in named.items():
        joint, value = scene.joint(name), entry.number()
        if not joint.lower - _TOLERANCE <= value <= joint.upper + _TOLERANCE:
            entry.fault(f"{value:g} lies outside its limits [{joint.lower:g}, {joint.upper:g}]")
        scene_q[scene.joint_index[name]] = value
    return state.with_scene(frozen(scene_q))


def _grasp_states(file: QueryFile, kernel: SceneKernel, state: State) -> list[State]:
    """One state for each grasp of the held item; without an item, the state itself."""
    if "holding" not in file.fields:
        return [state]
    scene, robot = kernel.scene, kernel.robot
    f = file.fields["holding"].fields(("item",), ("grasp",))
    if "item" not in f or not scene.items:
        if not scene.items:
            file.fields["holding"].fault("the scene has no items")
        return [state]
    item: Item = scene.item(f["item"].text(tuple(i.name for i in scene.items)))
    grasps = grasps_of(item, robot.gripper)
    if not grasps:
        f["item"].fault(f"'{item.name}' has no grasp: it is too wide for the hand")
    if "grasp" in f:
        name = f["grasp"].text(tuple(g.name for g in grasps))
        grasps = tuple(g for g in grasps if g.name == name)
    index, close = scene.item_index[item.name], "fingers" not in file.fields
    return [with_item_in_hand(robot, state, index, grasp, close) for grasp in grasps]


def _configurations(entry: Entry, robot: RobotModel) -> Array | None:
    """The arm's configuration (1, 7); None if the file gives a hand pose."""
    named = entry.named()
    if "arm" not in named:
        return None
    arm = _joint_vector(named["arm"])
    _check_limits(named["arm"], arm, robot.group("arm"))
    return arm[None]


def _check_limits(entry: Entry, values: Array, group: JointGroup) -> None:
    for name, unit, value, low, high in zip(
        group.joints, group.units, values, group.lower, group.upper, strict=True
    ):
        if not low - _TOLERANCE <= value <= high + _TOLERANCE:
            entry.fault(
                f"{name} at {value:.4f} {unit} lies outside its limits [{low:.4f}, {high:.4f}]"
            )


def _check_alternatives(entry: Entry, kinds: dict[str, Callable[[Entry], Array]]) -> None:
    """Check that a mapping has exactly one of the keys, with a valid value."""
    named = entry.fields((), tuple(kinds))
    for name, value in named.items():
        kinds[name](value)
    if len(named) != 1:
        entry.fault(f"needs exactly one of {', '.join(kinds)}")


def _joint_vector(entry: Entry) -> Array:
    return entry.vector(7)


def _pose(entry: Entry) -> Array:
    """X_WT (4, 4): the grasp centre between the fingertips, z out of the hand."""
    return read_pose(entry.fields(("xyz",), ("rpy",)))
