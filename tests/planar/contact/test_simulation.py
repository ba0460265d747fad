"""``simulate`` against closed forms: flight, rest, rolling, sliding, bounces, and what is kept.

All runs of one pair of shapes have 200 steps, so that each is compiled once.
"""

from math import acos, cos, pi, sin, sqrt, tan

import numpy as np
import pytest

from galley.planar.contact import Body2D, Box, Circle, Contact, HalfPlane, Support, World, simulate
from galley.planar.geometry.polygon import SimplePolygon
from galley.planar.geometry.support import support_friction

N = 200
G = 9.81
R = 0.3


def ramp(angle):
    return HalfPlane((-sin(angle), cos(angle)))


def disc(contact, pose, velocity=(0, 0, 0), mass=0.7, angle=0.0, gravity=(0, -G)):
    body = Body2D(Circle(R), mass=mass, pose=pose, velocity=velocity)
    return World([body, Body2D(ramp(angle))], contact, gravity)


def rest_depth(contact, load):
    return load / float(contact.stiffness) - float(contact.softness)


def potential(contact, depth):
    """What the spring g(d) k_n holds, J."""
    k, a = float(contact.stiffness), float(contact.softness)
    outside = k * a**2 * np.exp(np.minimum(depth, 0.0) / a)
    return np.where(depth > 0.0, k * (depth**2 / 2 + a * depth + a**2), outside)


def test_free_fall_is_exact():
    h = 0.01
    run = simulate(disc(Contact(), (1.0, 50.0, 0.2), (0.5, 3.0, -1.0)), h=h, n=N)
    assert run.failure() is None
    t = h * np.arange(N + 1)
    assert run.time == pytest.approx(t)
    path = np.stack([1.0 + 0.5 * t, 50.0 + 3.0 * t - G * t**2 / 2, 0.2 - t], axis=1)
    assert run.pose[:, 0] == pytest.approx(path, rel=1e-9)
    assert run.velocity[:, 0, 1] == pytest.approx(3.0 - G * t, abs=1e-8)
    assert np.all(run.contacts.force == 0.0)
    assert np.all(run.pose[:, 1] == 0.0)


@pytest.mark.parametrize("stiffness", [500.0, 5e4])
def test_a_disc_rests_where_its_spring_bears_it(stiffness):
    contact = Contact(stiffness=stiffness, damping=2 * stiffness, softness=1e-5)
    run = simulate(disc(contact, (0, R, 0)), h=0.02, n=N)
    assert run.failure() is None
    depth = rest_depth(contact, 0.7 * G)
    assert R - run.pose[-1, 0, 1] == pytest.approx(depth, rel=1e-8)
    assert run.contacts.depth[-1] == pytest.approx([depth], rel=1e-8)
    assert run.contacts.force[-1, 0] == pytest.approx([0.0, 0.7 * G], abs=1e-8)
    assert run.contacts.virtual[-1, 0] == pytest.approx([0.0, -depth / 2], abs=1e-9)


@pytest.mark.slow
def test_a_disc_rests_on_a_box_by_default():
    """The pair has corners and no face on face: one virtual contact, however the disc turns."""
    bodies = [
        Body2D(Circle(0.2), mass=0.5, pose=(0.1, 0.35, 1.0)),
        Body2D(Box((1.0, 0.1)), pose=(0.0, 0.0, 0.0)),
    ]
    run = simulate(World(bodies, Contact(stiffness=1e4), (0.0, -9.81)), h=0.02, n=N)
    assert run.failure() is None
    assert run.pose[-1, 0, 1] == pytest.approx(0.3, abs=0.003)


def test_a_disc_rolls_down_with_two_thirds_of_the_slope():
    angle = 0.3
    contact = Contact(1e4, 2e3, 50.0, 0.5, softness=1e-5)
    depth = rest_depth(contact, 0.7 * G * cos(angle))
    n = np.array([-sin(angle), cos(angle)])
    run = simulate(disc(contact, (*((R - depth) * n), 0.0), angle=angle), h=0.005, n=N)
    arm = R - depth / 2  # to where the forces act
    along = run.velocity[:, 0, :2] @ [-cos(angle), -sin(angle)]
    acceleration = G * sin(angle) / (1.0 + R**2 / 2 / arm**2)
    assert (along[-1] - along[100]) / 0.5 == pytest.approx(acceleration, rel=1e-6)
    # It creeps by what friction f needs: k_t s^2 / sqrt(s^2 + e^2) = f.
    slip = along[-1] - run.velocity[-1, 0, 2] * arm
    needed = 0.7 * (G * sin(angle) - acceleration)
    assert 50.0 * slip**2 / sqrt(slip**2 + 1e-6) == pytest.approx(needed, rel=1e-3)


@pytest.mark.parametrize("softness", [1e-3, 1e-6])
def test_an_undamped_bounce_takes_half_a_period_as_softness_vanishes(softness):
    contact = Contact(stiffness=1e4, damping=0.0, friction=0.0, softness=softness)
    mass, speed = 0.7, 1.0
    omega = sqrt(1e4 / mass)
    h = 1.2 * pi / omega / N
    world = disc(contact, (0, R + 0.05 / omega, 0), (0, -speed, 0), mass, gravity=(0, 0))
    run = simulate(world, h=h, n=N)
    depth = run.contacts.depth[:, 0]
    first, last = np.flatnonzero(depth > 0)[[0, -1]]
    begin = first - depth[first] / (depth[first] - depth[first - 1])
    end = last + depth[last] / (depth[last] - depth[last + 1])
    # d + a = A cos(omega t) while they overlap; the soft part outside takes k a^2.
    left = sqrt(speed**2 - 2.0 * 1e4 * softness**2 / mass)
    duration = 2.0 * acos(softness / sqrt(softness**2 + (left / omega) ** 2)) / omega
    assert (end - begin) * h == pytest.approx(duration, rel=2e-3)
    if softness == 1e-6:
        assert (end - begin) * h == pytest.approx(pi / omega, rel=2e-3)
        assert run.velocity[-1, 0, 1] == pytest.approx(speed, rel=2e-3)


def test_energy_never_grows_when_damped():
    contact = Contact(stiffness=5e3, damping=500.0, friction=0.4)
    run = simulate(disc(contact, (0, R + 0.1, 0), (1.0, 0, 0)), h=0.004, n=N, scheme="bdf1")
    v = run.velocity[:, 0]
    inertia = 0.7 * R**2 / 2
    energy = 0.7 * (v[:, 0] ** 2 + v[:, 1] ** 2) / 2 + inertia * v[:, 2] ** 2 / 2
    energy += 0.7 * G * run.pose[:, 0, 1] + potential(contact, run.contacts.depth[:, 0])
    assert np.max(np.diff(energy)) < 1e-12
    assert energy[-1] < 0.9 * energy[0]


def test_orders_of_convergence_while_in_contact():
    # A disc that lies on its spring and is let go above its rest depth: an undamped oscillation.
    contact = Contact(stiffness=1000.0, damping=0.0, friction=0.0)
    depth = rest_depth(contact, 0.7 * G)
    omega = sqrt(1000.0 / 0.7)
    swing, end = 0.5 * depth, 0.1
    exact = R - depth + swing * cos(omega * end)
    for scheme, order in (("bdf1", 1), ("bdf2", 2)):
        errors = []
        for steps in (100, 200):
            world = disc(contact, (0, R - depth + swing, 0))
            run = simulate(world, h=end / steps, n=N, scheme=scheme)
            errors.append(abs(run.pose[steps, 0, 1] - exact))
        assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.1)


def test_a_step_that_fails_is_a_value_with_a_remedy():
    world = disc(Contact(), (0, R + 0.1, 0), (0, -1, 0))
    run = simulate(world, h=0.01, n=N, iterations=2)
    failure = run.failure()
    assert failure is not None
    assert 0 < failure.step < 15
    assert failure.time == pytest.approx(0.01 * (failure.step + 1))
    assert "raise iterations" in failure.remedy
    assert np.all(np.isfinite(failure.pose))
    assert np.all(np.isnan(run.pose[failure.step + 1 :, 0]))
    assert not np.any(run.converged[failure.step :])
    assert np.all(run.converged[: failure.step])
    assert failure.residual > 1e-8


@pytest.mark.parametrize("friction", [0.2, pytest.param(0.5, marks=pytest.mark.slow)])
def test_a_block_slips_beyond_the_angle_of_friction(friction):
    angle = np.arctan(friction)
    # Corners only: those two that touch have half of the weight.
    contact = Contact(2e4, 4e4, 1e5, friction, softness=1e-5, count=4)
    for tilt in (0.5 * angle, angle + 0.05):
        pose = (-0.1 * sin(tilt), 0.1 * cos(tilt), tilt)
        block = Body2D(Box((0.4, 0.1)), mass=2.0, pose=pose)
        run = simulate(World([block, Body2D(ramp(tilt))], contact), h=0.01, n=N)
        assert run.failure() is None
        along = run.velocity[:, 0, :2] @ [-cos(tilt), -sin(tilt)]
        if tilt < angle:
            # It creeps by what friction needs: mu m g cos s / sqrt(s^2 + e^2) = m g sin.
            share = tan(tilt) / friction
            assert along[-1] == pytest.approx(1e-3 * share / sqrt(1 - share**2), rel=1e-3)
        else:
            acceleration = G * (sin(tilt) - friction * cos(tilt))
            assert (along[-1] - along[100]) / 1.0 == pytest.approx(acceleration, rel=1e-3)
        assert run.pose[-1, 0, 2] == pytest.approx(tilt, abs=2e-3)


@pytest.mark.slow
def test_momentum_between_free_bodies_is_kept():
    contact = Contact(2e3, 20.0, 100.0, 0.3)
    bodies = [
        Body2D(Circle(0.3), mass=0.5, pose=(-0.5, 0.1, 0), velocity=(2.0, 0, 1.0)),
        Body2D(Circle(0.2), mass=1.5, pose=(0.1, 0, 0), velocity=(-0.5, 0.2, 0)),
    ]
    run = simulate(World(bodies, contact, (0, 0)), h=0.001, n=N)
    assert run.failure() is None
    m = np.array([0.5, 1.5])
    inertia = m * np.array([0.3, 0.2]) ** 2 / 2
    p, v = run.pose, run.velocity
    assert np.max(np.abs(run.contacts.force)) > 1.0
    linear = np.einsum("b,tbk->tk", m, v[:, :, :2])
    assert linear == pytest.approx(np.tile(linear[0], (N + 1, 1)), abs=1e-9)
    spin = np.einsum("b,tb->t", m, p[..., 0] * v[..., 1] - p[..., 1] * v[..., 0])
    spin += v[..., 2] @ inertia
    assert spin == pytest.approx(np.full(N + 1, spin[0]), abs=2e-4)
    assert abs(v[-1, 0, 2] - 1.0) > 0.1  # friction did turn it


def test_support_friction_is_that_of_the_limit_surface():
    square = SimplePolygon([[-0.2, -0.2], [0.2, -0.2], [0.2, 0.2], [-0.2, 0.2]])
    law = support_friction(square, 1.0, 0.3, still=1e-3)
    import jax

    for velocity in ([0.3, -0.1, 0.0], [0.0, 0.0, 2.0], [1e-4, 0.0, 1e-3], [0.0, 0.0, 0.0]):
        with jax.enable_x64(True):
            wrench = np.asarray(Support(**vars(law)).wrench(np.array(velocity)))
        scale = np.array([1.0, 1.0, law.length])
        pushed = scale * velocity
        exact = -law.limit * scale * pushed / sqrt(pushed @ pushed + law.still**2)
        assert wrench == pytest.approx(exact, rel=1e-12, abs=1e-15)


def falling():
    return disc(Contact(), (0, 1, 0))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: simulate(falling()), "n: give the number of steps"),
        (lambda: simulate(falling(), h=0.0, n=3), "h = 0.0 s"),
        (lambda: simulate(falling(), np.zeros((5, 2))), r"\(n, 1, 3\)"),
        (lambda: simulate(falling(), np.zeros((5, 3)), n=4), r"must be \(4, 1, 3\)"),
        (lambda: simulate(falling(), np.full((5, 3), np.inf)), "controls = inf N"),
        (lambda: simulate(falling(), n=5, scheme="euler"), "euler"),
        (lambda: Contact(stiffness=-1.0), "stiffness = -1.0 N/m: must be a number greater than 0"),
        (lambda: Contact(count=0), "count = 0"),
        (lambda: Contact(points="everywhere"), "everywhere"),
        (lambda: World([Body2D(HalfPlane())]), "none is free"),
        (lambda: World(falling().bodies, {(0, 2): Contact()}), r"\(0, 2\) is no pair"),
        (lambda: Body2D(Circle(1.0), support=Support()), "support"),
    ],
)
def test_bad_input_is_refused_by_name(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_bodies_of_many_tonnes_move_as_light_ones_do():
    """All masses and forces times a number: the same motion, though rounding leaves more force."""

    def motion(scale):
        contact = Contact(
            stiffness=1e4 * scale, damping=1e3 * scale, friction_viscosity=100.0 * scale
        )
        run = simulate(disc(contact, (1.0, 0.4, 0.1), mass=scale), h=0.005, n=N)
        assert run.failure() is None
        return run.pose

    assert motion(1e7) == pytest.approx(motion(1.0), abs=1e-9)
