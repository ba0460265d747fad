"""Lift a disc with a platform, and differentiate the lift: contact in the plane from Python.

    python examples/contact/lift.py [FOLDER]

Needs `pip install 'galley-tamp[planar]'`. With a folder, a film and a plot are written there.
"""

import sys
from pathlib import Path

import numpy as np

from galley.planar.contact import (
    Body2D,
    Box,
    Circle,
    Contact,
    HalfPlane,
    World,
    simulate,
    value_and_gradient,
)

H, STEPS = 1 / 60, 100  # s

# 1. Bodies. A shape is a signed distance function in the body's frame, whose origin is the centre
#    of mass. With a mass a body is free, without one it is fixed.
ground = Body2D(HalfPlane(), name="ground")
platform = Body2D(Box((1.8, 0.15)), mass=0.5, pose=(0, 0.15, 0), name="platform")
disc = Body2D(Circle(1.5), mass=0.1, pose=(0, 1.8, 0), name="disc")

# 2. Which of them touch, and how. The disc presses on the nearest point of the platform's edge; of
#    platform and ground ten points or more share the force, all on the platform's edge.
law = Contact(stiffness=1e3, damping=50.0, friction_viscosity=1e3, friction=0.1, count=10)
world = World([ground, platform, disc], {(1, 0): law, (2, 1): law})

# 3. Inputs: force x, force y (N) and torque (N m) on each free body in each step. The platform's
#    upward force grows from 0 to 15 N.
inputs = np.zeros((STEPS, 2, 3))
inputs[:, 0, 1] = np.linspace(0, 15, STEPS)

# 4. Simulate. A step that doesn't converge is no exception but a value, with what to try.
run = simulate(world, inputs, H)
if failure := run.failure():
    sys.exit(f"step {failure.step}: {failure.remedy}")
print(f"the disc rises from {run.pose[0, 2, 1]:.2f} to {run.pose[-1, 2, 1]:.2f} m")

# 5. Differentiate: the height at the end by all inputs, through every step and every contact.


def height(inputs, world):
    """Of the disc, at the end, m."""
    return simulate(world, inputs, H).pose[-1, 2, 1]


value, gradient = value_and_gradient(height)(inputs, world)
late = np.argmax(run.time > 1.2)
print(f"1 N more in the step at 1.2 s: {100 * gradient[late, 0, 1]:+.2f} cm")

#    The same by a central difference, and in closed form: once nothing touches the ground, a push
#    h F / m at time t adds h F (T - t) / m to the height.
bump = np.zeros_like(inputs)
bump[late, 0, 1] = 1e-4
difference = (
    simulate(world, inputs + bump, H).pose[-1, 2, 1]
    - simulate(world, inputs - bump, H).pose[-1, 2, 1]
) / 2e-4
print(f"by a central difference:       {100 * difference:+.2f} cm")
print(f"in closed form:                {100 * H * (run.time[-1] - run.time[late]) / 0.6:+.2f} cm")

# 6. Look at it.
if len(sys.argv) > 1:
    from galley.planar.contact.pictures import draw_planar, film_planar
    from galley.planar.contact.setup import Setup, planar_run

    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    picture = planar_run(Setup(world, inputs, H, cost=(2, 1)), run, gradient)
    draw_planar(picture, folder / "contact.png", "lift")
    film_planar(picture, folder / "contact.mp4", "lift", speed=0.5)
