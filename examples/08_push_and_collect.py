# %% [markdown]
# # 8. Push and collect
#
# A pusher pushes a T over a table to a goal, seen from above: a task for learners. Here rules
# written by hand demonstrate it, and the episodes are kept as data that learners read; that needs
# `pip install 'galley-tamp[learn]'`.

# %%
import shutil
from pathlib import Path

import numpy as np

from galley.learning.demonstrations import Collection, Episode, collect, read_folder, summarize
from galley.planar.pushing.config import PushConfig
from galley.planar.pushing.demonstrators import demonstrator
from galley.planar.pushing.film import film_rollouts
from galley.planar.pushing.rollout import roll_out
from galley.planar.pushing.shapes import shape
from galley.planar.pushing.simulation import PushSimulation

OUT = Path("runs/examples/push")
shutil.rmtree(OUT, ignore_errors=True)  # other settings need another folder
OUT.mkdir(parents=True)

# %% [markdown]
# **Change** the shape ("L", "rectangle"), or the demonstrator: "planned" searches through the
# model, and takes longer.

# %%
config = PushConfig(shape=shape("T"))
simulation = PushSimulation(config)
who = demonstrator("scripted", config)
rollout = roll_out(simulation, who, 0)
covered = rollout.coverage[-1]
print(f"seed 0: {len(rollout.targets)} steps of 0.1 s, {100 * covered:.0f} % of the goal covered")

# %% [markdown]
# Keep what was seen and done as an episode. `collect` runs seeds that are not there yet, so that
# calling it again goes on where it stopped. (`galley push collect` keeps more: every step's state.)


# %%
def episode(seed):
    """One run of the demonstrator."""
    done = roll_out(simulation, who, seed)
    steps = len(done.targets)
    return Episode(
        {"coverage": done.coverage[:steps, None]},
        actions=np.asarray(done.targets),
        times=np.arange(steps) / 10,  # s
        success=bool(done.success),
        seed=seed,
        metadata={"task": "Push the T to its goal"},
    )


collection = Collection("Pushing a T", {"shape": "T", "who": "scripted"}, licence="CC0-1.0")
collect(episode, range(4), collection, OUT / "episodes", workers=1)

# %% [markdown]
# **Look** at what is there, and at one episode as a film.

# %%
episodes = read_folder(OUT / "episodes")
print(len(episodes), "episodes,", len(episodes.filter(success=True)), "succeeded")
action = summarize(episodes)["action"]
print("targets lie between", np.round(action.low, 2), "and", np.round(action.high, 2), "m")
film_rollouts([rollout], OUT / "push.gif", "T", fps=10, height=240, speed=2)
print("look at", OUT / "push.gif")
