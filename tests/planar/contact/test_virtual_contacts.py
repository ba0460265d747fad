"""Where two bodies touch: closed forms, derivatives of the minimum, spread, and the example."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from galley.planar.contact import Body2D, Circle, Contact, HalfPlane, World, simulate
from galley.planar.contact.shapes import Placed
from galley.planar.contact.virtual_contacts import Gap, contact_points, virtual_contact
from galley.tests.effort import examples

RADII, START = (0.8, 0.5), np.array([0.3, 0.2])


@jax.jit
def meeting(inputs):
    """The virtual contact of two circles, and its derivative by places (2, 2) and radii."""

    def found(inputs):
        places, radii, start = inputs
        placed = [
            Placed.at(Circle(r), jnp.append(p, 0.3)) for p, r in zip(places, radii, strict=True)
        ]
        return virtual_contact(Gap(*placed), start)

    return found(inputs), jax.jacfwd(found)(inputs)


@settings(max_examples=examples(30))
@given(st.floats(0.9, 4.0), st.floats(-3.0, 3.0), st.floats(-0.3, 0.3))
def test_two_circles_meet_on_the_line_of_their_centres(far, angle, aside):
    axis = np.array([np.cos(angle), np.sin(angle)])
    side = np.array([-axis[1], axis[0]])
    start = (0.5 * far + 0.1) * axis + aside * side
    places = np.stack([np.zeros(2), far * axis])
    with jax.enable_x64(True):
        x, (by_place, by_radius, by_start) = meeting((places, np.array(RADII), start))
    # psi_1 = psi_2 there: s - r_1 = far - s - r_2.
    s = (far + RADII[0] - RADII[1]) / 2
    assert np.asarray(x) == pytest.approx(s * axis, abs=1e-9)
    expected = np.outer(axis, axis) / 2 + s / far * np.outer(side, side)
    assert np.asarray(by_place)[:, 1] == pytest.approx(expected, abs=1e-7)
    assert np.asarray(by_radius) == pytest.approx(np.outer(axis, [0.5, -0.5]), abs=1e-7)
    assert np.all(np.asarray(by_start) == 0.0)


@pytest.mark.parametrize("points", ["newton", "stein"])
def test_points_spread_with_their_temperature_and_do_not_collapse(points):
    def located(spread):
        contact = Contact(spread=spread, count=9, points=points)
        disc = Placed.at(Circle(0.5), jnp.array([0.2, 0.49, 0.0]))
        ground = Placed.at(HalfPlane(), jnp.zeros(3))
        return contact_points(contact, disc, ground, jnp.array([0.25, 0.1]))[0]

    compiled = jax.jit(located)
    with jax.enable_x64(True):
        wide, narrow = (jax.tree.map(np.asarray, compiled(tau)) for tau in (1e-3, 1e-5))
    for geometry, tau in ((wide, 1e-3), (narrow, 1e-5)):
        x = geometry.virtual[:, 0]
        assert geometry.weight.sum() == pytest.approx(1.0)
        assert geometry.weight @ x == pytest.approx(0.2, abs=1e-3)
        # exp(-L / tau) has the variance tau / L'' = tau R along the ground.
        deviation = np.sqrt(geometry.weight @ (x - 0.2) ** 2 / (tau * 0.5))
        assert 0.6 < deviation < 1.2
        assert np.min(np.diff(np.sort(x))) > 0.05 * np.sqrt(tau * 0.5)
    assert narrow.depth.max() == pytest.approx(0.01, abs=1e-4)
    assert np.sum(narrow.normal, axis=0) == pytest.approx([0.0, 9.0])


def test_a_separated_pair_has_negative_depth():
    with jax.enable_x64(True):
        discs = [Placed.at(Circle(r), jnp.array([x, 0.0, 0.0])) for r, x in ((0.5, 0), (0.4, 2))]
        geometry, _ = jax.jit(contact_points)(Contact(), *discs, jnp.array([1.0, 0.1]))
    assert np.asarray(geometry.depth) == pytest.approx([-1.1])
    assert np.asarray(geometry.normal) == pytest.approx(np.array([[-1.0, 0.0]]))


@pytest.mark.slow
def test_a_disc_moves_as_in_the_example_of_numpy_alone(example):
    steps = 60
    start = {"pose": (0.0, 0.3, 0.0), "velocity": (1.0, -0.5, 0.0)}
    law = example.Contact(2e4, 1e3, softness=1e-4, points=5, tau=1e-4)
    q, v, _ = example.simulate(
        law, (example.Disc(0.2), example.Ground()), example.disc_mass(0.1, 0.2),
        start["pose"], start["velocity"], np.zeros((steps, 3)), 0.01,
    )  # fmt: skip
    contact = Contact(2e4, 1e3, softness=1e-4, spread=1e-4, count=5)
    world = World([Body2D(Circle(0.2), mass=0.1, **start), Body2D(HalfPlane())], contact)
    run = simulate(world, h=0.01, n=steps, scheme="bdf1")
    assert run.failure() is None
    # The example lets friction act on the disc's surface, here it does so in the middle of the
    # overlap; and it takes the curvature where the other takes a secant's.
    assert run.pose[:, 0] == pytest.approx(q, abs=2e-3)
    assert run.velocity[:, 0] == pytest.approx(v, abs=2e-2)
    assert np.ptp(q[:, 1]) > 0.1
