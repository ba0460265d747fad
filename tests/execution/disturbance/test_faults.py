"""Each fault acts through forces only, as specified and when specified."""

import ast
from pathlib import Path

import numpy as np
import pytest

import galley
from galley.collision.backends.bullet import pybullet as pb
from galley.domain.errors import BadInput
from galley.domain.log import OUTSIDE
from galley.execution.disturbance.faults import parse_fault
from galley.execution.physics.executor import PhysicsExecutor
from galley.tests.effort import quick_first
from galley.tests.execution.errands import DRAWER, SUGAR, errand

DISTURBANCE = Path(galley.__file__).parent / "execution" / "disturbance"
CARRY = (*SUGAR, ("place", "sugar", "countertop", "h1"))


@pytest.fixture(scope="module")
def carrying(kitchen, shared_world):
    """To the burner, the sugar taken, and to the counter with it."""
    return errand(kitchen, shared_world, *CARRY, seed=3)


@pytest.fixture(scope="module")
def drawer(kitchen, shared_world):
    """The drawer is opened."""
    return errand(kitchen, shared_world, *DRAWER)


@pytest.fixture
def run(kitchen, robot):
    """``run(errand, "nudge:sugar", seed)``: runs it all; the executor and the fault.

    ``watch`` is called before each step.
    """
    opened = []

    def go(errand, text, seed=0, watch=None):
        fault = parse_fault(text, kitchen, seed) if text else None
        if watch is not None:
            act = fault.before_step
            fault.before_step = lambda world, *more: (act(world, *more), watch(world))
        executor = PhysicsExecutor(kitchen, robot, errand.states[0], fault=fault)
        opened.append(executor)
        for motion, name in zip(errand.motions, errand.names, strict=True):
            executor.execute(motion, name)
        return executor, fault

    yield go
    for executor in opened:
        executor.close()


def lean(X):
    return np.degrees(np.arccos(np.clip(X[2, 2], -1.0, 1.0)))


def friction_of(world, index):
    return pb.getDynamicsInfo(world.item_ids[index], -1, physicsClientId=world.client)[1]


# -- items ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", quick_first(2, range(5)))
def test_a_nudged_item_slides_two_to_four_centimetres_and_stays_upright(
    kitchen, run, carrying, seed
):
    executor, fault = run(
        carrying.part("burner h1 | reach", "burner h1 | reach"), "nudge:sugar", seed
    )
    log, X_0 = executor.log(), kitchen.items[0].X_WI
    slid = np.linalg.norm(log.items[:, 0, :2] - X_0[:2, 3], axis=1)
    assert all(each.struck for each in fault.faults)
    assert "sugar_box was pushed" in fault.reports[0]
    assert np.linalg.norm(np.diff(log.items[:, 0, :3], axis=0), axis=1).max() < 0.003, "it jumped"
    touched = [log.touching(k) for k in range(len(log.contact_step))]
    assert not any("sugar_box" in pair and "finger" in "".join(pair) for pair in touched)
    told = [k for k, pair in enumerate(touched) if OUTSIDE in pair]
    assert {touched[k] for k in told} == {(OUTSIDE, "sugar_box")}
    assert 3.2 < log.contact_force[told].max() < 6.0, "more than mu m g"
    assert len({log.contact_step[k] for k in told}) == len(told), "once a sample"
    X_WI = executor.world.item_pose(0)
    assert 0.019 < slid[-1] < 0.041
    assert lean(X_WI) < 0.5
    assert X_WI[2, 3] == pytest.approx(X_0[2, 3], abs=0.001)
    assert executor.world.item_pose(1)[:3, 3] == pytest.approx(
        kitchen.items[1].X_WI[:3, 3], abs=0.001
    )


@pytest.mark.parametrize("seed", quick_first(1, range(3)))
def test_a_toppled_item_lies_on_its_side(run, carrying, seed):
    executor, fault = run(
        carrying.part("burner h1 | reach", "burner h1 | reach"), "topple:sugar_box", seed
    )
    assert all(each.struck for each in fault.faults)
    assert lean(executor.world.item_pose(0)) == pytest.approx(90.0, abs=2.0)
    assert "knocked over" in fault.reports[0]
    leans = 1.0 - 2.0 * (executor.log().items[:, 0, 3:5] ** 2).sum(axis=1)  # cosine of the lean
    assert leans[0] == pytest.approx(1.0, abs=1e-5), "it was knocked over before its time"


def test_the_second_occasion_is_left_to_the_second_fault(run, carrying):
    reach = carrying.part("burner h1 | reach", "burner h1 | reach")
    executor, fault = run(reach, "topple@2")
    assert not any(each.struck for each in fault.faults)
    assert lean(executor.world.item_pose(0)) < 0.5
    executor.execute(reach.motions[0], reach.names[0])
    assert all(each.struck for each in fault.faults)


def test_a_slippery_item_is_lost_while_friction_can_not_carry_it_and_not_slippery_afterwards(
    kitchen, run, carrying
):
    part, lowest = carrying.part("burner h1 | reach", "h1 | fold the arm"), []
    executor, fault = run(
        part, "slippery:sugar", 0, lambda world: lowest.append(friction_of(world, 0))
    )
    assert all(each.struck for each in fault.faults), fault.reports
    weight = kitchen.items[0].mass * 9.81
    force = 2.0 * kitchen.physics.finger_force * kitchen.physics.finger_friction
    assert 0.0 < min(lowest) < min(0.1, weight / force)
    held = executor.log().held
    assert (held == 0).any()
    assert held[-1] == -1
    first, last = np.flatnonzero(held == 0)[[0, -1]]
    motions = executor.log().motions[executor.log().motion[[first, last]]]
    assert "close fingers" in motions[0]
    assert "fold the arm" in motions[1], "it was lost before it was carried"
    assert friction_of(executor.world, 0) == pytest.approx(kitchen.items[0].friction)


# -- drawers --------------------------------------------------------------------------------------


def pulled(executor, k=0):
    """How far 20 N pull the drawer out of where it stands, in a second."""
    world = executor.world
    link = world.loaded.link(world.furniture_id, "indigo_drawer_top")
    before = world.scene_q()[k]
    for _ in range(round(1.0 / world.dt)):
        at = pb.getLinkState(world.furniture_id, link, physicsClientId=world.client)[0]
        pb.applyExternalForce(
            world.furniture_id,
            link,
            [20.0, 0.0, 0.0],
            at,
            pb.WORLD_FRAME,
            physicsClientId=world.client,
        )
        world.step()
    return world.scene_q()[k] - before


@pytest.mark.parametrize(
    ("text", "moves"), [("stuck:drawer", True), ("stuck-for-good", False), ("", True)]
)
@pytest.mark.slow
def test_a_stuck_drawer_stops_on_its_way_and_lets_go_unless_for_good_and_a_sound_one_opens(
    run, drawer, text, moves
):
    executor, fault = run(drawer.part("h1 | reach", "| withdraw"), text)
    opened = executor.log().scene_q[:, 0]
    if fault is None:
        assert opened[-1] == pytest.approx(0.30, abs=0.005)
        return
    assert all(each.struck for each in fault.faults), fault.reports
    assert 0.049 < opened[-1] < 0.21
    assert opened.max() < opened[-1] + 0.005
    assert (pulled(executor) > 0.05) == moves


# -- the base -------------------------------------------------------------------------------------


@pytest.mark.parametrize("during", ["drive", "arm"])
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.slow
def test_a_shoved_base_stands_beside_where_it_believes_to_stand(
    kitchen, run, carrying, during, seed
):
    name = "center burner | drive" if during == "drive" else "burner h1 | reach"
    part = carrying.part(name, name)
    executor, fault = run(part, f"push-base:{during}", seed)
    believed = part.motions[0].path.end if during == "drive" else part.states[0].q[:3]
    off = executor.world.q()[:3] - believed
    assert all(each.struck for each in fault.faults), fault.reports
    assert 0.025 < np.hypot(*off[:2]) < 0.09
    assert 0.8 < np.degrees(abs(off[2])) < 5.5
    executor.wait(0.5)
    np.testing.assert_allclose(executor.world.q()[:3] - believed, off, atol=0.002)
    log, base = executor.log(), kitchen.robot.base
    speeds = log.velocity[:, :3]
    rates = np.diff(speeds, axis=0) / log.period
    assert (np.abs(speeds).max(axis=0) <= base.velocity).all(), "it was shoved too fast"
    assert (np.abs(rates).max(axis=0) <= base.acceleration).all(), "it was jolted"


# -- all of them ----------------------------------------------------------------------------------


def test_the_same_seed_strikes_the_same_way_and_another_another(run, carrying):
    reach = carrying.part("burner h1 | reach", "burner h1 | reach")
    ends = [run(reach, "nudge", seed)[0].world.item_pose(0) for seed in (0, 0, 5)]
    np.testing.assert_array_equal(ends[0], ends[1])
    assert np.abs(ends[0] - ends[2]).max() > 1e-4


@pytest.mark.slow
def test_several_faults_in_one_run_each_tell_what_became_of_them(run, carrying):
    _, fault = run(
        carrying.part("burner | drive", "burner h1 | reach"),
        "topple:sugar,stuck:drawer,push-base:drive",
    )
    assert [each.struck for each in fault.faults] == [True, False, True]
    assert fault.reports[1] == "stuck:drawer did not strike: no suitable motion"
    assert "sugar_box was knocked over" in fault.reports[0]


def test_faults_set_no_state():
    """No reset of a body, a joint or a velocity, and no constraint, in any of their modules."""
    faults = DISTURBANCE / "faults.py"
    assert "galley.collision.backends.bullet" not in faults.read_text()
    for path in (faults, DISTURBANCE.parent / "physics" / "intervention.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Attribute):
                assert not node.attr.startswith(("reset", "createConstraint")), path
                assert node.attr not in ("set_robot", "set_furniture", "set_item"), path


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("nudg", "did you mean 'nudge'"),
        ("", "there are nudge, topple"),
        ("explode:sugar", "KIND[:NAME][@N]"),
        ("nudge:", "after the colon"),
        ("nudge:sugr", "did you mean 'sugar'"),
        ("stuck:sugar", "needs a drawer"),
        ("push-base:sugar", "drive, arm"),
        ("topple@0", "whole number from 1"),
        ("topple:sugar,nudg", "did you mean 'nudge'"),
    ],
)
def test_other_text_is_refused_in_one_line_that_helps(kitchen, text, says):
    with pytest.raises(BadInput) as refused:
        parse_fault(text, kitchen, 0)
    assert len(str(refused.value).splitlines()) == 1
    assert str(refused.value).startswith("fault: ")
    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("text", "target"),
    [
        ("nudge:sugar", "sugar_box"),
        ("stuck:drawer", "indigo_drawer_top_joint"),
        ("stuck:indigo_drawer_handle_top@2", "indigo_drawer_top_joint"),
        ("stuck-for-good:dagger_door_left", "dagger_door_left_joint"),
        ("push-base:arm", "arm"),
    ],
)
def test_things_have_their_names_of_the_scene_and_of_the_task(kitchen, text, target):
    (fault,) = parse_fault(text, kitchen, 0).faults
    assert fault.target == target
    assert fault.spec.occurrence == (2 if text.endswith("@2") else 1)
