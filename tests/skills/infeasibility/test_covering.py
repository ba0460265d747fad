"""A refusal covers the whole family of grasps: held against Bullet's own hand, densely sampled."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from galley.domain.failure import FailureKind
from galley.domain.frames import frozen, rotation_z, transform
from galley.domain.scene.model import Item, Shape
from galley.domain.state import Placement, initial_state
from galley.robots.panda.description import PANDA_GRIPPER
from galley.skills.infeasibility.covering import handle_holds, item_grasps, prove_no_grasp
from galley.skills.infeasibility.refusals import too_wide
from galley.skills.manipulation.grasps import grasp_families, grasps_at, grasps_of, leaning_grasps
from galley.skills.manipulation.hand import hand_parts, obstacles, overlaps
from galley.skills.manipulation.lines import RejectionCounts
from galley.skills.manipulation.step import solve_from_stances
from galley.skills.pick import pick_manipulations
from galley.tests.effort import examples, quick_first
from galley.tests.skills.infeasibility.hand_oracle import BulletHand
from galley.tests.skills.infeasibility.scenes import WALLS, cleft, crate, square, walls

ITEM = Item(
    "box",
    "box",
    np.ones(3),
    (Shape("box", np.ones(3), np.eye(4), (1, 1, 1, 1)),),
    0.3,
    0.5,
    0.0,
    np.eye(4),
    (),
)
FAR = ("floor", "drawer", "door", "knob")  # no hand at the block gets to these
TOUCHING = 2e-4  # m, Bullet's distances err by about this


def proof(context, what="block"):
    state, index = initial_state(context.scene), context.scene.item_index[what]
    families = item_grasps(context, state, index)
    return prove_no_grasp(context, state, families, context.scene.stances, f"take {what}", what)


def sampled(family, count, rng):
    """Random grasps of a family, (n, 4, 4), finer than any cell of a proof."""
    grasps = family.grasps
    low = np.array([0.0, grasps.lean[0], -grasps.half[0], -grasps.half[1]])
    high = np.array([grasps.turn, grasps.lean[1], *grasps.half])
    return family.X_WO @ grasps.poses(rng.uniform(low, high, (count, 4)))


def free_grasps(context, count, rng, what="block"):
    """How many of so many grasps of each family leave Bullet's hand free of everything."""
    state, index = initial_state(context.scene), context.scene.item_index[what]
    oracle, free = BulletHand(context.robot, context.scene, state), 0
    for family in item_grasps(context, state, index):
        for X_WT in sampled(family, count, rng):
            near = oracle.distances(X_WT, family.grasps.width / 2.0, what, FAR)
            free += not near or near[0][0] > -TOUCHING
    oracle.close()
    return free


def random_walls(rng, far):
    """A pen about the block with some of its sides, at random distances; sometimes with a lid."""
    text = "  maze:\n    shapes:\n"

    def box(x, y, z):
        low, high = np.array([0.1, -0.2, 0.84]) + np.array([x, y, z]).T
        sides = ", ".join(f"[{a:.4f}, {b:.4f}]" for a, b in zip(low, high, strict=True))
        return f"      - {{extents: [{sides}]}}\n"

    for axis, side in ((0, 1.0), (0, -1.0), (1, 1.0), (1, -1.0)):
        near, long, thick = (
            rng.uniform(0.045, 0.1),
            rng.uniform(0.03, 0.15),
            rng.uniform(0.005, 0.05),
        )
        if rng.random() < 0.8:
            across = sorted((side * near, side * (near + thick)))
            sides = (across, (-long, long)) if axis == 0 else ((-long, long), across)
            text += box(*sides, (0.0, rng.uniform(0.05, 0.4)))
    half, over = rng.uniform(0.03, 0.12), rng.uniform(0.02, far)
    return text + box((-half, half), (-half, half), (0.1 + over, 0.13 + over))


def can(text):
    """The block as a cylinder."""
    return text.replace("{box: [0.05, 0.06, 0.10]}", "{cylinder: [0.03, 0.1]}")


@pytest.mark.parametrize(
    ("change", "far"),
    [(lambda text: text, 0.14), pytest.param(can, 0.05, marks=pytest.mark.slow)],
)
def test_where_a_proof_says_none_dense_sampling_finds_none(opened, change, far):
    rng, proven, ways = np.random.default_rng(4), 0, 0
    for _ in range(examples(150) // 12):
        context = opened(random_walls(rng, far), change=change)
        failure = proof(context)
        if failure is None:
            ways += free_grasps(context, 60, rng) > 0
            continue
        proven += 1
        assert failure.kind is FailureKind.BLOCKED
        assert failure.objects == ("maze",)
        assert free_grasps(context, 80, rng) == 0
    assert proven >= 2  # the test has something to say
    assert ways >= 1 or far < 0.1


def test_overlaps_are_those_of_bullet_and_never_deeper(opened):
    """A hand pushed back by less than its overlap, in any direction, still touches."""
    context, rng = opened(walls(pen=WALLS)), np.random.default_rng(1)
    state = initial_state(context.scene)
    parts, things = hand_parts(context.robot, 0.03), obstacles(context, state)
    oracle, deep = BulletHand(context.robot, context.scene, state), 0
    family = item_grasps(context, state, context.scene.item_index["block"])[0]
    for X_WT in sampled(family, 40, rng):
        told = oracle.distances(X_WT, 0.03, "")
        mine = {}
        for part in parts:
            for thing in things:
                depth = float(overlaps(part, X_WT[None], thing)[0])
                pair = (part.name, thing.name)
                mine[pair] = max(mine.get(pair, 0.0), depth)
        for pair, depth in mine.items():
            nearest = min((d for d, *names in told if tuple(names) == pair), default=1.0)
            assert depth == 0.0 or nearest < TOUCHING, pair
            assert depth > 0.0 or nearest > -0.003, pair  # the polyhedra lie within the links
            if depth > 0.004:
                deep += 1
                way = rng.normal(size=3)
                pushed = X_WT.copy()
                pushed[:3, 3] += (depth - 0.001) * way / np.linalg.norm(way)
                again = oracle.distances(pushed, 0.03, "")
                assert min(d for d, *names in again if tuple(names) == pair) < TOUCHING
    oracle.close()
    assert deep > 20


def test_an_item_walled_in_is_blocked_by_the_walls_and_they_are_named(opened):
    failure = proof(opened(walls(pen=WALLS)))
    assert failure.kind is FailureKind.BLOCKED
    assert failure.objects == ("pen",)
    assert "pen is in the way" in str(failure)
    told = failure.as_json()["certificate"]
    assert told["kind"] == "covering"
    assert told["cells"] == failure.numbers["cells"]
    assert told["ruled_out"]["pen"] > 0
    assert [each["width_m"] for each in told["family"]] == [0.05, 0.05, 0.06, 0.06]


def test_two_walls_that_block_together_are_both_named(opened):
    failure = proof(opened(walls(one=["front"], other=["back"])))
    assert set(failure.objects) == {"one", "other"}
    assert "are in the way" in str(failure)
    assert proof(opened(walls(one=["front"]))) is None
    assert proof(opened(walls(other=["back"]))) is None


def test_under_a_crate_and_beside_one(opened):
    assert proof(opened(items=crate())).objects == ("crate",)
    assert proof(opened(items=crate(y=0.25))) is None


def test_beside_two_walls_the_leaning_grasp_is_found_and_nothing_is_refused(opened):
    """The case of "b1 and b2 are in the way", of a grid that knew leans of 0 and 45 degrees."""
    context = opened(cleft(), change=square)
    state, index = initial_state(context.scene), context.scene.item_index["block"]
    oracle = BulletHand(context.robot, context.scene, state)
    X_WI = state.items[index].X_PI
    for grasp in grasps_at(
        context.scene, state, index, PANDA_GRIPPER
    ):  # none of the usual ones gets there
        assert oracle.distances(X_WI @ grasp.X_IT, grasp.width / 2, "block")[0][0] < -0.001
    oracle.close()
    assert proof(context) is None
    for seed in range(3):
        ways = pick_manipulations(context, state, index, np.random.default_rng(seed))
        stance, rng = context.scene.stance("cabinet"), np.random.default_rng(seed)
        reached = next(
            solve_from_stances(
                context, ways, stance, context.folded_arm, state, rng, RejectionCounts(), 150
            )
        )
        lean = np.degrees(np.arccos(-reached.manipulation.contact[2, 2]))
        assert 4.0 < lean < 36.0


def test_an_item_out_of_the_wrists_reach(opened):
    def change(text):
        return text.replace("x: [0.7, 1.3]", "x: [2, 2.3]").replace(
            "x: [1.0, 2.0]", "x: [2.0, 2.2]"
        )

    failure = proof(opened(change=change))
    assert failure.kind is FailureKind.UNREACHABLE
    # By hand: the block's front at 0.13, the hand at least 0.19 behind it; the arm is 0.81 long.
    assert 0.0 < failure.numbers["shortfall_m"] < 2.0 - 0.13
    assert failure.certificate["ruled_out"]["out of reach"] == failure.numbers["cells"]


def test_a_handle_with_something_before_it(opened):
    """The knob is at x = 0.30, y = 0, z = 0.66; a box as high stands before it on the floor."""
    bodies = "  stool:\n    shapes:\n      - {extents: [[0.34, 0.6], [-0.3, 0.3], [0.0, 0.8]]}\n"
    for context, blocked in ((opened(bodies), True), (opened(), False)):
        state, binding = initial_state(context.scene), context.scene.binding("drawer")
        families = handle_holds(context, state, binding, 0.1)
        stance = context.scene.stance("cabinet")
        failure = prove_no_grasp(context, state, families, [stance], "open the drawer")
        assert (failure is not None) == blocked
    far = bodies.replace("0.34", "0.46")  # room to take it, none to pull it 0.1 m
    context = opened(far)
    state, binding = initial_state(context.scene), context.scene.binding("drawer")
    for value, blocked in ((0.0, False), (0.1, True)):
        families = handle_holds(context, state, binding, value)
        failure = prove_no_grasp(
            context, state, families, [context.scene.stance("cabinet")], "open"
        )
        assert (failure is not None) == blocked


@pytest.mark.parametrize("axes", quick_first(2, [(0, 1, 2), (2, 0, 1), (1, 2, 0)]))
@pytest.mark.parametrize("round_", [False, True])
def test_all_grasps_to_plan_with_are_of_the_family(opened, round_, axes):
    """However it stands or lies: the proof speaks of no smaller family than the planner's."""
    context = opened(change=can if round_ else lambda text: text)
    scene, index = context.scene, context.scene.item_index["block"]
    X_WI = transform(rotation_z(0.4) @ np.eye(3)[list(axes)], (0.1, -0.2, 1.5))
    state = initial_state(scene).with_item(index, Placement("world", frozen(X_WI)))
    grasps = (
        *grasps_at(scene, state, index, PANDA_GRIPPER),
        *leaning_grasps(scene, state, index, PANDA_GRIPPER),
    )
    assert len(grasps) > 100
    for grasp in grasps:
        assert any(
            _of(grasps, grasp) for grasps in grasp_families(scene.items[index], X_WI, PANDA_GRIPPER)
        ), grasp.name


def _of(grasps, grasp):
    """Whether a grasp is one of a family: its coordinates there, and the pose that they give."""
    turns = [0.0]
    if grasps.turn:  # the closing direction lies across the axis
        y, own = grasp.X_IT[:3, 1], grasps.R_IF[:, 1]
        turns = [np.arctan2(y[1], y[0]) - np.arctan2(own[1], own[0])]
    for turn in turns:
        R_IF = rotation_z(turn) @ grasps.R_IF
        z, p = R_IF.T @ grasp.X_IT[:3, 2], R_IF.T @ grasp.X_IT[:3, 3]
        cell = np.array([[turn, np.arctan2(z[0], -z[2]), p[0], p[2]]])
        if not grasps.lean[0] - 1e-9 <= cell[0, 1] <= grasps.lean[1] + 1e-9:
            continue
        if (np.abs(cell[0, 2:]) > np.array(grasps.half) + 1e-9).any():
            continue
        in_range = (
            grasps.turn == 0.0 or -1e-9 <= np.mod(turn + 1e-9, 2 * np.pi) <= grasps.turn + 2e-9
        )
        if in_range and np.allclose(grasps.poses(cell)[0], grasp.X_IT, atol=1e-9):
            return grasps.width == pytest.approx(grasp.width)
    return False


@settings(max_examples=examples(200), deadline=None)
@given(
    side=st.floats(0.0765, 0.079),
    other=st.floats(0.079, 0.2),
    high=st.floats(0.04, 0.2),
    x=st.booleans(),
)
def test_sizes_near_the_hands_opening(side, other, high, x):
    """By hand: it opens to 0.08 m, and 1 mm is left at each side."""
    size = np.array([side, other, high] if x else [other, side, high])
    item = replace(ITEM, size=size)
    failure, family = too_wide(item, PANDA_GRIPPER), grasp_families(item, np.eye(4), PANDA_GRIPPER)
    assert (
        (failure is None) == bool(family) == bool(grasps_of(item, PANDA_GRIPPER)) == (side <= 0.078)
    )
    if failure is None:
        assert {grasps.width for grasps in family} == {side}
        assert {grasp.width for grasp in grasps_of(item, PANDA_GRIPPER)} == {side}
    else:
        assert failure.kind is FailureKind.DOES_NOT_FIT
        assert "for the hand (0.078 m)" in str(failure)
        assert failure.numbers["width_m"] == side
