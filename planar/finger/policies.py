"""Hand-made policies for the tasks of ``environment``: what a learned one has to beat.

    env = gymnasium.make("galley/Finger-v0", task="press", noise=0.02)
    observation, _ = env.reset(seed=0)
    policy, over = make_policy("press", noise=0.02), False
    while not over:
        observation, _, ended, late, info = env.step(policy(observation))
        over = ended or late

All keep a speed (m/s) with the drag and, in contact, the felt force fed forward. A resting object
feels like a wall, so that the force then grows from step to step until it slips.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from galley.planar.finger.environment import MASSES, MAX_FORCE, PERIOD
from galley.planar.finger.filter import ContactFilter, ContactModel
from galley.planar.finger.model import Finger

_APPROACH = 0.25  # m/s
_GAIN = 4.0  # N s/m, from the error of speed to force
_FINGER = Finger()  # its own mass and drag, which the finger knows


class TouchPolicy:
    """Moves at a wanted speed, and knows from its filter whether it is in contact.

    Args:
        noise: N, of the sensor.
    """

    def __init__(self, noise: float) -> None:
        self.felt = ContactFilter(ContactModel(noise=max(noise, 0.01)))
        self.touching = False

    def __call__(self, observation: NDArray[np.float32]) -> NDArray[np.float32]:
        """The action for an observation (4,): position, velocity, sensor, aim."""
        position, velocity, sensor, aim = (float(value) for value in observation)
        self.touching = self.felt.update(sensor) > 0.5
        action = self.decide(position, velocity, sensor, aim)
        return np.clip(action, -MAX_FORCE, MAX_FORCE).astype(np.float32)

    def decide(self, position: float, velocity: float, sensor: float, aim: float) -> list[float]:
        """The action."""
        raise NotImplementedError

    def force(self, speed: float, velocity: float, sensor: float) -> float:
        """N, towards a speed (m/s)."""
        push = _FINGER.finger_drag(velocity) + _GAIN * (speed - velocity)
        return push + sensor if self.touching else push


class Push(TouchPolicy):
    """Pushes slower the nearer the aim is, then lets the object slide out of touch."""

    def decide(self, position: float, velocity: float, sensor: float, aim: float) -> list[float]:
        """Speed in proportion to the way that is left."""
        left = aim - position
        if left <= 0.01:
            return [self.force(-0.1, velocity, 0.0)]
        speed = min(0.5 * left, _APPROACH) + 0.02
        return [self.force(speed, velocity, sensor)]


class Press(TouchPolicy):
    """Approaches, and once the object rests against it lets the force grow to the aim.

    A gentler object than the push slips away; it is followed, at a crawl, until it rests again.
    """

    def __init__(self, noise: float) -> None:
        super().__init__(noise)
        self.pressed = 0.0

    def decide(self, position: float, velocity: float, sensor: float, aim: float) -> list[float]:
        """Grows by 5 % of the aim a step, at rest alone."""
        if abs(velocity) > 1e-4:
            self.pressed = 0.0
            return [self.force(0.02 if self.touching else 0.1, velocity, 0.0)]
        self.pressed = min(self.pressed + 0.05 * aim, aim)
        return [self.pressed]


class Tell(TouchPolicy):
    """Pushes the object with alternating accelerations a; its mass is the slope of felt force on a.

    In motion the sensor reads F_kinetic + m_o a and a little drag; the finger knows its own a.
    """

    def __init__(self, noise: float) -> None:
        super().__init__(noise)
        self.steps = 0
        self.before = (0.0, 0.0)  # velocity and force of the step before
        self.rows: list[tuple[float, float]] = []

    def decide(self, position: float, velocity: float, sensor: float, aim: float) -> list[float]:
        """Declares when twenty pushes have been felt."""
        then, pushed = self.before
        self.steps += 1
        moving = self.touching and min(velocity, then) > 0.02
        # What the whole step felt, from the finger's own motion, free of the sensor's noise.
        mean = 0.5 * (velocity + then)
        acceleration = (velocity - then) / PERIOD
        net = pushed - _FINGER.finger_drag(mean) - _FINGER.finger_mass * acceleration
        if moving and abs(net - sensor) < 0.3:
            self.rows.append((acceleration, net))
        lively = 0.6 if self.steps // 4 % 2 else 0.1
        force = self.force(lively if self.touching else _APPROACH, velocity, sensor)
        self.before = (velocity, float(np.clip(force, -MAX_FORCE, MAX_FORCE)))
        declared = 0.0
        if len(self.rows) >= 20:
            a, felt = np.array(self.rows).T
            slope = np.polyfit(a, felt, 1)[0]
            declared = 1.0 if slope > sum(MASSES) / 2.0 else -1.0
        return [force, declared]


def make_policy(task: str, noise: float = 0.0) -> TouchPolicy:
    """A fresh policy for one episode of a task.

    Raises:
        ValueError: no such task.
    """
    made = {"push": Push, "press": Press, "tell": Tell}
    if task not in made:
        raise ValueError(f"task = {task!r}: must be one of {', '.join(made)}")
    return made[task](noise)
