"""Hand-made policies for the tasks of ``galley/Finger-v0``: what a learned one has to beat.

    python examples/touch/policies.py [WORLDS]

All keep a speed with the drag and, in contact, the felt force fed forward. A resting object feels
like a wall, so that the force then grows from step to step until it slips. Whether the finger
touches is told by a recursive Bayes filter over noisy readings of the sensor. Needs
`pip install 'galley-tamp[planar]'`.
"""

import math
import sys

import gymnasium
import numpy as np
from scipy.special import log_ndtr

import galley.gym  # registers the environment
from galley.planar.finger import Finger
from galley.planar.finger.environment import MASSES, MAX_FORCE, PERIOD, TASKS

NOISE = 0.02  # N, of the sensor
APPROACH, GAIN = 0.25, 4.0  # m/s; N s/m, from the error of speed to force
FINGER = Finger()  # its own mass and drag, which the finger knows


class ContactFilter:
    """A Markov chain of two states, free and in contact, that begins and ends at random.

    Without contact a reading is Gaussian, N(0, s^2); in contact an exponential of mean f is added,
    which makes exp(s^2 / (2 f^2) - y / f) Phi(y / s - s / f) / f its density (the exponentially
    modified Gaussian).
    """

    def __init__(self, noise, force=0.5, touch=0.02, part=0.05):
        self.noise, self.force, self.touch, self.part = noise, force, touch, part
        self.probability = 0.0

    def update(self, reading):
        """Take in the reading (N) of a control step; returns the probability of contact."""
        s, f, z = self.noise, self.force, reading / self.noise
        touching = 0.5 * (s / f) ** 2 - reading / f + float(log_ndtr(z - s / f)) - math.log(f)
        free = -0.5 * z * z - math.log(s * math.sqrt(2.0 * math.pi))
        before = self.probability
        expected = before * (1.0 - self.part) + (1.0 - before) * self.touch
        odds = touching - free + math.log(expected) - math.log1p(-expected)
        self.probability = 1.0 / (1.0 + math.exp(-np.clip(odds, -30.0, 30.0)))
        return self.probability


class TouchPolicy:
    """Moves at a wanted speed, and knows from its filter whether it is in contact."""

    def __init__(self):
        self.felt, self.touching = ContactFilter(NOISE), False

    def decide(self, position, velocity, sensor, aim):
        """The forces (N), and what is told of the object."""
        raise NotImplementedError

    def __call__(self, observation):
        """The action for an observation (4,): position, velocity, sensor, aim."""
        position, velocity, sensor, aim = (float(value) for value in observation)
        self.touching = self.felt.update(sensor) > 0.5
        action = self.decide(position, velocity, sensor, aim)
        return np.clip(action, -MAX_FORCE, MAX_FORCE).astype(np.float32)

    def towards(self, speed, velocity, sensor):
        """The force (N) towards a speed (m/s)."""
        push = FINGER.finger_drag(velocity) + GAIN * (speed - velocity)
        return push + sensor if self.touching else push


class Push(TouchPolicy):
    """Pushes slower the nearer the aim is, then lets the object slide out of touch."""

    def decide(self, position, velocity, sensor, aim):
        """Speed in proportion to the way that is left."""
        left = aim - position
        if left <= 0.01:
            return [self.towards(-0.1, velocity, 0.0)]
        return [self.towards(min(0.5 * left, APPROACH) + 0.02, velocity, sensor)]


class Press(TouchPolicy):
    """Approaches, and once the object rests against it lets the force grow to the aim.

    A gentler object than the push slips away; it is followed, at a crawl, until it rests again.
    """

    pressed = 0.0

    def decide(self, position, velocity, sensor, aim):
        """Grows by 5 % of the aim a step, at rest alone."""
        if abs(velocity) > 1e-4:
            self.pressed = 0.0
            return [self.towards(0.02 if self.touching else 0.1, velocity, 0.0)]
        self.pressed = min(self.pressed + 0.05 * aim, aim)
        return [self.pressed]


class Tell(TouchPolicy):
    """Pushes the object with alternating accelerations a; its mass is the slope of felt force on a.

    In motion the sensor reads F_kinetic + m_o a and a little drag; the finger knows its own a.
    """

    steps, before = 0, (0.0, 0.0)  # velocity and force of the step before

    def __init__(self):
        super().__init__()
        self.rows = []

    def decide(self, position, velocity, sensor, aim):
        """Declares when twenty pushes have been felt."""
        then, pushed = self.before
        self.steps += 1
        # What the whole step felt, from the finger's own motion, free of the sensor's noise.
        acceleration = (velocity - then) / PERIOD
        net = pushed - FINGER.finger_drag(0.5 * (velocity + then))
        net -= FINGER.finger_mass * acceleration
        if self.touching and min(velocity, then) > 0.02 and abs(net - sensor) < 0.3:
            self.rows.append((acceleration, net))
        lively = 0.6 if self.steps // 4 % 2 else 0.1
        force = self.towards(lively if self.touching else APPROACH, velocity, sensor)
        self.before = (velocity, float(np.clip(force, -MAX_FORCE, MAX_FORCE)))
        if len(self.rows) < 20:
            return [force, 0.0]
        accelerations, forces = np.array(self.rows).T
        slope = np.polyfit(accelerations, forces, 1)[0]
        return [force, 1.0 if slope > sum(MASSES) / 2.0 else -1.0]


worlds = int(sys.argv[1]) if len(sys.argv) > 1 else 20
for task, kind in zip(TASKS, (Push, Press, Tell), strict=True):
    env, good = gymnasium.make(galley.gym.FINGER, task=task, noise=NOISE), 0
    for seed in range(worlds):
        observation = env.reset(seed=seed)[0]
        policy, over = kind(), False
        while not over:
            observation, _, ended, late, info = env.step(policy(observation))
            over = ended or late
        good += info["success"]
    print(f"{task}: {good} of {worlds}")
