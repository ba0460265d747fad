"""Throw a ball into a basket: the hand's forces are found by gradient, through the contact.

    python examples/contact/throw.py [FOLDER]

A hand of 0.4 kg holds a ball of 0.1 kg. 44 numbers are sought, the forces on the hand in the 0.22 s
in which it speeds up; then it brakes, and the ball flies on. Needs
`pip install 'galley-tamp[planar]'`. With a folder, a film and a plot are written there.
"""

import sys
from pathlib import Path
from typing import Any

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np

from galley.planar.contact import Body2D, Circle, Contact, HalfPlane, Polygon, World, simulate

H, G = 0.01, 9.81  # s, m/s^2
PUSH, BRAKE, SETTLE = 22, 12, 90  # steps: the hand speeds up, and stops; after the landing
BALL, HAND, RADIUS = 0.1, 0.4, 0.1  # kg, kg, m
DISTANCE, RIM = 2.0, 0.22  # m, from the hand to the basket, and up to its rim
LANDING = PUSH + int(np.rint(np.sqrt(2.8 * DISTANCE / G) / H))  # step: a flight of 55 degrees or so

# 1. A hand like a V, in which the ball has no play until it leaves; so much inertia that it doesn't
#    turn. The basket's walls are thick: a ball must not get beyond their middle in a step. What it
#    hits there is dead, so that it stays.
slope, low, y, wide = np.radians(40.0), 0.03, 0.8, 0.15
high, ball = low + wide * np.tan(slope), y + low + RADIUS / np.cos(slope)
cup = Polygon([(-wide, 0.0), (wide, 0.0), (wide, high), (0.0, low), (-wide, high)])
inner, out, tall = 0.2, 0.3, 0.1 + RIM
right = [(out, 0.0), (out, tall), (inner, tall), (inner, 0.1)]
bowl = Polygon([*right, *((-x, y) for x, y in reversed(right))])
bodies = (
    Body2D(HalfPlane(), name="ground"),
    Body2D(bowl, pose=(DISTANCE, -0.1, 0.0), name="basket"),
    Body2D(cup, mass=HAND, inertia=10.0, pose=(0.0, y, 0.0), name="hand"),
    Body2D(
        Circle(RADIUS), mass=BALL, pose=(0.0, y + low + RADIUS / np.cos(slope), 0.0), name="ball"
    ),
)
around: dict[str, Any] = {"friction": 0.3, "count": 32, "points": "perimeter", "stiffness": 2e4}
dead = Contact(damping=5e3, softness=2e-3, still=0.05, **around)
world = World(bodies, {(3, 2): Contact(damping=2e3, **around), (3, 1): dead}, (0.0, -G))
target = np.array([DISTANCE, RIM])


def controls(forces, steps):
    """Forces and torques (steps, 2, 3) on hand and ball: a push, a brake, and holding still.

    The brake takes from the hand the momentum that the push gave to it and not to the ball.
    """
    weight = jnp.array([0.0, G])
    speed = H * jnp.sum(forces / (HAND + BALL) - weight, axis=0)
    brake = jnp.tile(HAND * (weight - speed / (BRAKE * H)), (BRAKE, 1))
    hand = jnp.concatenate([forces, brake, jnp.tile(HAND * weight, (steps, 1))])[:steps]
    return jnp.zeros((steps, 2, 3)).at[:, 0, :2].set(hand)


def miss(forces):
    """The ball's place beside the middle of the rim when it lands (2,), m."""
    return simulate(world, controls(forces, LANDING), H).pose[-1, 3, :2] - target


# 2. A guess, at an angle but too short. Then the least change of the forces that would hit if the
#    miss were linear in them, halved until it is nearer. The Jacobian comes from the adjoint of the
#    run, through contact, release and flight.
time = (LANDING - PUSH) * H
speed = np.array([0.8 * DISTANCE / time, 0.4 * G * time])
forces = np.tile((HAND + BALL) * (speed / (PUSH * H) + np.array([0.0, G])), (PUSH, 1))
both = eqx.filter_jit(lambda f: (miss(f), jax.jacrev(miss)(f)))
with jax.enable_x64(True):
    value, jacobian = map(np.asarray, both(forces))
    for k in range(30):
        print(f"try {k:2d} misses by {1e3 * np.linalg.norm(value):9.3f} mm")
        if np.linalg.norm(value) < 1e-3:
            break
        J = jacobian.reshape(2, -1)
        step = (J.T @ np.linalg.solve(J @ J.T, value)).reshape(-1, 2)
        for share in 0.5 ** np.arange(8.0):
            tried, slopes = map(np.asarray, both(forces - share * step))
            if np.linalg.norm(tried) < np.linalg.norm(value):
                break
        forces, value, jacobian = forces - share * step, tried, slopes

# 3. Look at it, until the ball rests in the basket.
if len(sys.argv) > 1:
    from galley.planar.contact.pictures import draw_planar, film_planar
    from galley.planar.contact.setup import Setup, planar_run

    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    with jax.enable_x64(True):
        whole = np.asarray(controls(jnp.asarray(forces), LANDING + SETTLE))
    setup = Setup(world, whole, H, cost=(3, 0))
    picture = planar_run(setup, setup.run(differentiate=False)[0], target=target)
    draw_planar(picture, folder / "contact.png", "throw")
    film_planar(picture, folder / "contact.mp4", "throw", speed=0.5)
