"""A disc that is thrown at corners: no energy from nothing, gradients, and what is no minimum."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from galley.planar.contact import (
    Body2D,
    Box,
    Circle,
    Contact,
    Polygon,
    Rounded,
    World,
    regular_polygon,
    simulate,
)
from galley.planar.contact.shapes import Placed
from galley.planar.contact.virtual_contacts import SLOPE, contact_points

L = [(-0.2, -0.2), (0.2, -0.2), (0.2, 0.0), (0.0, 0.0), (0.0, 0.2), (-0.2, 0.2)]
SHAPES = {
    "L": Polygon(L),
    "hexagon": regular_polygon(6, 0.25),
    "box": Box((0.3, 0.1)),
    "triangle": regular_polygon(3, 0.3),
    "rounded L": Rounded(Polygon(L[::-1]), 0.04),
}
R = 0.15


def throws(n, seed=0):
    """Poses and velocities (n, 3) of a disc that comes from all sides at 1 m/s; angles (n,)."""
    rng = np.random.default_rng(seed)
    heading, angle = rng.uniform(-np.pi, np.pi, (2, n))
    ahead = np.stack([np.cos(heading), np.sin(heading), 0 * heading], axis=1)
    aside = np.stack([-ahead[:, 1], ahead[:, 0], 0 * heading], axis=1)
    return -0.75 * ahead + rng.uniform(-0.3, 0.3, (n, 1)) * aside, ahead, angle


def thrown(shape, law, body=None, steps=150):
    """A function of a throw: the run of a body of 1 kg, a disc unless said, at a fixed shape."""
    form = Circle(R) if body is None else body

    def run(pose, velocity, angle):
        target = Body2D(shape, pose=(0.0, 0.0, angle))
        bodies = [Body2D(form, mass=1.0, pose=pose, velocity=velocity), target]
        return simulate(World(bodies, law, (0.0, 0.0)), h=0.01, n=steps)

    return run


def batch(function, given):
    with jax.enable_x64(True):
        return jax.tree.map(np.asarray, jax.jit(jax.vmap(function))(*given))


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
def test_a_disc_bounces_off_corners_and_notches_without_energy_from_nothing(name):
    law = Contact(stiffness=2e4, friction=0.0)
    run = batch(thrown(SHAPES[name], law), throws(100))
    assert np.sum(~run.converged[:, -1]) <= 2
    energy = np.sum(run.velocity[:, :, 0, :2] ** 2, axis=2) / 2
    assert np.nanmax(energy) < 0.51
    met = np.abs(run.contacts.force).max(axis=(1, 2, 3)) > 1.0
    assert met.sum() > 80
    # The spring takes 1 m/s within sqrt(m / k).
    assert np.all(run.contacts.depth[run.contacts.force[..., 0] != 0.0] < 0.008)
    assert np.nanmin(energy[:, -1]) > 0.1


@pytest.mark.slow
@pytest.mark.parametrize("name", SHAPES)
def test_gradients_by_the_start_of_a_throw_are_those_of_differences(name):
    law = Contact(stiffness=2e4, friction=0.3)
    weight = jnp.array([1.0, 2.0, 0.5])

    def end(pose, velocity, angle):
        run = thrown(SHAPES[name], law)(pose, velocity, angle)
        return jnp.dot(run.pose[-1, 0], weight)

    pose, velocity, angle = throws(20, seed=1)
    _, gradient = batch(jax.value_and_grad(end), (pose, velocity, angle))
    direction = np.random.default_rng(0).normal(size=pose.shape)
    ends = [batch(end, (pose + s * 1e-6 * direction, velocity, angle)) for s in (1.0, -1.0)]
    difference = (ends[0] - ends[1]) / 2e-6
    assert np.sum(gradient * direction, axis=1) == pytest.approx(difference, rel=1e-4, abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("law", "body", "target"),
    [
        (Contact(2e4, friction=0.0, points="newton"), None, "hexagon"),
        (Contact(2e4, friction=0.0, points="newton"), None, "L"),
        (Contact(2e4, damping=0.0, friction=0.0, count=1), "hexagon", "box"),
    ],
)
def test_a_run_that_gains_energy_from_nothing_fails(law, body, target):
    run = batch(thrown(SHAPES[target], law, SHAPES.get(body)), throws(100))
    energy = np.sum(run.velocity[:, -1, 0, :2] ** 2, axis=1) / 2
    assert np.nanmax(energy) < 1.1 * 0.5
    stopped = np.flatnonzero(~run.converged[:, -1])
    one = jax.tree.map(lambda x: x[stopped[0]], run).failure()
    assert "points: auto" in one.remedy or "from nothing" in one.what


def test_newtons_method_says_that_a_corner_has_no_minimum():
    corner = np.array([0.3, 0.1])

    def both(place):
        disc = Placed.at(Circle(R), jnp.append(place, 0.0))
        box = Placed.at(Box((0.3, 0.1)), jnp.zeros(3))
        return [contact_points(Contact(points=p), disc, box, corner)[0] for p in ("newton", "auto")]

    places = corner + 0.9 * R * np.array([[0.1, 0.9], [0.7, 0.7], [0.9, 0.3]])
    newton, edges = batch(both, (places,))
    assert np.all(newton.slope > SLOPE)
    assert np.all(np.sum(edges.weight, axis=1) == 1.0)
    depth = R - np.linalg.norm(places - corner, axis=1)
    assert np.sum(edges.weight * edges.depth, axis=1) == pytest.approx(depth, abs=1e-12)


def test_lists_with_a_traced_number_are_taken_as_arrays_are():
    """A start, an outline and a motion, of which one number is differentiated."""
    from galley.planar.contact.setup import Waypoints

    def trace(x):
        start = Body2D(Polygon([(0, 0), (x, 0), (0, 0.3)]), mass=1.0, pose=(x, 0.3, 0.0))
        moved = Body2D(Box((x, 1.0)), motion=Waypoints([(0.0, (0, x, 0)), (1.0, (0, 0, 0))]))
        return start.inertia + start.pose[0] + moved.at(jnp.zeros(()))[0][1]

    with jax.enable_x64(True):
        slope = jax.jit(jax.grad(trace))(0.3)
    # A right triangle's inertia is m (a^2 + b^2) / 18.
    assert slope == pytest.approx(2 * 0.3 / 18 + 2.0)
