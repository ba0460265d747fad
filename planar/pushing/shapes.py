"""Outlines of bodies to push (m): three shipped ones, or a YAML file of vertices.

vertices:  # in m, around the outline in either direction
  - [0.00, 0.00]
  - [0.12, 0.04]
  - [0.00, 0.08]
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from galley.domain.scene.yaml_reader import Entry, Reader
from galley.planar.geometry.polygon import Polygon

T = (
    (-0.06, 0.0), (0.06, 0.0), (0.06, 0.03), (0.015, 0.03),
    (0.015, 0.12), (-0.015, 0.12), (-0.015, 0.03), (-0.06, 0.03),
)  # fmt: skip
L = ((0.0, 0.0), (0.09, 0.0), (0.09, 0.03), (0.03, 0.03), (0.03, 0.12), (0.0, 0.12))
RECTANGLE = ((0.0, 0.0), (0.12, 0.0), (0.12, 0.06), (0.0, 0.06))
SHAPES = {"T": T, "L": L, "rectangle": RECTANGLE}
"""The T is that of gym-pusht at 1 mm a pixel: a bar of 120 x 30 mm and a stem of 30 x 90 mm."""


def shape(name: str) -> Polygon:
    """A shipped outline.

    Raises:
        ValueError: there is none of this name.
    """
    if not isinstance(name, str) or name not in SHAPES:
        known = ", ".join(SHAPES)
        raise ValueError(f"shape = {name!r}: must be one of {known}, or a Polygon (load_outline)")
    return Polygon(np.array(SHAPES[name]))


def load_outline(path: str | Path) -> Polygon:
    """The outline in a YAML file; see the module.

    Raises:
        BadInput: not such a file, or not a simple polygon; the message has file and line.
    """
    reader = Reader(path)
    entry = reader.root().fields(("vertices",)).get("vertices")
    polygon = None if entry is None else outline_of(entry)
    reader.finish()
    assert polygon is not None  # else there was an error
    return polygon


def outline_of(entry: Entry) -> Polygon | None:
    """The polygon of a YAML list of vertices; None, and an error recorded, if it is none."""
    faults = len(entry.reader.errors)
    vertices = np.array([each.vector(2) for each in entry.elements()])
    if len(entry.reader.errors) == faults:
        try:
            return Polygon(vertices)
        except ValueError as error:
            entry.fault(str(error))
    return None
