"""Support friction: the limit surface, and a step under it."""

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from galley.compiled.build import POLYGONS, ensure
from galley.planar.geometry.polygon import SimplePolygon
from galley.planar.geometry.support import SupportFriction, characteristic_length, support_friction
from galley.tests.planar.geometry.outlines import L, T

numbers = st.floats(-5, 5)
positive = st.floats(0.05, 5)


@pytest.fixture(scope="module")
def kernels():
    ensure(POLYGONS)
    from galley.planar.geometry import support_kernel

    return support_kernel


@pytest.mark.parametrize("outline", [T, L, [(0, 0), (4, 0), (4, 1), (0, 1)]], ids=["T", "L", "bar"])
def test_characteristic_length_is_the_mean_distance_from_the_centroid(outline):
    polygon, rng = SimplePolygon(outline), np.random.default_rng(0)
    # Uniform points of each triangle of the parts, weighted with its area.
    total = 0.0
    for part in polygon.parts:
        for k in range(1, len(part) - 1):
            a, b, c = part[0], part[k], part[k + 1]
            u, v = np.sort(rng.random((2, 40000)), axis=0)
            p = a + u[:, None] * (b - a) + (1 - v)[:, None] * (c - a)
            double = (b - a)[0] * (c - a)[1] - (b - a)[1] * (c - a)[0]
            far = np.hypot(*(p - polygon.mass_properties(1.0).centroid).T)
            total += 0.5 * double * far.mean()
    assert characteristic_length(polygon) == pytest.approx(total / polygon.area, rel=5e-3)


def test_the_limit_of_a_plate_is_its_weight_times_the_friction():
    support = support_friction(SimplePolygon(L), 2.0, 0.5, still=0.1)
    assert support.limit == pytest.approx(0.5 * 2.0 * 9.81)
    assert (support.length, support.still) == (characteristic_length(SimplePolygon(L)), 0.1)


@given(numbers, numbers, numbers, positive, positive, st.floats(0, 20), positive, st.floats(0, 0.1))
@example(0.0, 0.0, 0.0, 1.0, 1.0, 1e-242, 1.0, 0.0)
def test_a_step_solves_its_implicit_equation(vx, vy, omega, mass, inertia, limit, length, still):
    ensure(POLYGONS)
    from galley.planar.geometry.support_kernel import slowed

    dt, M = 0.05, np.array([mass, mass, inertia])
    still = 0.0 if still < 1e-3 else still
    before = np.array([vx, vy, omega])
    after = np.array(slowed(vx, vy, omega, mass, inertia, limit, length, still, dt))
    scale = np.array([1.0, 1.0, length])
    speed = np.sqrt(((scale * after) ** 2).sum() + still**2)
    force = -limit * scale**2 * after / (speed or 1.0)
    if np.abs(after).max() > 1e-9:
        assert_allclose(M * (after - before), dt * force, atol=1e-9 * max(1.0, limit))
    assert (after * before >= 0.0).all()
    assert (np.abs(after) <= np.abs(before)).all()


def test_a_small_push_moves_nothing(kernels):
    assert kernels.slowed(1e-3, 1e-3, 1e-3, 1.0, 1.0, 1.0, 0.3, 0.0, 0.01) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("name", ["limit", "length", "still"])
def test_bad_numbers_are_named(name):
    with pytest.raises(ValueError, match=f"{name} = -1"):
        SupportFriction(**{name: -1.0})
