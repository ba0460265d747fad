"""An episode of pushing as a demonstration, and back (docs/demonstrations.md has its arrays).

Here for the same reason as ``kitchen``: ``learning.demonstrations`` knows no table, and
``planar.pushing`` no demonstrations.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from galley.domain.errors import BadInput
from galley.domain.frames import Array
from galley.learning.collection.recording import check_size
from galley.learning.demonstrations import Collection, Episode, NoEpisode
from galley.planar.pushing.arm import PushArm
from galley.planar.pushing.config import PushConfig, config_of_record, config_record
from galley.planar.pushing.demonstrators import Demonstrator, demonstrator
from galley.planar.pushing.picture import Painter, table_view
from galley.planar.pushing.rollout import Rollout, held, roll_out
from galley.planar.pushing.simulation import Simulation, State
from galley.sweeps import digest

_LATEST = 120  # control steps at most that a policy acts before the demonstrator
_TASK = "push the body onto the goal"
_TABLE = "table"  # key of the settings: the config
_MEANINGS = {
    "state": "pusher x, pusher y, body x, body y, angle (m, rad): of its centroid, 0 to 2 pi",
    "keypoint": "the outline's vertices in order, x and y, m",
    "angles": "of the joints of the arm that holds the pusher, rad",
    "coverage": "share of the goal that the body covers",
    "learner": "whether the action is a policy's, whose errors the demonstrator then corrects",
    "img": "the table from above: goal, body, pusher",
    "action": "where the pusher is driven to, x and y, m",
}


@dataclass(frozen=True)
class PushDemonstrator:
    """Pushes on one table, or one for each seed; can be pickled.

    Attributes:
        config: of the simulation; with ranges the table is that of the seed.
        name: of ``planar.pushing.demonstrators.DEMONSTRATORS``, or ``mouse``.
        pixels: a side of the pictures, or None for none.
        after: the checkpoint of a policy that acts first in each episode, for a number of steps
            that is drawn from 0 to 120; then the demonstrator corrects what it has done.

    Raises:
        BadInput: pictures of that size aren't made.
    """

    config: PushConfig
    name: str
    pixels: int | None = None
    after: Path | str | None = None

    def __post_init__(self) -> None:
        if self.pixels is not None:
            check_size("--size", self.pixels)

    def __getstate__(self) -> dict[str, Any]:
        """Without what is cached: compiled code isn't pickled."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}

    def __call__(self, seed: int) -> Episode:
        """The episode of a seed.

        Raises:
            NoEpisode: the goal is covered at the start.
            ValueError: the arm can't hold the pusher without crossing itself.
        """
        config = self.config.drawn(seed)
        who = demonstrator(self.name, config)
        if self.after is not None:
            self._first.policy.on(config)
            who = _Relay(self._first, who)
        return self.episode(roll_out(Simulation(config), who, seed))

    @cached_property
    def _first(self) -> Any:
        from galley.learning.policy.policy import Driver, load_policy

        return Driver(load_policy(str(self.after)))

    def episode(self, rollout: Rollout) -> Episode:
        """A rollout as an episode: T states and what was done in each; the last isn't in it."""
        steps = len(rollout.targets)
        if not steps:
            raise NoEpisode("the goal is covered at the start")
        config, rows, sim = rollout.config, rollout.states[:-1], Simulation(rollout.config)
        state = State(np.ascontiguousarray(rows.T))
        observations: dict[str, Any] = {
            "state": _observed(rows),
            "angles": rollout.angles[:-1],
            "coverage": rows[:, 10:11],
        }
        if "shape" not in self.config.ranges:  # else there are sometimes more, sometimes fewer
            observations["keypoint"] = sim.outlines(state.body.T)
        if self.after is not None:
            observations["learner"] = (np.arange(steps) < _acted(rollout.seed))[:, None]
        if self.pixels is not None:
            observations["img"] = Painter(sim, table_view(config, self.pixels)).observe(state)
        return Episode(
            observations,
            rollout.targets,
            np.arange(steps, dtype=np.float64) * (config.dt * config.substeps),
            rollout.success,
            rollout.seed,
            {"task": _TASK, "demonstrator": self.name, "coverage": float(rollout.coverage[-1])}
            | drawn_record(self.config, config),
        )

    @property
    def collection(self) -> Collection:
        """What its episodes have in common."""
        points = None if "shape" in self.config.ranges else self.config
        wanted = {"img": self.pixels, "learner": self.after, "keypoint": points}
        names = {name for name, value in wanted.items() if value is None}
        settings = push_settings(self.config, self.name, self.pixels)
        if self.after is not None:
            settings["after"] = digest((self.after,))
        return Collection(
            f"Pushing on a table, {self.name} demonstrator",
            settings,
            description="A body is pushed onto its goal by a round pusher that an arm holds.",
            arrays={name: text for name, text in _MEANINGS.items() if name not in names},
        )


class _Relay:
    """A policy acts first, then a demonstrator."""

    def __init__(self, first: Demonstrator, then: Demonstrator) -> None:
        self._first, self._then = first, then

    def reset(self, seed: int) -> None:
        """Begin an episode."""
        self._first.reset(seed)
        self._then.reset(seed)
        self._steps, self._last = 0, _acted(seed)

    def act(self, state: State) -> Array:
        """The next target."""
        self._steps += 1
        who = self._first if self._steps <= self._last else self._then
        return who.act(state)


def _acted(seed: int) -> int:
    """The number of steps in which a policy acts first, of the episode of a seed."""
    return int(np.random.default_rng([seed, 3]).integers(0, _LATEST + 1))


def replay(episode: Episode, collection: Collection) -> tuple[Rollout, float]:
    """Do an episode's actions again, from the start of its seed.

    Returns:
        What happened, and by how much a state differs from the recorded ones at most (m, rad).

    Raises:
        BadInput: the episode is not of pushing.
        ValueError: the arm can't hold the pusher.
    """
    config = table_of(collection, episode)
    seen = episode.observations.get("state")
    if config is None or seen is None or episode.seed is None:
        raise BadInput.one("demonstrations", "are not of galley push collect: nothing to replay")
    sim = Simulation(config)
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


def push_settings(config: PushConfig, name: str, pixels: int | None) -> dict[str, Any]:
    """Settings of a collection by a demonstrator."""
    settings: dict[str, Any] = {
        "demonstrator": name,
        "robot": "planar arm",
        _TABLE: config_record(config),
        "digest of code": digest(()),
    }
    return settings if pixels is None else settings | {"pixels": pixels}


def drawn_record(ranges: PushConfig, config: PushConfig) -> dict[str, Any]:
    """Metadata of an episode: its table, if there are ranges from which it is drawn."""
    return {_TABLE: config_record(config)} if ranges.ranges else {}


def table_of(collection: Collection, episode: Episode | None = None) -> PushConfig | None:
    """The config of a collection's episodes, or of one; None: it is not of pushing."""
    metadata = {} if episode is None else episode.metadata
    given = metadata.get(_TABLE, collection.settings.get(_TABLE))
    if not isinstance(given, Mapping):
        return None
    return config_of_record(given)


def _observed(rows: Array) -> Array:
    """The observation ``state`` (n, 5) of rows (n, 11) of states."""
    turned = np.remainder(rows[:, 6], 2.0 * math.pi)
    return np.column_stack([rows[:, 0:2], rows[:, 4:6], turned])
