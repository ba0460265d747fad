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
    """Pushes on one table; can be pickled.

    Attributes:
        config: of the simulation.
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

    def __reduce__(self) -> tuple[Any, ...]:
        """Without what is cached: compiled code isn't pickled."""
        return PushDemonstrator, (self.config, self.name, self.pixels, self.after)

    def __call__(self, seed: int) -> Episode:
        """The episode of a seed.

        Raises:
            NoEpisode: the goal is covered at the start.
            ValueError: the arm can't hold the pusher without crossing itself.
        """
        return self.episode(roll_out(self._sim, self._who, seed))

    @cached_property
    def _sim(self) -> Simulation:
        return Simulation(self.config)

    @cached_property
    def _who(self) -> Demonstrator:
        who = demonstrator(self.name, self.config)
        return who if self.after is None else _Relay(Path(self.after), who)

    def episode(self, rollout: Rollout) -> Episode:
        """A rollout as an episode: T states and what was done in each; the last isn't in it."""
        steps = len(rollout.targets)
        if not steps:
            raise NoEpisode("the goal is covered at the start")
        config, rows, sim = self.config, rollout.states[:-1], self._sim
        state = State(np.ascontiguousarray(rows.T))
        observations: dict[str, Any] = {
            "state": _observed(rows),
            "keypoint": sim.outlines(state.body.T),
            "angles": rollout.angles[:-1],
            "coverage": rows[:, 10:11],
        }
        if self.after is not None and isinstance(self._who, _Relay):
            observations["learner"] = (np.arange(steps) < self._who.last)[:, None]
        if self.pixels is not None:
            observations["img"] = Painter(sim, table_view(config, self.pixels)).observe(state)
        return Episode(
            observations,
            rollout.targets,
            np.arange(steps, dtype=np.float64) * (config.dt * config.substeps),
            rollout.success,
            rollout.seed,
            {"task": _TASK, "demonstrator": self.name, "coverage": float(rollout.coverage[-1])},
        )

    @property
    def collection(self) -> Collection:
        """What its episodes have in common."""
        wanted = {"img": self.pixels, "learner": self.after}
        names = {name for name, value in wanted.items() if value is None}
        settings: dict[str, Any] = {
            "demonstrator": self.name,
            "robot": "planar arm",
            _TABLE: config_record(self.config),
            "digest of code": digest(()),
        }
        if self.pixels is not None:
            settings["pixels"] = self.pixels
        if self.after is not None:
            settings["after"] = digest((self.after,))
        return Collection(
            f"Pushing on a table, {self.name} demonstrator",
            settings,
            description="A body is pushed onto its goal by a round pusher that an arm holds.",
            arrays={name: text for name, text in _MEANINGS.items() if name not in names},
        )


class _Relay:
    """A policy acts first, then a demonstrator.

    Attributes:
        last: the number of steps in which the policy acts, of this episode.
    """

    def __init__(self, checkpoint: Path, then: Demonstrator) -> None:
        from galley.learning.policy.policy import Driver, load_policy

        self._first, self._then = Driver(load_policy(checkpoint)), then
        self.reset(0)

    def reset(self, seed: int) -> None:
        """Begin an episode."""
        self._first.reset(seed)
        self._then.reset(seed)
        self._steps, self.last = 0, int(np.random.default_rng([seed, 3]).integers(0, _LATEST + 1))

    def act(self, state: State) -> Array:
        """The next target."""
        self._steps += 1
        who = self._first if self._steps <= self.last else self._then
        return who.act(state)


def replay(episode: Episode, collection: Collection) -> tuple[Rollout, float]:
    """Do an episode's actions again, from the start of its seed.

    Returns:
        What happened, and by how much a state differs from the recorded ones at most (m, rad).

    Raises:
        BadInput: the episode is not of pushing.
        ValueError: the arm can't hold the pusher.
    """
    config = table_of(collection)
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


def table_of(collection: Collection) -> PushConfig | None:
    """The config of a collection's episodes; None: it is not of pushing."""
    given = collection.settings.get(_TABLE)
    if not isinstance(given, Mapping):
        return None
    return config_of_record(given)


def _observed(rows: Array) -> Array:
    """The observation ``state`` (n, 5) of rows (n, 11) of states."""
    turned = np.remainder(rows[:, 6], 2.0 * math.pi)
    return np.column_stack([rows[:, 0:2], rows[:, 4:6], turned])
