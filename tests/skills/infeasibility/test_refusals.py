"""What a skill refuses: with a certificate where there is one, honestly otherwise."""

from dataclasses import replace

import numpy as np
import pytest

from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import frozen, transform
from galley.domain.state import Placement, initial_state
from galley.motion.motion import Motion
from galley.robots.panda.models import mobile_panda
from galley.skills import SKILLS, BoundAction, PlanningContext, Settings
from galley.skills.base_placement.stances import shortfall
from galley.skills.infeasibility.refusals import (
    handle_out_of_reach,
    out_of_reach_as_found,
    region_out_of_reach,
)
from galley.tests.refining import refine


def action(scene, index, name, *objects):
    return BoundAction(index, name, tuple(scene.binding(o) for o in objects))


@pytest.fixture
def context(kitchen, world):
    return PlanningContext(kitchen, world.robot, world, Settings(seed=0, placements=150))


def refused(context, *plan):
    found = refine(context, plan, initial_state(context.scene), SKILLS)
    assert isinstance(found, Failure)
    return found


@pytest.mark.parametrize(
    ("name", "objects"),
    [
        ("place", ("spam", "center", "h1")),
        ("place", ("spam", "drawer", "h1")),
        ("stow", ("spam", "countertop", "h1")),
        ("stow", ("spam", "center", "h1")),
        ("open", ("burner", "h1")),
        ("close", ("countertop", "h1")),
        ("take_out", ("spam", "burner", "h1")),
        ("put_in", ("spam", "countertop", "h1")),
        ("cook", ("spam", "drawer")),
    ],
)
def test_furniture_without_what_the_action_needs_is_a_contradiction(
    kitchen, context, name, objects
):
    bound = action(kitchen, 0, name, *objects)
    failure = SKILLS[name].impossible(context, bound, initial_state(kitchen))
    assert failure.kind is FailureKind.CONTRADICTION
    (where,) = set(objects) - {"spam", "h1"}
    assert failure.certificate["object"] == where
    assert failure.certificate["missing"]
    assert where in failure.objects


def test_nothing_is_refused_that_the_default_task_does(kitchen, context):
    for name, *objects in (
        ("pick", "sugar", "burner", "h1"),
        ("place", "sugar", "countertop", "h1"),
        ("stow", "spam", "drawer", "h1"),
        ("navigate", "center", "burner"),
        ("open", "drawer", "h1"),
        ("close", "drawer", "h1"),
        ("put_in", "spam", "drawer", "h1"),
        ("take_out", "spam", "drawer", "h1"),
        ("cook", "spam", "burner"),
    ):
        bound = action(kitchen, 0, name, *objects)
        assert SKILLS[name].impossible(context, bound, initial_state(kitchen)) is None


@pytest.mark.parametrize("name", ["pick", "take_out"])
def test_what_the_hand_can_not_span_has_no_grasp(kitchen, context, name):
    """A plate of 0.2 m: wider than the hand opens, 0.08 m, whichever way it is taken."""
    plate = replace(kitchen.item("sugar_box"), size=np.array([0.2, 0.2, 0.03]))
    scene = replace(kitchen, items=(plate, *kitchen.items[1:]))
    wide = PlanningContext(scene, context.robot, context.world)
    where = "drawer" if name == "take_out" else "burner"
    failure = SKILLS[name].impossible(
        wide, action(scene, 0, name, "sugar", where, "h1"), initial_state(scene)
    )
    assert failure.kind is FailureKind.DOES_NOT_FIT
    assert failure.certificate["kind"] == "sizes"
    assert failure.certificate["item_m"] == [0.2, 0.2, 0.03]
    assert min(failure.certificate["item_m"][:2]) > failure.certificate["opening_m"] == 0.08


def away(scene, by):
    """The scene with each stance set moved ``by`` metres along x."""
    shift = np.array([by, 0.0, 0.0])
    moved = tuple(
        replace(s, lower=frozen(s.lower + shift), upper=frozen(s.upper + shift))
        for s in scene.stances
    )
    spec = replace(scene.robot.base, upper=(99.0, *scene.robot.base.upper[1:]))
    return replace(scene, stances=moved, robot=replace(scene.robot, base=spec))


def some(rng, low, high):
    """A number or point between two, often at the very ends."""
    return np.clip(rng.uniform(1.5 * low - 0.5 * high, 1.5 * high - 0.5 * low), low, high)


@pytest.mark.parametrize(("by", "refused"), [(0.4, False), (2.0, True), (3.0, True)])
def test_distance_bounds_hold_for_every_stance_and_every_point(kitchen, context, by, refused):
    """Random points of the region and the handle, from random stances: none is nearer."""
    scene = away(kitchen, by)
    robot = mobile_panda(scene.robot.base)
    far = PlanningContext(scene, robot, context.world)
    rng = np.random.default_rng(0)
    can = scene.item("potted_meat_can")
    handle = scene.handle("indigo_drawer_handle_top")
    inside, top = scene.region("indigo_drawer_top_inside"), scene.region("hitman_top")
    cases = (
        (region_out_of_reach(far, can, top, scene.stance("countertop")), "countertop", top),
        (region_out_of_reach(far, can, inside, scene.stance("drawer")), "drawer", inside),
        (handle_out_of_reach(far, handle, scene.stance("drawer")), "drawer", None),
    )
    for failure, name, region in cases:
        least = np.inf
        stance = scene.stance(name)
        for _ in range(1000):
            slide = some(rng, 0.0, 0.4)
            if region is None:
                p = handle.point + np.array([slide, some(rng, -0.06, 0.06), 0.0])
            else:  # half of the can's shorter side away from the edges, at least
                low, high = region.boxes[0]
                xy = some(rng, low[:2] + 0.025, high[:2] - 0.025)
                p = np.array([*xy, low[2] + can.size[2] / 2])
                p[0] += slide if region is inside else 0.0
            b = some(rng, stance.lower, stance.upper)
            least = min(least, shortfall(p, replace(stance, lower=b, upper=b), robot))
        assert (failure is not None) == refused
        if failure is not None:
            assert failure.kind is FailureKind.UNREACHABLE
            slack = least - failure.certificate["hand_m"] - failure.numbers["shortfall_m"]
            assert 0.0 <= slack < 0.1, "a bound, and no idle one"


def test_a_handle_that_the_hand_can_not_hold_is_refused_with_its_size(kitchen, world):
    thick = tuple(replace(handle, thickness=0.09) for handle in kitchen.handles)
    context = PlanningContext(replace(kitchen, handles=thick), world.robot, world, Settings())
    failed = refused(context, action(context.scene, 0, "open", "drawer", "h1"))
    assert failed.kind is FailureKind.DOES_NOT_FIT
    assert failed.message.endswith("is 0.090 m thick, but the hand takes 0.000 to 0.078 m")
    assert failed.certificate["thickness_m"] > failed.certificate["widest_m"]


def test_an_item_in_a_drawer_counts_as_in_reach_if_the_drawer_brings_it_near(kitchen, context):
    inside = Placement("indigo_drawer_top", frozen(transform(None, (-0.1, 1.2, 0.82))))
    take = action(kitchen, 0, "take_out", "spam", "drawer", "h1")
    index = kitchen.item_index["potted_meat_can"]
    state = initial_state(kitchen).with_item(index, inside)
    assert out_of_reach_as_found(context, state, take, SKILLS["take_out"]) is None
    for by, expected in ((0.4, False), (2.0, True)):
        scene = away(kitchen, by)
        far = PlanningContext(scene, mobile_panda(scene.robot.base), context.world)
        failure = out_of_reach_as_found(far, state, take, SKILLS["take_out"])
        assert (failure is not None) == expected
    assert out_of_reach_as_found(context, state, take, SKILLS["open"]) is None


FAR = "{xyz: [-3.5, 0.1, 0.89]}"


@pytest.fixture(scope="module")
def far_bench(small_text, scene_of):
    """The small scene, its block on a shelf 3.5 m behind the cabinet."""
    text = small_text.replace("{on: top, xy: [0.1, -0.2], yaw: 0.5}", FAR)
    shelf = "  shelf:\n    shapes:\n      - {extents: [[-3.7, -3.3], [-0.3, 0.5], [0.80, 0.84]]}\n"
    text = text.replace("  cabinet:\n    shapes", f"{shelf}  cabinet:\n    shapes", 1)
    scene = scene_of(text)
    with PyBulletWorld(scene, mobile_panda(scene.robot.base)) as world:
        yield PlanningContext(scene, world.robot, world, Settings(placements=100, attempts=2))


def test_an_item_out_of_reach_is_refused_with_a_distance(far_bench):
    scene = far_bench.scene
    failure = refused(
        far_bench,
        action(scene, 0, "navigate", "center", "table"),
        action(scene, 1, "pick", "block", "table", "h1"),
    )
    assert failure.kind is FailureKind.UNREACHABLE
    gap = failure.numbers["shortfall_m"]
    # By hand: nearest stance x = 0.7, item x = -3.5: 4.2 m, less some 1.3 m of arm, hand and item.
    assert 2.6 < gap < 3.2
    assert failure.objects == ("block",)
    point = np.array(failure.certificate["point_m"])
    stance = scene.stance(failure.certificate["stance"])
    np.testing.assert_allclose(point, [-3.5, 0.1, 0.89])
    assert shortfall(point, stance, far_bench.robot) >= gap  # the certificate can be checked


def test_driving_somewhere_with_nothing_to_do_there_ends_in_the_stance(kitchen, context):
    navigate = action(kitchen, 0, "navigate", "center", "countertop")
    start = initial_state(kitchen)
    found = SKILLS["navigate"].refine(context, navigate, (), start, np.random.default_rng(0))
    assert all(isinstance(m, Motion) for m in found)
    assert found[-1].group == "base"
    assert kitchen.stance("countertop").contains(found[-1].path.end)
