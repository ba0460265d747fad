"""Demonstrators: they drive the pusher, step by step, until the body covers the goal.

A demonstrator observes the whole state and returns the pusher's next target. It is made once for a
config and reset for each episode; the same seed and states give the same targets.

- ``scripted``, ``planned``: two demonstrators
- ``roadmap``: contacts on the outline, and paths of the pusher to them
- ``motion``: targets along a path; how far a body is from the goal
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Protocol

from galley.domain.frames import Array
from galley.planar.pushing.config import PushConfig

if TYPE_CHECKING:
    from galley.planar.pushing.simulation import PushState

DEMONSTRATORS = {
    "scripted": "hand-written rules: go round the body and push where it brings it nearest",
    "planned": "search through the model: many pushes, and others after the best of them",
}
"""What each demonstrator does, by name."""


class Demonstrator(Protocol):
    """Interface of a demonstrator, which drives the pusher of one table."""

    def reset(self, seed: int) -> None:
        """Begin an episode; its random numbers come from the seed alone."""

    def act(self, state: PushState) -> Array:
        """The next target of the pusher (2,), m, for the state of one table; doesn't change it."""


def demonstrator(name: str, config: PushConfig) -> Demonstrator:
    """Make the demonstrator of a name, one of ``DEMONSTRATORS``, for tables of a config.

    Raises:
        ValueError: an unknown name, or targets can't move the config's pusher.
    """
    if name not in DEMONSTRATORS:
        raise ValueError(f"demonstrator = {name!r}: must be one of {', '.join(DEMONSTRATORS)}")
    module = import_module(f"galley.planar.pushing.demonstrators.{name}")
    made: Demonstrator = getattr(module, name.capitalize())(config)
    return made
