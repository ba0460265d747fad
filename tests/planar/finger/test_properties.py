"""What holds for any finger: momentum, energy, no overlap, exact rest."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from galley.planar.finger import Drag, Epoch, Finger, Kind, Policy, Profile, Start, simulate
from galley.tests.effort import examples

GAUSS_X, GAUSS_W = np.polynomial.legendre.leggauss(6)
masses = st.floats(0.2, 5.0)
forces = st.floats(-3.0, 6.0)


@st.composite
def fingers(draw):
    static = draw(st.floats(0.0, 3.0))
    laws = [Drag(draw(st.floats(0.0, 1.0)), draw(st.floats(0.0, 1.0))) for _ in range(2)]
    return Finger(
        draw(masses),
        draw(masses | st.just(np.inf)),
        draw(st.floats(0.0, 0.9)),
        static,
        static * draw(st.floats(0.0, 1.0)),
        draw(st.floats(0.0, 0.5)),
        draw(st.sampled_from([0.02, 0.1])),
        *laws,
    )


@st.composite
def profiles(draw):
    """Ramps and jumps over 3 s."""
    times = [0.0, *sorted(draw(st.lists(st.sampled_from([0.5, 0.9, 1.4, 2.0, 2.5]), max_size=4)))]
    times = [t for k, t in enumerate(times) if k < 2 or t > times[k - 2]]
    return Profile.of([(t, draw(forces)) for t in times])


def integrals(run):
    """Of F - D - N, and of the powers of the applied force, over each segment (Gauss)."""
    for segment in run.segments:
        for a, b in zip(segment.steps[:-1], segment.steps[1:], strict=True):
            at = run.at(0.5 * (a + b) + 0.5 * (b - a) * GAUSS_X)
            weight = 0.5 * (b - a) * GAUSS_W
            drag = [run.finger.finger_drag(v) for v in at.finger_velocity]
            net = at.applied_force - drag - at.sensor_constant
            yield b, weight @ net, weight @ (at.applied_force * at.finger_velocity)


@settings(max_examples=examples(150) * 2 // 5)
@given(fingers(), profiles(), st.floats(-0.5, 1.5), st.floats(-1.0, 1.0))
def test_laws_of_mechanics(finger, profile, speed, object_speed):
    object_speed = 0.0 if finger.wall else object_speed
    run = simulate(finger, profile, 3.0, Start(speed, object_speed))
    assert run.fault is None
    assert run.end == 3.0
    samples = run.samples(200.0)
    assert (samples.object_position - samples.finger_position).min() > -1e-9
    assert samples.sensor.min() >= 0.0
    stuck = samples.epoch == Epoch.STUCK.value
    assert not samples.finger_velocity[stuck].any()
    assert not samples.object_velocity[stuck].any()
    assert (samples.finger_position == samples.object_position)[stuck].all()
    assert not samples.sensor_constant[samples.epoch == Epoch.SEPARATE.value].any()
    if finger.wall:
        assert not samples.object_velocity.any()

    net, work, energies, last = 0.0, 0.0, [], speed
    for end, momentum, power in integrals(run):
        net, work = net + momentum, work + power
        now = run.at(end)
        v_f, v_o = now.finger_velocity[0], now.object_velocity[0]
        moving = 0.0 if finger.wall else 0.5 * finger.object_mass * v_o**2
        energies.append(0.5 * finger.finger_mass * v_f**2 + moving - work)
        last = v_f
    total = net - run.impulse()
    assert finger.finger_mass * (last - speed) == pytest.approx(total, rel=1e-6, abs=1e-6)
    begin = 0.0 if finger.wall else 0.5 * finger.object_mass * object_speed**2
    begin += 0.5 * finger.finger_mass * speed**2
    assert np.diff([begin, *energies]).max() < 1e-7


def test_a_gap_that_closes_and_opens_within_one_step():
    laws = Drag(0.98188334, 0.44586987), Drag(0.318393, 0.04901339)
    finger = Finger(0.2615892489, 1.6238063824, 0.3, 2.7815008062, 2.301599969, 0.0, 0.1, *laws)
    profile = [(0.0101782, 0.96454067), (0.22194432, -0.2792697), (0.31482979, 2.51994909)]
    run = simulate(finger, profile, 1.0, Start(-0.0260117893, -0.4018828282)).samples(2000.0)
    assert (run.finger_position - run.object_position).max() < 1e-12


def test_an_impact_at_a_control_step_is_felt():
    felt, finger = [], Finger(object_mass=np.inf, gap=0.0)
    simulate(finger, Policy(lambda s: felt.append(s.sensor) or 0.0, 0.1), 0.3, Start(1.0))
    assert felt == pytest.approx([0.0, 15.0, 0.0])


def test_an_impact_that_stops_the_object():
    finger = Finger(1.0, 1.0, 1.0, 0.0, 0.0, 0.1, 0.1, Drag(), Drag())
    run = simulate(finger, 0.0, 1.0, Start(object_velocity=-1.0))
    assert run.order() == (Kind.TOUCH, Kind.STOP)


@settings(max_examples=examples(40) // 4)
@given(fingers(), st.lists(forces, min_size=1, max_size=20))
def test_a_policy_that_replays_a_profile(finger, levels):
    """Steps held by a policy, and the same steps as a profile with jumps."""
    period = 0.02 * 5
    finger = Finger(**{**vars(finger), "contact_time": 0.1})
    pairs = [(k * period, f) for k in range(len(levels)) for f in levels[max(k - 1, 0) : k + 1]]
    policy = Policy(lambda sense: levels[round(sense.time / period)], period)
    end = len(levels) * period
    ours, theirs = simulate(finger, policy, end), simulate(finger, pairs, end)
    assert ours.order() == theirs.order()
    assert [e.time for e in ours.events] == pytest.approx([e.time for e in theirs.events], abs=1e-9)
    one, other = ours.samples(), theirs.samples()
    assert one.finger_position == pytest.approx(other.finger_position, abs=1e-8)
    assert one.sensor[:-1] == pytest.approx(other.sensor[:-1], abs=1e-5)


def test_the_policy_feels_what_the_sensor_reads():
    """And sees only itself: what it was told agrees with the run, just before each step."""
    felt = []

    def act(sense):
        felt.append(sense)
        return 1.0 if sense.time < 1.5 else 4.0

    finger = Finger(object_mass=2.0, static_friction=3.0, kinetic_friction=1.0, gap=0.2)
    run = simulate(finger, Policy(act), 4.0)
    assert [s.time for s in felt] == pytest.approx(0.02 * np.arange(200))
    assert Kind.SLIP in run.order()
    assert run.impulse() > 0.5
    before = run.at([max(s.time - 1e-9, 0.0) for s in felt])
    assert [s.position for s in felt] == pytest.approx(before.finger_position, abs=1e-7)
    assert [s.velocity for s in felt] == pytest.approx(before.finger_velocity, abs=1e-6)
    assert [s.sensor for s in felt] == pytest.approx(before.sensor, abs=1e-5)
    assert felt[0]._fields == ("time", "position", "velocity", "sensor")
