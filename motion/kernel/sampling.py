"""Samples of the configurations that a path shorter than a bound can touch."""

from __future__ import annotations

import math
from typing import Any

from galley.compiled.jit import bare_kernel
from galley.domain.frames import Array
from galley.motion.kernel.generator import below, sample_ball, sample_box
from galley.motion.kernel.polyline import distance
from galley.motion.kernel.rules import UNBOUNDED, Box

_TRIES = 30  # until a point of the ellipsoid lies in the box


@bare_kernel
def sample(box: Box, start: Array, goals: Array, bound: float, state: Any, out: Array) -> None:
    """Fill out (k,) with a configuration of the box, on some path below ``bound`` if possible.

    Such paths lie in the ellipsoids with foci at the start and at a goal (J. Gammell,
    S. Srinivasa, T. Barfoot, "Informed RRT*", 2014).
    """
    if bound < UNBOUNDED:
        for _ in range(_TRIES):
            goal = goals[below(state, len(goals))]
            if not sample_ellipsoid(start, goal, bound, box.weights, state, out):
                continue
            inside = True
            for j in range(len(out)):
                inside = inside and box.low[j] <= out[j] and out[j] <= box.high[j]
            if inside:
                return
    sample_box(state, box.low, box.high, out)


@bare_kernel
def sample_ellipsoid(
    a: Array, b: Array, bound: float, weights: Array, state: Any, out: Array
) -> bool:
    """Fill out (k,) with a point whose distances to a and b sum up to ``bound`` at most.

    Uniform in the ellipsoid with foci a and b: the unit ball is stretched along the first axis,
    and a reflection (A. Householder, 1958) turns that axis into the direction from a to b.
    False if a and b are too far apart for any point.
    """
    k = len(out)
    gap = distance(a, b, weights)
    if gap >= bound:
        return False
    sample_ball(state, out)
    thin = 0.5 * math.sqrt(bound * bound - gap * gap)
    out[0] *= 0.5 * bound
    for j in range(1, k):
        out[j] *= thin
    if gap > 1e-12:
        # Reflected across v = e1 - d: x - 2 v (v x) / (v v), where v v = 2 (1 - d1).
        first = weights[0] * (b[0] - a[0]) / gap
        if first < 1.0 - 1e-12:
            along = out[0]
            for j in range(k):
                along -= weights[j] * (b[j] - a[j]) / gap * out[j]
            along /= 1.0 - first
            out[0] -= along
            for j in range(k):
                out[j] += along * weights[j] * (b[j] - a[j]) / gap
    for j in range(k):
        out[j] = 0.5 * (a[j] + b[j]) + out[j] / weights[j]
    return True
