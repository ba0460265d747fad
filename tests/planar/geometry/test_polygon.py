"""Polygons against shapely and closed forms."""

import re

import numpy as np
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from galley.compiled.build import POLYGONS, ensure
from galley.planar.geometry.polygon import SimplePolygon, room, signed_distance
from galley.planar.geometry.support import characteristic_length
from galley.tests.planar.geometry.outlines import T, outlines, polygon_of


def shared(a, b, pose=(0.0, 0.0, 0.0)):
    """The area (m^2) that a at a pose shares with b, in compiled code."""
    ensure(POLYGONS)
    from galley.planar.geometry.polygon_kernel import overlap

    return overlap(*a.table, *pose, *b.table, room(a, b))


def test_the_t_of_push_t_has_the_true_mass_properties():
    found = SimplePolygon(T).mass_properties(1.0)
    assert found.area == pytest.approx(6300.0)
    assert_allclose(found.centroid, [0.0, 45.0 * 2700 / 6300 + 30 * 2700 / 6300 + 15 * 3600 / 6300])
    parts = [(3600, 15.0, 120**2 + 30**2), (2700, 75.0, 30**2 + 90**2)]
    about = [a / 6300 * (s / 12 + (y - found.centroid[1]) ** 2) for a, y, s in parts]
    assert found.inertia == pytest.approx(sum(about))


def test_a_regular_polygon_tends_to_the_disc():
    angles = 2 * np.pi * np.arange(400) / 400
    disc = SimplePolygon(0.3 * np.stack([np.cos(angles), np.sin(angles)], axis=1))
    assert disc.mass_properties(2.0).inertia == pytest.approx(0.5 * 2.0 * 0.3**2, rel=1e-3)
    assert characteristic_length(disc) == pytest.approx(2.0 / 3.0 * 0.3, rel=1e-3)


@given(outlines(), st.floats(-100, 100), st.floats(-100, 100))
def test_inertia_is_about_the_centroid_wherever_the_origin_is(points, x, y):
    if (polygon := polygon_of(points)) is None:
        return
    near, far = (
        SimplePolygon(polygon.vertices + by).mass_properties(3.0) for by in ((0, 0), (x, y))
    )
    assert_allclose(far.centroid, near.centroid + np.array([x, y]), atol=1e-9)
    assert_allclose(far.inertia, near.inertia, rtol=1e-8)


@given(outlines())
def test_area_and_centroid_are_shapelys(points):
    if (polygon := polygon_of(points)) is None:
        return
    theirs, ours = shapely.Polygon(points), polygon.mass_properties(1.0)
    assert_allclose(ours.area, theirs.area, rtol=1e-11)
    assert_allclose(ours.centroid, [theirs.centroid.x, theirs.centroid.y], atol=1e-9)
    assert polygon.area > 0.0


@given(outlines())
def test_parts_are_convex_and_tile_the_polygon(points):
    if (polygon := polygon_of(points)) is None:
        return
    parts = [shapely.Polygon(part) for part in polygon.parts]
    for part in polygon.parts:
        edge = np.roll(part, -1, axis=0) - part
        cross = edge[:, 0] * np.roll(edge, -1, axis=0)[:, 1]
        cross -= edge[:, 1] * np.roll(edge, -1, axis=0)[:, 0]
        assert (cross >= -1e-12).all()
    assert_allclose(sum(part.area for part in parts), polygon.area, rtol=1e-11)
    assert_allclose(shapely.unary_union(parts).area, polygon.area, rtol=1e-9)


@given(outlines(), outlines(), st.floats(-2, 2), st.floats(-2, 2), st.floats(-4, 4))
def test_area_of_intersection_is_shapelys(first, second, x, y, theta):
    a, b = polygon_of(first), polygon_of(second)
    if a is None or b is None:
        return
    moved = a.moved((x, y, theta))
    theirs = shapely.Polygon(moved.vertices).intersection(shapely.Polygon(second)).area
    assert_allclose(shared(a, b, (x, y, theta)), theirs, atol=1e-10)


def test_what_only_touches_shares_no_area():
    square = SimplePolygon([(0, 0), (1, 0), (1, 1), (0, 1)])
    assert shared(square, square) == pytest.approx(1.0, rel=1e-15)
    assert shared(square, square, (1.0, 0.0, 0.0)) == 0.0
    assert shared(square, square, (1.0, 1.0, 0.0)) == 0.0
    assert shared(square, square, (3.0, 0.0, 0.0)) == 0.0


@given(outlines(), st.lists(st.tuples(st.floats(-5, 5), st.floats(-5, 5)), min_size=1))
def test_distances_are_shapelys_and_the_sign_is_negative_inside(points, asked):
    if (polygon := polygon_of(points)) is None:
        return
    asked = np.array(asked)
    distance, nearest, normal = signed_distance(polygon, asked)
    theirs = shapely.Polygon(points)
    for p, d, q, n in zip(asked, distance, nearest, normal, strict=True):
        point = shapely.Point(p)
        size = theirs.exterior.distance(point)
        assert_allclose(abs(d), size, atol=1e-10)
        if size > 1e-9:
            assert (d < 0.0) == theirs.contains(point)
        assert_allclose(np.hypot(*n), 1.0)
        assert_allclose(q + d * n, p, atol=1e-9)  # out along the normal by the near side


@pytest.mark.parametrize(
    ("vertices", "named"),
    [
        ([(0, 0), (1, 1), (1, 0), (0, 1)], "on itself: Self-intersection[0.5 0.5]"),
        ([(0, 0), (1, 0), (1, 0), (0, 1)], "vertex 2 equals vertex 1"),
        ([(0, 0), (2, 0), (1, 0), (1, 1)], "folds back on itself"),
        ([(0, 0), (1, np.nan), (2, 0)], "vertex 1 = (1, nan) is not finite"),
        ([(0, 0), (1, 0)], "n >= 3"),
        ([(0, 0), (1, 0), (0.5, 1e-13)], "no area"),
    ],
)
def test_what_is_no_simple_polygon_is_refused_by_name(vertices, named):
    with pytest.raises(ValueError, match=re.escape(named)):
        SimplePolygon(np.array(vertices))
