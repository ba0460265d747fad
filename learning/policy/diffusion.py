"""Denoising diffusion: the cosine schedule, the training target, and DDIM sampling.

At noise step k, x_k = sqrt(a_k) x_0 + sqrt(1 - a_k) e with data x_0 and normal noise e (Ho et al.,
Denoising diffusion probabilistic models, 2020). a_k falls from nearly 1 to nearly 0 by the cosine
schedule (Nichol and Dhariwal, Improved denoising diffusion probabilistic models, 2021, equation
17). The network predicts the velocity

    v = sqrt(a_k) e - sqrt(1 - a_k) x_0

(Salimans and Ho, Progressive distillation, 2022). Both x_0 and e are weighted sums of x_k and v, so
no division by a small number occurs at either end of the schedule. Sampling is the deterministic
rule of DDIM (Song et al., Denoising diffusion implicit models, 2021, equation 12 with sigma = 0).
"""

from __future__ import annotations

from collections.abc import Callable
from math import pi

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array

_OFFSET = 0.008  # s of equation 17, which keeps the noise of the first step from being too small
_LARGEST = 0.999  # greatest beta


def cosine_schedule(steps: int) -> Array:
    """The shares a_k (steps,) of x_0's variance that remain after noise steps 1 to ``steps``."""
    share = (np.arange(steps + 1) / steps + _OFFSET) / (1.0 + _OFFSET)
    levels = np.cos(share * pi / 2.0) ** 2
    betas = np.minimum(1.0 - levels[1:] / levels[:-1], _LARGEST)
    return np.asarray(np.cumprod(1.0 - betas))


def noised(x: jax.Array, noise: jax.Array, kept: jax.Array) -> tuple[jax.Array, jax.Array]:
    """The noisy x_k and the velocity v (...) of data x and noise (...); ``kept`` is a_k."""
    signal, spread = jnp.sqrt(kept), jnp.sqrt(1.0 - kept)
    return signal * x + spread * noise, signal * noise - spread * x


def sampling_levels(noise_steps: int, sampling_steps: int) -> NDArray[np.int64]:
    """The noise steps (sampling_steps,) of DDIM: evenly spaced, from the last down to 0."""
    return np.rint(np.linspace(noise_steps - 1, 0, sampling_steps)).astype(np.int64)


def ddim(
    velocity: Callable[[jax.Array, jax.Array], jax.Array],
    noise: jax.Array,
    kept: Array,
    levels: NDArray[np.int64],
    bound: float | None = None,
) -> jax.Array:
    """Denoise step by step.

    Args:
        velocity: the network: v for x_k and the noise step k, from 0.
        noise: normal noise (...), where it starts.
        kept: a_k of ``cosine_schedule``.
        levels: the noise steps, falling.
        bound: each estimate of x_0 is clipped to [-bound, bound]; None: not clipped.

    Returns:
        All stages (len(levels) + 1, ...), from the noise to the sample.
    """
    now = jnp.asarray(kept[levels], jnp.float32)
    after = jnp.asarray(np.append(kept[levels[1:]], 1.0), jnp.float32)

    def step(
        x: jax.Array, at: tuple[jax.Array, jax.Array, jax.Array]
    ) -> tuple[jax.Array, jax.Array]:
        level, a, b = at
        v = velocity(x, level)
        clean = jnp.sqrt(a) * x - jnp.sqrt(1.0 - a) * v
        if bound is not None:
            clean = jnp.clip(clean, -bound, bound)
        error = (x - jnp.sqrt(a) * clean) / jnp.sqrt(1.0 - a)
        x = jnp.sqrt(b) * clean + jnp.sqrt(1.0 - b) * error
        return x, x

    _, stages = jax.lax.scan(step, noise, (jnp.asarray(levels), now, after))
    return jnp.concatenate([noise[None], stages])
