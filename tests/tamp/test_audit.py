"""Drake's second opinion finds what a careless planner would let through."""

import numpy as np
import pytest

from galley.collision.checker import pair
from galley.domain.state import initial_state
from galley.motion.motion import FREE, Motion
from galley.motion.path import Path
from galley.motion.trajectory.timing import rest_to_rest
from galley.tamp.checks import audit


def drive(kitchen, robot, x, allowed=frozenset()):
    """The base goes straight from its start to x, whatever stands there."""
    start = kitchen.robot.q[:3]
    path = Path("base", np.array([start, [x, start[1], start[2]]]))
    return Motion(
        0, "drive", "base", path, rest_to_rest(path, robot.group("base")), allowed=allowed
    )


@pytest.mark.parametrize(("x", "free"), [(1.2, True), (0.3, False)])
def test_a_drive_into_the_counter_is_found(kitchen, robot, x, free):
    (motion,) = audit(kitchen, robot, (drive(kitchen, robot, x),), initial_state(kitchen))
    assert (motion.record.audit == FREE) is free
    if not free:
        assert "penetrate by" in motion.record.audit


def test_declared_pairs_may_touch(kitchen, robot):
    bodies = tuple(b.name for b in kitchen.bodies) + tuple(i.name for i in kitchen.items)
    allowed = frozenset(pair(link, body) for link in robot.links for body in bodies)
    motion = drive(kitchen, robot, 0.3, allowed)
    (audited,) = audit(kitchen, robot, (motion,), initial_state(kitchen))
    assert audited.record.audit == FREE


def test_a_later_motion_is_audited_where_the_one_before_ended(kitchen, robot):
    there = drive(kitchen, robot, 1.0)
    path = Path("arm", np.array([kitchen.robot.q[3:10], [0.0, 1.3, 0.0, -1.2, 0.0, 2.5, 0.74]]))
    reach = Motion(1, "reach", "arm", path, rest_to_rest(path, robot.group("arm")))
    start = initial_state(kitchen)
    (alone,) = audit(kitchen, robot, (reach,), start)
    first, second = audit(kitchen, robot, (there, reach), start)
    assert alone.record.audit == FREE
    assert first.record.audit == FREE
    assert "range" in second.record.audit or "hitman" in second.record.audit
