"""Rollouts of a policy in the kitchen, an episode of each seed.

A policy is one of

- a Python file with ``policy(observation, task)``, which returns the action for an observation of
  ``galley/Kitchen-v0`` and the goal as text; its ``reset(seed)``, if any, begins an episode;
- a folder of ``galley demos collect``: the actions of the episode of the same seed are replayed;
- a checkpoint of LeRobot, if LeRobot is installed: a folder ``pretrained_model``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from galley.domain.errors import BadInput
from galley.domain.frames import Array
from galley.learning.collection.recording import Recording
from galley.learning.environment import KitchenEnv
from galley.learning.evaluation import EpisodeOutcome
from galley.skills.own import load_module, user_code
from galley.viz.film.video import film as write_film

Act = Callable[[Mapping[str, NDArray[Any]], str], Array]


@dataclass(frozen=True)
class KitchenRunner:
    """Runs the episode of a seed; can be pickled.

    Attributes:
        policy: file or folder of the policy, see the module.
        task: files, as ``KitchenEnv`` takes them.
        noise: random errors, as ``KitchenEnv`` takes them.
        recording: rate, actions and cameras.
        steps: most steps of an episode.
        film: path of a film of the episode of seed ``filmed``, MP4 or GIF; None: no film.
        filmed: seed of the episode to film.
    """

    policy: Path
    task: Mapping[str, Any] = field(default_factory=dict)
    noise: str | None = None
    recording: Recording = field(default_factory=Recording)
    steps: int = 2000
    film: Path | None = None
    filmed: int = 0

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the fields only: the cached simulation can't be pickled."""
        return KitchenRunner, tuple(getattr(self, name) for name in self.__dataclass_fields__)

    def __call__(self, seed: int) -> EpisodeOutcome:
        """Run the episode of a seed, and film it if it is the one.

        Raises:
            BadInput: the policy fails, or doesn't return an action.
        """
        outcome = self.outcome(seed, self.steps)
        if self.film is not None and seed == self.filmed:
            write_film(self.env.log(), self.env.task.scene, self.env.robot, self.film)
        return outcome

    def outcome(self, seed: int, steps: int) -> EpisodeOutcome:
        """The outcome of the episode of a seed with at most ``steps`` steps; raises BadInput."""
        env, (begin, act) = self.env, self._policy
        observation, info = env.reset(seed=seed)
        task, seconds, most, done = info["task"], [0.0], info["goal"], 0
        with user_code(str(self.policy), None, "fails"):
            begin(seed)
            while done < steps and not info["is_success"]:
                began = perf_counter()
                action = act(observation, task)
                seconds.append(perf_counter() - began)
                observation, _, _, _, info = env.step(action)
                done, most = done + 1, max(most, info["goal"])
        middle = float(np.median(seconds)), float(np.percentile(seconds, 95))
        return EpisodeOutcome(seed, info["is_success"], done, info["goal"], most, middle)

    @cached_property
    def env(self) -> KitchenEnv:
        """The environment of the episodes, made once for each process."""
        own = self.recording
        return KitchenEnv(
            **self.task, actions=own.actions, rate=own.rate, cameras=own.cameras, size=own.size,
            noise=self.noise,
        )  # fmt: skip

    @cached_property
    def _policy(self) -> tuple[Callable[[int], object], Act]:
        """The functions that begin an episode and return an action."""
        if (self.policy / "config.json").is_file():
            return _lerobot(self.policy)
        if self.policy.is_dir():
            return _replayed(self.policy, self.recording)
        module = load_module(self.policy)
        act = getattr(module, "policy", None)
        if not callable(act):
            raise BadInput.one(self.policy, "defines no function policy(observation, task)")
        return getattr(module, "reset", lambda seed: None), act


def _replayed(folder: Path, recording: Recording) -> tuple[Callable[[int], object], Act]:
    """A policy that replays the episodes of a folder by seed, and repeats the last action.

    Raises:
        BadInput: there are no episodes, or they have another rate or kind of actions.
    """
    from galley.learning.demonstrations import read_collection, read_folder

    episodes, settings = read_folder(folder), read_collection(folder).settings
    for name in ("rate", "actions"):
        if (theirs := settings.get(name)) != (ours := getattr(recording, name)):
            raise BadInput.one(folder, f"was collected with --{name} {theirs}, not {ours}")
    index = {info.seed: k for k, info in enumerate(episodes.infos)}
    left: list[Array] = []

    def begin(seed: int) -> None:
        if seed not in index:
            raise BadInput.one(folder, f"has no episode of seed {seed}")
        left[:] = episodes[index[seed]].actions

    return begin, lambda observation, task: left.pop(0) if len(left) > 1 else left[0]


def _lerobot(folder: Path) -> tuple[Callable[[int], object], Act]:
    """A policy of LeRobot, trained on an export of ``galley demos export``.

    Raises:
        BadInput: LeRobot isn't installed, or the folder isn't a policy.
    """
    try:
        import torch
        from lerobot.configs.policies import PreTrainedConfig
        from lerobot.policies.factory import get_policy_class, make_pre_post_processors
    except ModuleNotFoundError as error:
        raise BadInput.one(folder, f"is a policy of LeRobot, which needs {error.name}") from None
    with user_code(str(folder), None, "is no policy of LeRobot"):
        config = PreTrainedConfig.from_pretrained(folder)
        policy = get_policy_class(config.type).from_pretrained(folder)
        before, after = make_pre_post_processors(config, pretrained_path=str(folder))

    def value(name: str, observation: Mapping[str, NDArray[Any]]) -> Any:
        """The observation with LeRobot's name for it, as a tensor."""
        key = name.removeprefix("observation.").removeprefix("images.")
        if key not in observation:
            raise BadInput.one(folder, f"needs '{key}', and there is none: --cameras, or the task")
        seen = torch.tensor(observation[key], dtype=torch.float32)
        return seen.permute(2, 0, 1) / 255.0 if seen.ndim == 3 else seen

    def begin(seed: int) -> None:
        torch.manual_seed(seed)
        policy.reset()

    def act(observation: Mapping[str, NDArray[Any]], task: str) -> Array:
        batch = {name: value(name, observation)[None] for name in config.input_features}
        with torch.inference_mode():
            action = after(policy.select_action(before({**batch, "task": [task]})))
        return np.asarray(action[0].cpu().numpy(), dtype=np.float64)

    return begin, act
