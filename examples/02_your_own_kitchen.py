# %% [markdown]
# # 2. Your own kitchen, from scratch
#
# A scene is a YAML file of boxes, cylinders and meshes, with names for what they are to the
# planner. `galley new kitchen FOLDER` writes a larger one with a drawer and
# comments. Here is the least that a task needs: a floor, a table, a shelf and a block.

# %%
from pathlib import Path

import galley
from galley.robots.catalog import robot_of
from galley.viz.render.scene_picture import draw_scene

OUT = Path("runs/examples/own_kitchen")
OUT.mkdir(parents=True, exist_ok=True)

SCENE = """
galley_scene: 1
name: two_tables
robot:
  model: mobile_panda
  start: {base: [1.8, 0.0, 3.14], arm: [0.0, -0.57, 0.0, -2.81, 0.0, 3.04, 0.74]}
bodies:                       # extents: [[x0, x1], [y0, y1], [z0, z1]], metres
  floor: {shapes: [{extents: [[-1, 3], [-2, 2], [-0.05, 0.0]]}]}
  table: {shapes: [{extents: [[-0.4, 0.3], [-1.2, -0.1], [0.0, 0.75]], color: [0.6, 0.4, 0.3]}]}
  shelf: {shapes: [{extents: [[-0.4, 0.3], [0.4, 1.0], [0.0, HEIGHT]], color: [0.3, 0.5, 0.6]}]}
regions:                      # where things can be put, in the frame of their body
  table_top: {body: table, surface: [{x: [-0.35, 0.25], y: [-1.1, -0.2], z: 0.75}]}
  shelf_top: {body: shelf, surface: [{x: [-0.35, 0.25], y: [0.45, 0.95], z: HEIGHT}]}
items:
  block:
    mass: 0.2
    shapes: [{box: [0.05, 0.06, 0.10], color: [0.8, 0.2, 0.2]}]
    pose: {on: table_top, xy: [0.15, -0.5], yaw: 0.3}
stances:                      # base poses from which something counts as near
  start: {x: [1.4, 2.2], y: [-0.5, 0.5]}
  table: {x: [0.6, 1.3], y: [-1.5, 0.2]}
  shelf: {x: [0.6, 1.3], y: [0.1, 1.4]}
objects:                      # what the objects of the problem below stand for
  center: {stance: start}
  table: {stance: table, region: table_top}
  shelf: {stance: shelf, region: shelf_top}
  block: {item: block}
  h1: {hand: panda_hand}
"""
PROBLEM = """
(define (problem onto_the_shelf) (:domain kitchen)
  (:objects table shelf center - furniture  block - objective  h1 - hand)
  (:init (near center) (on block table) (empty h1))
  (:goal (on block shelf)))
"""

# %% [markdown]
# **Change** the shelf's height and see how far the arm gets. Where there is no way, the answer is a
# `Failure` that says why; where that is certain, it holds a certificate that can be checked.

# %%
for height in (0.95, 1.90):
    (OUT / "scene.yaml").write_text(SCENE.replace("HEIGHT", str(height)))
    (OUT / "problem.pddl").write_text(PROBLEM)
    # Bare names are shipped files: the domain is that of Galley's kitchen.
    task = galley.load(OUT / "scene.yaml", "kitchen.pddl", OUT / "problem.pddl")
    result = galley.solve(task)
    if isinstance(result, galley.Failure):
        print(f"{height:.2f} m: {result}")
        continue
    run = galley.execute(result)
    print(f"{height:.2f} m: {', then '.join(map(str, result.plan))}")
    print("  it passed" if run.verdict.passed else f"  it failed: {run.aborted}")

# %% [markdown]
# **Look** at the scene with its regions and stances: `galley scene --scene FILE` draws the same.

# %%
draw_scene(task.scene, robot_of(task.scene.robot), OUT / "scene.png")
print("look at", OUT / "scene.png")
