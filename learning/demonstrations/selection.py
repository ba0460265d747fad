"""A sequence of episodes that are loaded on access; filtered and split without loading."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from galley.learning.demonstrations.episode import Episode, EpisodeInfo


@dataclass(frozen=True)
class Demonstrations:
    """A sequence of episodes. Iteration, and ``demonstrations[k]``, load one at a time.

    Attributes:
        infos: of the episodes.
        loaders: functions that load and return them.
    """

    infos: tuple[EpisodeInfo, ...]
    loaders: tuple[Callable[[], Episode], ...]

    @classmethod
    def of(cls, episodes: Iterable[Episode]) -> Demonstrations:
        """A sequence of episodes in memory."""
        held = tuple(episodes)
        return cls(tuple(e.info for e in held), tuple(partial(_same, e) for e in held))

    def __len__(self) -> int:
        return len(self.infos)

    def __getitem__(self, k: int) -> Episode:
        return self.loaders[k]()

    def __iter__(self) -> Iterator[Episode]:
        return (load() for load in self.loaders)

    def select(self, indices: Iterable[int]) -> Demonstrations:
        """The episodes of these indices, in their order."""
        chosen = list(indices)
        return Demonstrations(
            tuple(self.infos[k] for k in chosen), tuple(self.loaders[k] for k in chosen)
        )

    def filter(self, success: bool | None = None, longest: int | None = None) -> Demonstrations:
        """The episodes with this success and at most ``longest`` steps; None: any."""
        return self.select(
            k
            for k, info in enumerate(self.infos)
            if (success is None or info.success is success)
            and (longest is None or info.length <= longest)
        )

    def split(self, fraction: float, seed: int = 0) -> tuple[Demonstrations, Demonstrations]:
        """Two parts of the episodes, drawn at random; each keeps the old order.

        Args:
            fraction: share of the episodes in the second part, 0 to 1; their number is rounded.
            seed: of the draw.

        Raises:
            ValueError: the fraction isn't within 0 and 1.
        """
        if not 0 <= fraction <= 1:
            raise ValueError(f"fraction must be within 0 and 1, got {fraction}")
        order = np.random.default_rng(seed).permutation(len(self))
        chosen = set(order[: round(fraction * len(self))].tolist())
        first = self.select(k for k in range(len(self)) if k not in chosen)
        return first, self.select(sorted(chosen))


def alike(demonstrations: Demonstrations) -> Iterator[Episode]:
    """Iterate over the episodes, and check that they have the same arrays.

    Raises:
        ValueError: there are no episodes, or an array is missing, new, or of other dtype or shape.
    """
    if not len(demonstrations):
        raise ValueError("there are no episodes")
    first = None
    for k, episode in enumerate(demonstrations):
        layout = episode.layout
        first = layout if first is None else first
        for name in (*first, *layout):
            if first.get(name) != layout.get(name):
                was, now = (_described(arrays.get(name)) for arrays in (first, layout))
                raise ValueError(f"'{name}' is {was} in episode 0 and {now} in episode {k}")
        yield episode


def _same(episode: Episode) -> Episode:
    return episode


def _described(array: tuple[str, tuple[int, ...]] | None) -> str:
    return "missing" if array is None else f"{array[0]} {array[1]} a step"
