"""Stable-Baselines3's PPO pushes the T, with 256 tables in one compiled call a step.

It sees the state as points of the outline; the reward of a step is the share of the goal that the T
covers, at most 1.

    pip install stable-baselines3
    python train_ppo.py [STEPS]
"""

import sys
import time

import numpy as np
from gymnasium.spaces import Box
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import VecEnvWrapper, VecMonitor, VecNormalize

from galley.planar.pushing.config import PushConfig
from galley.planar.pushing.environment import PushVectorEnv
from galley.planar.pushing.stable_baselines import stable_baselines

REACH = 0.08  # m that the target of a step may be from the pusher, along x and y
STEPS = int(float(sys.argv[1])) if sys.argv[1:] else 10_000_000


class Moves(VecEnvWrapper):
    """Actions from -1 to 1 that say how far the pusher is driven, in place of where to."""

    def __init__(self, tables):
        super().__init__(tables, action_space=Box(-1.0, 1.0, (2,)))

    def reset(self):  # noqa: D102
        self.seen = self.venv.reset()
        return self.seen

    def step_async(self, actions):  # noqa: D102
        target = self.seen[:, -2:] + REACH * np.clip(actions, -1.0, 1.0)
        self.venv.step_async(target.clip(0.0, self.venv.action_space.high))

    def step_wait(self):  # noqa: D102
        self.seen, *rest = self.venv.step_wait()
        return self.seen, *rest


easy = PushConfig(start_away=0.06, start_turned=0.5)  # m and rad from the goal, at most
tables = stable_baselines(PushVectorEnv(256, "keypoints", easy, autoreset_mode="SameStep"))
tables.seed(0)
learned = VecNormalize(VecMonitor(Moves(tables)), clip_obs=5.0)
ppo = PPO(
    "MlpPolicy",
    learned,
    n_steps=64,
    batch_size=4096,
    n_epochs=5,
    gamma=0.98,
    learning_rate=5e-4,
    ent_coef=0.0,
    policy_kwargs={"net_arch": [128, 128], "log_std_init": -1.0},
    seed=0,
    device="cpu",
)
began = time.process_time()


def mean_return(count: int = 256) -> float:
    """The mean return of one episode of each table, by the policy's mean action."""
    learned.training = False
    seen, total, left = learned.reset(), np.zeros(count), np.ones(count, dtype=bool)
    while left.any():
        seen, _, done, _ = learned.step(ppo.predict(seen, deterministic=True)[0])
        total[left] += learned.get_original_reward()[left]
        left &= ~done
    learned.training = True
    return float(total.mean())


print(f"untrained: a return of {mean_return():.0f}, of 300 at most")
for part in range(10):
    ppo.learn(STEPS // 10, reset_num_timesteps=part == 0)
    spent = time.process_time() - began
    print(f"{ppo.num_timesteps:,} steps, {spent:.0f} s of CPU: a return of {mean_return():.0f}")
