"""Episodes in an order, loaded when asked for: filtered and split without loading."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np

from galley.learning.demonstrations.episode import Episode, EpisodeInfo


@dataclass(frozen=True)
class Demonstrations:
    """Episodes in an order. Iterating, or ``demonstrations[k]``, loads one at a time.

    Attributes:
        infos: of each episode. loaders: functions that return it.
    """

    infos: tuple[EpisodeInfo, ...]
    loaders: tuple[Callable[[], Episode], ...]

    @classmethod
    def of(cls, episodes: Iterable[Episode]) -> Demonstrations:
        """Of episodes in memory."""
        held = tuple(episodes)
        return cls(tuple(e.info for e in held), tuple(partial(_same, each) for each in held))

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
        """The episodes that ended so, and have at most so many steps, where these are given."""
        return self.select(
            k
            for k, info in enumerate(self.infos)
            if (success is None or info.success is success)
            and (longest is None or info.length <= longest)
        )

    def split(self, fraction: float, seed: int = 0) -> tuple[Demonstrations, Demonstrations]:
        """Two parts, whole episodes drawn at random, each in the old order.

        Args:
            fraction: of the episodes that the second part gets, rounded; 0 to 1.
            seed: of the draw.

        Raises:
            ValueError: fraction is not within 0 and 1.
        """
        if not 0 <= fraction <= 1:
            raise ValueError(f"fraction must be within 0 and 1, got {fraction}")
        order = np.random.default_rng(seed).permutation(len(self))
        chosen = set(order[: round(fraction * len(self))].tolist())
        first = self.select(k for k in range(len(self)) if k not in chosen)
        return first, self.select(sorted(chosen))


def alike(demonstrations: Demonstrations) -> Iterator[Episode]:
    """The episodes, checked to have the same arrays.

    Raises:
        ValueError: there are none, or an array is missing, new, or of other dtype or shape.
    """
    if not len(demonstrations):
        raise ValueError("there are no episodes")
    first = None
    for k, episode in enumerate(demonstrations):
        layout = episode.layout
        first = layout if first is None else first
        for name in (*first, *layout):
            if first.get(name) != layout.get(name):
                was, now = (_described(each.get(name)) for each in (first, layout))
                raise ValueError(f"'{name}' is {was} in episode 0 and {now} in episode {k}")
        yield episode


def _same(episode: Episode) -> Episode:
    return episode


def _described(array: tuple[str, tuple[int, ...]] | None) -> str:
    return "missing" if array is None else f"{array[0]} {array[1]} a step"
