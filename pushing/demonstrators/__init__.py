"""Demonstrators: who drives the pusher, step by step, until the body covers the goal.

A demonstrator sees the whole state and says where the pusher is driven to next. It is made once
for a config and reset for each episode; the same seed and states give the same targets.
"""

from __future__ import annotations

from typing import Protocol

from galley.domain.frames import Array
from galley.pushing.simulation import State


class Demonstrator(Protocol):
    """Drives one table."""

    def reset(self, seed: int) -> None:
        """Begin an episode; all that is random in it comes from the seed."""

    def act(self, state: State) -> Array:
        """The next target of the pusher (2,) m, for a state of one table, which it leaves as is."""
