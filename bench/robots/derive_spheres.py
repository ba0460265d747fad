"""Computes the covering spheres that the package ships: ``python bench/robots/derive_spheres.py``.

Writes robots/spheres/*.json for the Panda and the iiwa (or only for links whose names contain a
given word, such as ``hand``), removes unused files, and prints for each link the number of spheres,
how far they reach beyond the hull, and how far the worst of many random points of the hull is
inside the union. ``--trade-off`` only prints how the number of spheres of each Panda link depends
on the excess.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from galley.robots.iiwa import iiwa
from galley.robots.panda.description import panda_arm
from galley.robots.spheres.covering import SHIPPED, as_text, cover, digest, from_text
from galley.robots.urdf_reader import link_shapes


def outside(hull, covering, rng, count=50_000):
    """How far the worst of many random points of the hull is outside the union, m."""
    corners = hull.vertices[rng.integers(len(hull.vertices), size=(count, 4))]
    points = np.einsum("nk,nkd->nd", rng.dirichlet(np.full(4, 0.3), count), corners)
    gap = np.full(count, np.inf)
    for centre, radius in zip(covering.centres, covering.radii, strict=True):
        np.minimum(gap, np.linalg.norm(points - centre, axis=1) - radius, out=gap)
    return float(gap.max())


def links():
    """Each hull of the shipped robots once: name, hull, excess."""
    seen = set()
    for robot in (panda_arm(), iiwa()):
        rules = dict(robot.sphere_excess)
        for shape in link_shapes(robot.urdf):
            if shape.hull is None:
                continue
            excess = rules.get(shape.link, rules["*"])
            key = digest(shape.hull, excess)
            if key not in seen:
                seen.add(key)
                yield shape.link, shape.hull, excess


def trade_off():
    for name, hull, _ in links():
        if not name.startswith("panda"):
            continue
        for excess in (0.0025, 0.004, 0.005, 0.008, 0.012):
            began = time.perf_counter()
            count = len(cover(hull, excess).radii)
            spent = time.perf_counter() - began
            print(f"{name:18s} {1e3 * excess:5.1f} mm {count:4d} {spent:6.1f} s", flush=True)


def main(word):
    SHIPPED.mkdir(exist_ok=True)
    rng = np.random.default_rng(0)
    kept = set()
    for name, hull, excess in links():
        path = SHIPPED / f"{digest(hull, excess)}.json"
        kept.add(path)
        if word not in name:
            continue
        began = time.perf_counter()
        text = as_text(cover(hull, excess), name)
        path.write_text(text, encoding="utf-8")
        made = from_text(text)
        volume = float((4.0 / 3.0 * np.pi * made.radii**3).sum())
        print(
            f"{name:18s} {len(made.radii):4d} spheres, {len(made.cluster_radii):3d} clusters,"
            f" reach {1e3 * made.excess:6.3f} of {1e3 * excess:.1f} mm,"
            f" worst point {1e3 * outside(hull, made, rng):7.3f} mm,"
            f" sum of volumes {1e3 * volume:.2f} l, {time.perf_counter() - began:.1f} s",
            flush=True,
        )
    for path in set(SHIPPED.glob("*.json")) - kept:
        path.unlink()


if __name__ == "__main__":
    trade_off() if "--trade-off" in sys.argv else main(sys.argv[1] if sys.argv[1:] else "")
