# %% [markdown]
# # 1. Solve and look
#
# A task is a scene (metres), a PDDL domain (what can be done) and a PDDL problem (where things are,
# and the goal). `load` reads and checks the three, `solve` finds a plan and smooth motions for it,
# `execute` runs them under physics, and `film` shows what happened.

# %%
from pathlib import Path

import galley

OUT = Path("runs/examples/solve_and_look")
OUT.mkdir(parents=True, exist_ok=True)

task = galley.load(problem="sugar_only.pddl")  # what is left out is that of Galley's kitchen
print("items:", ", ".join(item.name for item in task.scene.items))

# %% [markdown]
# `solve` returns a `Solution`, or a `Failure` that says why there is none. The seed decides every
# random choice: change it for other motions, keep it for the same.

# %%
solution = galley.solve(task, seed=0)
assert isinstance(solution, galley.Solution), solution
for index, action in enumerate(solution.plan):
    motions = [motion for motion in solution.motions if motion.action_index == index]
    seconds = sum(motion.trajectory.duration for motion in motions)
    print(f"{action}: {seconds:.1f} s, motions: {len(motions)}")

# %% [markdown]
# **Look** at one motion: its joint group, its waypoints, and its trajectory. A trajectory is a
# function of time: `trajectory(t)` are the joints (rad), `trajectory(t, 1)` their velocities.

# %%
arm = next(motion for motion in solution.motions if motion.group == "arm")
half = arm.trajectory.duration / 2
print(arm.phase, "passes", arm.trajectory(half).round(2), "rad after", round(half, 1), "s")

# %% [markdown]
# Execute it under physics. The verdict comes from the executed states and the scene alone.

# %%
run = galley.execute(solution)
verdict = run.verdict
print("passed" if verdict.passed else "failed", "after", round(run.log.duration, 1), "s")
for fact in verdict.goal_facts:
    print(fact.fact, "holds" if fact.holds else "does not hold", "-", fact.why)

# %% [markdown]
# **Change** the goal: `problem="task.pddl"` also puts the can into the drawer. Or let something go
# wrong: `galley.execute(solution, fault="nudge:sugar")`.

# %%
galley.film(run, OUT / "film.mp4", height=360, fps=10, speed=4)
galley.report(run, OUT / "report")
replay = run.replay()  # a page to turn and play; in a notebook, end a cell with this
print("look at", OUT / "film.mp4", "and", replay.save(OUT / "replay.html"))
