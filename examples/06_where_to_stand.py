# %% [markdown]
# # 6. Where to stand
#
# From where can an item be grasped? The reachability field answers it for every place of the arm's
# foot and every heading of the base; `score_bases` says which stances are best.

# %%
from pathlib import Path

import numpy as np

from galley.collision.scene_kernel import SceneKernel
from galley.domain.frames import transform
from galley.domain.scene.reader import load_scene
from galley.domain.state import initial_state
from galley.planar.reach.field_picture import draw_field
from galley.robots.catalog import robot_of
from galley.skills.base_placement.field import reachability_field, square
from galley.skills.base_placement.placement import score_bases
from galley.skills.base_placement.stances import sample_stances, shortfall

OUT = Path("runs/examples/where_to_stand")
OUT.mkdir(parents=True, exist_ok=True)

scene = load_scene("kitchen.yaml")
robot, state = robot_of(scene.robot), initial_state(scene)
item = scene.item("sugar_box")

# %% [markdown]
# A hand pose over the item, pointing down. **Change** it: a hand that comes from the front is
# `np.array([[0, 0, -1], [0, 1, 0], [1, 0, 0]])` in place of the diagonal matrix.

# %%
above = item.X_WI[:3, 3] + [0.0, 0.0, 0.30]  # m
X_WH = transform(np.diag([1.0, -1.0, -1.0]), above)
field = reachability_field(robot, X_WH, *square(X_WH[:2, 3], 1.5, 61))
share = field.share()  # of headings, for each place of the foot
print(f"in reach from {100 * share.mean():.1f}% of all places and headings within 1.5 m")

# %% [markdown]
# That is the arm alone. In the kitchen, base and arm must also be free of collision, and the arm
# should not be stretched out. A score weighs manipulability, joint limits and the way there.

# %%
checker = SceneKernel(scene, robot).checker(state)
rng, start = np.random.default_rng(0), state.q[robot.slice("base")]
bases = sample_stances(X_WH, scene.stance("burner"), robot, 256, rng)
redundant = robot.kinematics.redundant_values(12, rng)  # of joint 7
scored = score_bases(robot, X_WH, bases, start, redundant)
Q = [robot.with_groups(state.q, base=each.base, arm=each.arm[None])[0] for each in scored]
free = checker.free_many(np.array(Q))
for placement in [each for each, is_free in zip(scored, free, strict=True) if is_free][:3]:
    x, y, heading = placement.base
    print(f"({x:.2f}, {y:.2f}) m, {heading:.2f} rad: {placement.reason()}")

# %% [markdown]
# What is out of reach can be *proven*: a lower bound on how far, from anywhere in the stance set.

# %%
for height in (1.0, 2.0, 3.0):
    missing = shortfall(np.array([above[0], above[1], height]), scene.stance("burner"), robot)
    found = f"{missing:.2f} m out of reach" if missing else "may be reached"
    print(f"{height:.1f} m up: {found}")

# %%
draw_field(field, share, scene, item.name, OUT / "field.png")
print("look at", OUT / "field.png")
