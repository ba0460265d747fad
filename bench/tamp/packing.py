"""Whether items fit into a rectangle together, on ever finer grids of x, y and yaw.

They fit if a grid has an arrangement of theirs with gaps. They do not if it has none even of shapes
that are smaller by as much as a point moves to the nearest place and yaw of the grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array
from galley.domain.scene.model import Item

GAP = 0.005  # m between packed items
STEPS = (0.01, 0.005, 0.0035, 0.0025, 0.0018)  # m; a yaw moves a corner as far

_Kind = tuple[float, float, bool]  # sides (m), or twice its diameter; whether it is round


def packed(items: Sequence[Item], low: Array, high: Array) -> Array | None:
    """Poses (n, 3) of x, y and yaw of all items between two corners (2,), or None: proven.

    Raises:
        RuntimeError: the finest grid is too coarse to tell.
    """
    order = sorted(range(len(items)), key=lambda k: -float(np.prod(items[k].size[:2])))
    for step in STEPS:
        for gap, shrunk in ((GAP, False), (0.0, True)):
            found = _Grid([items[k] for k in order], low, high, step, gap, shrunk).arranged()
            if found is None and shrunk:
                return None
            if found is not None and not shrunk:
                return np.array([found[order.index(k)] for k in range(len(items))])
    raise RuntimeError("the finest grid is too coarse to tell")


class _Grid:
    """Places of some items in a rectangle, and which of them go together."""

    def __init__(
        self, items: Sequence[Item], low: Array, high: Array, step: float, gap: float, shrunk: bool
    ) -> None:
        self.gap = gap
        self.kinds = [(float(i.size[0]), float(i.size[1]), i.round) for i in items]
        self.halves: dict[_Kind, Array] = {}
        self.poses: dict[_Kind, Array] = {}
        for kind in set(self.kinds):
            half, round_ = np.array(kind[:2]) / 2.0, kind[2]
            turns = 1 if round_ else int(np.ceil(np.pi * np.hypot(*half) / step))
            off = step / np.sqrt(2.0) + (0.0 if round_ else np.pi / turns / 2.0 * np.hypot(*half))
            half = half - (off if shrunk else 0.0)
            axes = [np.arange(low[i], high[i] + step, step) for i in (0, 1)]
            poses = np.array(list(product(*axes, np.arange(turns) * np.pi / turns)))
            c, s = np.abs(np.cos(poses[:, 2])), np.abs(np.sin(poses[:, 2]))
            reach = np.stack([c * half[0] + s * half[1], s * half[0] + c * half[1]], axis=1)
            reach = np.broadcast_to(half, reach.shape) if round_ else reach
            inside = (poses[:, :2] - reach > low - 1e-9) & (poses[:, :2] + reach < high + 1e-9)
            self.halves[kind], self.poses[kind] = half, poses[inside.all(axis=1)]
        self._rows: dict[tuple[_Kind, int, _Kind], int] = {}

    def arranged(self) -> Array | None:
        """Poses (n, 3) of the items, or None."""
        everywhere = [(1 << len(self.poses[kind])) - 1 for kind in self.kinds]
        found: list[Array] = []

        def place(masks: list[int]) -> bool:
            if not masks:
                return True
            kind, rest = self.kinds[-len(masks)], self.kinds[len(self.kinds) - len(masks) + 1 :]
            mask = masks[0]
            while mask:
                k = (mask & -mask).bit_length() - 1
                mask &= mask - 1
                # Of items that are alike the later one has the later place.
                left = [
                    self._row(kind, k, other) & old & (mask if other == kind else old)
                    for other, old in zip(rest, masks[1:], strict=True)
                ]
                if all(left):
                    found.append(self.poses[kind][k])
                    if place(left):
                        return True
                    found.pop()
            return False

        return np.array(found) if place(everywhere) else None

    def _row(self, kind: _Kind, k: int, other: _Kind) -> int:
        """At which places another item is clear of one at place k, as bits."""
        if (kind, k, other) not in self._rows:
            free = self._apart(kind, self.poses[kind][k], other)
            bits = np.packbits(free, bitorder="little").tobytes()
            self._rows[kind, k, other] = int.from_bytes(bits, "little")
        return self._rows[kind, k, other]

    def _apart(self, a: _Kind, pose: Array, b: _Kind) -> NDArray[np.bool_]:
        """Whether an item at a pose (3,) keeps the gap to another at each of its places."""
        between = self.poses[b][:, :2] - pose[:2]
        if a[2] and b[2]:
            least = self.halves[a][0] + self.halves[b][0] + self.gap
            return np.asarray(np.linalg.norm(between, axis=1) >= least - 1e-9)
        apart = np.full(len(between), -np.inf)
        turns = (np.full(len(between), pose[2]), self.poses[b][:, 2])
        for own, other in ((0, 1), (1, 0)):
            kind, against = ((a, b), (b, a))[own]
            if kind[2]:
                continue
            turned = turns[other] - turns[own]
            c, s = np.abs(np.cos(turned)), np.abs(np.sin(turned))
            half = self.halves[against]
            reach = np.stack([c * half[0] + s * half[1], s * half[0] + c * half[1]], axis=1)
            c, s = np.cos(turns[own]), np.sin(turns[own])
            local = np.abs([c * between[:, 0] + s * between[:, 1],
                            c * between[:, 1] - s * between[:, 0]]).T  # fmt: skip
            over = local - self.halves[kind]
            if against[2]:
                beside = np.linalg.norm(np.maximum(over, 0.0), axis=1) - half[0]
                return np.asarray(beside >= self.gap - 1e-9)
            apart = np.maximum(apart, (over - reach).max(axis=1))
        return np.asarray(apart >= self.gap - 1e-9)
