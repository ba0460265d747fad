"""How far the collision shapes of an item reach in a direction."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np

from galley.domain.frames import Array
from galley.domain.scene import Item, Shape


def reach(item: Item, direction: Array) -> float:
    """Support function, metres: max of direction . p_IQ over the points Q of its shapes.

    Args:
        direction: unit vector (3,) in the item's frame.
    """
    return max(_reach(shape, direction) for shape in item.shapes if shape.collision)


def _reach(shape: Shape, direction: Array) -> float:
    d = shape.X_BS[:3, :3].T @ direction
    centre = float(direction @ shape.X_BS[:3, 3])
    if shape.kind == "box":
        return centre + float(np.abs(d) @ shape.size) / 2.0
    if shape.kind == "sphere":
        return centre + float(shape.size[0])
    if shape.kind == "cylinder":
        radius, length = shape.size
        return centre + float(radius * np.hypot(d[0], d[1]) + 0.5 * length * abs(d[2]))
    assert shape.mesh is not None
    return centre + float((_vertices(shape.mesh) @ d).max() * shape.size[0])


@lru_cache(maxsize=64)
def _vertices(path: Path) -> Array:
    """Vertices (n, 3) of an OBJ file."""
    lines = (
        line.split() for line in path.read_text(encoding="utf-8", errors="replace").split("\n")
    )
    return np.array([[float(w) for w in words[1:4]] for words in lines if words[:1] == ["v"]])
