"""Placements and packings, held against point sampling, closed forms and exhaustive searches."""

import itertools
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest
import shapely
import shapely.affinity
from hypothesis import given, settings
from hypothesis import strategies as st

from galley.domain.frames import inverse, rotation_about, transform
from galley.domain.scene.model import Item, Region, Shape, Spot
from galley.domain.state import HAND, Placement, initial_state
from galley.skills.placing.footprints import Footprint, Layer, Upright, gaps, placed
from galley.skills.placing.packing import packable, packing_certificate
from galley.skills.placing.placements import placements
from galley.tests.effort import quick_first


def box_item(size, name="box"):
    shape = Shape("box", np.array(size), np.eye(4), (1, 1, 1, 1))
    return Item(name, name, np.array(size), (shape,), 0.1, 0.8, 0.0, np.eye(4), ())


def can_item(radius, height):
    shape = Shape("cylinder", np.array([radius, height]), np.eye(4), (1, 1, 1, 1))
    size = np.array([2 * radius, 2 * radius, height])
    return Item("can", "can", size, (shape,), 0.1, 0.8, 0.0, np.eye(4), ())


def mesh_item(points):
    shape = Shape("mesh", np.array([1.0]), np.eye(4), (1, 1, 1, 1), points=points)
    return Item("jug", "jug", np.ptp(points, axis=0), (shape,), 0.1, 0.8, 0.0, np.eye(4), ())


def region_of(*sides, kind="surface", height=0.0):
    """One box for each pair of sides, side by side along x."""
    boxes, x = [], 0.0
    for a, b in sides:
        boxes.append([[x, 0.0, 0.7], [x + a, b, 0.7 + height]])
        x += a + 0.05
    return Region("shelf", "board", kind, np.array(boxes))


def footprint(X, size):
    """The corners (4, 2) of an upright box at X, worked out by hand."""
    corners = np.array([[-1, -1], [1, -1], [1, 1], [-1, 1]]) * np.asarray(size)[:2] / 2
    return corners @ X[:2, :2].T + X[:2, 3]


def grid_points(polygon, n=25):
    """Points (n * n, 2) over a rectangle of four corners, its border included."""
    u, v = np.meshgrid(np.linspace(0, 1, n), np.linspace(0, 1, n))
    a, b, d = polygon[0], polygon[1], polygon[3]
    return (a + u.reshape(-1, 1) * (b - a) + v.reshape(-1, 1) * (d - a)).reshape(-1, 2)


def depth_in(points, X, size):
    """How deep (m) points (n, 2) lie in the rectangle of an upright box at X; negative outside."""
    local = (points - X[:2, 3]) @ X[:2, :2]
    return (np.asarray(size)[:2] / 2 - np.abs(local)).min(axis=1)


sizes = st.tuples(*[st.floats(0.03, 0.12)] * 2, st.just(0.1))


@settings(max_examples=40, deadline=None)
@given(st.lists(sizes, min_size=2, max_size=4), st.integers(0, 10**6), st.booleans())
def test_items_put_down_one_after_another_never_overlap_and_stay_inside(things, seed, ahead):
    rng, region, items = np.random.default_rng(seed), region_of((0.35, 0.3)), []
    for size in things:
        items.append(box_item(size))
    taken, poses = [], []
    for k, item in enumerate(items):
        later = items[k + 1 :] if ahead else []
        X = next(placements(item, region, taken, later, None, rng), None)
        if X is None:
            break
        corners = footprint(X, item.size)
        assert (corners >= -1e-9).all()
        assert (corners <= [0.35 + 1e-9, 0.3 + 1e-9]).all()
        assert X[2, 3] == pytest.approx(0.7 + item.size[2] / 2)
        np.testing.assert_allclose(X[:3, 2], [0, 0, 1])
        for other, X_other in poses:
            mine, theirs = grid_points(corners, 15), grid_points(footprint(X_other, other.size), 15)
            assert depth_in(mine, X_other, other.size).max() <= 0.0
            assert depth_in(theirs, X, item.size).max() <= 0.0
            assert np.linalg.norm(mine[:, None] - theirs[None], axis=2).min() >= 0.005 - 1e-9
        poses.append((item, X))
        taken.append(Footprint(corners))


def test_the_gap_of_two_polygons_is_that_of_dense_points_where_an_edge_faces():
    """Apart: never more than the distance of the nearest points; negative where they overlap."""
    rng = np.random.default_rng(3)
    square = Upright.of(box_item((0.2, 0.1, 0.1))).outline
    for _ in range(60):
        poses = np.column_stack([rng.uniform(-0.2, 0.2, (2, 2)), rng.uniform(-3, 3, 2)])
        a, b = placed(square, poses)
        gap = float(gaps(a[None], b[None])[0, 0])
        pa, pb = grid_points(a, 12), grid_points(b, 12)
        nearest = np.linalg.norm(pa[:, None] - pb[None], axis=2).min()
        X = transform(rotation_about((0, 0, 1), poses[1, 2]), [*poses[1, :2], 0])
        inside = depth_in(grid_points(a, 80), X, (0.2, 0.1)).max()
        if inside > 1e-3:
            assert gap < 0
        if gap > 0:
            assert inside <= 1e-9
            assert gap <= nearest + 1e-9


def test_poses_come_from_all_parts_of_the_region_square_and_turned():
    region, item = region_of((0.3, 0.3), (0.2, 0.4)), box_item((0.09, 0.05, 0.1))
    rng = np.random.default_rng(0)
    X = np.array(list(islice(placements(item, region, (), (), None, rng), 400)))
    assert (X[:, 0, 3] < 0.3).any()
    assert (X[:, 0, 3] > 0.35).any()
    square = np.isclose(np.abs(X[:, 0, 0]), 1) | np.isclose(np.abs(X[:, 0, 0]), 0, atol=1e-9)
    assert 0.3 < square.mean() < 0.7


def test_there_is_room_for_fingers_beside_others_where_there_is_room():
    region, item = region_of((0.6, 0.4)), box_item((0.06, 0.06, 0.1))
    other = np.array([[0.25, 0.15], [0.35, 0.15], [0.35, 0.25], [0.25, 0.25]])
    rng = np.random.default_rng(0)
    near = 0
    for X in islice(placements(item, region, [Footprint(other)], (), None, rng), 100):
        corners = footprint(X, item.size)
        mine, theirs = grid_points(corners, 13), grid_points(other, 21)
        gap = np.linalg.norm(mine[:, None] - theirs[None], axis=2).min()
        assert gap > 0.005 - 1e-9
        near += gap < 0.025
    assert near < 15


@pytest.mark.parametrize("seed", range(10))
def test_four_items_that_just_fit_all_find_their_place_one_after_the_other(seed):
    """2 x 2 boxes of 0.097 x 0.05 in 0.215 x 0.12: the first one anywhere leaves no room."""
    region, item = region_of((0.215, 0.12)), box_item((0.097, 0.05, 0.08))
    rng, taken = np.random.default_rng(seed), []
    for k in range(4):
        X = next(placements(item, region, taken, [item] * (3 - k), None, rng))
        taken.append(Footprint(footprint(X, item.size)))


def test_when_nothing_fits_it_ends():
    region, item, rng = region_of((0.2, 0.1)), box_item((0.1, 0.06, 0.1)), np.random.default_rng(0)
    full = Footprint(np.array([[0.05, 0], [0.15, 0], [0.15, 0.1], [0.05, 0.1]]))
    assert list(placements(item, region, [full], (), None, rng)) == []
    low = region_of((0.3, 0.3), kind="volume", height=0.08)
    assert list(placements(item, low, (), (), None, rng)) == []
    assert next(placements(box_item((0.1, 0.06, 0.07)), low, (), (), None, rng)) is not None


def test_a_spot_is_kept_and_its_yaw_where_it_has_one():
    region, item, rng = region_of((0.4, 0.3)), box_item((0.1, 0.06, 0.1)), np.random.default_rng(0)
    exact = list(islice(placements(item, region, (), (), Spot(np.array([0.2, 0.1]), 0.4), rng), 5))
    for X in exact:
        np.testing.assert_allclose(X[:3, 3], [0.2, 0.1, 0.75])
        assert np.arctan2(X[1, 0], X[0, 0]) == pytest.approx(0.4)
    any_yaw = np.array(
        list(islice(placements(item, region, (), (), Spot(np.array([0.2, 0.04]), None), rng), 40))
    )
    np.testing.assert_allclose(any_yaw[:, :2, 3] - [0.2, 0.04], 0, atol=1e-12)
    assert len({round(float(v), 6) for v in any_yaw[:, 0, 0]}) > 5
    for X in any_yaw:
        assert footprint(X, item.size).min() >= -1e-9
    taken = [Footprint(footprint(exact[0], item.size))]
    spot = Spot(np.array([0.22, 0.1]), None)
    assert list(placements(item, region, taken, (), spot, rng)) == []


# -- what stands in a region -----------------------------------------------------------------------


def test_what_stands_in_a_region_covers_its_corners_and_no_more(kitchen):
    state, region = initial_state(kitchen), kitchen.region("burners")
    for index, item in enumerate(kitchen.items):
        X = inverse(kitchen.body_pose(region.body, state.scene_q)) @ item.X_WI
        found = Footprint.from_item(kitchen, state, index, region)
        assert found is not None
        assert found.name == item.name
        expected = footprint(X, item.size)
        assert {tuple(np.round(p, 6)) for p in found.outline} == {
            tuple(np.round(p, 6)) for p in expected
        }
        assert Footprint.from_item(kitchen, state, index, kitchen.region("hitman_top")) is None
        held = state.with_item(index, Placement(HAND, np.eye(4)))
        assert Footprint.from_item(kitchen, held, index, region) is None
        raised = state.with_item(
            index, Placement("world", transform(None, (0, 0, 0.05)) @ item.X_WI)
        )
        assert Footprint.from_item(kitchen, raised, index, region) is None


def test_an_item_in_a_drawer_is_seen_in_the_drawers_frame_however_far_it_is_open(kitchen):
    region = kitchen.region("indigo_drawer_top_inside")
    can, index = kitchen.item("potted_meat_can"), kitchen.item_index["potted_meat_can"]
    X = transform(None, (0.0, 1.2, region.boxes[0, 0, 2] + can.size[2] / 2))
    state = initial_state(kitchen).with_item(index, Placement(region.body, X))
    opened = state.with_scene(np.full(len(kitchen.joints), 0.2))
    for at in (state, opened):
        found = Footprint.from_item(kitchen, at, index, region)
        np.testing.assert_allclose(found.outline.mean(axis=0), [0.0, 1.2], atol=1e-9)


def test_the_outline_of_a_can_encloses_its_circle_closely_and_the_proof_stays_within():
    can = Upright.of(can_item(0.04, 0.1))
    angle = np.linspace(0, 2 * np.pi, 200)
    directions = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    reach = (directions @ can.outline.T).max(axis=1)
    assert reach.min() >= 0.04 - 1e-9
    assert reach.max() < 0.0415
    (layer,) = can.layers
    assert np.hypot(*layer.polygon.T).max() <= 0.04 + 1e-9
    assert (layer.low, layer.high) == (pytest.approx(0), pytest.approx(0.1))


# -- packing ---------------------------------------------------------------------------------------


def two_fit(first, second, sides, step=np.pi / 60):
    """Exhaustive: whether two rectangles lie apart in a box, over a grid of both yaws.

    At given yaws their centres can differ by anything in a box about 0; they can be apart exactly
    if a corner of it lies outside the Minkowski sum of both, which is convex.
    """
    yaws = np.arange(0, np.pi, step)
    c, s = np.cos(yaws), np.sin(yaws)
    axes = np.stack([np.stack([c, s], axis=1), np.stack([-s, c], axis=1)], axis=1)  # (yaw, axis, 2)
    halves = [axes * np.asarray(size)[:, None] / 2 for size in (first, second)]
    extents = [np.abs(h).sum(axis=1) for h in halves]
    inside = [(2 * e <= np.asarray(sides) + 1e-9).all(axis=1) for e in extents]
    for i, j in ((0, 1), (1, 0)):  # along the axes of each
        room = np.asarray(sides) - extents[i][:, None] - extents[j][None]
        allowed = np.einsum("pad,pqd->paq", np.abs(axes), room)
        own = np.abs(np.einsum("pad,pbd->pab", axes, halves[i])).sum(axis=2)
        other = np.abs(np.einsum("pad,qbd->paqb", axes, halves[j])).sum(axis=3)
        apart = (allowed >= own[:, :, None] + other - 1e-9).any(axis=1)
        if (apart & inside[i][:, None] & inside[j][None]).any():
            return True
    return False


@pytest.mark.parametrize("seed", range(40))
def test_two_rectangles_are_refused_only_where_an_exhaustive_search_finds_nothing(seed):
    rng = np.random.default_rng(seed)
    first, second = rng.uniform(0.05, 0.15, (2, 2))
    sides = rng.uniform(0.1, 0.25, 2)
    items = [box_item((*each, 0.1)) for each in (first, second)]
    answer = packable(items, region_of(sides), (), rng)
    possible = two_fit(first, second, sides)
    if answer is False:
        assert not possible
        assert packing_certificate(items, region_of(sides))["kind"] == "packing"
    # With 10 % more room than needed an arrangement is found.
    if two_fit(first * 1.1 + 0.01, second * 1.1 + 0.01, sides, np.pi / 2):
        assert answer is True
    # Where both would have to be 3 % smaller, or more, the proof is found too.
    if not two_fit(first * 0.97, second * 0.97, sides):
        assert answer is False


def test_two_boxes_that_exclude_each_other_fit_into_two_parts_but_three_do_not():
    squares, parts = [box_item((0.06, 0.06, 0.1))] * 3, region_of((0.1, 0.1), (0.1, 0.1))
    rng = np.random.default_rng(0)
    assert packable(squares[:2], parts, (), rng) is True
    assert packable(squares, parts, (), rng) is False


@pytest.mark.parametrize(("count", "width"), [(3, 0.068), (4, 0.08), (5, 0.072)])
def test_cans_in_a_row_take_the_length_of_a_zigzag(count, width):
    """Circles that touch each other and, in turns, both sides: a closed form."""
    cans, diameter = [can_item(0.033, 0.1)] * count, 0.066
    length = diameter + (count - 1) * np.sqrt(diameter**2 - (width - diameter) ** 2)
    assert count * np.pi * 0.033**2 < 0.97 * length * width, "areas prove nothing"
    for sides in ((width, 0.95 * length), (0.95 * length, width)):
        proof = packing_certificate(cans, region_of(sides))
        (group,) = proof["not_together"]
        assert group["things"] == list(range(count))
        assert 0 < group["cells"] < 2000
    assert packing_certificate(cans, region_of((width, length + 1e-9))) is None


@pytest.mark.parametrize("seed", quick_first(3, range(20)))
def test_boxes_that_lie_in_a_narrow_place_are_never_proven_not_to_fit(seed):
    """Turned boxes laid at random, one beside the other, and the least box around them."""
    rng = np.random.default_rng(seed)
    count = int(rng.integers(3, 5))
    items = [box_item((*rng.uniform(0.03, 0.1, 2), 0.1)) for _ in range(count)]
    end, polygons = 0.0, []
    for item in items:
        yaw = rng.uniform(-np.pi, np.pi)
        c, s = np.cos(yaw), np.sin(yaw)
        turned = Upright.of(item).outline @ np.array([[c, s], [-s, c]])
        turned = turned - turned.min(axis=0) + [0.0, rng.uniform(0.0, 0.02)]
        shape = shapely.Polygon(turned + np.array([end, 0.0]))
        while polygons and min(map(shape.distance, polygons)) > 1e-4:  # slid up to those before
            shape = shapely.affinity.translate(shape, -1e-4)
        polygons.append(shape)
        end = shape.bounds[2]
    assert all(a.intersection(b).area < 1e-12 for a, b in itertools.combinations(polygons, 2))
    low = min(p.bounds[0] for p in polygons), min(p.bounds[1] for p in polygons)
    high = max(p.bounds[2] for p in polygons), max(p.bounds[3] for p in polygons)
    sides = np.subtract(high, low)
    assert packing_certificate(items, region_of(sides)) is None
    assert packing_certificate(items, region_of(sides[::-1])) is None


def test_areas_count_what_is_taken_and_cans_count_as_circles():
    region, rng = region_of((0.2, 0.1)), np.random.default_rng(0)
    taken = Footprint(
        np.array([[0, 0], [0.12, 0], [0.12, 0.1], [0, 0.1]]),
        layers=Upright.of(box_item((0.24, 0.2, 0.1))).layers,
    )
    thing = [box_item((0.09, 0.09, 0.1))]
    assert packable(thing, region, (), rng) is True
    assert packable(thing, region, [taken], rng) is False
    proof = packing_certificate(thing, region, [taken])
    assert proof["parts"][0]["taken_m2"] == pytest.approx(0.12 * 0.1)
    # A thin post in the middle leaves 45 mm to each side, and area enough for 60 x 60 mm.
    post = Layer(
        0.0, 0.2, np.array([[0.045, 0.045], [0.055, 0.045], [0.055, 0.055], [0.045, 0.055]])
    )
    posts = [Footprint(post.polygon, layers=(post,))]
    proof = packing_certificate([box_item((0.06, 0.06, 0.1))], region_of((0.1, 0.1)), posts)
    assert proof["not_together"][0]["things"] == [0]
    assert packing_certificate([box_item((0.04, 0.06, 0.1))], region_of((0.1, 0.1)), posts) is None
    # Two cans side by side on the diagonal: their squares would overlap, they do not.
    cans = [can_item(0.05, 0.1)] * 2
    diagonal = 0.1 + 0.1 / np.sqrt(2) + 0.012
    assert packing_certificate(cans, region_of((diagonal, diagonal))) is None
    assert packing_certificate(cans, region_of((0.165, 0.165)))["not_together"]


def test_a_thing_too_high_or_too_long_fits_no_part_and_the_diagonal_counts():
    rng = np.random.default_rng(0)
    low = region_of((0.3, 0.3), kind="volume", height=0.08)
    assert packable([box_item((0.1, 0.1, 0.09))], low, (), rng) is False
    assert packing_certificate([box_item((0.1, 0.1, 0.09))], low)["things"][0]["fits_parts"] == []
    # 0.12 x 0.01 in a square of 0.1 lies across: (0.12 + 0.01) / sqrt 2 = 0.092.
    stick, square = box_item((0.12, 0.01, 0.1)), region_of((0.1, 0.1))
    assert packing_certificate([stick], square) is None
    assert packing_certificate([box_item((0.14, 0.01, 0.1))], square) is not None
    assert next(placements(stick, square, (), (), None, rng), None) is not None


def test_an_overhang_is_no_proof_as_heights_differ():
    """Plates on a foot each, at different heights: their outlines may overlap."""
    plate = replace(box_item((0.06, 0.06, 0.02)).shapes[0], X_BS=transform(None, (0, 0, 0.04)))
    foot = Shape("box", np.array([0.01, 0.01, 0.1]), np.eye(4), (1, 1, 1, 1))
    low = Item("l", "l", np.array([0.06, 0.06, 0.1]), (foot, plate), 1, 1, 0, np.eye(4), ())
    high = replace(low, shapes=(foot, replace(plate, X_BS=transform(None, (0, 0, -0.02)))))
    region = region_of((0.11, 0.11))
    assert packing_certificate([low, low], region) is not None
    assert packing_certificate([low, high], region) is None


def test_the_outline_of_a_mesh_keeps_near_the_mesh_and_has_few_sides():
    """Of an ellipsoid turned by 45 degrees, whose bounding box is wider by half."""
    rng = np.random.default_rng(0)
    points = rng.normal(size=(4000, 3))
    points *= np.array([0.08, 0.03, 0.1]) / np.linalg.norm(points, axis=1, keepdims=True)
    points @= rotation_about((0, 0, 1), np.pi / 4)
    points -= 0.5 * (points.min(axis=0) + points.max(axis=0))
    outline = shapely.Polygon(Upright.of(mesh_item(points)).outline)
    seen = shapely.MultiPoint(points[:, :2]).convex_hull
    assert len(outline.exterior.coords) <= 13
    assert outline.buffer(1e-9).contains(seen)
    assert outline.area < 1.15 * seen.area
    assert shapely.box(*seen.bounds).area > 1.5 * seen.area
