"""Pictures of tables: what is covered, where, and what is above what."""

from dataclasses import replace

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from galley.planar.pushing import picture_kernel
from galley.planar.pushing.arm import PushArm
from galley.planar.pushing.config import PushConfig
from galley.planar.pushing.picture import (
    BODY,
    BODY_LINE,
    GOAL,
    JOINT,
    PUSHER,
    PUSHER_RIM,
    TABLE,
    TARGET,
    Painter,
    table_view,
    view_of,
)
from galley.planar.pushing.shapes import SHAPES, shape
from galley.planar.pushing.simulation import PushSimulation

BLACK = np.zeros(3, dtype=np.uint8)
HALVES = np.arange(20) + 0.5


def shares(points, width=12, height=9):
    """What ``fill`` covers of each pixel, 0 to 1, within 1/510."""
    picture = np.full((height, width, 3), 255, dtype=np.uint8)
    picture_kernel.fill(picture, np.array(points, dtype=float), BLACK, 1.0)
    return 1.0 - picture[..., 0] / 255.0


def expected(points, width=12, height=9):
    """The same by shapely: the intersection of the polygon with each pixel."""
    polygon = shapely.Polygon(points)
    return np.array(
        [
            [polygon.intersection(shapely.box(x, y, x + 1, y + 1)).area for x in range(width)]
            for y in range(height)
        ]
    )


COMB = [(1, 1), (9.5, 1.5), (9, 7), (7, 2.25), (6, 8), (4.5, 2), (2, 7.5), (1.25, 7)]
POLYGONS = {
    "in one pixel": [(3.2, 4.1), (3.9, 4.5), (3.4, 4.8)],
    "concave": COMB,
    "clockwise": COMB[::-1],
    "over the left and upper edge": [(x - 5.3, y - 3.1) for x, y in COMB],
    "over the right and lower edge": [(x + 5.3, y + 3.1) for x, y in COMB],
    "around the picture": [(-5, -7), (30, -6), (31, 22), (-4, 20)],
    "below it": [(2, 9), (5, 9), (4, 14)],
}


@pytest.mark.parametrize("name", POLYGONS)
def test_each_pixel_is_mixed_by_the_share_that_is_covered(name):
    points = POLYGONS[name]
    assert_allclose(shares(points), expected(points), rtol=0, atol=1 / 509)


@given(st.lists(st.tuples(st.floats(-6, 18), st.floats(-6, 15)), min_size=3, max_size=9))
def test_any_convex_polygon_is_covered_exactly(points):
    hull = shapely.MultiPoint(points).convex_hull
    if isinstance(hull, shapely.Polygon):
        corners = list(hull.exterior.coords)[:-1]
        assert_allclose(shares(corners), expected(corners), rtol=0, atol=1 / 509)


def test_opacity_mixes():
    picture = np.full((2, 2, 3), 200, dtype=np.uint8)
    everything = np.array([(0.0, 0.0), (2.0, 0.0), (2.0, 2.0), (0.0, 2.0)])
    picture_kernel.fill(picture, everything, np.array([100, 200, 255], dtype=np.uint8), 0.25)
    assert_array_equal(picture, np.broadcast_to([175, 200, 214], (2, 2, 3)))


def test_strokes_are_as_wide_as_asked_and_close_on_demand():
    square = np.array([(2.5, 2.5), (8.5, 2.5), (8.5, 6.5), (2.5, 6.5)])
    for segments, edges in ((4, [0, 1, 2, 3]), (2, [0, 1])):
        picture = np.full((9, 12, 3), 255, dtype=np.uint8)
        picture_kernel.stroke(picture, square, segments, 1.0, BLACK, 1.0)
        ends = [(square[k], square[(k + 1) % 4]) for k in edges]
        lines = shapely.union_all([shapely.LineString(e).buffer(0.5, cap_style=3) for e in ends])
        covered = [[lines.contains(shapely.Point(x, y)) for x in HALVES[:12]] for y in HALVES[:9]]
        assert_array_equal(picture[..., 0] == 0, covered)
        assert (picture[..., 0] == 255).sum() == 12 * 9 - np.sum(covered)


@pytest.mark.parametrize("name", SHAPES)
def test_body_and_pusher_are_where_the_state_says(name):
    """Area and centroid of what is painted over an empty table."""
    small = PushConfig(shape=shape(name))
    config = replace(small, width=1.024, goal_x=0.8)  # out of the picture
    sim = PushSimulation(config)
    painter = Painter(sim, table_view(small, 200))
    poses = PushSimulation(small).random_states(np.random.default_rng(3), 8)
    away = np.full(8, -1.0)
    bodies = sim.states(poses.body.T, np.stack([away, away], axis=1))
    pushers = sim.states(np.stack([away, away, away], axis=1), poses.pusher.T)
    rows, columns = np.indices((200, 200)) + 0.5
    for state, color, area in (
        (bodies, BODY, sim.body.area),
        (pushers, PUSHER, np.pi * config.pusher_radius**2),
    ):
        places = (state.body if color is BODY else state.pusher)[:2].T
        for picture, place in zip(painter.observe(state), places, strict=True):
            ink = (255.0 - picture[..., 0]) / (255.0 - color[0])
            assert ink.sum() / painter.view.scale**2 == pytest.approx(area, rel=0.01)
            centre = np.array([(ink * columns).sum(), (ink * rows).sum()]) / ink.sum()
            assert_allclose(painter.view.place(centre), place, rtol=0, atol=5e-5)
    assert_array_equal(painter.background, np.broadcast_to(TABLE, (200, 200, 3)))


def test_the_goal_lies_below_the_body_and_the_pusher_on_top():
    sim = PushSimulation(PushConfig())
    x, y, theta = sim.config.goal
    state = sim.states([(x, y, theta), (0.1, 0.4, 0.0)], [(x, y), (0.45, 0.1)])
    covered, free = Painter(sim).observe(state)
    near = lambda picture, color: (np.abs(picture.astype(int) - color).max(axis=2) <= 3).sum()  # noqa: E731
    assert near(covered, GOAL) == 0
    assert near(free, GOAL) > 100
    middle = tuple(np.floor(Painter(sim).view.pixels((x, y))).astype(int)[::-1])
    assert tuple(covered[middle]) == tuple(PUSHER)
    assert tuple(free[middle]) == tuple(GOAL)


def test_a_drawing_shows_goal_line_arm_and_target():
    sim = PushSimulation(PushConfig())
    arm = PushArm(sim.config.arm)
    view = view_of((-0.05, -0.15), (0.56, 0.56), 640, 720)
    painter = Painter(sim, view)
    state = sim.states((0.15, 0.4, 0.3), (0.4, 0.35))
    angles, _ = arm.ik(np.zeros(5), (0.4, 0.35))
    values = state.values[:, 0]
    bare, full = painter.draw(values), painter.draw(values, angles, (0.3, 0.2))
    at = lambda picture, p: tuple(picture[tuple(np.floor(view.pixels(p)).astype(int)[::-1])])  # noqa: E731
    for point in (arm.points(angles)[-1], arm.points(angles)[2] + (0.007, 0.0)):
        assert at(full, point) == tuple(JOINT)
        assert at(bare, point) != tuple(JOINT)
    assert at(full, (0.3, 0.2)) == tuple(TARGET)
    assert at(full, (0.5, 0.5)) == tuple(TABLE)
    assert at(bare, (0.419, 0.35)) == tuple(PUSHER_RIM)
    middle = sim.body.moved((0.15, 0.4, 0.3)).vertices[:2].mean(axis=0)
    assert_allclose(at(bare, middle), BODY_LINE, atol=12)
    assert_array_equal(painter.draw(values), bare)  # it paints on a copy


def test_views_show_all_of_the_table_in_the_middle():
    config = PushConfig(width=0.8, height=0.4, goal_x=0.4, goal_y=0.2)
    view = table_view(config, 96)
    assert_allclose(view.pixels([(0.0, 0.0), (0.8, 0.4)]), [(0, 24), (96, 72)], atol=1e-9)
    assert_allclose(view.place(view.pixels((0.3, 0.1))), (0.3, 0.1))
    picture = Painter(PushSimulation(config)).background
    assert tuple(picture[48, 5]) == tuple(TABLE)
    assert tuple(picture[10, 48]) != tuple(TABLE)  # above the table
