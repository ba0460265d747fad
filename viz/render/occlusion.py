"""Darkened corners: how much of the light from all around reaches each point of a picture.

Computed from the picture's depths alone, after L. Bavoil, M. Sainz, R. Dimitrov, Image-space
horizon-based ambient occlusion, 2008: each point looks at others within a radius of it and counts
how steeply they stand over its tangent plane, the nearer the more.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from galley.domain.frames import Array

_RADIUS = 0.25  # m: what is further away darkens nothing
_BIAS = 0.08  # of the steepness, that doesn't count: depths are rounded, curves have facets
_STRENGTH = 1.5
_DARKEST = 0.3
_SAMPLES = 14  # of each pixel; each of a tile's pixels has others
_TILE = 4  # pixels a side
_TURNS = 5.0  # of the spiral on which samples lie
_STRIP = 48  # rows at a time: what is worked on stays in the processor's cache


def openness(near: Any, focal: float) -> Array:
    """The share of light that reaches each pixel (h, w), in (0, 1], float32.

    Args:
        near: (h, w) float32, 1 / z in 1 / m; 0 where there is nothing.
        focal: the picture's focal length, pixels.
    """
    height, width = near.shape
    x = ((np.arange(width) + 0.5 - 0.5 * width) / focal).astype(np.float32)
    y = ((np.arange(height) + 0.5 - 0.5 * height) / focal).astype(np.float32)[:, None]
    z = 1.0 / np.maximum(near, np.float32(1e-3))
    points = np.stack([z * x, z * y, z])  # in the camera's frame
    normals = _normals(near, x, y, focal)
    rows, columns = np.arange(height)[:, None], np.arange(width)[None]
    # The spiral is turned from pixel to pixel, so that a tile's mean has no pattern.
    turn = (rows % _TILE * _TILE + (columns + 2 * rows) % _TILE) * np.float32(2 * np.pi / _TILE**2)
    hidden = np.zeros((height, width), dtype=np.float32)
    for top in range(0, height, _STRIP):
        part = slice(top, top + _STRIP)
        radius = np.minimum(_RADIUS * focal * near[part], 0.5 * width)  # pixels
        for k in range(_SAMPLES):
            share = (k + 0.5) / _SAMPLES
            angle = turn[part] + np.float32(2.0 * np.pi * _TURNS * share)
            u = (columns + share * radius * np.cos(angle) + 0.5).astype(np.int32)
            v = (rows[part] + share * radius * np.sin(angle) + 0.5).astype(np.int32)
            at = v.clip(0, height - 1) * width + u.clip(0, width - 1)
            away = points.reshape(3, -1)[:, at] - points[:, part]
            square = np.maximum((away * away).sum(axis=0), np.float32(1e-9))
            steep = (away * normals[:, part]).sum(axis=0) / np.sqrt(square) - _BIAS
            hidden[part] += np.maximum(steep, 0.0) * np.maximum(1.0 - square / _RADIUS**2, 0.0)
    share = 1.0 - 2.0 * _STRENGTH / _SAMPLES * _tile_mean(hidden, z)
    return np.asarray(np.maximum(share, _DARKEST))


def _tile_mean(values: Any, z: Any) -> Any:
    """The mean (h, w) over a tile of pixels round each one, of those that are as far away as it."""
    before = (_TILE - 1) // 2
    ends = (before, _TILE - 1 - before)
    padded, depths = (np.pad(each, (ends, ends), mode="edge") for each in (values, z))
    height, width = values.shape
    total, count = np.zeros_like(values), np.zeros_like(values)
    for i in range(_TILE):
        for j in range(_TILE):
            at = (slice(i, i + height), slice(j, j + width))
            alike = np.abs(depths[at] - z) < 0.03 * z
            total += alike * padded[at]
            count += alike
    return total / count


def _normals(near: Any, x: Any, y: Any, focal: float) -> Any:
    """Unit normals (3, h, w) towards the camera, its frame.

    On a plane 1 / z is linear in the picture, so that its slopes give the plane's normal. Of the
    two slopes at each pixel, before and after it, the smaller one doesn't cross an edge.
    """
    slopes = []
    for axis in (1, 0):
        step = np.diff(near, axis=axis)
        ends = [(0, 0), (0, 0)]
        ends[axis] = (1, 0)
        before = np.pad(step, ends, mode="edge")
        ends[axis] = (0, 1)
        after = np.pad(step, ends, mode="edge")
        slopes.append(np.where(np.abs(before) < np.abs(after), before, after))
    across, down = focal * slopes[0], focal * slopes[1]
    normals = -np.stack([across, down, near - x * across - y * down])
    return normals / np.maximum(np.sqrt((normals * normals).sum(axis=0)), 1e-9)
