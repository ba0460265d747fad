"""Finds stances in which the base can never stand.

The chassis is replaced by a disc within its footprint. If static furniture leaves no room for the
disc anywhere in the stance, there is none for the chassis either, whatever its heading.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from galley.domain.frames import Array
from galley.domain.scene.model import Scene, Shape, Stance
from galley.domain.yaml_models import YamlFile

_CELLS = 64  # along each side of a stance
_PENETRATION = 0.002  # m that are tolerated, as at the start of a run
_UPRIGHT = 1e-6


def check_stances(file: YamlFile, scene: Scene) -> None:
    """Reports each stance in use that is out of the base's limits or has no room for it."""
    base = scene.robot.base
    low, high = np.array(base.lower[:2]), np.array(base.upper[:2])
    for name in sorted({b.target for b in scene.bindings if b.kind == "furniture"}):
        stance = scene.stance(name)
        if (stance.upper[:2] < low).any() or (stance.lower[:2] > high).any():
            what = f"lies outside the base's limits, x from {low[0]:g} to {high[0]:g} and"
            file.fault(("stances", name), f"{what} y from {low[1]:g} to {high[1]:g}")
        elif names := _blocking_bodies(scene, stance):
            what = f"the base can't stand anywhere in it: {', '.join(names)} leaves it no room"
            file.fault(("stances", name), what)


def _blocking_bodies(scene: Scene, stance: Stance) -> list[str]:
    """The bodies that leave the base no room in the stance; empty if there is some."""
    spec = scene.robot.base
    lower = np.maximum(stance.lower[:2], spec.lower[:2])
    sides = np.minimum(stance.upper[:2], spec.upper[:2]) - lower
    steps = (np.arange(_CELLS) + 0.5) / _CELLS
    x, y = np.meshgrid(*(lower[:, None] + sides[:, None] * steps))
    cells = np.column_stack([x.ravel(), y.ravel()])
    # Shrunk by half a cell's diagonal: what touches this disc at the cell's centre touches the base
    # wherever in the cell it stands.
    reach = min(spec.size[:2]) / 2.0 - _PENETRATION - float(np.linalg.norm(sides)) / (2.0 * _CELLS)
    names = []
    for name, shape, X in _static_shapes(scene):
        low, high = shape.bounds(X)
        near = (low[:2] < lower + sides + reach).all() and (high[:2] > lower - reach).all()
        tall = low[2] < spec.size[2] - _PENETRATION and high[2] > spec.ground_gap + _PENETRATION
        if near and tall:
            blocked = _distance(shape, X @ shape.X_BS, cells) < reach
            if blocked.any():
                names.append(name)
                cells = cells[~blocked]
        if not len(cells):
            return sorted(set(names))
    return []


def _static_shapes(scene: Scene) -> Iterator[tuple[str, Shape, Array]]:
    """Upright boxes and cylinders of bodies that never move: body name, shape, X_WB."""
    for body in scene.bodies:
        if scene.carried(body.name):
            continue
        for shape in body.shapes:
            upright = np.abs((body.X_WB0 @ shape.X_BS)[2, 2]) > 1.0 - _UPRIGHT
            if shape.collision and upright and shape.kind in ("box", "cylinder"):
                yield body.name, shape, body.X_WB0


def _distance(shape: Shape, X_WS: Array, points: Array) -> Array:
    """Distance (n,) in the plane from points (n, 2) to the outline of an upright shape."""
    offset = (points - X_WS[:2, 3]) @ X_WS[:2, :2]
    if shape.kind == "cylinder":
        return np.asarray(np.linalg.norm(offset, axis=1) - shape.size[0])
    return np.asarray(
        np.linalg.norm(np.maximum(np.abs(offset) - shape.half_extents[:2], 0.0), axis=1)
    )
