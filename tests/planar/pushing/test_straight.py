"""Straight pushes: what they do in closed form and in PyBullet, and plans of them."""

from math import radians

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from galley.bench.pushing import slides
from galley.planar.geometry.polygon import SimplePolygon
from galley.planar.geometry.support import characteristic_length
from galley.planar.pushing.straight import Slider, plan_pushes, predict_push, union

TRAY = SimplePolygon(np.array([(-0.15, -0.11), (0.15, -0.11), (0.15, 0.11), (-0.15, 0.11)]))
TURNS = np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False)
CAN = Slider(SimplePolygon(0.04 * np.column_stack([np.cos(TURNS), np.sin(TURNS)])))
R = 0.012  # m, of the pusher


@pytest.fixture(scope="module")
def sliders():
    return {name: slides.slider(name) for name in slides.ITEMS}


@pytest.mark.parametrize(("centre", "y"), [(None, 0.0), (np.array([0.04, 0.03]), 0.03)])
def test_a_push_through_the_centre_of_friction_only_translates(centre, y):
    slider = Slider(TRAY, centre=centre)
    push = predict_push(slider, np.zeros(3), (-0.15 - R - 0.01, y), (-0.05 - R, y))
    assert_allclose(push.poses[-1], [0.1, 0.0, 0.0], atol=1e-3)  # 0.11 m less the way there


@pytest.mark.parametrize("y", [-0.09, -0.05, 0.03, 0.08])
@pytest.mark.parametrize("angle", [-0.3, 0.0, 0.2])
@pytest.mark.parametrize("friction", [0.1, 1.0])
def test_the_twist_is_that_of_the_motion_cone(y, angle, friction):
    """Lynch, Maekawa and Tanie (1992), at a contact (x, y) from the centre of friction."""
    slider = Slider(TRAY, contact_friction=friction, pusher_radius=R)
    c2, u = characteristic_length(TRAY) ** 2, np.array([np.cos(angle), np.sin(angle)])
    start = np.array([-0.15 - R, y]) - 0.002 * u
    found = predict_push(slider, np.zeros(3), start, start + 0.02 * u).poses
    now, later = found[-3], found[-2]
    moved = later - now
    centre = start + 0.014 * u  # of the pusher, midway
    at, yaw = 0.5 * (now + later)[:2], 0.5 * (now + later)[2]
    turn = np.array([[np.cos(yaw), -np.sin(yaw)], [np.sin(yaw), np.cos(yaw)]])
    x, y = (centre - at) @ turn + [R, 0.0]
    v, along = 0.004 * u @ turn, moved[:2] @ turn

    def twist(f):  # normal to the limit surface
        return np.array([f[0], f[1], (x * f[1] - y * f[0]) / c2])

    def at_contact(t):
        return np.array([t[0] - t[2] * y, t[1] + t[2] * x])

    stick = np.linalg.solve(np.column_stack([at_contact(twist(f)) for f in np.eye(2)]), v)
    if abs(stick[1]) <= friction * stick[0]:
        wanted = twist(stick)
    else:  # the force is at the cone's edge, and the normal velocities are alike
        wanted = twist(np.array([1.0, friction * np.sign(stick[1])]))
        wanted *= v[0] / at_contact(wanted)[0]
    arm = np.array([1.0, 1.0, np.sqrt(c2)])
    assert_allclose(np.array([*along, moved[2]]) * arm, wanted * arm, atol=0.03 * 0.004)


@pytest.mark.parametrize("name", slides.ITEMS)
def test_plans_bring_bodies_to_their_goals_and_are_what_the_model_predicts(sliders, name):
    for seed in range(4):
        draw = np.random.default_rng(seed)
        start, goal = (draw.uniform((-0.15, -0.15, -np.pi), (0.15, 0.15, np.pi)) for _ in range(2))
        plan, again = (
            plan_pushes(sliders[name], start, goal, np.random.default_rng(seed)) for _ in range(2)
        )
        assert 0 < len(plan) <= 5
        assert slides.there(plan[-1].poses[-1], goal)
        pose = start
        for push, same in zip(plan, again, strict=True):
            assert_array_equal(push.poses, same.poses)
            exact = predict_push(sliders[name], pose, push.start, push.end)
            assert_allclose(push.poses, exact.poses, atol=1e-6)
            assert_allclose(push.spread, exact.spread, atol=1e-6)
            pose = push.poses[-1]


def test_nothing_is_pushed_that_is_there(sliders):
    pose, rng = np.array([0.3, 0.1, 3.1]), np.random.default_rng(0)
    assert plan_pushes(sliders["box"], pose, pose + np.array([0.005, 0.0, -0.05]), rng) == ()
    assert plan_pushes(CAN, pose, (0.3, 0.1, 1.0), rng, tolerance=(0.01, np.pi)) == ()
    (once,) = plan_pushes(CAN, pose, (0.2, 0.15, 1.0), rng, tolerance=(0.01, np.pi))
    assert_allclose(once.poses[-1, :2], [0.2, 0.15], atol=0.01)


def test_body_and_hand_keep_to_their_room(sliders):
    start, goal = np.array([0.0, 0.0, 0.3]), np.array([0.15, 0.2, -1.2])

    def clear(poses):
        return poses[:, 0] < 0.2

    def reachable(starts, ends, picks=None):
        assert starts.shape == ends.shape
        assert picks is None or len(picks) == len(starts)
        return (np.minimum(starts, ends)[:, 1] > -0.08) & (np.abs(ends[:, 0]) < 0.25)

    free = plan_pushes(sliders["tray"], start, goal, np.random.default_rng(0))
    assert any(not reachable(p.start[None], p.start[None])[0] for p in free)
    plan = plan_pushes(
        sliders["tray"], start, goal, np.random.default_rng(0), clear=clear, reachable=reachable
    )
    assert slides.there(plan[-1].poses[-1], goal)
    for push in plan:
        assert clear(push.poses).all()
        assert reachable(push.start[None], push.end[None])[0]
    nowhere = {"reachable": lambda starts, *others: np.zeros(len(starts), dtype=bool)}
    assert plan_pushes(sliders["tray"], start, goal, np.random.default_rng(0), **nowhere) == ()


@pytest.mark.parametrize(
    ("name", "mm", "degrees"), [("tray", 4, 2.5), ("T board", 7, 4), ("box", 9, 8)]
)
def test_a_slide_of_10_cm_is_as_predicted_in_pybullet(sliders, name, mm, degrees):
    """Medians of pushes that the model trusts. Pressure is uneven in PyBullet, so not exactly."""
    grid, plane, found = sliders[name].pushes, slides.Plane(name), []
    trusted = np.nonzero(grid.spread[:, 25, 0] < 0.005)[0]
    for k in np.random.default_rng(0).choice(trusted, 30, replace=False):
        start, end = grid.starts[k], grid.starts[k] + 0.1 * grid.along[k]
        pose = np.zeros(3)
        push = predict_push(sliders[name], pose, start, end)
        plane.put(pose)
        found.append(slides.off(push.poses[-1], plane.push(push)))
    plane.close()
    assert (np.median(found, axis=0) < (1e-3 * mm, radians(degrees))).all()


@pytest.mark.parametrize("name", slides.ITEMS)
def test_planned_and_looked_at_again_pushes_reach_the_goal_in_pybullet(sliders, name):
    plane = slides.Plane(name)
    for seed in range(100, 103):
        start, goal = slides.drawn(seed)
        run = slides.episode(plane, sliders[name], start, goal, seed)
        assert 0 < len(run) <= slides.MOST
        assert slides.there(plane.pose(), goal)
    plane.close()


def test_outlines_of_parts_are_one_piece():
    parts = slides.corners([(0.0, 0.0, 0.2, 0.1), (0.1, 0.0, 0.1, 0.3)])
    assert union(parts).area == pytest.approx(0.02 + 0.03 - 0.005)
    with pytest.raises(ValueError, match="must be one piece, got a MultiPolygon"):
        union([parts[0], parts[0] + 1.0])


CASES = [(0.0, 0.1, "is 0.122 m in the body"), (-0.3, -0.3, "of 0 m:"), (-0.3, 0.1, "of 0.4 m:")]


@pytest.mark.parametrize(("start", "end", "why"), CASES)
def test_a_push_that_cannot_be_is_refused(start, end, why):
    with pytest.raises(ValueError, match=why):
        predict_push(Slider(TRAY), np.zeros(3), (start, 0.0), (end, 0.0))
