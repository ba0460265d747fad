"""The two demonstrations do what their description says, sentence by sentence."""

from itertools import groupby

import numpy as np
import pytest

from galley.planar.finger import Epoch, Kind, simulate
from galley.planar.finger.examples import EXAMPLES


def ran(name):
    example = EXAMPLES[name]
    return simulate(example.finger, example.force, example.t_end)


def told(run):
    """Kinds of events in order, of several touches in a row one; without turns."""
    return [kind for kind, _ in groupby(k for k in run.order() if k is not Kind.TURN)]


def epochs(run):
    return [epoch for epoch, _ in groupby(each.epoch for each in run.segments)]


def falls_behind(run, off):
    """The force ends at ``off``: finger and object part at once, the finger brakes harder."""
    part = next(e for e in run.events if e.kind is Kind.PART)
    assert part.time == off
    after = run.at(np.linspace(off, run.end, 50))
    gap = after.object_position - after.finger_position
    assert (np.diff(gap) > 0).all()
    assert gap[-1] > 0.2
    finger, body = np.diff(after.finger_velocity)[0], np.diff(after.object_velocity)[0]
    assert finger < body < 0
    assert not after.sensor.any()


def test_wall():
    wall = ran("wall")
    assert epochs(wall) == [Epoch.SEPARATE, Epoch.PUSHING, Epoch.SEPARATE]
    assert told(wall) == [Kind.TOUCH, Kind.SLIP, Kind.TOUCH, Kind.SETTLE, Kind.PART]
    bounce = wall.events[0]
    coasting = wall.at([1.0, 2.0, 3.0, 3.5])
    assert not coasting.applied_force.any()
    assert (np.diff(coasting.finger_velocity) < 0).all()
    assert (coasting.finger_velocity > 0).all()
    after = wall.at(np.linspace(bounce.time, bounce.time + 0.5, 20))
    assert (after.finger_velocity < 0).all()
    assert (after.object_position == 1.5).all()
    assert after.sensor[0] == pytest.approx(bounce.impulse / 0.1)
    falls_behind(wall, 8.0)


def test_push():
    push = ran("push")
    assert epochs(push) == [Epoch.SEPARATE, Epoch.STUCK, Epoch.PUSHING, Epoch.SEPARATE]
    assert told(push) == [Kind.TOUCH, Kind.SETTLE, Kind.SLIP, Kind.PART]
    _, settle, slip = (next(e for e in push.events if e.kind is k) for k in told(push)[:3])
    pressed = push.at(np.linspace(settle.time, 4.999, 50))
    assert (pressed.object_position == 1.5).all()
    assert pressed.sensor[-1] == 0.5
    assert slip.time == 5.0
    falls_behind(push, 8.0)
