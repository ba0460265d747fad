"""Whether a base can stand where a stance wants it: what no plan could mend is seen on loading.

A disc within the chassis' footprint must find room somewhere in the stance. Where furniture that
never moves leaves it none, neither is there any for the chassis, whatever its heading.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from galley.domain.frames import Array
from galley.domain.scene.model import Scene, Shape, Stance
from galley.domain.scene.yaml_reader import Reader

_CELLS = 64  # along each side of a stance
_DEEP = 0.002  # m that a robot may stand in something at the start too: rounding
_UPRIGHT = 1e-6


def check_stances(reader: Reader, scene: Scene) -> None:
    """A fault for each stance in use that the base can't reach, or in which it can't stand."""
    base = scene.robot.base
    low, high = np.array(base.lower[:2]), np.array(base.upper[:2])
    for name in sorted({b.target for b in scene.bindings if b.kind == "furniture"}):
        stance = scene.stance(name)
        if (stance.upper[:2] < low).any() or (stance.lower[:2] > high).any():
            what = f"lies outside the base's limits, x from {low[0]:g} to {high[0]:g} and"
            reader.fault(f"stances.{name}", f"{what} y from {low[1]:g} to {high[1]:g}")
        elif names := _fills(scene, stance):
            what = f"the base can't stand anywhere in it: {', '.join(names)} leaves it no room"
            reader.fault(f"stances.{name}", what)


def _fills(scene: Scene, stance: Stance) -> list[str]:
    """The bodies in the way, if they leave no room for the base; else none."""
    spec = scene.robot.base
    lower = np.maximum(stance.lower[:2], spec.lower[:2])
    sides = np.minimum(stance.upper[:2], spec.upper[:2]) - lower
    steps = (np.arange(_CELLS) + 0.5) / _CELLS
    x, y = np.meshgrid(*(lower[:, None] + sides[:, None] * steps))
    cells = np.column_stack([x.ravel(), y.ravel()])
    # A disc about a cell's middle that reaches so far touches what the base would, wherever in the
    # cell it stands.
    reach = min(spec.size[:2]) / 2.0 - _DEEP - float(np.linalg.norm(sides)) / (2.0 * _CELLS)
    names = []
    for name, shape, X in _standing(scene):
        low, high = shape.bounds(X)
        if low[2] < spec.size[2] - _DEEP and high[2] > spec.ground_gap + _DEEP:
            taken = _distance(shape, X @ shape.X_BS, cells) < reach
            if taken.any():
                names.append(name)
                cells = cells[~taken]
        if not len(cells):
            return sorted(set(names))
    return []


def _standing(scene: Scene) -> Iterator[tuple[str, Shape, Array]]:
    """Boxes and cylinders that stand upright and never move, with X_WB of their bodies."""
    for body in scene.bodies:
        if scene.carried(body.name):
            continue
        for shape in body.shapes:
            upright = np.abs((body.X_WB0 @ shape.X_BS)[2, 2]) > 1.0 - _UPRIGHT
            if shape.collision and upright and shape.kind in ("box", "cylinder"):
                yield body.name, shape, body.X_WB0


def _distance(shape: Shape, X_WS: Array, points: Array) -> Array:
    """From points (n, 2) of the floor to the outline of an upright shape, seen from above (n,)."""
    away = (points - X_WS[:2, 3]) @ X_WS[:2, :2]
    if shape.kind == "cylinder":
        return np.asarray(np.linalg.norm(away, axis=1) - shape.size[0])
    return np.asarray(
        np.linalg.norm(np.maximum(np.abs(away) - shape.half_extents[:2], 0.0), axis=1)
    )
