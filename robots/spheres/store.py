"""Coverings that were made before: those shipped with the package, then those in the user's cache.

A file is named by a digest of the hull, the excess and the version of the algorithm, so that a
changed mesh never meets the spheres of the old one. Numbers in files are whole micrometres, radii
rounded up by what rounding moves a centre: the cover stays a cover.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import time
from pathlib import Path

import numpy as np

from galley.domain.frames import Array, frozen
from galley.domain.meshes import Hull
from galley.robots.files import cache_folder, keep
from galley.robots.spheres.covering import VERSION, Covering, cover

SHIPPED = Path(__file__).parent
"""The folder of the coverings that come with the package."""

_log = logging.getLogger(__name__)
_MICRO = 1e6


def covering_of(hull: Hull, excess: float, name: str = "a link") -> Covering:
    """Spheres that cover ``hull`` and reach at most ``excess`` metres (and 4 um) beyond it.

    Read where they were made before; else made, which takes from seconds to a minute, and kept.

    Args:
        hull: in the frame that the spheres shall have.
        excess: metres, see ``covering.cover``.
        name: whose hull it is, for the log.
    """
    key = digest(hull, excess)
    folder = cache_folder("spheres")
    for place in (SHIPPED, folder):
        if place is not None and (found := read(place / f"{key}.json")) is not None:
            return found
    began = time.perf_counter()
    _log.info("covering %s with spheres (once; they are kept)", name)
    made = cover(hull, excess)
    _log.info("%s: %d spheres after %.1f s", name, len(made.radii), time.perf_counter() - began)
    text = as_text(made, name)
    if folder is not None:
        with contextlib.suppress(OSError):
            keep(folder / f"{key}.json", text.encode())
    return from_text(text)  # so that the first run has the numbers of the later ones


def digest(hull: Hull, excess: float) -> str:
    """What a covering's file is called: of the corners in any order, the excess, the version."""
    corners = np.round(hull.vertices, 8) + 0.0  # no negative zeros
    corners = corners[np.lexsort(corners.T)]
    found = hashlib.sha256(corners.astype("<f8").tobytes())
    found.update(f"excess {excess:.9f} version {VERSION}".encode())
    return found.hexdigest()[:20]


def read(path: Path) -> Covering | None:
    """The covering in a file; None where there is no such file, or it is damaged."""
    try:
        return from_text(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, KeyError, TypeError):
        return None


def as_text(covering: Covering, name: str) -> str:
    """A covering as JSON: rows x, y, z, r in micrometres, cluster by cluster."""
    spheres = _rows(covering.centres, covering.radii)
    around = _rows(covering.cluster_centres, covering.cluster_radii + 2.0 / _MICRO)
    lines = [
        json.dumps({"around": ball, "spheres": [spheres[k] for k in members]})
        for c, ball in enumerate(around)
        if (members := np.flatnonzero(covering.cluster == c).tolist())
    ]
    excess = int(np.ceil(covering.excess * _MICRO)) + 3
    head = f'{{"name": {json.dumps(name)}, "unit": "um", "excess": {excess}, "clusters": [\n'
    return head + ",\n".join(lines) + "\n]}\n"


def from_text(text: str) -> Covering:
    """The covering that ``as_text`` wrote.

    Raises:
        ValueError, KeyError, TypeError: the text is something else.
    """
    found = json.loads(text)
    clusters = found["clusters"]
    rows = np.array([row for each in clusters for row in each["spheres"]], dtype=np.float64)
    around = np.array([each["around"] for each in clusters], dtype=np.float64)
    if rows.ndim != 2 or rows.shape[1] != 4 or around.shape != (len(clusters), 4):
        raise ValueError("not a covering")
    cluster = np.repeat(np.arange(len(clusters)), [len(each["spheres"]) for each in clusters])
    cluster.setflags(write=False)
    return Covering(
        frozen(rows[:, :3] / _MICRO),
        frozen(rows[:, 3] / _MICRO),
        cluster.astype(np.int64),
        frozen(around[:, :3] / _MICRO),
        frozen(around[:, 3] / _MICRO),
        float(found["excess"]) / _MICRO,
    )


def _rows(centres: Array, radii: Array) -> list[list[int]]:
    """Whole micrometres. Rounding moves a centre by less than 1 um: so much is added to radii."""
    x = np.round(centres * _MICRO).astype(int).tolist()
    r = (np.ceil(radii * _MICRO) + 1.0).astype(int).tolist()
    return [[*centre, radius] for centre, radius in zip(x, r, strict=True)]
