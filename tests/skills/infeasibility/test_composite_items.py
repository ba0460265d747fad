"""Grasps and refusals of items of several shapes, held against Bullet's hand and rays."""

from dataclasses import replace
from itertools import islice, product
from types import SimpleNamespace

import numpy as np
import pybullet as pb
import pytest
from scipy.spatial.transform import Rotation

from galley.domain.failure import FailureKind
from galley.domain.frames import transform
from galley.domain.state import initial_state
from galley.skills import SKILLS, BoundAction
from galley.skills.infeasibility.refusals import does_not_fit, out_of_reach_as_found
from galley.skills.manipulation.grasp_families import CLEARANCE, widest_opening
from galley.skills.manipulation.grasps import grasps_at, grasps_of, leaning_grasps
from galley.skills.manipulation.lines import RejectionCounts
from galley.skills.manipulation.step import solve_from_stances
from galley.skills.pick import pick_manipulations
from galley.skills.placing.packing import packing_certificate
from galley.skills.placing.placements import placements
from galley.tests.effort import examples, quick_first
from galley.tests.skills.infeasibility.hand_oracle import BulletHand

GRASPED = {
    "L": "{box: [0.1, 0.05, 0.03], xyz: [0, 0, -0.05]}, "
    "{box: [0.03, 0.05, 0.1], xyz: [-0.035, 0, 0.015]}",
    "flat T": "{box: [0.12, 0.03, 0.04], xyz: [0, 0.045, 0]}, "
    "{box: [0.03, 0.09, 0.04], xyz: [0, -0.015, 0]}",
    "plus": "{box: [0.12, 0.03, 0.05]}, {box: [0.03, 0.12, 0.05]}",
    "mug": "{cylinder: [0.045, 0.1], xyz: [-0.02, 0, 0]}, "
    "{box: [0.05, 0.015, 0.06], xyz: [0.04, 0, 0]}",
    "dumbbell": "{cylinder: [0.015, 0.12], rpy: [0, 1.5708, 0]}, "
    "{sphere: 0.045, xyz: [-0.06, 0, 0]}, {sphere: 0.045, xyz: [0.06, 0, 0]}",
    "tilted": "{box: [0.1, 0.09, 0.03], xyz: [0, 0, -0.05]}, "
    "{box: [0.03, 0.05, 0.13], rpy: [0, 0.35, 0]}",
    "halves": "{box: [0.03, 0.09, 0.08], xyz: [-0.015, 0, 0]}, "
    "{box: [0.03, 0.09, 0.08], xyz: [0.015, 0, 0]}",
    "one tilted": "{box: [0.03, 0.05, 0.13], rpy: [0, 0.35, 0]}",
}
REFUSED = {
    "four quarters": ", ".join(
        f"{{box: [0.045, 0.045, 0.08], xyz: [{x}, {y}, 0]}}"
        for x, y in product((-0.0225, 0.0225), repeat=2)
    ),
    "wide plus": "{box: [0.2, 0.09, 0.04]}, {box: [0.09, 0.2, 0.04]}",
    "bricks": ", ".join(
        f"{{box: [0.06, 0.1, 0.04], xyz: [{s * 0.03}, 0, -0.02]}}, "
        f"{{box: [0.12, 0.05, 0.04], xyz: [0, {s * 0.025}, 0.02]}}"
        for s in (-1, 1)
    ),
    "crate": "{box: [0.2, 0.2, 0.02], xyz: [0, 0, 0.04]}, "
    + ", ".join(
        f"{{box: [0.02, 0.2, 0.08], xyz: [{s * 0.09}, 0, -0.01]}}, "
        f"{{box: [0.16, 0.02, 0.08], xyz: [0, {s * 0.09}, -0.01]}}"
        for s in (-1, 1)
    ),
}


@pytest.fixture
def block(opened):
    """Opens the small scene, its block of these shapes, and Bullet's hand about block and table."""
    oracles = []

    def open_block(shapes):
        shapes = shapes.replace("}, {", "}\n      - {")
        context = opened(change=lambda text: text.replace("{box: [0.05, 0.06, 0.10]}", shapes))
        scene, state = context.scene, initial_state(context.scene)
        index = scene.item_index["block"]
        about = SimpleNamespace(
            bodies=(scene.body("cabinet"),), items=(scene.items[index],), body_pose=scene.body_pose
        )
        at = SimpleNamespace(items=(state.items[index],), scene_q=state.scene_q)
        oracles.append(BulletHand(context.robot, about, at))
        return context, state, index, oracles[-1]

    yield open_block
    for oracle in oracles:
        oracle.close()


@pytest.mark.parametrize("kind", quick_first(3, GRASPED))
def test_both_fingers_close_on_the_item_and_come_and_go_free_of_it(block, kind):
    context, state, index, oracle = block(GRASPED[kind])
    item, X_WI = context.scene.items[index], state.items[index].X_PI
    gripper, fingers = context.robot.gripper, context.robot.fingers
    standard = grasps_at(context.scene, state, index, gripper)
    grasps = [*standard, *leaning_grasps(context.scene, state, index, gripper)]
    assert standard
    for grasp in grasps[:: 1 + len(grasps) // examples(200)]:

        def gap(opening, back, X_WT=X_WI @ grasp.X_IT):
            X = transform(X_WT[:3, :3], X_WT[:3, 3] - back * X_WT[:3, 2])
            near = oracle.distances(X, opening, "", ("cabinet",))
            return [min((d for d, *names in near if names[0] == f), default=1.0) for f in fingers]

        assert np.abs(gap(grasp.width / 2.0, 0.0)).max() < 0.0015, grasp.name
        widest = widest_opening(item, grasp.X_IT, grasp.width, gripper) / 2.0
        for opening in (widest, min(0.04, grasp.width / 2.0 + CLEARANCE)):
            for back in (0.0, 0.03, 0.08):
                assert min(gap(opening, back)) > -0.001, (grasp.name, opening, back)


def ways_found(block, shapes, count):
    """Random hands, fully open, free of everything, with opposed surfaces between the pads."""
    context, state, index, oracle = block(shapes)
    rng, X_WI = np.random.default_rng(0), state.items[index].X_PI
    body = [k for name, k in oracle.things if name == "block"]
    p = rng.uniform(-0.5, 0.5, (count, 3)) * context.scene.items[index].size
    p = p @ X_WI[:3, :3].T + X_WI[:3, 3]
    R = Rotation.random(count, random_state=0).as_matrix()
    half = context.robot.gripper.widest / 2.0 * R[:, :, 1]
    first, last = (
        pb.rayTestBatch(p + w * half, p - w * half, physicsClientId=oracle.client) for w in (1, -1)
    )
    found = 0
    for k in range(count):
        flat = [
            hit[0] in body and w * np.dot(hit[4], R[k, :, 1]) > np.cos(np.radians(30.0))
            for hit, w in ((first[k], 1.0), (last[k], -1.0))
        ]
        if all(flat) and R[k, 2, 2] < 0.0:
            near = oracle.distances(transform(R[k], p[k]), 0.04, "")
            found += not near or near[0][0] > 0.0
    return found


@pytest.mark.parametrize("kind", quick_first(2, REFUSED))
def test_a_composite_that_is_too_wide_is_refused_and_random_hands_find_no_way(block, kind):
    shapes = REFUSED[kind]
    context, state, index, _ = block(shapes)
    names = [context.scene.binding(name) for name in ("block", "table", "h1")]
    pick = BoundAction(0, "pick", tuple(names))
    failure = SKILLS["pick"].impossible(context, pick, state) or out_of_reach_as_found(
        context, state, pick, SKILLS["pick"]
    )
    assert failure.kind is FailureKind.DOES_NOT_FIT
    assert failure.certificate["kind"] in ("sizes", "covering")
    assert not grasps_of(context.scene.items[index], context.robot.gripper)
    assert next(pick_manipulations(context, state, index, np.random.default_rng(0)), None) is None
    assert ways_found(block, shapes, 10_000) == 0


@pytest.mark.parametrize("shapes", [GRASPED["L"], GRASPED["plus"]])
def test_random_hands_find_ways_to_take_what_is_not_refused(block, shapes):
    """So the oracle of the refusals has something to say."""
    assert ways_found(block, shapes, 10_000) > 0


def test_what_fits_in_turned_is_not_refused_by_its_bounding_box(block):
    """A bar across the corner of its bounding box, and rectangles at the least, by hand."""
    bar = "{box: [0.12, 0.02, 0.1], rpy: [0, 0, 0.7854]}, {box: [0.02, 0.02, 0.1]}"
    context, _, index, _ = block(bar)
    item, region = context.scene.items[index], context.scene.region("top")
    assert min(item.size[:2]) > 0.09
    for width, length, fits in ((0.03, 0.13, True), (0.019, 0.13, False), (0.03, 0.1, False)):
        narrow = replace(region, boxes=np.array([[[0, 0, 1], [width, length, 1]]]))
        assert (does_not_fit(item, narrow) is None) == fits
        if fits:
            assert packing_certificate([item], narrow) is None
            draws = placements(item, narrow, (), (), None, np.random.default_rng(0))
            assert next(draws, None) is not None


def test_out_of_reach_is_told_and_no_room_only_where_there_is_none(block):
    context, state, index, _ = block(GRASPED["L"])
    near = context.scene.stance("cabinet")
    for low, high, words in (
        ((2.3, -1.5, -1.0), (2.4, -1.0, 1.0), "out of the arm's reach"),
        ((0.0, -0.3, -3.0), (0.2, 0.3, 3.0), "no room for the base"),  # in the table
    ):
        stance = replace(near, lower=np.array(low), upper=np.array(high))
        ways = list(islice(pick_manipulations(context, state, index, np.random.default_rng(0)), 20))
        tally, rng = RejectionCounts(), np.random.default_rng(0)
        solved = solve_from_stances(
            context, iter(ways), stance, context.folded_arm, state, rng, tally
        )
        assert next(solved, None) is None
        assert list(tally.reasons) == [words]
        assert f"{words} 20x" in str(tally.failure("pick"))
