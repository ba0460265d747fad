"""Episodes in gym-pusht's pixels, of its own physics or of ours, and back (docs/demonstrations.md).

Both physics are environments with gym-pusht's interface. The demonstrator sees our table as their
``info`` tells it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import gymnasium
import numpy as np

from galley.domain.frames import Array
from galley.learning.collection.pushing import drawn_record, push_settings, table_of
from galley.learning.collection.recording import check_size
from galley.learning.demonstrations import Collection, Episode
from galley.planar.pushing.arm import PushArm
from galley.planar.pushing.config import PushConfig
from galley.planar.pushing.demonstrators import demonstrator
from galley.planar.pushing.gym_pusht import (
    SIZE,
    keypoints,
    metres,
    pixels,
    table_config,
    table_state,
)
from galley.planar.pushing.rollout import Rollout, held
from galley.planar.pushing.simulation import Simulation, State

PHYSICS = {"galley": "galley.gym:galley/Push-v0", "upstream": "gym_pusht:gym_pusht/PushT-v0"}
"""The environment of each physics."""
RATE = 10.0  # control steps a second
_TASK = "Push the T-shaped block onto the T-shaped target."
_MEANINGS = {
    "state": "agent x, agent y (px)",
    "environment_state": "x and y of the block's eight keypoints, px",
    "image": "what the environment paints",
    "next_reward": "the action's: share of the goal covered, by 0.95, at most 1",
    "next_done": "whether the action ends the episode",
    "next_success": "whether more than 0.95 of the goal is covered after the action",
    "action": "target x, target y (px): where the agent is driven to",
}


@dataclass(frozen=True)
class GymPushTDemonstrator:
    """Pushes gym-pusht's block from gym-pusht's starts; can be pickled.

    Attributes:
        config: of our physics, and of the demonstrator's model; with ranges by the seed.
        name: of ``planar.pushing.demonstrators.DEMONSTRATORS``.
        physics: of ``PHYSICS``.
        pixels: a side of the pictures, or None for none.

    Raises:
        BadInput: pictures of that size aren't made.
        ValueError: the config's body isn't the T.
    """

    config: PushConfig
    name: str
    physics: str = "galley"
    pixels: int | None = None

    def __post_init__(self) -> None:
        if self.pixels is not None:
            check_size("--size", self.pixels)
        object.__setattr__(self, "config", table_config(self.config))

    def __call__(self, seed: int) -> Episode:
        """The episode of a seed."""
        config = self.config.drawn(seed)
        who = demonstrator(self.name, config)
        who.reset(seed)
        rollout, arrays = _played(
            config, self.physics, self.pixels, seed, lambda state: pixels(who.act(state))
        )
        return Episode(
            arrays,
            arrays.pop("action"),
            np.arange(len(rollout.targets)) / RATE,
            bool(arrays["next_success"][-1, 0]),
            seed,
            {"task": _TASK, "demonstrator": self.name, "coverage": float(rollout.coverage[-1])}
            | drawn_record(self.config, config),
        )

    @property
    def collection(self) -> Collection:
        """What its episodes have in common."""
        settings = push_settings(self.config, self.name, self.pixels)
        settings |= {"robot": "pusher", "physics": self.physics}
        if self.physics == "upstream":
            settings |= {name: version(name) for name in ("gym-pusht", "pymunk")}
        return Collection(
            f"Push-T in pixels, {self.name} demonstrator",
            settings,
            description="A T is pushed onto its goal, from gym-pusht's starts.",
            arrays={n: text for n, text in _MEANINGS.items() if n != "image" or self.pixels},
        )


def replay(episode: Episode, collection: Collection) -> tuple[Rollout, float]:
    """As ``pushing.replay``, in the physics of the collection."""
    config, seed = table_of(collection, episode) or table_config(), episode.seed or 0
    actions = iter(episode.actions)
    physics = collection.settings["physics"]
    rollout, arrays = _played(config, physics, None, seed, lambda _: next(actions, None))
    names = ("state", "environment_state")
    again, before = (
        np.column_stack([metres(each[name]) for name in names])
        for each in (arrays, episode.observations)
    )
    same = again.shape == before.shape
    return rollout, float(np.abs(again - before).max()) if same else np.inf


def _played(
    config: PushConfig,
    physics: str,
    size: int | None,
    seed: int,
    act: Callable[[State], Array | None],
) -> tuple[Rollout, dict[str, Array]]:
    """One episode until it is over, or ``act`` has no target (px) any more; and its arrays."""
    ours: dict[str, Any] = {"compat": "gym-pusht", "config": config} if physics == "galley" else {}
    if size is not None:
        ours |= {"observation_width": size, "observation_height": size}
    seen = "state" if size is None else "pixels"
    environment = gymnasium.make(PHYSICS[physics], obs_type=seen, disable_env_checker=True, **ours)
    image, info = environment.reset(seed=seed)
    sim, over = Simulation(config), False
    states, columns = [table_state(sim, info)], defaultdict(list)
    while not over and (target := act(states[-1])) is not None:
        step = {"state": info["pos_agent"], "environment_state": keypoints(info["block_pose"])}
        if size is not None:
            step["image"] = image
        step["action"] = np.clip(target, 0.0, SIZE).astype(np.float32)
        image, reward, done, late, info = environment.step(step["action"])
        over = bool(done or late)
        step |= {"next_reward": [np.float32(reward)], "next_done": [over]}
        step["next_success"] = [bool(info["is_success"])]
        states.append(table_state(sim, info))
        for name, value in step.items():
            columns[name].append(value)
    environment.close()
    arrays = {name: np.array(values) for name, values in columns.items()}
    rows = np.array([state.values[:, 0] for state in states])
    angles = held(PushArm(config.arm), rows[:, :2])
    return Rollout(config, rows, metres(arrays["action"].astype(float)), angles, seed), arrays
