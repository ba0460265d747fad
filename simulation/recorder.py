"""Collects what an executor does into a Log."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from galley.domain.frames import Array, frozen
from galley.domain.log import Log
from galley.worlds.checker import Pair


@dataclass
class Recorder:
    """Growing lists of a Log's columns; ``log`` freezes them."""

    mode: str
    time: list[float] = field(default_factory=list)
    q: list[Array] = field(default_factory=list)
    scene_q: list[Array] = field(default_factory=list)
    items: list[Array] = field(default_factory=list)
    held: list[int] = field(default_factory=list)
    motion: list[int] = field(default_factory=list)
    motions: list[str] = field(default_factory=list)
    declared: list[tuple[str, str, str]] = field(default_factory=list)
    contacts: list[tuple[int, str, str, float, float]] = field(default_factory=list)

    def begin(self, name: str, declared: frozenset[Pair]) -> None:
        """A motion begins: its name and the pairs that may touch during it."""
        k = len(self.motions)
        self.motions.append(name)
        self.declared += [(str(k), a, b) for a, b in sorted(declared)]

    def sample(self, time: float, q: Array, scene_q: Array, items: Array, held: int | None) -> None:
        """The world at ``time`` (s): q (n,), scene_q (nj,), items (ni, 7) in the world."""
        self.time.append(time)
        self.q.append(np.array(q))
        self.scene_q.append(np.array(scene_q))
        self.items.append(np.array(items))
        self.held.append(-1 if held is None else held)
        self.motion.append(len(self.motions) - 1)

    def contact(self, a: str, b: str, distance: float, force: float = np.nan) -> None:
        """A contact at the latest sample: distance in m, normal force in N (NaN: unknown)."""
        self.contacts.append((len(self.time) - 1, a, b, distance, force))

    def log(self, item_count: int) -> Log:
        """The Log of everything so far."""
        t = len(self.time)
        return Log(
            time=frozen(self.time),
            q=frozen(self.q),
            scene_q=frozen(np.array(self.scene_q).reshape(t, -1)),
            items=frozen(np.array(self.items).reshape(t, item_count, 7)),
            held=np.array(self.held, dtype=np.int64),
            motion=np.array(self.motion, dtype=np.int64),
            motions=np.array(self.motions, dtype=np.str_),
            declared=np.array(self.declared, dtype=np.str_).reshape(-1, 3),
            contact_step=np.array([c[0] for c in self.contacts], dtype=np.int64),
            contact_pair=np.array([c[1:3] for c in self.contacts], dtype=np.str_).reshape(-1, 2),
            contact_distance=frozen([c[3] for c in self.contacts]),
            contact_force=frozen([c[4] for c in self.contacts]),
            mode=self.mode,
        )
