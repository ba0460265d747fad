"""The simulation of pushing against closed forms and independent oracles."""

import dataclasses

import numpy as np
import pytest
import shapely
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from galley.planar.geometry.polygon import SimplePolygon, signed_distance
from galley.planar.geometry.support import characteristic_length
from galley.planar.pushing.config import PushConfig
from galley.planar.pushing.shapes import shape
from galley.planar.pushing.simulation import PushSimulation
from galley.tests.planar.geometry.outlines import outlines, polygon_of

SQUARE = SimplePolygon(np.array([(-0.05, -0.05), (0.05, -0.05), (0.05, 0.05), (-0.05, 0.05)]))
# A free pusher that meets a body on ice, with a spring and nothing else.
FREE = PushConfig(
    shape=SQUARE, friction=0.0, pusher_mass=0.7, pusher_gain=0.0, pusher_damping=0.0,
    contact_damping=0.0, dt=1e-4, substeps=1, width=10.0, height=10.0,
)  # fmt: skip


def at(sim, body=(5.0, 5.0, 0.0), pusher=(4.9, 5.0), velocity=(0.0, 0.0), spin=(0.0, 0.0, 0.0)):
    """One table, with velocities."""
    state = sim.states(body, pusher)
    state.pusher_velocity[:, 0] = velocity
    state.body_velocity[:, 0] = spin
    return state


def force(sim, body, pusher, velocity=(0.0, 0.0), spin=(0.0, 0.0, 0.0)):
    """The pusher's force and torque on the body."""
    from galley.planar.pushing.simulation_kernel import contact_force

    x, y, theta = body
    fx, fy, torque, _ = contact_force(
        sim.body.vertices_ccw, sim._numbers, float(x), float(y), np.cos(theta), np.sin(theta),
        *map(float, spin), *map(float, pusher), *map(float, velocity),
    )  # fmt: skip
    return np.array([fx, fy, torque])


def momentum(sim, state):
    """Linear (2,) and angular, about the origin, of body and pusher together."""
    c, m = sim.config, sim.config.mass
    (px, py), (pu, pv) = state.pusher[:, 0], state.pusher_velocity[:, 0]
    (x, y, _), (u, v, w) = state.body[:, 0], state.body_velocity[:, 0]
    spin = sim.inertia * w + m * (x * v - y * u) + c.pusher_mass * (px * pv - py * pu)
    return np.array([m * u + c.pusher_mass * pu, m * v + c.pusher_mass * pv, spin])


@pytest.mark.parametrize("damping", [0.0, 5.0])
def test_a_free_collision_keeps_momentum(damping):
    sim = PushSimulation(dataclasses.replace(FREE, contact_damping=damping, substeps=50))
    state = at(sim, pusher=(4.92, 5.02), velocity=(0.5, 0.1))
    before, start = momentum(sim, state), state.body_velocity.copy()
    for _ in range(30):
        sim.advance(state, [(5.0, 5.0)])
    assert np.abs(state.body_velocity - start).max() > 0.1
    assert_allclose(momentum(sim, state)[:2], before[:2], atol=1e-12)
    # The force acts at the outline and its reaction at the pusher's centre: along the normal that
    # is one line, the drag of the damper along the outline has the pusher's radius as lever.
    if damping == 0.0:
        assert momentum(sim, state)[2] == pytest.approx(before[2], abs=1e-3)


def test_a_central_impact_is_elastic_and_half_a_period_long():
    sim = PushSimulation(dataclasses.replace(FREE, dt=1e-5))
    state = at(sim, pusher=(4.93, 5.0), velocity=(1.0, 0.0))
    m, M, v = 1.0, 0.7, 1.0
    steps = 0
    while state.body_velocity[0, 0] < 1e-12 or sim.gap(state.body.T, state.pusher.T)[0] < 0.0:
        sim.advance(state, [(5.0, 5.0)])
        steps += 1
    assert state.body_velocity[0, 0] == pytest.approx(2.0 * M / (m + M) * v, rel=1e-3)
    reduced = m * M / (m + M)
    assert steps * 1e-5 == pytest.approx(np.pi * np.sqrt(reduced / 2000.0), rel=1e-3)


def test_semi_implicit_euler_is_of_first_order_and_keeps_energy():
    # The pusher on its own is a damped spring, which has a closed form.
    gain, brake, t_end = 100.0, 4.0, 0.5
    errors = []
    for n in (50, 100, 200):
        config = PushConfig(pusher_gain=gain, pusher_damping=brake, dt=t_end / n, substeps=n)
        sim = PushSimulation(dataclasses.replace(config, width=10.0, height=10.0))
        state = at(sim, body=(8.0, 8.0, 0.0), pusher=(1.0, 1.0))
        sim.advance(state, [(2.0, 1.0)])
        w = np.sqrt(gain - brake**2 / 4.0)
        decay = np.exp(-brake * t_end / 2.0)
        exact = 2.0 - decay * (np.cos(w * t_end) + brake / (2.0 * w) * np.sin(w * t_end))
        errors.append(abs(state.pusher[0, 0] - exact))
    assert_allclose(np.log2(np.divide(errors[:-1], errors[1:])), 1.0, atol=0.1)
    sim = PushSimulation(PushConfig(pusher_gain=gain, pusher_damping=0.0, width=10.0, height=10.0))
    state = at(sim, body=(8.0, 8.0, 0.0), pusher=(1.0, 1.0))
    for _ in range(20):
        sim.advance(state, [(2.0, 1.0)])
    held = 0.5 * state.pusher_velocity[0, 0] ** 2 + 0.5 * gain * (state.pusher[0, 0] - 2.0) ** 2
    assert held == pytest.approx(0.5 * gain, rel=0.06)


def test_the_force_on_an_edge_is_the_springs_and_the_dampers():
    sim = PushSimulation(PushConfig(shape=SQUARE, contact_stiffness=1000.0, contact_damping=10.0))
    # From the left, 5 mm deep, 2 cm above the centroid; the body moves and spins.
    found = force(sim, (0.2, 0.2, 0.0), (0.135, 0.22), (0.3, 0.1), (0.1, 0.0, 2.0))
    rx, ry = -0.05, 0.02
    v_c = np.array([0.1 - 2.0 * ry, 0.0 + 2.0 * rx])
    expected = 1000.0 * 0.005 * np.array([1.0, 0.0]) + 10.0 * (np.array([0.3, 0.1]) - v_c)
    assert_allclose(found[:2], expected)
    assert found[2] == pytest.approx(rx * expected[1] - ry * expected[0])  # torque of both


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        (np.full(2, -0.05 - 0.015 / np.sqrt(2.0)), np.full(2, 5.0 / np.sqrt(2.0))),  # at a corner
        ((0.03, 0.0), (-40.0, 0.0)),  # inside: out by the near side
        ((-0.03, 0.0), (40.0, 0.0)),
        ((0.0, 0.03), (0.0, -40.0)),
        ((0.0, -0.03), (0.0, 40.0)),
    ],
)
def test_the_spring_pushes_along_the_outlines_normal(place, expected):
    sim = PushSimulation(PushConfig(shape=SQUARE, contact_stiffness=1000.0))
    found = force(sim, (0.2, 0.2, 0.0), np.add(place, 0.2))
    assert_allclose(found, [*expected, 0.0], atol=1e-12)


def test_the_pusher_never_pulls_and_friction_is_bounded():
    sim = PushSimulation(PushConfig(shape=SQUARE, contact_friction=0.3))
    assert_allclose(force(sim, (0.2, 0.2, 0.0), (0.135, 0.2), (-9.0, 0.0)), 0.0)
    found = force(sim, (0.2, 0.2, 0.0), (0.135, 0.2), (0.0, 5.0))
    assert found[1] == pytest.approx(0.3 * found[0])


@given(st.floats(-3, 3), st.floats(-3, 3), st.floats(-0.1, 0.1), st.floats(-0.1, 0.1))
@example(theta=2.125, spin=0.0, x=0.0, y=0.06284570756568364)  # between two sides
def test_the_force_turns_with_the_body(theta, spin, x, y):
    sim = PushSimulation(PushConfig())
    c, s = np.cos(theta), np.sin(theta)
    R = np.array([[c, -s], [s, c]])
    around = [(x, y), (x + 1e-7, y), (x - 1e-7, y), (x, y + 1e-7), (x, y - 1e-7)]
    normals = signed_distance(sim.body, around)[2]
    if np.ptp(normals, axis=0).max() > 1e-3:
        return  # as near to one side as to another
    if abs(sim.gap(np.zeros((1, 3)), np.array([[x, y]]))[0]) < 1e-9:
        return  # touching or not is a matter of rounding
    here = force(sim, (0, 0, 0), (x, y), (0.1, 0.2), (0.3, -0.1, spin))
    turned = force(sim, (0, 0, theta), R @ [x, y], R @ [0.1, 0.2], (*(R @ [0.3, -0.1]), spin))
    assert_allclose(turned, [*(R @ here[:2]), here[2]], atol=1e-9)


def test_a_body_sliding_on_the_table_stops_after_its_braking_distance():
    sim = PushSimulation(PushConfig(friction=0.5, dt=1e-4, substeps=1, width=10.0, height=10.0))
    state = at(sim, pusher=(1.0, 1.0), spin=(1.0, 0.0, 0.0))
    for _ in range(3000):
        sim.advance(state, [(1.0, 1.0)])
    assert_allclose(state.body_velocity, 0.0, atol=0.0)
    assert state.body[0, 0] - 5.0 == pytest.approx(1.0 / (2.0 * 0.5 * 9.81), rel=1e-3)


def test_a_slow_push_moves_the_body_as_predicted():
    # Stiff and slow, so that inertia and depth hardly count: the quasi-static motion.
    config = PushConfig(
        shape=SQUARE, friction=0.5, contact_damping=0.0, contact_stiffness=2e5, dt=1e-4,
        substeps=10, pusher_radius=0.01, pusher_gain=1e4, pusher_damping=200.0,
    )  # fmt: skip
    sim = PushSimulation(config)
    state = at(sim, body=(0.25, 0.25, 0.0), pusher=(0.1899, 0.26))
    speed, x = 0.01, 0.1899
    for k in range(300):
        x = 0.1899 + speed * 1e-3 * k
        sim.advance(state, [(x + 200.0 / 1e4 * speed, 0.26)])
    seen = state.body_velocity[:, 0]
    theta = state.body[2, 0]
    c, s = np.cos(theta), np.sin(theta)
    R = np.array([[c, -s], [s, c]])
    body = state.body[:2, 0]
    # Without friction of the contact the force is along the normal n. The ellipsoid lets the body
    # move with v = f, w = (r x f) / c^2, so fast that its edge keeps up with the pusher.
    _, r, normal = signed_distance(SQUARE, R.T @ (state.pusher[:, 0] - body))
    n, c2 = -normal, characteristic_length(SQUARE) ** 2
    turn = (r[0] * n[1] - r[1] * n[0]) / c2
    f = (R.T @ [speed, 0.0]) @ n / (1.0 + turn**2 * c2)
    assert_allclose(seen, [*(R @ (f * n)), f * turn], rtol=0.05, atol=2e-4)


def test_walls_keep_body_and_pusher_on_the_table():
    sim = PushSimulation(PushConfig(friction=0.1))
    state = at(sim, body=(0.25, 0.25, 0.3), pusher=(0.1, 0.1), spin=(2.0, 1.0, 8.0))
    for _ in range(50):
        sim.advance(state, [(-5.0, 9.0)])
        corners = sim.body.moved(state.body[:, 0]).vertices
        assert (corners > -0.05).all()
        assert (corners < 0.512 + 0.05).all()
    assert_allclose(state.pusher[:, 0], [0.02, 0.492], atol=1e-3)


@settings(max_examples=15)
@given(outlines(), st.integers(0, 100))
def test_any_simple_polygon_can_be_pushed(points, seed):
    polygon = polygon_of(points)
    if polygon is None or polygon.area < 0.05:
        return
    sim = PushSimulation(PushConfig(shape=SimplePolygon(0.03 * polygon.vertices)))
    state = sim.random_states(np.random.default_rng(seed), 4)
    goal = shapely.Polygon(sim.goal.vertices)
    for _ in range(20):
        sim.advance(state, state.body[:2].T.copy())
    assert np.isfinite(state.values).all()
    theirs = [shapely.Polygon(sim.body.moved(b).vertices).intersection(goal) for b in state.body.T]
    assert_allclose(state.coverage, [p.area / goal.area for p in theirs], atol=1e-9)


def plain_step(sim, v, target):
    """A control step of one table that looks at every force in every substep; v is its state."""
    from galley.planar.geometry.support_kernel import slowed
    from galley.planar.pushing import simulation_kernel as k

    config, p, dt = sim.config, sim._numbers, sim.config.dt
    size = np.array([config.width, config.height])
    low, high = config.pusher_radius, size - config.pusher_radius
    to = np.clip(target, low, high)
    for _ in range(int(config.substeps)):
        x, y, theta, vx, vy, omega = v[4:10]
        where = (sim.body.vertices_ccw, p, x, y, np.cos(theta), np.sin(theta), vx, vy, omega)
        push = np.array(k.contact_force(*where, *v[:4])[:3])
        wall = np.array(k.wall_force(*where))
        spring = config.pusher_gain * (to - v[:2]) - config.pusher_damping * v[2:4]
        v[2:4] += dt * (spring - push[:2] / config.pusher_mass)
        v[:2] += dt * v[2:4]
        for axis in (0, 1):
            if not low <= v[axis] <= high[axis]:
                v[axis], v[2 + axis] = np.clip(v[axis], low, high[axis]), 0.0
        M = np.array([config.mass, config.mass, sim.inertia])
        free = v[7:10] + dt * (push + wall) / M
        v[7:10] = slowed(*free, M[0], M[2], p[k.LIMIT], p[k.LENGTH], p[k.STILL], dt)
        v[4:7] += dt * v[7:10]


@pytest.mark.parametrize("mass", [np.inf, 2.0], ids=["driven pusher", "pusher with a mass"])
def test_what_a_step_skips_changes_nothing(mass):
    table = {"width": 0.3, "height": 0.3, "goal_x": 0.15, "goal_y": 0.15}
    sim = PushSimulation(PushConfig(shape=shape("L"), pusher_mass=mass, **table))
    state, rng, touched = (
        sim.random_states(np.random.default_rng(6), 6),
        np.random.default_rng(7),
        0,
    )
    plain = state.values.T.copy()
    for _ in range(60):
        targets = rng.uniform(-0.1, 0.4, (6, 2))  # across the body, into walls and corners
        sim.advance(state, targets)
        for v, target in zip(plain, targets, strict=True):
            plain_step(sim, v, target)
        assert_allclose(state.values[:10], plain.T[:10], rtol=1e-9, atol=1e-9)
        touched += (state.body_velocity != 0.0).any()
        plain[:] = state.values.T  # a contact at the rim of rounding must not grow
    assert touched > 20


def test_the_longest_substep_is_where_a_spring_and_damper_start_to_grow(caplog):
    config = PushConfig(
        contact_stiffness=3000.0,
        contact_damping=15.0,
        pusher_mass=0.5,
        wall_stiffness=1.0,
        wall_damping=0.0,
    )
    sim = PushSimulation(config)
    light = 1.0 + sim.radius**2 / sim.inertia + 2.0
    for share, stable in ((0.999, True), (1.001, False)):
        h = share * sim.longest_substep()
        k, c = 3000.0 * light, 15.0 * light
        step = np.array([[1.0 - h * h * k, h - h * h * c], [-h * k, 1.0 - h * c]])  # of x and v
        assert (np.abs(np.linalg.eigvals(step)).max() < 1.0) == stable
    assert not caplog.records
    PushSimulation(dataclasses.replace(config, dt=1.1 * sim.longest_substep()))
    assert "may be unstable" in caplog.text


WALLS = [{"wall_stiffness": 50000.0, "wall_damping": 0.0}, {"wall_damping": 200.0}]


@pytest.mark.parametrize("numbers", WALLS, ids=["spring", "damper"])
def test_the_longest_substep_counts_the_walls(numbers, caplog):
    """At the default dt a body that hits such a wall would be thrown off it."""
    config = PushConfig(friction=0.0, **numbers)
    most = PushSimulation(config).longest_substep()
    assert "may be unstable" in caplog.text
    caplog.clear()
    config = dataclasses.replace(config, dt=0.9 * most)
    sim = PushSimulation(config)
    assert not caplog.records
    state = sim.states((0.25, 0.25, 0.3), (0.02, 0.02))
    state.body_velocity[0] = 0.5
    for _ in range(int(1.0 / config.dt / config.substeps)):
        sim.advance(state, [(0.02, 0.02)])
        assert np.hypot(*state.body_velocity[:2, 0]) < 0.51
    assert state.body_velocity[0, 0] < 0.0


def test_random_states_are_reproducible_and_apart():
    sim = PushSimulation(PushConfig())
    long = PushSimulation(
        PushConfig(shape=SimplePolygon([(0, 0), (0.45, 0), (0.45, 0.02), (0, 0.02)]))
    )
    state = long.random_states(np.random.default_rng(1), 50)
    for pose in state.body.T:
        corners = long.body.moved(pose).vertices
        assert (corners >= 0.0).all()
        assert (corners <= (long.config.width, long.config.height)).all()
    first, second = (sim.random_states(np.random.default_rng(7), 200) for _ in range(2))
    assert_allclose(first.values, second.values, rtol=0, atol=0)
    bodies = [shapely.Polygon(sim.body.moved(pose).vertices) for pose in first.body.T]
    apart = [b.distance(shapely.Point(p)) for b, p in zip(bodies, first.pusher.T, strict=True)]
    gaps = np.subtract(apart, sim.config.pusher_radius)
    assert_allclose(sim.gap(first.body.T, first.pusher.T), gaps, atol=1e-9)
    assert (gaps > 0.0).all()


@pytest.mark.parametrize("targets", [[(np.nan, 0.0)], [(0.1, 0.1), (0.2, 0.2)], (0.1, 0.1)])
def test_bad_targets_are_refused(targets):
    sim = PushSimulation(PushConfig())
    with pytest.raises(ValueError, match="finite numbers"):
        sim.advance(sim.states((0.2, 0.2, 0.0), (0.1, 0.1)), targets)
