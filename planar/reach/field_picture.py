"""Picture of an item's reachability field over the floor plan of a scene."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from galley.domain.frames import Array
from galley.domain.scene.model import Scene
from galley.domain.state import initial_state
from galley.skills.base_placement.field import Field
from galley.viz.figures import figure_file

_OVERHEAD = 1.3  # m; furniture whose lower end is above it is drawn dotted


def draw_field(field: Field, shares: Array, scene: Scene, item: str, path: Path | str) -> None:
    """Draw a reachability field as a heat map, with furniture and the item, as a PNG.

    Args:
        field: the grid of base positions.
        shares: (n, m), share of headings at each position, 0 to 1.
        scene: drawn at its start.
        item: name of the item.
        path: of the picture; it appears whole or not at all.

    Raises:
        BadInput: ``path`` can't be written.
    """
    from matplotlib.patches import Rectangle

    scene_q = initial_state(scene).scene_q
    dx, dy = (0.5 * (axis[1] - axis[0]) for axis in (field.x, field.y))
    extent = (field.x[0] - dx, field.x[-1] + dx, field.y[0] - dy, field.y[-1] + dy)
    with figure_file(path, (8.2, 7.2)) as figure:
        axes = figure.add_subplot()
        most = max(0.05, float(shares.max()))
        shown = axes.imshow(
            100.0 * shares.T, origin="lower", extent=extent, cmap="viridis", vmin=0.0,
            vmax=100.0 * most, interpolation="nearest",
        )  # fmt: skip
        bar = figure.colorbar(shown, ax=axes, fraction=0.046, pad=0.03)
        bar.set_label("headings from which it can be grasped, % of all")
        for overhead, name in ((False, "furniture"), (True, "furniture overhead")):
            style = ":" if overhead else "-"
            for k, (low, high) in enumerate(_outlines(scene, scene_q, overhead)):
                corner, (width, depth) = (float(low[0]), float(low[1])), high - low
                patch = Rectangle(corner, width, depth, fill=False, ec="white", lw=1.2, ls=style)
                axes.add_patch(patch).set_label(name if k == 0 else None)
        x, y = scene.item(item).X_WI[:2, 3]
        axes.plot(x, y, "*", ms=15, mfc="#ffce54", mec="black", ls="", label=item)
        axes.set_xlim(extent[:2])
        axes.set_ylim(extent[2:])
        axes.set_xlabel("x of the arm's foot, m")
        axes.set_ylabel("y, m")
        axes.set_title(f"Where to stand to grasp {item}")
        axes.legend(loc="upper left", facecolor="#555555", labelcolor="white", framealpha=0.85)
        figure.tight_layout()


def _outlines(scene: Scene, scene_q: Array, overhead: bool) -> list[tuple[Array, Array]]:
    """Lower and upper corner (2,) of each body's parts that are overhead, or that aren't, m."""
    outlines = []
    for body in scene.bodies:
        X_WB = scene.body_pose(body.name, scene_q)
        boxes = [shape.bounds(X_WB) for shape in body.shapes if shape.collision]
        boxes = [box for box in boxes if (box[0][2] > _OVERHEAD) == overhead]
        if boxes:
            low, high = (np.array(corners) for corners in zip(*boxes, strict=True))
            outlines.append((low.min(axis=0)[:2], high.max(axis=0)[:2]))
    return outlines
