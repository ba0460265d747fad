"""The compiled tables as a vector environment of Stable-Baselines3.

    from stable_baselines3 import PPO

    tables = stable_baselines(PushVectorEnv(256, autoreset_mode="SameStep"))
    PPO("MlpPolicy", tables).learn(1_000_000)

Install it with ``pip install stable-baselines3``. Its own ``DummyVecEnv`` steps environments one by
one in Python; here one compiled call steps all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium.vector import AutoresetMode
from numpy.typing import NDArray

from galley.planar.pushing.environment import PushVectorEnv, Seen

if TYPE_CHECKING:  # loads PyTorch
    from stable_baselines3.common.vec_env import VecEnv


def stable_baselines(tables: PushVectorEnv) -> VecEnv:
    """A ``PushVectorEnv`` with the interface of Stable-Baselines3's ``VecEnv``.

    In the step in which a table is reset, its info has the last observation before that as
    ``terminal_observation``, with ``TimeLimit.truncated`` and ``is_success``. All other infos are
    empty.

    Args:
        tables: of the mode ``SameStep``: a table is reset in the step in which it is done.

    Raises:
        ModuleNotFoundError: Stable-Baselines3 is not installed.
        ValueError: the tables are reset in the next step, which that interface can't express.
    """
    from stable_baselines3.common.vec_env import VecEnv

    if tables.metadata["autoreset_mode"] != AutoresetMode.SAME_STEP:
        raise ValueError('needs a PushVectorEnv(..., autoreset_mode="SameStep")')

    class Tables(VecEnv):
        """The interface; attributes and methods of single tables can't be set or called."""

        def reset(self) -> Seen:
            seeds = None if None in self._seeds else list(self._seeds)
            seen, _ = tables.reset(seed=seeds)
            self._reset_seeds()
            return seen

        def step_async(self, actions: NDArray[np.float32]) -> None:
            self._actions = actions

        def step_wait(self) -> tuple[Seen, NDArray[np.float32], NDArray[np.bool_], list[Any]]:
            seen, reward, terminated, truncated, info = tables.step(self._actions)
            done, infos = terminated | truncated, [dict[str, Any]() for _ in range(self.num_envs)]
            for k in np.flatnonzero(done).tolist():
                infos[k] = {
                    "terminal_observation": info["final_obs"][k],
                    "TimeLimit.truncated": bool(truncated[k] and not terminated[k]),
                    "is_success": bool(info["is_success"][k]),
                }
            return seen, reward.astype(np.float32), done, infos

        def get_images(self) -> Sequence[NDArray[np.uint8] | None]:
            return tables.render() or [None] * self.num_envs

        def close(self) -> None:
            tables.close()

        def get_attr(self, attr_name: str, indices: Any = None) -> list[Any]:
            return [getattr(tables, attr_name) for _ in self._get_indices(indices)]

        def set_attr(self, attr_name: str, value: Any, indices: Any = None) -> None:
            raise AttributeError(f"{attr_name}: nothing can be set of a table of a compiled vector")

        def env_method(self, method_name: str, *args: Any, indices: Any = None, **more: Any) -> Any:
            raise AttributeError(f"{method_name}: no table of a compiled vector can be called")

        def env_is_wrapped(self, wrapper_class: Any, indices: Any = None) -> list[bool]:
            return [False for _ in self._get_indices(indices)]

    return Tables(tables.num_envs, tables.single_observation_space, tables.single_action_space)
