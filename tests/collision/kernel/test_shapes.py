"""Distances from points to solids, and bounds between solids, against Drake and brute force."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydrake.geometry import GeometryInstance, ProximityProperties, SceneGraph
from pydrake.math import RigidTransform
from scipy.optimize import nnls

from galley.collision.kernel.gjk import WITNESS_SCRATCH, gjk_distance, gjk_witness
from galley.collision.kernel.shapes import squared
from galley.collision.solids import bounds, box, convex, cylinder, extent, row12, sphere, table
from galley.compiled.jit import bare_kernel
from galley.compiled.lanes import LANES, load, store
from galley.domain.frames import transform
from galley.tests.collision.kernel.support import (
    KINDS,
    DrakePair,
    drake_shape,
    random_rotation,
    random_solid,
)
from galley.tests.effort import examples

NEAR = 3e-6  # m, what float32 loses in a metre or so


@bare_kernel
def squared_of(solids, pose, x, y, z, out):
    for first in range(0, len(out), LANES):
        found = squared(solids, pose, 0, load(x, first), load(y, first), load(z, first))
        store(out, first, found)


@bare_kernel
def nearest(A, X, B, Y, room, out):
    for k in range(len(out)):
        d, nx, ny, nz, px, py, pz = gjk_witness(A, 0, X[k], B, 0, Y[k], 1e3, room)
        out[k, 0] = d
        out[k, 1], out[k, 2], out[k, 3] = nx, ny, nz
        out[k, 4], out[k, 5], out[k, 6] = px, py, pz


@bare_kernel
def far_enough(A, X, B, Y, limit, room, out):
    for k in range(len(out)):
        out[k] = gjk_distance(A, 0, X[k], B, 0, Y[k], limit, room)


def distances_in_lanes(solid, points):
    """Distance (n,) of points in the world (n, 3) by ``squared``; n is a multiple of 16."""
    x, y, z = (np.ascontiguousarray(points[:, k], dtype=np.float32) for k in range(3))
    out = np.empty(len(points), dtype=np.float32)
    pose = row12(solid.X)[None].astype(np.float32)
    squared_of(table([solid]), pose, x, y, z, out)
    return np.sqrt(out.astype(np.float64))


def in_drake(solid, points):
    graph = SceneGraph()
    source = graph.RegisterSource("solids")
    instance = GeometryInstance(RigidTransform(solid.X), drake_shape(solid), "solid")
    instance.set_proximity_properties(ProximityProperties())
    graph.RegisterAnchoredGeometry(source, instance)
    query = graph.get_query_output_port().Eval(graph.CreateDefaultContext())
    return np.array([query.ComputeSignedDistanceToPoint(p)[0].distance for p in points])


def around(solid, rng, count=320):
    """Points within half a metre of a solid's middle, half of them nearer, some of them inside."""
    centre, _ = extent(solid)
    points = rng.uniform(-0.5, 0.5, (count, 3))
    points[::2] *= 0.3
    low, high = (corner[0] for corner in bounds(table([solid]), np.eye(4)[None]))
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
    np.testing.assert_allclose(distances_in_lanes(solid, points), np.maximum(exact, 0.0), atol=NEAR)


@pytest.mark.parametrize("seed", range(6))
def test_points_are_never_farther_from_hulls_than_they_are(seed):
    """Exact where a face is nearest. The oracle solves for the nearest point."""
    rng = np.random.default_rng(seed)
    solid = random_solid("hull", rng, rng.uniform(-1, 1, 3), (0.05, 0.4))
    points = around(solid, rng, 96)
    corners = solid.hull.vertices @ solid.X[:3, :3].T + solid.X[:3, 3]
    A = np.vstack([corners.T, np.full(len(corners), 1e3)])  # weights that sum to one
    exact = np.array([nnls(A, np.array([*p, 1e3]))[1] for p in points])
    found = distances_in_lanes(solid, points)
    assert (found <= exact + NEAR).all()
    outside = exact > 1e-5
    assert (found[outside] > 0.0).all()
    assert (found[~outside] < 1e-5).all()
    facing = np.abs(found - exact) < 1e-5
    assert facing[outside].mean() > 0.1


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


def separations(one, a, two, b, limit=-1.0):
    """Lower bounds (n,) on the distance of two solids at poses (n, 12), as ``gjk_distance``."""
    out = np.empty(len(a))
    far_enough(table([one]), a, table([two]), b, limit, np.empty(12), out)
    return out


def witnesses(one, a, two, b):
    """Distances, normals and points (n, 7) of two solids at poses (n, 12), as ``gjk_witness``."""
    out = np.empty((len(a), 7))
    nearest(table([one]), a, table([two]), b, np.empty(WITNESS_SCRATCH), out)
    return out


@settings(max_examples=examples(60) // 2, deadline=None, derandomize=True)
@given(
    kinds=st.sampled_from(list(itertools.combinations_with_replacement(KINDS, 2))),
    seed=st.integers(0, 2**31),
    thin=st.booleans(),
)
def test_solids_are_never_farther_apart_than_they_are(kinds, seed, thin):
    rng = np.random.default_rng(seed)
    sizes = (0.002, 0.4) if thin else (0.05, 0.3)
    one, two = (random_solid(kind, rng, np.zeros(3), sizes, turned=False) for kind in kinds)
    (X, a), (Y, b) = poses(rng, 12, 0.25), poses(rng, 12, 0.25)
    exact = np.array([DrakePair(one, two).distance(*each) for each in zip(X, Y, strict=True)])
    for found in (separations(one, a, two, b), witnesses(one, a, two, b)[:, 0]):
        assert (found[exact > 0.0] <= exact[exact > 0.0] + 1e-5).all()
        assert (found[exact < -1e-5] <= 0.0).all()


@pytest.mark.parametrize("kinds", list(itertools.combinations_with_replacement(KINDS, 2)))
def test_of_solids_apart_the_nearest_points_are_in_both_and_a_plane_parts_them(kinds):
    """The points bound the distance from above, the plane from below: together they prove it."""
    rng = np.random.default_rng(7)
    checked = 0
    for _ in range(20):
        one, two = (random_solid(kind, rng, np.zeros(3), (0.05, 0.3)) for kind in kinds)
        (X, a), (Y, b) = poses(rng, 60, 0.25), poses(rng, 60, 0.25)
        found, near = separations(one, a, two, b), witnesses(one, a, two, b)
        drake = DrakePair(one, two)
        for k in range(60):
            if drake.distance(X[k], Y[k]) < 1e-3:
                continue
            d, n, p = near[k, 0], near[k, 1:4], near[k, 4:]
            assert d > 0.0
            assert found[k] == pytest.approx(d, abs=2e-4)
            assert np.linalg.norm(n) == pytest.approx(1.0)
            assert distances_in_lanes(replace(one, X=X[k]), np.tile(p, (16, 1)))[0] < 2e-4
            assert distances_in_lanes(replace(two, X=Y[k]), np.tile(p - d * n, (16, 1)))[0] < 2e-4
            checked += 1
    assert checked > 200


def test_solids_that_face_each_other_are_as_far_apart_and_as_deep_as_they_are():
    """Half of their heights are 0.1 m each; the centres' distance across differs a little."""
    corners = np.array(list(itertools.product((-0.1, 0.1), repeat=3)))
    cube = box((0.2, 0.2, 0.2))
    X = row12(transform(None, (0.3, -0.2, 0.5)))[None]
    for height, others in (
        (-0.05, (cube, box((0.4, 0.4, 0.2)), cylinder(0.1, 0.2), convex(corners))),
        (0.05, (cube, convex(corners), cylinder(0.1, 0.2), sphere(0.1))),
    ):
        Y = row12(transform(None, (0.32, -0.21, 0.7 + height)))[None]
        for other in others:
            assert witnesses(cube, X, other, Y)[0, 0] == pytest.approx(height, abs=1e-6)
            assert witnesses(other, Y, cube, X)[0, 0] == pytest.approx(height, abs=1e-6)


def test_whether_solids_are_far_enough_apart_is_known_as_soon_as_it_is_certain():
    rng = np.random.default_rng(5)
    one, two = random_solid("box", rng, np.zeros(3)), random_solid("box", rng, np.zeros(3))
    (_, a), (_, b) = poses(rng, 200, 0.3), poses(rng, 200, 0.3)
    full = separations(one, a, two, b)
    for enough in (0.0, 0.02, 0.1):
        early = separations(one, a, two, b, enough)
        assert ((early < enough) == (full < enough)).all()
        assert (early <= np.maximum(full, 0.0) + 1e-12).all()
