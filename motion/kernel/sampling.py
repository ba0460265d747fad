"""Random numbers and random configurations in compiled code.

The generator is xoshiro256+, its state an array of four words:
D. Blackman and S. Vigna, "Scrambled linear pseudorandom number generators" (2021). The state is
filled by splitmix64 from a seed and a stream number, as the authors advise. Numba's own generator
is one hidden state per thread; here the state is a value, so a plan depends on its seed alone.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from galley.compiled.jit import bare_kernel, inlined, kernel
from galley.domain.frames import Array

# Numba makes float64 of a sum of uint64 and a plain integer: every word is a np.uint64.
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_STREAM = np.uint64(0xD1342543DE82EF95)
_MIX_A = np.uint64(0xBF58476D1CE4E5B9)
_MIX_B = np.uint64(0x94D049BB133111EB)
_11, _17, _19 = np.uint64(11), np.uint64(17), np.uint64(19)
_27, _30, _31, _45 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(45)
_UNIT = 1.0 / 9007199254740992.0  # 2^-53


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


@inlined
def below(state: Any, n: int) -> int:
    """A whole number in [0, n)."""
    return min(int(uniform(state) * n), n - 1)


@inlined
def sample_box(state: Any, low: Array, high: Array, out: Array) -> None:
    """Fill out (k,) with a point uniform in the box [low, high]."""
    for j in range(len(out)):
        out[j] = low[j] + uniform(state) * (high[j] - low[j])
