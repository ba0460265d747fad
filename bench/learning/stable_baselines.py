"""The compiled tables under Stable-Baselines3, beside its own vector of single environments.

    python bench/learning/stable_baselines.py [--only ab]

a  the same seeds and actions give the same observations, rewards, ends and last observations
b  steps per CPU-second of PPO, collecting and learning, of 256 tables and of 16 environments

Needs stable-baselines3, which no extra has: PyTorch is large.
"""

from __future__ import annotations

import sys
import time

import gymnasium
import numpy as np
import torch
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import DummyVecEnv

from galley.bench.report import Section, Target, run_sections, shown, table
from galley.planar.pushing.environment import PushVectorEnv
from galley.planar.pushing.stable_baselines import stable_baselines

STEPS, AHEAD = 100_000, 3.0


def compiled(count: int):
    """Tables of one compiled call."""
    return stable_baselines(PushVectorEnv(count, autoreset_mode="SameStep"))


def single(count: int):
    """As many environments, stepped one by one."""
    return DummyVecEnv([lambda: gymnasium.make("galley.gym:galley/Push-v0") for _ in range(count)])


def alike(quick: bool) -> Section:
    """Section a."""
    ours, theirs, rng = compiled(8), single(8), np.random.default_rng(0)
    for each in (ours, theirs):
        each.seed(3)
    off, ends = float(np.abs(ours.reset() - theirs.reset()).max()), 0
    for _ in range(310):
        actions = rng.uniform(0.0, 0.512, (8, 2)).astype(np.float32)
        (seen, *told, infos), (wanted, *said, others) = ours.step(actions), theirs.step(actions)
        off = max(off, float(np.abs(seen - wanted).max()))
        assert all(np.allclose(a, b, atol=1e-6) for a, b in zip(told, said, strict=True))
        for info, other in zip(infos, others, strict=True):
            assert ("terminal_observation" in info) == ("terminal_observation" in other)
            if "terminal_observation" in info:
                last = info["terminal_observation"] - other["terminal_observation"]
                off, ends = max(off, float(np.abs(last).max())), ends + 1
                assert info["TimeLimit.truncated"] == other["TimeLimit.truncated"]
    return {"apart": off, "ends": ends}, [
        Target.at_most("observations of both apart", 1e-6, off, ""),
        Target.at_least("episodes that ended", 8, ends, ""),
    ]


def speed(quick: bool) -> Section:
    """Section b."""
    torch.set_num_threads(1)
    found = {}
    for name, tables in (("256 compiled tables", compiled(256)), ("DummyVecEnv of 16", single(16))):
        rows = 16_384 // tables.num_envs
        ppo = PPO("MlpPolicy", tables, n_steps=rows, batch_size=4096, n_epochs=1, device="cpu")
        ppo.learn(16_384)  # compiles
        began = time.process_time()
        ppo.learn(STEPS // 4 if quick else STEPS)
        found[name] = ppo.num_timesteps / (time.process_time() - began)
    table(["vector", "PPO steps per CPU-second"], [[k, shown(v)] for k, v in found.items()])
    ours, theirs = found.values()
    return found, [Target.at_least("as fast as DummyVecEnv", AHEAD, ours / theirs, "x")]


if __name__ == "__main__":
    sys.exit(run_sections(__doc__, {"a": alike, "b": speed}))
