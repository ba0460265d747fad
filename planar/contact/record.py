"""A run of contact in the plane as NumPy arrays, for files and pictures; without JAX."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from galley.domain.frames import Array
from galley.domain.npz_columns import write_columns, write_table

ENDLESS = 1e3  # m, half the size of a half plane's outline


@dataclass(frozen=True)
class PlanarRun:
    """A simulated run: n steps, b bodies of which m are free, k contact points.

    Attributes:
        time: (n + 1,), s.
        names: of the bodies.
        outlines: polygons (any, 2) in the frames of the bodies, m.
        free: indices of the free bodies.
        pose: X_WB (n + 1, b, 3), m and rad.
        velocity: (n + 1, b, 3), m/s and rad/s.
        controls: (n, m, 3), N and N m.
        gradient: (n, m, 3), of ``cost`` by the controls; None: unknown.
        cost: text for the cost.
        cost_unit: ``m`` or ``rad``.
        pairs: (k, 2), indices of the two bodies of each contact point.
        virtual: p_W (n + 1, k, 2), virtual contacts, m.
        points: p_W (n + 1, k, 2), where the forces act, m.
        forces: (n + 1, k, 2), on the first body of the pair, N.
        target: p_W (2,), marked with a cross; None: no mark.
    """

    time: Array
    names: tuple[str, ...]
    outlines: tuple[Array, ...]
    free: tuple[int, ...]
    pose: Array
    velocity: Array
    controls: Array
    gradient: Array | None
    cost: str
    cost_unit: str
    pairs: Array
    virtual: Array
    points: Array
    forces: Array
    target: Array | None = None

    @property
    def acceleration(self) -> Array:
        """Mean acceleration in each step (n, b, 3), m/s^2 and rad/s^2."""
        h = np.diff(self.time)[:, None, None]
        return np.asarray(np.diff(self.velocity, axis=0) / h)

    def write(self, path: Path | str) -> None:
        """Write all arrays as ``.npz``, or the states of free bodies as CSV, a line for each time.

        Inputs and gradients are those of the step that ends at the time, and empty at the start.

        Raises:
            BadInput: ``path`` can't be written.
        """
        path = Path(path)
        if path.suffix == ".npz":
            write_columns(path, self._arrays())
        else:
            write_table(path, self._table())

    def _arrays(self) -> dict[str, Any]:
        names = ("time", "pose", "velocity", "acceleration", "controls", "gradient")
        arrays = {
            name: getattr(self, name) for name in (*names, "pairs", "virtual", "points", "forces")
        }
        arrays |= {"names": np.array(self.names), "free": np.array(self.free)}
        return {name: value for name, value in arrays.items() if value is not None}

    def _table(self) -> dict[str, list[str]]:
        table = {"time_s": self.time}
        first = np.full((1, len(self.free), 3), np.nan)
        series = [("", self.pose[:, self.free]), ("v_", self.velocity[:, self.free])]
        for prefix, values in (("input_", self.controls), ("gradient_", self.gradient)):
            if values is not None:
                series.append((prefix, np.concatenate([first, values])))
        for prefix, values in series:
            for row, j in enumerate(self.free):
                for c, coordinate in enumerate(("x", "y", "angle")):
                    table[f"{self.names[j]}.{prefix}{coordinate}"] = values[:, row, c]
        return {
            name: ["" if value != value else f"{value:.9g}" for value in column.tolist()]
            for name, column in table.items()
        }
