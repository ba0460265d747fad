"""What an item touches: what carries it, what stands beside it, what it leans on in the hand."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from galley.domain.frames import Array
from galley.domain.predicates import corners
from galley.domain.scene import Item
from galley.domain.state import State, item_pose
from galley.skills.workbench import Workbench
from galley.worlds.checker import MARGIN, Pair

_TOUCHING = 0.003  # m, what is nearer than this to an item carries it
_BESIDE = MARGIN - 0.0005  # m, nearer than this an item leaves no margin beside another
_OVER = 0.02  # m, above what stood beside it that an item is lifted


def supports(bench: Workbench, state: State, index: int) -> tuple[str, ...]:
    """Names of the furniture on which an item stands: what lies within 3 mm of it."""
    scene = bench.scene
    bench.world.set_state(state)
    name = scene.items[index].name
    furniture = {body.name for body in scene.bodies}
    found = set()
    for (a, b), distance in bench.world.near_pairs(_TOUCHING, (index,)).items():
        other = b if a == name else a
        if name in (a, b) and other in furniture and distance < _TOUCHING:
            found.add(other)
    return tuple(sorted(found))


def beside(bench: Workbench, state: State, index: int) -> tuple[str, ...]:
    """Names of the other items that an item touches, or nearly."""
    scene = bench.scene
    bench.world.set_state(state)
    near = bench.world.near_pairs(_BESIDE, (index,))
    name, items = scene.items[index].name, set(scene.item_index)
    return tuple(sorted({n for p in near if name in p and set(p) <= items for n in p} - {name}))


def height_over(bench: Workbench, state: State, index: int, near: Sequence[str]) -> float:
    """How far (m) an item must be lifted for its underside to be above other items; 0 for none."""
    scene = bench.scene

    def heights(k: int) -> Array:
        X_WI = item_pose(scene, state, k, np.eye(4))
        return np.asarray(corners(scene.items[k]) @ X_WI[2, :3] + X_WI[2, 3])

    bottom = float(heights(index).min())
    tops = [float(heights(scene.item_index[n]).max()) - bottom + _OVER for n in near]
    return max(tops, default=0.0)


def leaning_on(bench: Workbench, state: State, item: Item) -> frozenset[Pair]:
    """The held item with the links that it touches: one that has slipped may lean on the palm."""
    bench.world.set_state(state)
    near = bench.world.near_pairs(_TOUCHING, ())
    links = frozenset(bench.robot.links)
    return frozenset(p for p in near if item.name in p and links & set(p))
