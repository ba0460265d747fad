"""push and push_aside: what is refused, what is planned, and that the kinematic world agrees."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import galley
from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import frozen, rotation_z, transform
from galley.domain.scene.model import WORLD, Spot
from galley.domain.shipped import SCENARIOS
from galley.domain.state import Placement, initial_state, item_pose
from galley.motion.effects import effects, state_after
from galley.motion.trajectory.store import load_motions, save_trajectories
from galley.robots.catalog import robot_of
from galley.skills import SKILLS, BoundAction, PlanningContext, Settings
from galley.skills.manipulation.hand import hand_parts
from galley.skills.manipulation.pushers import has_bit, pushers, reach_cells, reached
from galley.skills.manipulation.pushes import PushedItem
from galley.skills.skill import stance_of


@pytest.fixture(scope="module")
def task():
    return galley.load(problem="push_tray.pddl")


@pytest.fixture(scope="module")
def solution(task):
    found = galley.solve(task, seed=1)
    assert not isinstance(found, Failure), str(found)
    return found


@pytest.fixture
def refused(task, shared_world):
    """Why a push is impossible with another tray, region or spot."""

    def why(spot=None, region=None, **tray):
        scene = task.scene
        items = [replace(i, **tray) if i.name == "tray" else i for i in scene.items]
        scene = replace(scene, items=tuple(items))
        context = PlanningContext(scene, shared_world.robot, shared_world, Settings())
        mark = scene.binding("mark")
        mark = replace(mark, spot=spot or mark.spot, region=region or mark.region)
        places = scene.binding("tray"), scene.binding("countertop"), mark, scene.binding("h1")
        action = BoundAction(0, "push", places)
        return SKILLS["push"].impossible(context, action, initial_state(scene))

    return why


def test_what_can_be_pushed_is_not_refused(refused):
    assert refused() is None
    assert refused(mass=4.0) is None, "4 kg slide with 19 N"


@pytest.mark.parametrize(
    ("changes", "kind", "number", "value"),
    [
        # friction 0.6 of the tray times 0.8 of the worktop, under 9.81 m/s^2
        ({"mass": 9.0}, FailureKind.UNSTABLE, "friction_N", 9.0 * 9.81 * 0.48),
        # the corner at (0.15, 0.11) turned by 45 degrees is 0.184 m off the middle, y from -1.17
        (
            {"spot": Spot(np.array([0.0, -1.05]), np.pi / 4.0)},
            FailureKind.DOES_NOT_FIT,
            "over_edge_m",
            0.26 * np.sqrt(0.5) - 0.12,
        ),
        ({"region": "burners"}, FailureKind.CONTRADICTION, None, None),
    ],
    ids=["too heavy", "over the edge", "elsewhere"],
)
def test_a_refusal_says_by_how_much(refused, changes, kind, number, value):
    failure = refused(**changes)
    assert failure is not None
    assert failure.kind is kind
    assert failure.certificate is not None
    if number is not None:
        assert failure.numbers[number] == pytest.approx(value, abs=1e-6)


def test_the_pushing_corner_is_the_farthest_point_of_the_fingers_below_the_items_top(robot):
    """Against points drawn within their hulls, upright and leaning."""
    parts = [p for p in hand_parts(robot, 0.0) if p.name in robot.fingers]
    shares = np.random.default_rng(0).dirichlet(np.full(3, 0.2), 200_000)
    for pusher in pushers(robot, 0.030):
        tops = []
        for part in parts:
            v = part.solid.vertices @ pusher.X_UT[:3, :3].T
            drawn = np.random.default_rng(1).integers(0, len(v), (len(shares), 3))
            points = (shares[..., None] * v[drawn]).sum(axis=1)
            below = points[points[:, 2] > pusher.low - (0.030 - pusher.height)]
            tops.append((below[:, :2] @ pusher.quadrant).max())
        farthest = float(pusher.corner @ pusher.quadrant)
        assert farthest - 0.001 < max(tops) <= farthest + 1e-9


@pytest.fixture
def flat_box(task, shared_world):
    """A box that fell flat, 6 cm high, and so far back on the counter that the hand must lean to
    come behind it."""
    tray = task.scene.item("tray")
    shape = replace(tray.shapes[0], size=frozen([0.21, 0.16, 0.06]))
    X_WI = frozen(transform(rotation_z(np.pi / 4.0), (-0.18, -0.6, 0.96)))
    box = replace(tray, size=shape.size, shapes=(shape,), mass=0.4, X_WI=X_WI)
    items = tuple(box if each is tray else each for each in task.scene.items)
    scene = replace(task.scene, items=items)
    context = PlanningContext(scene, shared_world.robot, shared_world, Settings())
    index = scene.item_index["tray"]
    return PushedItem.of(context, initial_state(scene), index, scene.region("hitman_top"))


def test_a_leaning_hand_is_raised_so_that_its_palm_passes_over_the_item(robot):
    palm = [part for part in hand_parts(robot, 0.0) if part.name not in robot.fingers]
    for top in (0.03, 0.05, 0.06, 0.08):
        for pusher in pushers(robot, top):
            down = np.concatenate([p.solid.vertices @ pusher.X_UT[2, :3] for p in palm]).max()
            assert pusher.height + pusher.low - down > top + 0.008 - 1e-9
            assert pusher.height <= top - 0.01
        assert len(pushers(robot, top)) == 20


def test_fingers_do_not_lean_so_far_over_a_heavy_tray_that_it_lifts_the_hand(task, shared_world):
    """Under physics such a hand climbed 18 mm, onto the tray. What is light doesn't lift it."""
    scene, found = task.scene, []
    context = PlanningContext(scene, shared_world.robot, shared_world, Settings())
    for mass in (0.8, 0.4):
        items = [replace(i, mass=mass) if i.name == "tray" else i for i in scene.items]
        heavy = replace(context, scene=replace(scene, items=tuple(items)))
        index, region = scene.item_index["tray"], scene.region("hitman_top")
        room = PushedItem.of(heavy, task.start, index, region).hand_room
        found.append([p.overhang for p, use in zip(room.pushers, room.usable, strict=True) if use])
    # 45 degrees, of which the way takes half: over the item, or away from it
    assert max(found[0]) < 0.48 < max(found[1]) == pytest.approx(np.sqrt(0.5))
    assert min(found[0]) == pytest.approx(-np.sqrt(0.5))


def test_a_box_at_the_back_of_the_counter_can_be_pulled_to_the_front(flat_box, task):
    grid = flat_box.slider.pushes
    stance = stance_of(flat_box.context, task.scene.binding("countertop"))
    bases = flat_box.bases(stance, np.random.default_rng(0))
    c, s = np.cos(flat_box.pose[2]), np.sin(flat_box.pose[2])
    turn = np.array([[c, s], [-s, c]])
    picks = np.flatnonzero((grid.along[grid.push] @ turn)[:, 0] > 0.7)  # to where bases are
    starts = flat_box.pose[:2] + grid.starts[grid.push[picks]] @ turn
    ends = starts + 0.004 * grid.end[picks, None] * grid.along[grid.push[picks]] @ turn
    assert flat_box.room(starts, ends, picks, bases).any()


def test_pushes_are_rolled_out_once_and_not_after_each_look(task, shared_world):
    """It is looked at as it comes to lie, a little turned; pushes are kept by its pose's bytes."""
    scene, rng = task.scene, np.random.default_rng(0)
    context = PlanningContext(scene, shared_world.robot, shared_world, Settings())
    index, region = scene.item_index["tray"], scene.region("hitman_top")
    X_WI, sliders = scene.item("tray").X_WI, set()
    for _ in range(8):
        tilt = Rotation.from_rotvec(rng.normal(0.0, 1e-3, 3)).as_matrix()
        seen = transform(rotation_z(rng.uniform(-3.0, 3.0)) @ tilt @ X_WI[:3, :3], X_WI[:3, 3])
        state = initial_state(scene).with_item(index, Placement(WORLD, frozen(seen)))
        sliders.add(PushedItem.of(context, state, index, region).slider)
    assert len(sliders) == 1


def test_the_tray_slides_as_predicted_and_as_nothing_else_says(task, solution):
    """The State along a push: planar prediction, and the hand's own way, item by item."""
    robot, state = robot_of(task.scene.robot), task.start
    index, seen = task.scene.item_index["tray"], 0
    for motion in solution.motions:
        model = effects(task.scene, robot, motion, state)
        rows = model.along(motion.path.waypoints)
        hands = robot.kinematics.hand_poses(rows.q)[:, :3, 3]
        if motion.slide is None:
            assert np.ptp(rows.items[:, index], axis=0).max() < 1e-9 or motion.attachments
        else:
            seen += 1
            slide = motion.slide
            gone = (hands - hands[0]) @ slide.direction
            assert gone[-1] == pytest.approx(slide.way[-1], abs=1e-6)
            for gone_k, row in zip(gone, rows.items[:, index], strict=True):
                pose = [np.interp(gone_k, slide.way, each) for each in slide.poses.T]
                yaw = Rotation.from_quat(row[3:]).as_euler("zyx")[0]
                np.testing.assert_allclose([*row[:2], yaw], pose, atol=1e-6)
        state = state_after(task.scene, robot, motion, state)
    assert seen >= 2
    X = item_pose(task.scene, state, index, np.eye(4))
    mark = task.scene.binding("mark").spot
    assert np.hypot(*(X[:2, 3] - mark.xy)) < 0.01


def test_the_kinematic_run_passes_validation(solution):
    run = galley.execute(solution, "kinematic")
    verdict = galley.judge(run)
    assert verdict.passed
    assert all(fact.holds for fact in verdict.goal_facts)
    assert not run.recoveries


def test_stored_pushes_read_back_push_the_same(solution, tmp_path):
    save_trajectories(tmp_path / "motions.npz", solution.motions)
    for was, now in zip(solution.motions, load_motions(tmp_path / "motions.npz"), strict=True):
        assert (was.slide is None) == (now.slide is None)
        if was.slide is not None:
            assert now.slide.item == was.slide.item
            for name in ("direction", "way", "poses", "goal"):
                np.testing.assert_array_equal(getattr(now.slide, name), getattr(was.slide, name))


def test_where_the_arm_reaches_a_push_is_where_inverse_kinematics_has_a_solution(robot):
    """Random pushes and bases; they differ at the rim only, by the steps of the table."""
    rng, support, top = np.random.default_rng(0), 0.93, 0.06
    table, kinematics = reached(robot, top, support), robot.kinematics
    told, true = [], []
    for number, pusher in enumerate(pushers(robot, top)):
        for _ in range(60):
            base = np.array([*rng.uniform(-1.0, 1.0, 2), rng.uniform(-np.pi, np.pi)])
            shoulder = base[:2] + rotation_z(base[2])[:2, :2] @ kinematics.reach.p_BS[:2]
            ahead, way = base[2] + rng.uniform(-1.0, 1.0), rng.uniform(-np.pi, np.pi)
            far = rng.uniform(0.2, 1.0)
            point = shoulder + far * np.array([np.cos(ahead), np.sin(ahead)])
            X_WT = pusher.hands(point[None], np.array([[np.cos(way), np.sin(way)]]), support)[0]
            redundant = kinematics.redundant_values(32, rng)
            X_WH = X_WT @ transform(None, -robot.p_HT)
            true.append(len(kinematics.configurations(X_WH, base, redundant)) > 0)
            told.append(has_bit(table[reach_cells(way - ahead, far)], number))
    told, true = np.array(told), np.array(true)
    assert 0.2 < true.mean() < 0.8
    assert (told == true).mean() > 0.9
    assert (true & ~told).mean() < 0.05


def test_a_blocker_that_no_hand_takes_is_pushed_aside():
    scene, problem = SCENARIOS / "push_aside_scene.yaml", SCENARIOS / "push_aside.pddl"
    task = galley.load(scene, problem=problem)
    found = galley.solve(task, seed=0)
    names = [action.name for action in found.plan]
    assert names.index("push_aside") < names.index("place")


def test_a_push_to_where_another_item_stands_fails_and_names_it(task, robot):
    scene, index = task.scene, task.scene.item_index["potted_meat_can"]
    X = transform(None, (0.0, -0.68, 0.93 + 0.041))
    state = task.start.with_item(index, Placement(WORLD, frozen(X)))
    mark = replace(scene.binding("mark"), spot=Spot(np.array([0.0, -0.6]), 0.6))
    places = scene.binding("tray"), scene.binding("countertop"), mark, scene.binding("h1")
    with PyBulletWorld(scene, robot) as world:
        context = PlanningContext(scene, robot, world, Settings())
        rng = np.random.default_rng(0)
        found = SKILLS["push"].refine(context, BoundAction(0, "push", places), (), state, rng)
    assert isinstance(found, Failure)
    assert found.kind is FailureKind.BUDGET
    assert "potted_meat_can" in found.objects
    assert "beside it: potted_meat_can" in found.message
    assert found.numbers["left_m"] > 0.01


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_under_physics_the_tray_comes_to_its_mark(task, seed):
    run = galley.execute(galley.solve(task, seed=seed), "physics")
    verdict = galley.judge(run)
    assert verdict.passed, verdict.violations
    assert all(fact.holds for fact in verdict.goal_facts), "within 1 cm and 5 degrees"
    assert any(each.correction for each in run.recoveries)


@pytest.mark.slow
def test_a_tray_that_is_nudged_before_it_is_pushed_is_pushed_from_there(task, solution):
    run = galley.execute(solution, "physics", fault="nudge:tray")
    first, *others = run.recoveries
    assert (first.how, first.correction) == ("resumed", False)
    assert all(each.correction for each in others)
    assert all(fact.holds for fact in galley.judge(run).goal_facts)
