# %% [markdown]
# # 4. Your arm's motions
#
# The motion planner and the optimiser need no kitchen: any arm with a URDF will do. Here it is
# KUKA's iiwa, whose URDF comes with PyBullet; **change** the path to that of your arm.

# %%
from dataclasses import replace
from pathlib import Path

import numpy as np

import galley
from galley import Failure
from galley.motion import CollisionWorld, box, cylinder, plan
from galley.motion import Path as Waypoints
from galley.motion.trajectory.export import write_csv, write_ros
from galley.optimization.smooth import smooth
from galley.robots.files import pybullet_data_file
from galley.robots.urdf_arm import MotionLimits, arm_from_urdf

OUT = Path("runs/examples/arm_motions")
OUT.mkdir(parents=True, exist_ok=True)

# The URDF states no accelerations, and its speeds are not KUKA's: the data sheet's are, in rad/s.
speeds = np.radians([98, 98, 100, 130, 140, 180, 180])
urdf = pybullet_data_file("kuka_iiwa/model.urdf")
robot = arm_from_urdf(urdf, limits=MotionLimits(velocity=speeds))
# Spheres that cover the links, reaching 12 mm beyond them: the iiwa's are shipped. Those of another
# arm are computed when it is first used, for some minutes, and kept.
robot = replace(robot, sphere_excess=(("*", 0.012),))
arm = robot.group("arm")
print(len(arm.joints), "joints, the tool is", robot.tool_link)

# %% [markdown]
# The world is a dictionary of shapes; full extents and middles, in metres, about the arm's foot.

# %%
post = cylinder(0.05, 1.0, at=[0.5, 0.0, 0.5])  # radius, length
table = box([1.0, 1.6, 0.05], at=[0.6, 0.0, -0.03])
world = CollisionWorld(robot, {"post": post, "table": table})
start = np.array([-0.8, 0.9, 0.0, -1.2, 0.0, 0.9, 0.0])  # rad
goal = start * [-1, 1, 1, 1, 1, 1, 1]

# %% [markdown]
# `plan` returns a path that is proven free between its waypoints, too, or a `Failure`. `smooth`
# makes it a trajectory within the limits of velocity, acceleration and jerk, and proves that one.

# %%
path = plan(world, start, goal, seed=0)
assert isinstance(path, Waypoints), path
result = smooth(world.view("arm"), path, arm)
assert not isinstance(result, Failure), result
trajectory = result.trajectory
print(
    f"{len(path)} waypoints, {path.length:.2f} rad; {trajectory.duration:.2f} s ({result.method})"
)

# %% [markdown]
# **Look** at how much of its limits each joint uses at its worst. Then **change** the
# post's radius.

# %%
times = np.linspace(0, trajectory.duration, 500)
velocity = np.array([trajectory(t, 1) for t in times])
for joint, used in zip(arm.joints, np.abs(velocity).max(axis=0) / arm.velocity, strict=True):
    print(f"{joint}: {100 * used:.0f} % of its speed")
print(f"nearest to anything: {1e3 * min(world.clearance(trajectory(t)) for t in times):.0f} mm")

# %% [markdown]
# Export it for a control loop (CSV, a row a millisecond) or for ROS (JSON).

# %%
rows = write_csv(OUT / "motion.csv", trajectory, arm)
write_ros(OUT / "motion.json", trajectory, arm)
print(rows, "rows in", OUT / "motion.csv", "and the same as", OUT / "motion.json")

# %% [markdown]
# **Look** at it: obstacles, the arm at start and goal, and its clearance over time, in the browser
# or in this notebook. `path.show()` shows the planned path in the same way. `save` writes a page
# that needs no other file.

# %%
path.save(OUT / "path.html")
galley.view(trajectory, world, save=OUT / "motion.html")
galley.view(trajectory, world)
print("open", OUT / "motion.html")
