"""A conditional U-Net over the time of an action sequence (Chi et al., Diffusion Policy, 2023).

Convolutions run along the sequence. Features of the observations and the noise step first go
through an MLP. Its output enters each block as a scale and a shift of all channels (FiLM). The
functions take one sequence; use ``jax.vmap`` for many.
"""

from __future__ import annotations

import equinox as eqx
import jax
import jax.numpy as jnp

_KERNEL = 3  # steps of a convolution's kernel
_GROUPS = 8  # groups of channels that are normalised together
PATCH = 2  # steps of the sequence that make one step of the network
_FREQUENCIES = 16  # of the noise step's embedding
EMBEDDED = 2 * _FREQUENCIES  # numbers of the noise step's embedding
_SLOWEST = 1e4  # noise steps, longest period of the embedding over 2 pi


class _Convolution(eqx.Module):
    """A convolution along the sequence, with zeros beyond its ends, at every ``stride``-th step."""

    linear: eqx.nn.Linear
    stride: int = eqx.field(static=True)

    def __init__(self, inputs: int, outputs: int, key: jax.Array, stride: int = 1) -> None:
        self.linear = eqx.nn.Linear(_KERNEL * inputs, outputs, key=key)
        self.stride = stride

    def __call__(self, x: jax.Array) -> jax.Array:
        """The output (T / stride, outputs) for x (T, inputs)."""
        n, side = len(x), _KERNEL // 2
        padded = jnp.pad(x, ((side, side), (0, 0)))
        # As one matrix product, which is faster than a convolution on a CPU.
        seen = [padded[k : k + n : self.stride] for k in range(_KERNEL)]
        return _rows(self.linear, jnp.concatenate(seen, axis=1))


class _Block(eqx.Module):
    """A residual block: two convolutions, with FiLM after the first."""

    first: _Convolution
    second: _Convolution
    film: eqx.nn.Linear
    past: eqx.nn.Linear | None

    def __init__(self, inputs: int, outputs: int, known: int, key: jax.Array) -> None:
        keys = jax.random.split(key, 4)
        self.first = _Convolution(inputs, outputs, keys[0])
        self.second = _Convolution(outputs, outputs, keys[1])
        self.film = eqx.nn.Linear(known, 2 * outputs, key=keys[2])
        self.past = None if inputs == outputs else eqx.nn.Linear(inputs, outputs, key=keys[3])

    def __call__(self, x: jax.Array, known: jax.Array) -> jax.Array:
        """The output (T, outputs) for x (T, inputs) and the conditioning ``known`` (known,)."""
        scale, shift = jnp.split(self.film(known), 2)
        inner = jax.nn.silu(_normalised(self.first(x)) * (1.0 + scale) + shift)
        inner = jax.nn.silu(_normalised(self.second(inner)))
        return inner + (x if self.past is None else _rows(self.past, x))


class UNet(eqx.Module):
    """The U-Net: predicts a sequence (T, actions) from a noisy one, the noise step and features."""

    read: eqx.nn.MLP
    begin: _Convolution
    down: tuple[_Block, _Block]
    shorten: tuple[_Convolution, _Convolution]
    middle: _Block
    up: tuple[_Block, _Block]
    end: eqx.nn.Linear

    def __init__(self, features: int, actions: int, channels: int, width: int) -> None:
        """Make a network.

        Args:
            features: number of features.
            actions: numbers of an action.
            channels: at full length; twice as many at a half and a quarter of it.
            width: of the layers that read the features.
        """
        keys = jax.random.split(jax.random.key(0), 9)
        c, known = channels, width
        self.read = eqx.nn.MLP(
            features + EMBEDDED, known, width, 2, jax.nn.silu, jax.nn.silu, key=keys[0]
        )
        self.begin = _Convolution(PATCH * actions, c, keys[1])
        self.down = _Block(c, c, known, keys[2]), _Block(c, 2 * c, known, keys[3])
        self.shorten = _Convolution(c, c, keys[4], 2), _Convolution(2 * c, 2 * c, keys[5], 2)
        self.middle = _Block(2 * c, 2 * c, known, keys[6])
        self.up = _Block(4 * c, c, known, keys[7]), _Block(2 * c, c, known, keys[8])
        self.end = eqx.nn.Linear(c, PATCH * actions, key=keys[0])

    def __call__(self, x: jax.Array, level: jax.Array, features: jax.Array) -> jax.Array:
        """The velocity (T, actions) of x (T, actions) at a noise step, given the features (n,)."""
        known = self.read(jnp.concatenate([features, _embedded(level)]))
        shape = x.shape
        full = self.down[0](self.begin(x.reshape(len(x) // PATCH, -1)), known)
        half = self.down[1](self.shorten[0](full), known)
        x = self.middle(self.shorten[1](half), known)
        for block, skip in zip(self.up, (half, full), strict=True):
            x = block(jnp.concatenate([jnp.repeat(x, 2, axis=0), skip], axis=1), known)
        return _rows(self.end, x).reshape(shape)


def _rows(linear: eqx.nn.Linear, x: jax.Array) -> jax.Array:
    """A linear layer applied to each step of x (T, inputs)."""
    assert linear.bias is not None
    return x @ linear.weight.T + linear.bias


def _normalised(x: jax.Array) -> jax.Array:
    """Group normalisation of x (T, c): groups of channels get mean 0 and variance 1."""
    groups = x.reshape(len(x), _GROUPS, -1)
    mean = groups.mean(axis=(0, 2), keepdims=True)
    variance = jnp.square(groups - mean).mean(axis=(0, 2), keepdims=True)
    return ((groups - mean) * jax.lax.rsqrt(variance + 1e-5)).reshape(x.shape)


def _embedded(level: jax.Array) -> jax.Array:
    """The embedding (EMBEDDED,) of a noise step: sines and cosines."""
    rates = _SLOWEST ** (-jnp.arange(_FREQUENCIES) / (_FREQUENCIES - 1))
    return jnp.concatenate([jnp.sin(level * rates), jnp.cos(level * rates)])
