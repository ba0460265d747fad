"""The fingers: they open along a trajectory, and close until both press on something."""

from __future__ import annotations

import math

import numpy as np

from galley.motion.motion import Motion
from galley.simulation.stepper import CLOSING_SPEED, Stepper

_CLOSED = 0.0015  # m of each finger: nothing is between them
_LEAST_REST = 0.05  # s, after letting go, before anything can be said to be at rest


def stroke(stepper: Stepper, motion: Motion) -> str:
    """Run a motion of the fingers; returns what ended it, empty where it ran its course.

    With a guard the fingers close until both press with its force; without one they go where the
    trajectory says, and everything comes to rest.
    """
    return _close(stepper, motion) if motion.guard is not None else _follow(stepper, motion)


def _follow(stepper: Stepper, motion: Motion) -> str:
    world = stepper.world
    if stepper.gripping:
        stepper.look()
        stepper.grip(False)
    where = world.robot.slice("fingers")
    steps = max(1, math.ceil(motion.trajectory.duration / world.dt - 1e-9))
    points = motion.trajectory(np.arange(steps + 1, dtype=np.float64) * world.dt)
    rates = np.diff(points, axis=0) / world.dt
    velocities = np.zeros(world.robot.size)
    for k in range(steps):
        stepper.hold[where] = points[k]
        velocities[where] = rates[k]
        stepper.step(velocities)
    stepper.hold[where] = points[-1]
    stepper.wait(_LEAST_REST)
    until = stepper.t + stepper.limits.settle_time
    while stepper.t < until and _fastest(stepper) > stepper.limits.at_rest_speed:
        stepper.look()
    return ""


def _fastest(stepper: Stepper) -> float:
    """m/s, of the items that are not held."""
    world = stepper.world
    return max((world.item_speed(i) for i in range(len(world.item_ids))), default=0.0)


def _close(stepper: Stepper, motion: Motion) -> str:
    """Close until both fingers have pressed hard enough for long enough, or on nothing."""
    world, limits, guard = stepper.world, stepper.limits, motion.guard
    assert guard is not None
    stepper.look()
    stepper.grip(True)
    where = world.robot.slice("fingers")
    # As long as it takes to close from fully open, and as long again.
    longest = 2.0 * float(world.robot.group("fingers").upper[0]) / CLOSING_SPEED
    pressed, until = 0.0, stepper.t + longest
    while stepper.t < until:
        began = stepper.t
        stepper.look()
        forces = [
            sum(touch.normal for pair, touch in stepper.touches.items() if finger in pair)
            for finger in world.robot.fingers
        ]
        pressed = pressed + stepper.t - began if min(forces) >= guard.force else 0.0
        if pressed >= limits.grip_time:
            return f"grip, {min(forces):.0f} N"
        if float(world.q()[where].max()) < _CLOSED:
            return "closed on nothing"
    return "no grip"
