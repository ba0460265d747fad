"""Against closed forms: flights, drag, impacts, pushing, sticking, and infinitely many bounces."""

from math import exp, inf, log, sqrt, tanh

import numpy as np
import pytest

from galley.planar.finger import Drag, Epoch, Finger, Kind, Simulation, Solver, Start, simulate

NO_DRAG = {"finger_drag": Drag(), "object_drag": Drag()}
TIGHT = Solver(rtol=1e-12, atol=1e-14)
CLOSE = {"rel": 1e-9, "abs": 1e-12}


def near(value):
    return pytest.approx(value, **CLOSE)


@pytest.mark.parametrize("mass", [0.2, 1.0, 7.0])
def test_a_flight_under_a_constant_force(mass):
    finger = Finger(finger_mass=mass, object_mass=inf, gap=0.8, restitution=0.3, **NO_DRAG)
    touch, turn = simulate(finger, 2.0, 4.0, solver=TIGHT).events[:2]
    acceleration = 2.0 / mass
    speed = sqrt(2 * acceleration * 0.8)
    assert (touch.kind, turn.kind) == (Kind.TOUCH, Kind.TURN)
    assert touch.time == near(speed / acceleration)
    assert touch.closing_speed == near(speed)
    assert touch.impulse == near(mass * 1.3 * speed)
    assert turn.time == near(1.3 * speed / acceleration)
    assert turn.position == near(0.8 - (0.3 * speed) ** 2 / (2 * acceleration))


@pytest.mark.parametrize(
    ("drag", "speed", "way"),
    [
        # v' = F - v^2 and v' = F - v, from rest, mass 1 and F = 4.
        (Drag(quadratic=1.0), lambda t: 2 * tanh(2 * t), lambda v: -0.5 * log(1 - v * v / 4)),
        (Drag(linear=1.0), lambda t: 4 * (1 - exp(-t)), lambda v: -v - 4 * log(1 - v / 4)),
    ],
)
def test_drag_and_terminal_velocity(drag, speed, way):
    run = simulate(Finger(gap=1e4, finger_drag=drag), 4.0, 20.0, solver=TIGHT)
    samples = run.at([0.1, 0.7, 2.0, 3.0, 20.0])
    expected = [speed(t) for t in samples.time]
    assert samples.finger_velocity == near(expected)
    assert samples.finger_position[:4] == pytest.approx([way(v) for v in expected[:4]], rel=1e-9)
    assert samples.finger_velocity[-1] == pytest.approx(2.0 if drag.quadratic else 4.0, rel=1e-8)


@pytest.mark.parametrize("restitution", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("mass", [0.1, 1.0, 2.0, 30.0])
def test_two_body_impact(mass, restitution):
    """Textbook velocities after an impact, with both bodies moving before it."""
    finger = Finger(object_mass=mass, restitution=restitution, gap=0.5, **NO_DRAG)
    finger = Finger(**{**vars(finger), "static_friction": 0.0, "kinetic_friction": 0.0})
    run = simulate(finger, 0.0, 2.0, Start(finger_velocity=2.0, object_velocity=-1.0))
    touch, after = run.events[0], run.at(2.0)
    total = 1.0 + mass
    v_f = (2.0 - mass + mass * restitution * (-1.0 - 2.0)) / total
    v_o = (2.0 - mass + 1.0 * restitution * (2.0 + 1.0)) / total
    assert touch.time == near(0.5 / 3.0)
    assert touch.impulse == near(mass / total * (1 + restitution) * 3.0)
    assert after.finger_velocity[0] == near(v_f)
    assert after.object_velocity[0] == near(v_o)
    assert after.finger_velocity[0] + mass * after.object_velocity[0] == near(2.0 - mass)


def test_pushing_together():
    """a = (F - F_k) / (m_f + m_o); the sensor reads F_k + m_o a, not F_k alone."""
    finger = Finger(2.0, 3.0, static_friction=4.0, kinetic_friction=1.5, gap=0.0, **NO_DRAG)
    run = simulate(finger, 6.5, 2.0)
    samples = run.samples()
    assert run.order() == (Kind.SLIP,)
    assert run.events[0].time == 0.0
    assert samples.object_velocity == near(1.0 * samples.time)
    assert samples.finger_position == near(0.5 * samples.time**2)
    assert samples.sensor == near(np.full(len(samples.time), 1.5 + 3.0 * 1.0))
    assert set(samples.epoch) == {Epoch.PUSHING}


def test_the_object_slips_where_the_push_exceeds_static_friction():
    finger = Finger(static_friction=3.0, kinetic_friction=2.0, gap=0.0, restitution=0.0)
    run = simulate(finger, lambda t: 0.1 + t * t, 2.0, solver=TIGHT)
    assert run.order() == (Kind.SLIP,)
    assert run.events[0].time == near(sqrt(2.9))
    stuck = run.at(np.linspace(0.0, 1.7, 99))
    assert not stuck.finger_velocity.any()
    assert not stuck.object_velocity.any()
    assert (stuck.object_position == 0.0).all()
    assert stuck.sensor == near(0.1 + stuck.time**2)
    bears = simulate(finger, [(0, 0), (1, 3.0), (5, 3.0)], 5.0)
    assert bears.order() == ()


def test_force_off_parts_and_the_object_slides_to_an_exact_stop():
    """With nothing but friction on the object: v^2 / (2 F_k / m_o) until it stops."""
    finger = Finger(
        1.0, 4.0, static_friction=3.0, kinetic_friction=2.0, gap=0.0, object_drag=Drag()
    )
    run = simulate(finger, [(0, 9.0), (1, 9.0), (1, -9.0)], 4.0)
    assert run.order(Kind.SLIP, Kind.PART, Kind.STOP) == (Kind.SLIP, Kind.PART, Kind.STOP)
    _, part, stop = (e for e in run.events if e.kind is not Kind.TURN)
    parting = run.at(part.time)
    speed = parting.object_velocity[0]
    assert part.time == 1.0
    assert stop.time - part.time == near(speed / 0.5)
    rest = run.at(np.linspace(stop.time, 4.0, 9))
    assert not rest.object_velocity.any()
    assert rest.object_position - parting.object_position == near(np.full(9, speed**2 / 1.0))


@pytest.mark.parametrize("restitution", [0.0, 0.2, 0.5, 0.9])
def test_infinitely_many_bounces_off_a_wall(restitution):
    """Flights 2 e^k u / a: a geometric series, in which the sum of impulses is that of a fall."""
    finger = Finger(2.0, inf, restitution, gap=0.7, **NO_DRAG)
    a, u = 1.5, sqrt(2 * 1.5 * 0.7)
    end = u / a + 2 * restitution * u / (a * (1 - restitution))
    run = simulate(finger, 3.0, end + 5.0)
    assert run.impulse() == pytest.approx(
        2.0 * (1 + restitution) * u / (1 - restitution), rel=1e-10
    )
    last = run.events[-1]
    assert last.kind is (Kind.SETTLE if restitution else Kind.TOUCH)
    assert last.time == pytest.approx(end, rel=1e-10)
    rest = run.at(np.linspace(last.time, end + 5.0, 20))
    assert not rest.finger_velocity.any()
    assert rest.sensor_constant == near(np.full(20, 3.0))
    assert set(rest.epoch) == {Epoch.STUCK}


def test_infinitely_many_bounces_end_in_a_push():
    """Off an object without friction relative motion is that series, of the reduced mass."""
    finger = Finger(1.0, 3.0, 0.6, 0.0, 0.0, 0.5, **NO_DRAG)
    u = sqrt(2 * 2.0 * 0.5)
    end = u / 2.0 + 2 * 0.6 * u / (2.0 * 0.4)
    run = simulate(finger, 2.0, end + 1.0)
    last, after = run.events[-1], run.at([end, end + 1.0])
    assert last.kind is Kind.SETTLE
    assert last.time == pytest.approx(end, rel=1e-10)
    assert run.impulse() == pytest.approx(0.75 * 1.6 * u / 0.4, rel=1e-10)
    assert after.object_velocity == pytest.approx(2.0 * after.time / 4.0, rel=1e-9)
    assert after.sensor_constant[1] == pytest.approx(3.0 * 2.0 / 4.0)


def test_bounces_between_two_control_steps_end_at_the_same_limit():
    """The limit may lie just behind the end of a step, or be passed bounce by bounce."""
    finger = Finger(1.0, inf, 0.5, gap=0.5, **NO_DRAG)
    whole = simulate(finger, 1.0, 4.0)
    for step in (0.37, 0.1, 0.0123):
        run = Simulation(finger)
        for k in range(round(4.0 / step) + 1):
            run.advance(1.0, (k + 1) * step)
        assert run.trace().events[-1].time == pytest.approx(3.0, rel=1e-9)
        assert run.trace().impulse() == pytest.approx(whole.impulse(), rel=1e-9)


@pytest.mark.parametrize("contact_time", [0.02, 0.1, 0.5])
def test_an_impact_moves_the_object_beyond_static_friction(contact_time):
    """It stays while its friction bears J / dt and the push together, and moves off beyond."""
    finger = Finger(1.0, 2.0, 0.5, 3.0, 1.0, 1.0, contact_time, Drag(), Drag())
    for push in (0.0, 1.2):
        limit = (3.0 - push) * contact_time / 1.5  # closing speed
        for speed, held in ((0.999 * limit, True), (1.001 * limit, False)):
            run = Simulation(finger, Start(finger_velocity=1e-12))
            run.x_f, run.v_f = 1.0 - 1e-9, speed
            run.advance(push, 1e-6)
            touch = run.events[0]
            assert touch.closing_speed == pytest.approx(speed, rel=1e-3)
            mass = 1.0 if held else 2.0 / 3.0
            assert touch.impulse == pytest.approx(1.5 * mass * speed, rel=1e-3)
            assert (run.v_o == 0.0) is held
            assert [e.kind for e in run.events] == [Kind.TOUCH] + [Kind.SLIP] * (not held)


def test_compression_becomes_tension_under_a_falling_force():
    """Pushing, at F = -F_k m_f / m_o, while both still move on; at rest, at F = 0."""
    finger = Finger(1.0, 2.0, 0.5, 2.0, 1.0, 0.0, **NO_DRAG)
    for force in ([(0, 6), (3, -6)], lambda t: 6 - 4 * t):
        slip, part = simulate(finger, force, 2.0, solver=TIGHT).events[:2]
        assert (slip.kind, part.kind) == (Kind.SLIP, Kind.PART)
        assert part.time == near(6.5 / 4)
        assert part.position == near((2.5 * part.time**2 - 2 / 3 * part.time**3) / 3)
    resting = simulate(finger, [(0, 0.5), (1, -0.5)], 1.0)
    assert resting.order() == (Kind.PART,)
    assert resting.events[0].time == near(0.5)
    assert resting.at(1.0).finger_velocity[0] == near(-0.5 * 0.5**2)
    assert resting.at(1.0).object_position[0] == 0.0
