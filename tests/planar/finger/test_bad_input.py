"""Bad input is refused by name; what fails during a run ends it and keeps what was simulated."""

from math import inf, nan

import numpy as np
import pytest

from galley.planar.finger import Drag, Finger, Kind, Policy, Profile, Solver, Start, simulate


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"finger_mass": 0.0}, "finger_mass = 0.0 kg: must be a number greater than 0"),
        ({"object_mass": -2.0}, "object_mass = -2.0 kg: must be a number greater than 0, or inf"),
        ({"restitution": 1.1}, "restitution = 1.1: must be a number from 0 to 1"),
        (
            {"kinetic_friction": 2.0},
            "kinetic_friction = 2 N: must not exceed static_friction = 1 N",
        ),
        ({"finger_drag": 1.0}, "finger_drag = 1.0: must be a Drag or a function of velocity"),
        ({"object_drag": lambda v: v + 1}, "object_drag at 0 m/s is 1.0 N: must be 0"),
    ],
)
def test_parameters(changes, message):
    with pytest.raises(ValueError, match=r"must (be|not)") as caught:
        Finger(**changes)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("force", "message"),
    [
        ([(0, 1), (2, 1), (1, 0)], "profile, pair 2: time 1.0 s comes after 2.0 s; sort the pairs"),
        ([(0, 1), (1, 1), (1, 2), (1, 3)], "profile, pair 3: the third at time 1.0 s"),
        ([(0, 1), (1, nan)], r"profile, pair 1: \(1.0, nan\) is not finite"),
        ([(0, 1), (1,)], r"profile = .*must be \(time, force\) pairs"),
        ([], "a profile needs a force for each time"),
        (["12", "34"], "must be .time, force. pairs"),
        ("hard", "force = hard N: must be a finite number"),
        (Policy(lambda s: 1.0, 0.2), "period = 0.2 s: must not exceed contact_time = 0.1 s"),
    ],
)
def test_forces(force, message):
    with pytest.raises(ValueError, match=message):
        simulate(Finger(), force, 1.0)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: simulate(Finger(), 1.0, -1.0), "t_end = -1.0 s"),
        (lambda: Policy(1.0), "policy = 1.0"),
        (lambda: Profile.of(5), "profile = 5: must be"),
        (lambda: simulate(Finger(), abs, 1.0, breaks=0.5), "breaks = 0.5"),
        (lambda: Start(inf), "finger_velocity = inf m/s"),
        (lambda: simulate(Finger(object_mass=inf), 0.0, 1.0, Start(0.0, 1.0)), "a wall can't move"),
        (lambda: simulate(Finger(), 0.0, 1.0).at(1.5), "time = 1.5 s: the run is from 0 to 1 s"),
    ],
)
def test_other_arguments(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def failing(sense):
    if sense.time > 0.99:
        raise ZeroDivisionError("no more")
    return 1.0


@pytest.mark.parametrize(
    ("act", "why"),
    [
        (failing, "the policy failed at 1 s: ZeroDivisionError: no more"),
        (lambda s: 1.0 if s.time < 0.99 else nan, "the policy returned nan at 1 s"),
        (lambda s: 1.0 if s.time < 0.99 else None, "the policy failed at 1 s: TypeError"),
    ],
)
def test_a_policy_that_fails_ends_the_run(act, why):
    finger = Finger(gap=0.2)
    run = simulate(finger, Policy(act), 5.0)
    assert run.fault.startswith(why)
    assert run.end == pytest.approx(1.0)
    assert Kind.TOUCH in run.order()
    whole = simulate(finger, Policy(lambda s: 1.0), 1.0)
    assert run.at(run.end).finger_position == whole.at(whole.end).finger_position


def test_a_policy_that_fails_at_once():
    run = simulate(Finger(), Policy(lambda s: nan), 5.0, Start(2.0, -1.0))
    assert run.end == 0.0
    assert run.fault == "the policy returned nan at 0 s"
    assert run.at(0.0).object_position == [1.5]
    assert (run.at(0.0).finger_velocity, run.samples().object_velocity) == (2.0, -1.0)


def test_a_force_or_drag_that_fails_ends_the_run():
    force = simulate(Finger(gap=0.2), lambda t: 1.0 if t < 2.0 else nan, 5.0, breaks=[1.0])
    assert force.fault.startswith("the force is nan N at 2")
    assert 1.0 <= force.end < 2.1
    drag = simulate(Finger(finger_drag=lambda v: v if v < 10.5 else nan, gap=1e3), 20.0, 5.0)
    assert drag.fault.startswith("an acceleration is nan m/s^2 at 0.")


def test_a_drag_law_that_raises_ends_the_run():
    def law(velocity):
        return velocity / (velocity < 10.5)

    run = simulate(Finger(finger_drag=law, gap=1e3), [(0, 20), (0.3, 20), (3, 20)], 5.0)
    assert run.fault.startswith("a drag law failed after 0.3 s: ZeroDivisionError")
    assert run.end == 0.3


def test_too_many_events():
    """An elastic finger bounces between force and wall for ever; the run ends and says so."""
    finger = Finger(object_mass=inf, restitution=1.0, gap=1e-5, finger_drag=Drag())
    run = simulate(finger, 1.0, 60.0, solver=Solver(max_events=30))
    assert run.fault.startswith("more than 30 events by 0.")
    assert run.end < 1.0


def test_a_jump_is_seen_however_short():
    """A pulse of 1 ms between two coarse steps of the solver: break points, not luck."""
    finger = Finger(object_mass=inf, gap=10.0, finger_drag=Drag())
    pulse = [(0, 0), (1, 0), (1, 500), (1.001, 500), (1.001, 0)]
    run = simulate(finger, pulse, 3.0)
    assert run.at(3.0).finger_velocity[0] == pytest.approx(0.5, rel=1e-12)
    function = simulate(finger, Profile.of(pulse).__call__, 3.0, breaks=[1, 1.001])
    assert function.at(3.0).finger_velocity[0] == pytest.approx(0.5, rel=1e-9)


def test_a_gap_below_rounding_closes():
    """Found by hypothesis: opened by less than rounding, the finger came through the wall."""
    finger = Finger(1.4496, inf, 0.8915, 0.538, 0.0, 4.4e-203, 0.02)
    profile = [(0, -4.5e-234), (1.4, 0.905), (1.4, 4.8e-298)]
    run = simulate(finger, profile, 3.0, Start(-8.3e-155))
    assert run.fault is None
    assert run.samples(200.0).finger_position.max() == pytest.approx(0.0, abs=1e-12)


def test_at_rest_nothing_happens():
    run = simulate(Finger(gap=0.0), 0.0, 3.0)
    assert run.order() == ()
    assert not np.any(run.samples().sensor)
    assert simulate(Finger(), lambda t: 0.0, 3.0).order() == ()
