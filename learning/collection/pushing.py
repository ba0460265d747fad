"""Episodes of pushing as demonstrations, and back (docs/demonstrations.md has the arrays).

This module is apart for the same reason as ``kitchen``: ``learning.demonstrations`` doesn't know
tables, and ``planar.pushing`` doesn't know demonstrations.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from galley.domain.errors import BadInput
from galley.domain.frames import Array
from galley.learning.collection.recording import check_size
from galley.learning.demonstrations import Collection, Episode, NoEpisode
from galley.planar.pushing.arm import PushArm
from galley.planar.pushing.config import PushConfig, config_of_record, config_record
from galley.planar.pushing.demonstrators import demonstrator
from galley.planar.pushing.gym_pusht import ARRAYS, metres, pixels, play, table_config
from galley.planar.pushing.picture import Painter, table_view
from galley.planar.pushing.rollout import Rollout, held, roll_out
from galley.planar.pushing.simulation import PushSimulation, PushState
from galley.sweeps import digest

_TASK = "push the body onto the goal"
_T_TASK = "Push the T-shaped block onto the T-shaped target."  # LeRobot's
_TABLE = "table"  # key of the settings: the config
_MEANINGS = {
    "state": "pusher x, pusher y, body x, body y, angle (m, rad): of its centroid, 0 to 2 pi",
    "keypoint": "the outline's vertices in order, x and y, m",
    "angles": "of the joints of the arm that holds the pusher, rad",
    "coverage": "share of the goal that the body covers",
    "img": "the table from above: goal, body, pusher",
    "action": "where the pusher is driven to, x and y, m",
}


@dataclass(frozen=True)
class PushDemonstrator:
    """Runs a demonstrator on one table, or on a table for each seed; can be pickled.

    Attributes:
        config: parameters of the simulation; with ranges each seed has a table of its own.
        name: a name of ``planar.pushing.demonstrators.DEMONSTRATORS``, or ``mouse``.
        pixels: side of the pictures; None: no pictures.
        physics: a name of ``gym_pusht.PHYSICS``, for gym-pusht's starts and pixels; None: our
            table, in metres.

    Raises:
        BadInput: the size of the pictures is out of its bounds.
        ValueError: the config's body isn't the T, with a ``physics``.
    """

    config: PushConfig
    name: str
    pixels: int | None = None
    physics: str | None = None

    def __post_init__(self) -> None:
        if self.pixels is not None:
            check_size("--size", self.pixels)
        if self.physics is not None:
            object.__setattr__(self, "config", table_config(self.config))

    def __call__(self, seed: int) -> Episode:
        """The episode of a seed.

        Raises:
            NoEpisode: the goal is covered at the start.
            ValueError: the arm can't hold the pusher without crossing itself.
        """
        config = self.config.drawn(seed)
        who = demonstrator(self.name, config)
        if self.physics is not None:
            who.reset(seed)
            run = play(config, self.physics, lambda s: pixels(who.act(s)), seed, self.pixels)
            return self.episode(*run)
        return self.episode(roll_out(PushSimulation(config), who, seed))

    def episode(self, rollout: Rollout, arrays: dict[str, Any] | None = None) -> Episode:
        """A rollout as an episode of T states and actions, without the last state.

        Args:
            rollout: the states and targets.
            arrays: observations and ``action``, by name; None: those of our table.
        """
        steps = len(rollout.targets)
        if not steps:
            raise NoEpisode("the goal is covered at the start")
        config, rows, sim = rollout.config, rollout.states[:-1], PushSimulation(rollout.config)
        state = PushState(np.ascontiguousarray(rows.T))
        observations = arrays or {
            "state": _observed(rows),
            "keypoint": sim.outlines(state.body.T),
            "angles": rollout.angles[:-1],
            "coverage": rows[:, 10:11],
            "img": self.pixels and Painter(sim, table_view(config, self.pixels)).observe(state),
        }
        metadata = {"demonstrator": self.name, "coverage": float(rollout.coverage[-1])}
        if self.config.ranges:
            metadata[_TABLE] = config_record(config)
        return Episode(
            {name: observations[name] for name in self._meanings if name != "action"},
            observations.get("action", rollout.targets),
            np.arange(steps, dtype=np.float64) * (config.dt * config.substeps),
            rollout.success,
            rollout.seed,
            {"task": _TASK if self.physics is None else _T_TASK, **metadata},
        )

    @property
    def _meanings(self) -> dict[str, str]:
        """The meaning of each array of its episodes, by name."""
        one = None if "shape" in self.config.ranges else self.config
        wanted = {"img": self.pixels, "image": self.pixels, "keypoint": one}
        meanings = _MEANINGS if self.physics is None else ARRAYS
        return {name: text for name, text in meanings.items() if wanted.get(name, 1) is not None}

    @property
    def collection(self) -> Collection:
        """What its episodes have in common."""
        settings: dict[str, Any] = {
            "demonstrator": self.name,
            "robot": "planar arm" if self.physics is None else "pusher",
            "physics": self.physics,
            _TABLE: config_record(self.config),
            "digest of code": digest(()),
        }
        if self.pixels is not None:
            settings["pixels"] = self.pixels
        if self.physics == "upstream":
            settings |= {name: version(name) for name in ("gym-pusht", "pymunk")}
        return Collection(
            f"Pushing on a table, {self.name} demonstrator",
            settings,
            description="A body is pushed onto its goal by a round pusher that an arm holds.",
            arrays=self._meanings,
        )


def replay(episode: Episode, collection: Collection) -> tuple[Rollout, float]:
    """Replay an episode's actions from the start of its seed.

    Returns:
        The rollout, and the largest difference of a state from the recorded ones (m, rad).

    Raises:
        BadInput: the episode isn't of pushing.
        ValueError: the arm can't hold the pusher.
    """
    config = table_of(collection, episode)
    seen = episode.observations.get("state")
    if config is None or seen is None or episode.seed is None:
        raise BadInput.one("demonstrations", "are not of galley push collect: nothing to replay")
    if (physics := collection.settings.get("physics")) is not None:
        left = iter(episode.actions)
        rollout, again = play(config, physics, lambda _: next(left, None), episode.seed, None)
        pairs = [(again[n], episode.observations[n]) for n in ("state", "environment_state")]
        return rollout, max(np.abs(metres(a) - metres(b[: len(a)])).max() for a, b in pairs)
    sim = PushSimulation(config)
    state = sim.random_states(np.random.default_rng(episode.seed), 1)
    targets = np.array(episode.actions, dtype=np.float64)
    states = [state.values[:, 0].copy()]
    for target in targets:
        sim.advance(state, target[None])
        states.append(state.values[:, 0].copy())
    rows = np.array(states)
    apart = _observed(rows[:-1]) - seen
    apart[:, 4] = np.remainder(apart[:, 4] + math.pi, 2.0 * math.pi) - math.pi
    angles = held(PushArm(config.arm), rows[:, :2])
    rollout = Rollout(config, rows, targets, angles, episode.seed)
    return rollout, float(np.abs(apart).max())


def table_of(collection: Collection, episode: Episode | None = None) -> PushConfig | None:
    """The config of a collection, or of one of its episodes; None if it isn't of pushing."""
    metadata = {} if episode is None else episode.metadata
    given = {**collection.settings, **metadata}.get(_TABLE)
    if not isinstance(given, Mapping):
        return None
    return config_of_record(given)


def _observed(rows: Array) -> Array:
    """The observations ``state`` (n, 5) of states (n, 11)."""
    turned = np.remainder(rows[:, 6], 2.0 * math.pi)
    return np.column_stack([rows[:, 0:2], rows[:, 4:6], turned])
