"""What every method is asked: the arm from one configuration to another, the base where it stands.

- The seed's query: the arm turns from its start to a goal where the hand is 0.6 m further along
  world x, on the other side of its own base. The hand's orientation is free.
- Random queries: the base near the furniture, the arm between two free configurations. Every third
  query holds an item; in every second one, where the scene allows it, something is in the way of
  the straight line. A query counts only if RRT-Connect finds a proven path for it: what is asked
  can be done.
- A person's own: a small YAML or JSON file (docs/comparison.md). Read in two steps, as names in it
  are the scene's: ``read_query`` finds the scene's file and faults of form, ``resolve`` the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import (
    Array,
    frozen,
    inverse,
    rotation_from_quaternion,
    transform,
    wrap,
)
from galley.domain.scene.base_spec import MobileBaseSpec
from galley.domain.scene.model import HAND, Binding, Grasp, Item, Scene
from galley.domain.scene.shapes import read_pose
from galley.domain.scene.yaml_reader import Entry, Reader
from galley.domain.state import Placement, State, initial_state
from galley.motion.planners.compiled_search import SearchOptions
from galley.motion.planners.planning import in_collision, reaching, search
from galley.motion.planners.rrt import EndRegion
from galley.reachability.stances import sample_headings
from galley.robots.model import JointGroup, RobotModel
from galley.robots.panda.kinematics import X_FH, forward
from galley.robots.panda.mobile import hand_pose, link0_pose
from galley.skills.manipulation.grasps import grasps_of, item_in_hand
from galley.worlds.checker import MARGIN, held_pairs
from galley.worlds.scene_kernel import SceneKernel
from galley.worlds.view import View

DISTANCE = 0.6  # m, the seed's
REGION = 0.01  # m, half the side of the seed's end region
_STEP, _FARTHEST = 0.01, 1.5  # m, how the seed's goal is moved on while it is in collision
_ORIENTATIONS = 60  # random orientations of the hand tried at a goal
_GOALS = 40  # goal configurations kept to grow towards

_STREAM = 1  # of a seed's random numbers, for random queries; the methods have others
_TRIES = 200  # draws for one query before it is given up
_ARMS = 192  # random arm configurations looked at in one draw
_FAR = 1.5  # rad between start and goal, at least
_REACH = (0.35, 0.85)  # m, horizontally from the arm's foot to where it works
_ABOVE = (0.05, 0.35)  # m over a surface, where hands work
_LOOKING = 0.6  # rad, the base faces its work to within this
_CARRY_EVERY = 3  # each third query holds an item
_BLOCKED_EVERY = 2  # in each second one the straight line is blocked

VERSION = 1  # of query files
_TOLERANCE = 1e-9  # beyond a limit
_OPEN = 0.04  # m, the widest that a finger goes
_PROOF = SearchOptions(iterations=6000, shortcuts=0, rounds=2, required=0.5 * MARGIN)


@dataclass(frozen=True)
class ArmQuery:
    """What every method is asked.

    Attributes:
        name: unique among those of one run.
        state: the world; the arm stands at the start, an item may be in the hand.
        goals: free arm configurations (m, 7), rad, of which one is to be reached.
        region: where the RRT's hand may end instead; None for ``goals`` only.
        about: what it asks, in a few words.
    """

    name: str
    state: State
    goals: Array
    region: EndRegion | None = None
    about: str = ""

    def start(self, robot: RobotModel) -> Array:
        """The arm's configuration (7,) at the start, rad."""
        return np.array(self.state.q[robot.slice("arm")])


def arm_view(kernel: SceneKernel, state: State, margin: float = MARGIN) -> View:
    """The arm in the world as ``state`` has it, what it holds in its hand."""
    return kernel.view(state, "arm", held_pairs(kernel.scene, kernel.robot, state), margin)


def stands_free(kernel: SceneKernel, state: State) -> bool:
    """Whether the whole robot, base and all, keeps the margin in ``state``."""
    allowed = held_pairs(kernel.scene, kernel.robot, state)
    return kernel.view(state, "all", allowed).free(state.q)


def hand_poses(spec: MobileBaseSpec, base: Array, Q: Array) -> Array:
    """X_WH (n, 4, 4) of the hand for arm configurations (n, 7), the base at (x, y, heading)."""
    return np.asarray(link0_pose(base, spec) @ forward(Q) @ X_FH)


def seed_query(
    kernel: SceneKernel, distance: float = DISTANCE, seed: int = 0
) -> ArmQuery | Failure:
    """The seed's query; the goal is the nearest to ``distance`` (m) that is free, if farther.

    The region lies so that even its near side is ``distance`` away from where the grasp centre
    between the fingertips is at the start.
    """
    scene, state = kernel.scene, initial_state(kernel.scene)
    spec, base = scene.robot.base, state.q[:3]
    kinematics, X_HT = kernel.robot.kinematics, transform(None, kernel.robot.p_HT)
    p_start = (hand_pose(state.q, spec) @ X_HT)[:3, 3]
    axis = float(link0_pose(base, spec)[0, 3])
    view = arm_view(kernel, state)

    def tool(arm: Array) -> Array:
        return np.asarray(hand_poses(spec, base, arm) @ X_HT)

    rng = np.random.default_rng(np.random.SeedSequence((seed, 0)))
    tries = 0
    for extra in np.arange(0.0, max(_FARTHEST - distance, _STEP), _STEP):
        p = p_start + np.array([distance + REGION + extra, 0.0, 0.0])
        if (p[0] - axis) * (p_start[0] - axis) >= 0.0:
            continue  # not yet on the other side
        found: list[Array] = []
        for _ in range(_ORIENTATIONS):
            tries += 1
            X_WT = transform(rotation_from_quaternion(rng.normal(size=4)), p)
            redundant = kinematics.redundant_values(8, rng)
            arms = kinematics.configurations(X_WT @ inverse(X_HT), base, redundant)
            if len(arms):
                arms = rng.permutation(arms)
                found += list(arms[view.free_many(arms)])
        if found:
            goals = frozen([found[k] for k in rng.permutation(len(found))[:_GOALS]])
            region = EndRegion(tool, transform(None, p), REGION, None)
            away = distance + REGION + float(extra)
            about = f"turn round: the hand {away:.2f} m further along x, past its own base"
            return ArmQuery("seed", state, goals, region, about)
    return Failure(
        FailureKind.BUDGET,
        f"no collision-free goal with the hand {distance:.2f} m or more along x, on the other side "
        f"of its base, in {tries} tries",
        numbers={"tries": float(tries)},
    )


def random_queries(kernel: SceneKernel, count: int, seed: int = 0) -> Iterator[ArmQuery | Failure]:
    """``count`` queries, each from random numbers of its own: the first n are those of n.

    Yields:
        A Query; a Failure of kind ``budget`` where none was found in so many draws.
    """
    for number in range(count):
        rng = np.random.default_rng(np.random.SeedSequence((seed, _STREAM, number)))
        yield _random_query(kernel, number, rng)


def _random_query(kernel: SceneKernel, number: int, rng: np.random.Generator) -> ArmQuery | Failure:
    carries = number % _CARRY_EVERY == _CARRY_EVERY - 1
    blocked = number % _BLOCKED_EVERY == 0
    for turn in range(_TRIES):
        found = _draw(kernel, number, carries, blocked and turn < _TRIES // 2, rng)
        if found is not None:
            return found
    return Failure(
        FailureKind.BUDGET,
        f"random query {number + 1}: no two free arm configurations with a way between them in "
        f"{_TRIES} draws",
        numbers={"tries": float(_TRIES)},
    )


def _draw(
    kernel: SceneKernel, number: int, carries: bool, blocked: bool, rng: np.random.Generator
) -> ArmQuery | None:
    scene, robot = kernel.scene, kernel.robot
    state, p_work, where = _placed(scene, rng)
    if carries and scene.items:
        state = _holding(scene, robot, state, rng)
    group, spec = robot.group("arm"), scene.robot.base
    foot = link0_pose(state.q[:3], spec)[:2, 3]
    if not _REACH[0] <= float(np.linalg.norm(p_work[:2] - foot)) <= _REACH[1]:
        return None
    arms = rng.uniform(group.lower, group.upper, (_ARMS, group.size))
    arms = arms[arm_view(kernel, state).free_many(arms)]
    if len(arms) < 2:
        return None
    hands = hand_poses(spec, state.q[:3], arms)[:, :3, 3]
    goal = int(np.argmin(np.linalg.norm(hands - p_work, axis=1)))
    far = np.nonzero(np.linalg.norm(arms - arms[goal], axis=1) >= _FAR)[0]
    if not len(far):
        return None
    start = arms[int(rng.choice(far))]
    q = state.q.copy()
    q[robot.slice("arm")] = start
    state = state.with_robot(q)
    if not stands_free(kernel, state):
        return None
    view = arm_view(kernel, state)
    if blocked and view.edges_free(start[None], arms[[goal]], True)[0]:
        return None
    path = search(view, start, arms[goal][None], int(rng.integers(2**31)), "rrt-connect", _PROOF)
    if isinstance(path, Failure):
        return None
    held = f", {scene.items[state.held].name} in the hand" if state.held is not None else ""
    return ArmQuery(
        f"random-{number + 1}", state, frozen(arms[goal][None]), None, f"at {where}{held}"
    )


def _placed(scene: Scene, rng: np.random.Generator) -> tuple[State, Array, str]:
    """The base at a piece of furniture, a point (3,) over it to work at, and its name."""
    state = initial_state(scene)
    spec = scene.robot.base
    furniture = [b for b in scene.bindings if b.kind == "furniture" and b.region is not None]
    if not furniture:  # nothing is named: stay, and work in front
        angle = rng.uniform(-np.pi, np.pi)
        p = link0_pose(state.q[:3], spec)[:3, 3]
        reach = rng.uniform(*_REACH)
        ahead = np.array([reach * np.cos(angle), reach * np.sin(angle), rng.uniform(*_ABOVE)])
        return state, p + ahead, "its start"
    binding = furniture[int(rng.integers(len(furniture)))]
    state = _opened(scene, state, binding, rng)
    assert binding.region is not None
    region, stance = scene.region(binding.region), scene.stance(binding.target)
    low, high = region.boxes[int(rng.integers(len(region.boxes)))]
    point = np.array([*rng.uniform(low[:2], high[:2]), high[2] + rng.uniform(*_ABOVE), 1.0])
    p_work = (scene.body_pose(region.body, state.scene_q) @ point)[:3]
    inner_low = np.maximum(stance.lower[:2], spec.lower[:2])
    inner_high = np.maximum(inner_low, np.minimum(stance.upper[:2], spec.upper[:2]))
    x, y = rng.uniform(inner_low, inner_high)
    facing = np.arctan2(p_work[1] - y, p_work[0] - x)
    heading = float(wrap(facing + rng.uniform(-_LOOKING, _LOOKING)))
    if not stance.contains(np.array([x, y, heading])):
        heading = sample_headings(stance, 1, rng)[0]
    q = state.q.copy()
    q[:3] = x, y, heading
    return state.with_robot(q), p_work, binding.object


def _opened(scene: Scene, state: State, binding: Binding, rng: np.random.Generator) -> State:
    """The drawer that the furniture is, open in half of all cases."""
    if binding.handle is None or rng.random() < 0.5:
        return state
    joint = scene.joint(scene.handle(binding.handle).joint)
    scene_q = state.scene_q.copy()
    scene_q[scene.joint_index[joint.name]] = np.clip(binding.opening, joint.lower, joint.upper)
    return state.with_scene(frozen(scene_q))


def _holding(scene: Scene, robot: RobotModel, state: State, rng: np.random.Generator) -> State:
    """A random item in a random grasp, the fingers closed on it; as before if none can be held."""
    index = int(rng.integers(len(scene.items)))
    grasps = grasps_of(scene.items[index], robot.gripper)
    if not grasps:
        return state
    return _held(robot, state, index, grasps[int(rng.integers(len(grasps)))])


def _held(robot: RobotModel, state: State, index: int, grasp: Grasp, close: bool = True) -> State:
    """An item in a grasp, the fingers closed on it if they are to."""
    if close:
        q = state.q.copy()
        q[robot.slice("fingers")] = 0.5 * grasp.width
        state = state.with_robot(q)
    return state.with_item(index, Placement(HAND, frozen(item_in_hand(grasp, robot.p_HT))))


# -- a person's own -------------------------------------------------------------------------------


@dataclass(frozen=True)
class QueryFile:
    """A query as it stands in its file, its form checked.

    Attributes:
        reader: knows lines and collects faults.
        root: the whole document. fields: its keys.
        scene: the scene's file, or None for the default one.
    """

    reader: Reader
    root: Entry
    fields: dict[str, Entry]
    scene: Path | None


def read_query(path: Path) -> QueryFile:
    """The form of a query file.

    Raises:
        BadInput: every fault of form, with its line and key.
    """
    reader = Reader(path)
    root = reader.root()
    optional = ("scene", "base", "fingers", "start", "joints", "holding")
    fields = root.fields(("galley_query", "goal"), optional)
    if "galley_query" in fields and fields["galley_query"].number() != VERSION:
        fields["galley_query"].fault(f"this version of Galley reads query format {VERSION}")
    scene = path.parent / fields["scene"].text() if "scene" in fields else None
    for key in ("start", "goal"):
        if key in fields:
            _one_of(fields[key], {"arm": _seven, "hand": _pose})
    if "base" in fields:
        fields["base"].vector(3)
    reader.finish()
    return QueryFile(reader, root, fields, scene)


def resolve(file: QueryFile, kernel: SceneKernel) -> ArmQuery | Failure:
    """The query in its scene.

    Returns:
        The query; a Failure where the goal is out of reach or in collision.

    Raises:
        BadInput: names that the scene doesn't have, values beyond limits, a start in collision.
    """
    fields, reader, robot = file.fields, file.reader, kernel.robot
    state = _joints(file, kernel, initial_state(kernel.scene))
    q = state.q.copy()
    if "base" in fields:
        q[robot.slice("base")] = fields["base"].vector(3)
        _within(fields["base"], q[robot.slice("base")], robot.group("base"))
    if "fingers" in fields:
        q[robot.slice("fingers")] = fields["fingers"].number(at_least=0.0, at_most=_OPEN)
    states = _held_states(file, kernel, state.with_robot(q))
    given = {k: _configurations(fields[k], robot) for k in ("start", "goal") if k in fields}
    reader.finish()
    chosen = _start(file, kernel, states, given.get("start"))
    reader.finish()
    assert chosen is not None
    goals = given["goal"]
    if goals is None:
        view = arm_view(kernel, chosen)
        found = reaching(kernel.world(chosen), view, _pose(fields["goal"].named()["hand"]))
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


def _start(
    file: QueryFile, kernel: SceneKernel, states: list[State], given: Array | None
) -> State | None:
    """The first state, of those with the item held in each way, in which the arm stands free."""
    entry = file.fields.get("start", file.root)
    where, blocked = kernel.robot.slice("arm"), ""
    for state in states:
        view = arm_view(kernel, state)
        arms = state.q[None, where] if given is None and "start" not in file.fields else given
        if arms is None:
            pose = _pose(file.fields["start"].named()["hand"])
            found = reaching(kernel.world(state), view, pose)
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


def _joints(file: QueryFile, kernel: SceneKernel, state: State) -> State:
    """Drawers and doors as the file says."""
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


def _held_states(file: QueryFile, kernel: SceneKernel, state: State) -> list[State]:
    """The states in question: one for each grasp, or the one with nothing in the hand."""
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
        wanted = f["grasp"].text(tuple(g.name for g in grasps))
        grasps = tuple(g for g in grasps if g.name == wanted)
    index, close = scene.item_index[item.name], "fingers" not in file.fields
    return [_held(robot, state, index, grasp, close) for grasp in grasps]


def _configurations(entry: Entry, robot: RobotModel) -> Array | None:
    """The arm's configuration as (1, 7); None where a pose of the hand is given."""
    named = entry.named()
    if "arm" not in named:
        return None
    arm = _seven(named["arm"])
    _within(named["arm"], arm, robot.group("arm"))
    return arm[None]


def _within(entry: Entry, values: Array, group: JointGroup) -> None:
    for name, unit, value, low, high in zip(
        group.joints, group.units, values, group.lower, group.upper, strict=True
    ):
        if not low - _TOLERANCE <= value <= high + _TOLERANCE:
            entry.fault(
                f"{name} at {value:.4f} {unit} lies outside its limits [{low:.4f}, {high:.4f}]"
            )


def _one_of(entry: Entry, kinds: dict[str, Callable[[Entry], Array]]) -> None:
    """Reads the one key of a mapping, so that its faults are known."""
    named = entry.fields((), tuple(kinds))
    for name, value in named.items():
        kinds[name](value)
    if len(named) != 1:
        entry.fault(f"needs exactly one of {', '.join(kinds)}")


def _seven(entry: Entry) -> Array:
    return entry.vector(7)


def _pose(entry: Entry) -> Array:
    """X_WT (4, 4): the grasp centre between the fingertips, z out of the hand."""
    return read_pose(entry.fields(("xyz",), ("rpy",)))
