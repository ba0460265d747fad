# %% [markdown]
# # 7. Touch and contact
#
# Two models. The finger is touch in one dimension, solved event by event: simple enough to know
# everything. Contact in the plane is smooth instead, so that a whole run can be differentiated; it
# needs `pip install 'galley-tamp[planar]'`.

# %%
from pathlib import Path

import numpy as np

from galley.planar.contact import Body2D, Circle, Contact, HalfPlane, World, value_and_gradient
from galley.planar.contact import simulate as simulate_planar
from galley.planar.finger import Finger, simulate
from galley.planar.finger.pictures import draw_touch

OUT = Path("runs/examples/touch")
OUT.mkdir(parents=True, exist_ok=True)

# %% [markdown]
# A finger is pushed against an object that it can't see. **Change** `static_friction` to 4: then
# the same push moves the object much earlier.

# %%
finger = Finger(object_mass=10.0, restitution=0.2, static_friction=10.0, kinetic_friction=4.0)
push = [(0, 0.5), (5, 0.5), (5, 14), (8, 14), (8, 0)]  # (s, N), joined by lines
run = simulate(finger, push, t_end=10.0)
for event in run.events:
    print(f"{event.time:6.3f} s  {event.kind}")

# %% [markdown]
# **Look** at the sensor, the only thing that tells of the object: it reads the push while the
# object stands, and less than the push once the object moves, for then the push accelerates both.

# %%
before, after = run.at([6.0, 7.9]).sensor
print(f"sensor: {before:.2f} N at 6.0 s, {after:.2f} N at 7.9 s")
draw_touch(run, OUT / "touch.png", "A finger pushes")
print("look at", OUT / "touch.png")

# %% [markdown]
# A disc falls onto the ground, bounces and rolls on under a steady push. The gradient says how its
# place at the end depends on a force in each step, through contact and friction too. A difference
# of two runs is the check.

# %%
disc = Body2D(Circle(0.5), mass=0.4, pose=(0.0, 0.6, 0.0))  # x, y (m), angle (rad)
world = World([disc, Body2D(HalfPlane())], Contact(friction=0.3))
controls = np.zeros((60, 3))  # force x, force y (N) and torque (N m) in each step of 1/60 s
controls[:, 0] = 0.2


def place(controls):
    """The disc's x at the end (m)."""
    return simulate_planar(world, controls, 1 / 60).pose[-1, 0, 0]


x, gradient = value_and_gradient(place)(controls)
print(f"it ends at x = {x:.3f} m")
for name, column in (("force of 1 N", 0), ("torque of 1 N m", 2)):
    more = controls.copy()
    more[0, column] += 1e-2
    difference = (place(more) - x) / 1e-2
    moved = f"{1e3 * gradient[0, column]:.1f} mm, by a difference {1e3 * difference:.1f} mm"
    print(f"a {name} in the first step would move that by {moved}")
