"""Random numbers and random configurations in compiled code.

The generator is xoshiro256+, its state an array of four words:
D. Blackman and S. Vigna, "Scrambled linear pseudorandom number generators" (2021). The state is
filled by splitmix64 from a seed and a stream number, as the authors advise. Numba's own generator
is one hidden state per thread; here the state is a value, so a plan depends on its seed alone.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from galley.compiled.jit import bare_kernel, kernel
from galley.domain.frames import Array
from galley.motion.kernel.polyline import distance
from galley.motion.kernel.rules import UNBOUNDED, Box

# Numba makes float64 of a sum of uint64 and a plain integer: every word is a np.uint64.
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_STREAM = np.uint64(0xD1342543DE82EF95)
_MIX_A = np.uint64(0xBF58476D1CE4E5B9)
_MIX_B = np.uint64(0x94D049BB133111EB)
_11, _17, _19 = np.uint64(11), np.uint64(17), np.uint64(19)
_27, _30, _31, _45 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(45)
_UNIT = 1.0 / 9007199254740992.0  # 2^-53
_TRIES = 30  # until a point of the ellipsoid lies in the box


@kernel
def seeded(seed: int, stream: int) -> Any:
    """A state (4,) uint64 for a seed and a stream; streams are independent."""
    state = np.empty(4, np.uint64)
    z = np.uint64(seed) + np.uint64(stream) * _STREAM
    for i in range(4):
        z = z + _GOLDEN
        x = (z ^ (z >> _30)) * _MIX_A
        x = (x ^ (x >> _27)) * _MIX_B
        state[i] = x ^ (x >> _31)
    return state


@bare_kernel
def uniform(state: Any) -> float:
    """A number in [0, 1), 53 random bits; moves the state on."""
    s0, s1, s2, s3 = state[0], state[1], state[2], state[3]
    word = s0 + s3
    t = s1 << _17
    s2 ^= s0
    s3 ^= s1
    s1 ^= s2
    s0 ^= s3
    s2 ^= t
    s3 = (s3 << _45) | (s3 >> _19)
    state[0], state[1], state[2], state[3] = s0, s1, s2, s3
    return float(word >> _11) * _UNIT


@bare_kernel
def below(state: Any, n: int) -> int:
    """A whole number in [0, n)."""
    return min(int(uniform(state) * n), n - 1)


@bare_kernel
def sample_box(state: Any, low: Array, high: Array, out: Array) -> None:
    """Fill out (k,) with a point uniform in the box [low, high]."""
    for j in range(len(out)):
        out[j] = low[j] + uniform(state) * (high[j] - low[j])


@bare_kernel
def sample_ball(state: Any, out: Array) -> None:
    """Fill out (k,) with a point uniform in the unit ball.

    A normally distributed direction (G. Box and M. Muller, 1958), its length drawn as u^(1/k).
    """
    k = len(out)
    total = 0.0
    for j in range(0, k, 2):
        r = math.sqrt(-2.0 * math.log(1.0 - uniform(state)))
        angle = 2.0 * math.pi * uniform(state)
        out[j] = r * math.cos(angle)
        total += out[j] * out[j]
        if j + 1 < k:
            out[j + 1] = r * math.sin(angle)
            total += out[j + 1] * out[j + 1]
    scale = uniform(state) ** (1.0 / k) / math.sqrt(max(total, 1e-300))
    for j in range(k):
        out[j] *= scale


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
