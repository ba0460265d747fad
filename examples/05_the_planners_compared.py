# %% [markdown]
# # 5. The planners compared
#
# Six methods solve the same queries of the arm in the kitchen: a plain RRT in Python on PyBullet's
# checks, the same compiled, shortcuts, a quadratic program that ignores obstacles, and the two that
# Galley's runs use. `galley compare` does the same, and draws and films it.

# %%
from statistics import median

from galley import Failure
from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.collision.scene_kernel import SceneKernel
from galley.domain.scene.reader import load_scene
from galley.robots.catalog import robot_of
from galley.studies.comparison.measures import Measurements, measure
from galley.studies.comparison.methods import run_methods
from galley.studies.comparison.queries import turnaround_query

SEEDS = range(3)  # more give better medians
scene = load_scene("kitchen.yaml")

# %% [markdown]
# The query: the hand turns around at the counter. **Change** `distance`, how far the base stands
# from it (m), or take `random_queries` from the same module.

# %%
found: dict[str, list[Measurements | None]] = {}
with PyBulletWorld(scene, robot_of(scene.robot)) as world:
    kernel = SceneKernel(scene, world.robot)
    for seed in SEEDS:
        query = turnaround_query(kernel, distance=0.6, seed=seed)
        assert not isinstance(query, Failure), query
        for attempt in run_methods(kernel, world, query, seed=seed):
            found.setdefault(attempt.method, []).append(measure(kernel, world, query, attempt))

# %% [markdown]
# **Look** at three things. A plain RRT's path is long, and it stops at every corner. The quadratic
# program is short, and may collide: nothing makes it see obstacles. `smooth` is short and fast, and
# free between samples too, which only a proof can say.

# %%
print(f"{'method':14}{'solved':>7}{'free':>6}{'proven':>8}{'length rad':>12}{'duration s':>12}")
for method, all_measures in found.items():
    measures = [each for each in all_measures if each is not None]
    free = sum(each.verdict.free for each in measures)
    proven = sum(each.verdict.proven for each in measures)
    length = median(each.joint_length for each in measures) if measures else float("nan")
    duration = median(each.duration for each in measures) if measures else float("nan")
    row = f"{method:14}{len(measures):7}{free:6}{proven:8}{length:12.2f}{duration:12.2f}"
    print(row)

# %% [markdown]
# Medians are over all that were solved, so compare only methods that solved all. For pictures and
# films of the same: `galley compare --query seed --out compared`.

# %%
best = min(
    (name for name, each in found.items() if all(m and m.verdict.proven for m in each)),
    key=lambda name: median(m.duration for m in found[name] if m),
)
print("fastest of those proven free on every query:", best)
