"""Motion planning queries for the arm: a start and one or more goals. The base doesn't move.

- The turn-around query (``--query seed``, from the original project): the hand moves 0.6 m along
  world x to the other side of the arm's base, in any orientation.
- Random queries: the base stands at furniture, and the arm moves between two collision-free
  configurations. In every third query the hand holds an item. In every second query the straight
  line between the two is blocked, if the scene allows it. Every query is solvable: RRT-Connect has
  found a path that is proven free.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from galley.collision.checker import MARGIN, held_pairs
from galley.collision.scene_kernel import SceneKernel
from galley.collision.view import View
from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import Array, frozen, inverse, rotation_from_quaternion, transform, wrap
from galley.domain.scene.model import HAND, Binding, Grasp, Scene
from galley.domain.state import Placement, State, initial_state
from galley.motion.planners.compiled_search import SearchOptions
from galley.motion.planners.planning import search
from galley.motion.planners.rrt import EndRegion
from galley.robots.model import RobotModel
from galley.skills.base_placement.stances import sample_headings
from galley.skills.manipulation.grasps import grasps_of, item_in_hand

DISTANCE = 0.6  # m that the hand moves along x in the turn-around query
REGION = 0.01  # m, half the side of the turn-around query's end region
_STEP, _FARTHEST = 0.01, 1.5  # m: step of the turn-around goal while none is free; its limit
_ORIENTATIONS = 60  # random orientations of the hand tried at each goal
_GOALS = 40  # most goal configurations of the turn-around query

_STREAM = 1  # random stream of the random queries; the methods use other streams
_TRIES = 200  # draws per query
_ARMS = 192  # random arm configurations per draw
_FAR = 1.5  # rad, least distance between start and goal
_REACH = (0.35, 0.85)  # m, horizontal distance from the arm's base to its work point
_ABOVE = (0.05, 0.35)  # m, height of the work point over its surface
_LOOKING = 0.6  # rad, largest angle between the base's heading and its work point
_CARRY_EVERY = 3  # every third query holds an item
_BLOCKED_EVERY = 2  # in every second query the straight line is blocked

_PROOF = SearchOptions(iterations=12_000, shortcuts=0, required=0.5 * MARGIN)


@dataclass(frozen=True)
class ArmQuery:
    """A motion planning query. Every method solves the same one.

    Attributes:
        name: unique within a comparison.
        state: the state of the world, with the arm at the start. The hand may hold an item.
        goals: collision-free arm configurations (m, n), rad or m. A path may end at any of them.
        region: the region in which the RRT's hand may end instead. None: only ``goals`` count.
        about: a short description.
    """

    name: str
    state: State
    goals: Array
    region: EndRegion | None = None
    about: str = ""

    def start(self, robot: RobotModel) -> Array:
        """The arm's configuration (n,) at the start, rad or m."""
        return np.array(self.state.q[robot.slice("arm")])


def arm_view(kernel: SceneKernel, state: State, margin: float = MARGIN) -> View:
    """The arm's collision view in ``state``, including the item that the hand holds.

    ``margin`` is the clearance to keep, metres.
    """
    return kernel.view(state, "arm", held_pairs(kernel.scene, kernel.robot, state), margin)


def stands_free(kernel: SceneKernel, state: State) -> bool:
    """Whether the whole robot keeps the margin to everything in ``state``."""
    allowed = held_pairs(kernel.scene, kernel.robot, state)
    return kernel.view(state, "all", allowed).free(state.q)


def hand_poses(robot: RobotModel, q: Array, arms: Array) -> Array:
    """Hand poses X_WH (m, 4, 4) for arm configurations (m, n), the other joints as in ``q``."""
    return robot.kinematics.hand_poses(robot.with_groups(q, arm=arms))


def turnaround_query(
    kernel: SceneKernel, distance: float = DISTANCE, seed: int = 0
) -> ArmQuery | Failure:
    """The turn-around query, to the nearest free goal at least ``distance`` (m) away along x.

    The goal position moves on along x until inverse kinematics finds a collision-free configuration
    for one of several random orientations. The near side of the end region, too, is at least
    ``distance`` from the grasp centre at the start.

    Returns:
        The query; a Failure of kind ``budget`` if no goal position has a free configuration.
    """
    robot, state = kernel.robot, initial_state(kernel.scene)
    base = state.q[robot.slice("base")]
    kinematics, X_HT = robot.kinematics, transform(None, robot.p_HT)
    p_start = (kinematics.hand_pose(state.q) @ X_HT)[:3, 3]
    axis = float(robot.foot_pose(state.q)[0, 3])
    view = arm_view(kernel, state)

    def tool(arm: Array) -> Array:
        """X_WT (4, 4), the pose of the grasp frame, for an arm configuration (n,)."""
        return np.asarray(hand_poses(robot, state.q, arm)[0] @ X_HT)

    rng = np.random.default_rng(np.random.SeedSequence((seed, 0)))
    tries = 0
    for extra in np.arange(0.0, max(_FARTHEST - distance, _STEP), _STEP):
        p = p_start + np.array([distance + REGION + extra, 0.0, 0.0])
        # Both ends on the same side of the arm's base: this would not be a turn-around.
        if (p[0] - axis) * (p_start[0] - axis) >= 0.0:
            continue
        free: list[Array] = []
        for _ in range(_ORIENTATIONS):
            tries += 1
            X_WT = transform(rotation_from_quaternion(rng.normal(size=4)), p)
            redundant = kinematics.redundant_values(8, rng)
            arms = kinematics.configurations(X_WT @ inverse(X_HT), base, redundant)
            if len(arms):
                arms = rng.permutation(arms)
                free += list(arms[view.free_many(arms)])
        if free:
            goals = frozen([free[k] for k in rng.permutation(len(free))[:_GOALS]])
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
    """Random queries, made one at a time.

    Each query has its own random stream, so query n doesn't depend on ``count``.

    Yields:
        A query; a Failure of kind ``budget`` if no draw was usable.
    """
    for number in range(count):
        rng = np.random.default_rng(np.random.SeedSequence((seed, _STREAM, number)))
        yield _random_query(kernel, number, rng)


def _random_query(kernel: SceneKernel, number: int, rng: np.random.Generator) -> ArmQuery | Failure:
    """Random query ``number``: the first usable draw.

    The second half of the draws accepts a free straight line in any case.
    """
    carries = number % _CARRY_EVERY == _CARRY_EVERY - 1
    blocked = number % _BLOCKED_EVERY == 0
    for turn in range(_TRIES):
        query = _draw_query(kernel, number, carries, blocked and turn < _TRIES // 2, rng)
        if query is not None:
            return query
    return Failure(
        FailureKind.BUDGET,
        f"random query {number + 1}: no pair of free arm configurations with a path between "
        f"them in {_TRIES} draws",
        numbers={"tries": float(_TRIES)},
    )


def _draw_query(
    kernel: SceneKernel, number: int, carries: bool, blocked: bool, rng: np.random.Generator
) -> ArmQuery | None:
    """Draw a random query; None if the draw can't be used.

    Place the base at random furniture and, if the query ``carries``, an item in the hand. Sample
    free arm configurations. The goal is the one whose hand is nearest to the work point; the start
    is a random one at least ``_FAR`` away. Reject the draw if the robot isn't free at the start, if
    the straight line should be ``blocked`` but is free, or if RRT-Connect finds no proven path.
    """
    scene, robot = kernel.scene, kernel.robot
    state, p_work, furniture = _sample_stance(scene, robot, rng)
    if carries and scene.items:
        state = _with_random_item(scene, robot, state, rng)
    group, foot = robot.group("arm"), robot.foot_pose(state.q)[:2, 3]
    if not _REACH[0] <= float(np.linalg.norm(p_work[:2] - foot)) <= _REACH[1]:
        return None
    arms = rng.uniform(group.lower, group.upper, (_ARMS, group.size))
    arms = arms[arm_view(kernel, state).free_many(arms)]
    if len(arms) < 2:
        return None
    hands = hand_poses(robot, state.q, arms)[:, :3, 3]
    goal = int(np.argmin(np.linalg.norm(hands - p_work, axis=1)))
    starts = np.nonzero(np.linalg.norm(arms - arms[goal], axis=1) >= _FAR)[0]
    if not len(starts):
        return None
    start = arms[int(rng.choice(starts))]
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
        f"random-{number + 1}", state, frozen(arms[goal][None]), None, f"at {furniture}{held}"
    )


def _sample_stance(
    scene: Scene, robot: RobotModel, rng: np.random.Generator
) -> tuple[State, Array, str]:
    """A state with the base at random furniture, a work point above it, and the furniture's name.

    The work point (3,) is in the world frame, metres.
    """
    state, base = initial_state(scene), robot.group("base")
    furniture = [b for b in scene.bindings if b.kind == "furniture" and b.region is not None]
    if not furniture:  # stay, and work around the base
        angle = rng.uniform(-np.pi, np.pi)
        p = robot.foot_pose(state.q)[:3, 3]
        reach = rng.uniform(*_REACH)
        ahead = np.array([reach * np.cos(angle), reach * np.sin(angle), rng.uniform(*_ABOVE)])
        return state, p + ahead, "its start"
    binding = furniture[int(rng.integers(len(furniture)))]
    state = _open_half_the_time(scene, state, binding, rng)
    assert binding.region is not None
    region, stance = scene.region(binding.region), scene.stance(binding.target)
    low, high = region.boxes[int(rng.integers(len(region.boxes)))]
    point = np.array([*rng.uniform(low[:2], high[:2]), high[2] + rng.uniform(*_ABOVE), 1.0])
    p_work = (scene.body_pose(region.body, state.scene_q) @ point)[:3]
    inner_low = np.maximum(stance.lower[:2], base.lower[:2])
    inner_high = np.maximum(inner_low, np.minimum(stance.upper[:2], base.upper[:2]))
    x, y = rng.uniform(inner_low, inner_high)
    # Look roughly at the work point. Where the stance doesn't allow that, take any heading.
    facing = np.arctan2(p_work[1] - y, p_work[0] - x)
    heading = float(wrap(facing + rng.uniform(-_LOOKING, _LOOKING)))
    if not stance.contains(np.array([x, y, heading])):
        heading = sample_headings(stance, 1, rng)[0]
    q = state.q.copy()
    q[robot.slice("base")] = x, y, heading
    return state.with_robot(q), p_work, binding.object


def _open_half_the_time(
    scene: Scene, state: State, binding: Binding, rng: np.random.Generator
) -> State:
    """The state with the furniture's drawer or door open with probability 1/2."""
    if binding.handle is None or rng.random() < 0.5:
        return state
    joint = scene.joint(scene.handle(binding.handle).joint)
    scene_q = state.scene_q.copy()
    scene_q[scene.joint_index[joint.name]] = np.clip(binding.opening, joint.lower, joint.upper)
    return state.with_scene(frozen(scene_q))


def _with_random_item(
    scene: Scene, robot: RobotModel, state: State, rng: np.random.Generator
) -> State:
    """The state with a random item in a random grasp; unchanged if the item has no grasp."""
    index = int(rng.integers(len(scene.items)))
    grasps = grasps_of(scene.items[index], robot.gripper)
    if not grasps:
        return state
    return with_item_in_hand(robot, state, index, grasps[int(rng.integers(len(grasps)))])


def with_item_in_hand(robot: RobotModel, state: State, index: int, grasp: Grasp) -> State:
    """The state with item ``index`` in a grasp, and the fingers closed on it."""
    q = state.q.copy()
    q[robot.slice("fingers")] = robot.fingers_at(0.5 * grasp.width)
    placed = Placement(HAND, frozen(item_in_hand(grasp, robot.p_HT)))
    return state.with_robot(q).with_item(index, placed)
