"""Distances from points to solids, and bounds between solids, against Drake and brute force."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydrake.geometry import GeometryInstance, ProximityProperties, SceneGraph
from scipy.optimize import nnls

from galley.compiled.jit import bare_kernel
from galley.compiled.lanes import LANES, load, store
from galley.domain.frames import transform
from galley.tests.worlds.kernel_support import (
    KINDS,
    DrakePair,
    drake_shape,
    random_rotation,
    random_solid,
)
from galley.worlds.drake_world import rigid_transform
from galley.worlds.kernel.gap import gap
from galley.worlds.kernel.shapes import signed, squared
from galley.worlds.solids import (
    box,
    convex,
    cylinder,
    extent,
    half_extents,
    row12,
    sphere,
    table,
)

NEAR = 3e-6  # m, what float32 loses in a metre or so


@bare_kernel
def squared_of(solids, pose, x, y, z, out):
    for first in range(0, len(out), LANES):
        found = squared(solids, pose, 0, load(x, first), load(y, first), load(z, first))
        store(out, first, found)


@bare_kernel
def signed_of(solids, points, out):
    for k in range(len(out)):
        out[k] = signed(solids, 0, points[k, 0], points[k, 1], points[k, 2])


@bare_kernel
def gaps(A, X, B, Y, enough, out):
    for k in range(len(out)):
        out[k] = gap(A, 0, X[k], B, 0, Y[k], enough)


def distances_in_lanes(solid, points):
    """Distance (n,) of points in the world (n, 3) by ``squared``; n is a multiple of 16."""
    x, y, z = (np.ascontiguousarray(points[:, k], dtype=np.float32) for k in range(3))
    out = np.empty(len(points), dtype=np.float32)
    pose = row12(solid.X)[None].astype(np.float32)
    squared_of(table([solid]), pose, x, y, z, out)
    return np.sqrt(out.astype(np.float64))


def signed_distances(solid, points):
    """Signed distance (n,) of points in the world (n, 3) by ``signed``."""
    local = (points - solid.X[:3, 3]) @ solid.X[:3, :3]
    out = np.empty(len(points))
    signed_of(table([solid]), np.ascontiguousarray(local), out)
    return out


def in_drake(solid, points):
    graph = SceneGraph()
    source = graph.RegisterSource("solids")
    instance = GeometryInstance(rigid_transform(solid.X), drake_shape(solid), "solid")
    instance.set_proximity_properties(ProximityProperties())
    graph.RegisterAnchoredGeometry(source, instance)
    query = graph.get_query_output_port().Eval(graph.CreateDefaultContext())
    return np.array([query.ComputeSignedDistanceToPoint(p)[0].distance for p in points])


def around(solid, rng, count=320):
    """Points within half a metre of a solid's middle, half of them nearer, some of them inside."""
    centre, _ = extent(solid)
    points = rng.uniform(-0.5, 0.5, (count, 3))
    points[::2] *= 0.3
    low, high = half_extents(solid, np.eye(3))
    points[::4] = rng.uniform(low, high, (len(points[::4]), 3)) - centre
    return (points + centre) @ solid.X[:3, :3].T + solid.X[:3, 3]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("kind", ["box", "cylinder", "sphere"])
def test_points_are_as_far_from_plain_shapes_as_in_drake(kind, seed):
    rng = np.random.default_rng(seed)
    solid = random_solid(kind, rng, rng.uniform(-1, 1, 3), (0.002, 0.5), turned=seed > 2)
    points = around(solid, rng)
    exact = in_drake(solid, points)
    assert (exact < 0.0).any()
    np.testing.assert_allclose(signed_distances(solid, points), exact, atol=NEAR)
    np.testing.assert_allclose(distances_in_lanes(solid, points), np.maximum(exact, 0.0), atol=NEAR)


@pytest.mark.parametrize("seed", range(6))
def test_points_are_never_farther_from_hulls_than_they_are(seed):
    """Exact inside, and outside where a face is nearest. The oracle solves for that point."""
    rng = np.random.default_rng(seed)
    solid = random_solid("hull", rng, rng.uniform(-1, 1, 3), (0.05, 0.4))
    points = around(solid, rng, 96)
    corners = solid.hull.vertices @ solid.X[:3, :3].T + solid.X[:3, 3]
    A = np.vstack([corners.T, np.full(len(corners), 1e3)])  # weights that sum to one
    exact = np.array([nnls(A, np.array([*p, 1e3]))[1] for p in points])
    found, lanes = signed_distances(solid, points), distances_in_lanes(solid, points)
    assert (found <= exact + NEAR).all()
    np.testing.assert_allclose(lanes, np.maximum(found, 0.0), atol=NEAR)
    outside = exact > 1e-5
    assert (found[outside] > 0.0).all()
    assert (found[~outside] < 1e-5).all()
    facing = np.abs(found - exact) < 1e-5
    assert facing[outside].mean() > 0.1
    # Inside: the depth is the distance to the nearest face's plane, whichever that is.
    local = (points - solid.X[:3, 3]) @ solid.X[:3, :3]
    depth = (solid.hull.offsets - local @ solid.hull.normals.T).min(axis=1)
    np.testing.assert_allclose(-found[~outside], depth[~outside], atol=NEAR)


@pytest.mark.parametrize("angle", [1e-5, 1e-4, 2e-4, 3e-4, 1e-3])
def test_a_wall_that_is_turned_by_a_hair_is_where_it_is(angle):
    """Its end, 4 m out, moves by up to 4 mm; the cosine of the angle is 1 in float32."""
    c, s = np.cos(angle), np.sin(angle)
    for R in (
        [[c, -s, 0], [s, c, 0], [0, 0, 1]],
        [[c, 0, s], [0, 1, 0], [-s, 0, c]],
        [[1, 0, 0], [0, c, -s], [0, s, c]],
    ):
        wall = box((8.0, 8.0, 8.0), turned=np.array(R))
        rng = np.random.default_rng(0)
        face = rng.uniform(-4, 4, (320, 3))
        axis = np.arange(320) % 3
        face[np.arange(320), axis] = 4.05 * np.sign(face[np.arange(320), axis])
        points = face @ np.array(R).T
        np.testing.assert_allclose(distances_in_lanes(wall, points), 0.05, atol=NEAR)


def poses(rng, count, reach):
    X = np.array(
        [transform(random_rotation(rng), p) for p in rng.uniform(-reach, reach, (count, 3))]
    )
    return X, np.ascontiguousarray(row12(X))


def compared(one, two, rng, count, reach=0.25, enough=1e3):
    """(bound, distance), each (n,), of two solids at random poses."""
    (A, a), (B, b) = poses(rng, count, reach), poses(rng, count, reach)
    out = np.empty(count)
    gaps(table([one]), a, table([two]), b, enough, out)
    drake = DrakePair(one, two)
    return out, np.array([drake.distance(X, Y) for X, Y in zip(A, B, strict=True)])


@settings(max_examples=60, deadline=None, derandomize=True)
@given(
    kinds=st.sampled_from(list(itertools.combinations_with_replacement(KINDS, 2))),
    seed=st.integers(0, 2**31),
    thin=st.booleans(),
)
def test_the_gap_is_never_larger_than_the_distance(kinds, seed, thin):
    rng = np.random.default_rng(seed)
    sizes = (0.002, 0.4) if thin else (0.05, 0.3)
    one, two = (random_solid(kind, rng, np.zeros(3), sizes, turned=False) for kind in kinds)
    bound, exact = compared(one, two, rng, 12)
    assert (bound <= exact + 1e-5).all(), (bound - exact).max()
    assert (bound[exact < -1e-5] < 0.0).all()


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("kinds", "often"),
    [(("box", "box"), 1.0), (("box", "cylinder"), 0.95), (("cylinder", "cylinder"), 0.93)],
)
def test_the_gap_is_most_of_the_distance(kinds, often, seed):
    """Of boxes always; where rims of cylinders are nearest, projecting to and fro is not done."""
    rng = np.random.default_rng(seed)
    one, two = (random_solid(kind, rng, np.zeros(3), (0.05, 0.3), turned=False) for kind in kinds)
    bound, exact = compared(one, two, rng, 300)
    apart = exact > 1e-4
    assert apart.sum() > 60
    assert (bound[apart] >= 0.9 * exact[apart]).mean() >= often
    assert (exact - bound)[apart].max() < (0.005 if often == 1.0 else 0.06)


def test_hulls_that_face_each_other_are_as_far_apart_as_they_are():
    cube = convex(np.array(list(itertools.product((-0.1, 0.1), repeat=3))))
    for other in (cube, box((0.2, 0.2, 0.2)), cylinder(0.1, 0.2), sphere(0.1)):
        out = np.empty(1)
        X, Y = (
            row12(transform(None, (0.3, -0.2, 0.5)))[None],
            row12(transform(None, (0.32, -0.21, 0.75)))[None],
        )
        gaps(table([cube]), X, table([other]), Y, 1e3, out)
        assert out[0] == pytest.approx(0.05, abs=1e-6)
        gaps(table([other]), Y, table([cube]), X, 1e3, out)
        assert out[0] == pytest.approx(0.05, abs=1e-6)


def test_the_gap_stops_early_only_with_a_bound_that_is_enough():
    rng = np.random.default_rng(5)
    one, two = random_solid("box", rng, np.zeros(3)), random_solid("box", rng, np.zeros(3))
    (_, a), (_, b) = poses(rng, 200, 0.3), poses(rng, 200, 0.3)
    full, early = np.empty(200), np.empty(200)
    gaps(table([one]), a, table([two]), b, 1e3, full)
    for enough in (0.0, 0.02, 0.1):
        gaps(table([one]), a, table([two]), b, enough, early)
        assert ((early < enough) == (full < enough)).all()
        assert (early <= full + 1e-12).all()
