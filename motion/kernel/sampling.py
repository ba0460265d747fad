"""Random numbers and random configurations in compiled code.

The generator is xoshiro256+, whose state is an array of four words: D. Blackman and S. Vigna,
"Scrambled linear pseudorandom number generators" (2021). splitmix64 fills the state from a seed
and a stream number, as the authors advise. Numba's own generator has one hidden state per thread;
here the caller passes the state, so a plan depends on its seed alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from galley.compiled.annotations import Float
from galley.compiled.jit import bare_kernel, inlined, kernel

RandomState = NDArray[np.uint64]  # the state of a generator: four words (4,)

# Numba makes float64 of a sum of uint64 and a plain integer: every word is a np.uint64.
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_STREAM = np.uint64(0xD1342543DE82EF95)
_MIX_A = np.uint64(0xBF58476D1CE4E5B9)
_MIX_B = np.uint64(0x94D049BB133111EB)
_11, _17, _19 = np.uint64(11), np.uint64(17), np.uint64(19)
_27, _30, _31, _45 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(45)
_UNIT = 1.0 / 9007199254740992.0  # 2^-53


@kernel
def seeded(seed: int, stream: int) -> RandomState:
    """A generator's state (4,) for a seed and a stream; the streams of a seed are independent."""
    state = np.empty(4, np.uint64)
    # Each stream begins splitmix64 at another counter, ``_STREAM`` apart.
    z = np.uint64(seed) + np.uint64(stream) * _STREAM
    for i in range(4):
        z = z + _GOLDEN
        x = (z ^ (z >> _30)) * _MIX_A
        x = (x ^ (x >> _27)) * _MIX_B
        state[i] = x ^ (x >> _31)
    return state


@bare_kernel
def uniform(state: RandomState) -> float:
    """A random number, uniform in [0, 1), of 53 random bits; advances the state (4,)."""
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
    # The lowest bits of xoshiro256+ are its weakest: a double takes the upper 53.
    return float(word >> _11) * _UNIT


@inlined
def below(state: RandomState, n: int) -> int:
    """A random whole number in [0, n); advances the state (4,)."""
    # For large n the product may round up to n.
    return min(int(uniform(state) * n), n - 1)


@inlined
def sample_box(state: RandomState, low: Float, high: Float, out: Float) -> None:
    """Fill out (k,) with a random configuration, uniform in the box from low (k,) to high (k,)."""
    for j in range(len(out)):
        out[j] = low[j] + uniform(state) * (high[j] - low[j])
