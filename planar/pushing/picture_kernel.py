"""Compiled painting of polygons over a picture, each pixel by the share that they cover.

Points are in pixels, with (0, 0) at the upper left corner, x to the right, and y downwards.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from galley.compiled.jit import entry, kernel
from galley.domain.frames import Array

Bytes = NDArray[np.uint8]


@entry("u1:3 f8:2 u1:1 f8")
@kernel
def fill(picture: Bytes, points: Array, color: Bytes, opacity: float) -> None:
    """Paint a simple polygon (n, 2), in either orientation, over a picture (h, w, 3).

    The share of a pixel that lies inside is exact. By Green's theorem it is a sum over the edges:
    in each row an edge adds the signed area to its right. That is a part in the columns that the
    edge passes, and its full height in all columns after them. So ``area`` stores only the changes
    from column to column, and a running sum along the row gives the shares.

    Args:
        picture: (h, w, 3), changed in place.
        points: vertices (n, 2), pixels.
        color: (3,).
        opacity: 0 to 1; 1 hides what is below.
    """
    # The bounding box, cut at the picture's edge.
    height, width, n = picture.shape[0], picture.shape[1], len(points)
    low_x = high_x = points[0, 0]
    low_y = high_y = points[0, 1]
    for i in range(1, n):
        low_x, high_x = min(low_x, points[i, 0]), max(high_x, points[i, 0])
        low_y, high_y = min(low_y, points[i, 1]), max(high_y, points[i, 1])
    left, right = max(math.floor(low_x), 0), min(math.ceil(high_x), width)
    top, bottom = max(math.floor(low_y), 0), min(math.ceil(high_y), height)
    if left >= right or top >= bottom:
        return
    area = np.zeros((bottom - top, right - left + 1))
    for i in range(n):
        j = i + 1 if i + 1 < n else 0
        x0, y0, x1, y1 = points[i, 0], points[i, 1], points[j, 0], points[j, 1]
        sign = 1.0
        if y0 > y1:
            x0, y0, x1, y1, sign = x1, y1, x0, y0, -1.0
        if y0 == y1:
            continue
        slope = (x1 - x0) / (y1 - y0)
        for row in range(max(math.floor(y0), top), min(math.ceil(y1), bottom)):
            ya, yb = max(y0, float(row)), min(y1, row + 1.0)
            xa, xb = x0 + slope * (ya - y0), x0 + slope * (yb - y0)
            if xa > xb:
                xa, xb = xb, xa
            tall = sign * (yb - ya)
            for column in range(math.floor(xa), math.floor(xb) + 1):
                if column >= right:  # to the right of the picture nothing counts
                    break
                u, v = max(xa, float(column)), min(xb, column + 1.0)
                part = tall * (v - u) / (xb - xa) if xb > xa else tall
                if column < left:  # to the left of it the full height counts in all columns
                    area[row - top, 0] += part
                else:
                    mean = 0.5 * (u + v) - column
                    area[row - top, column - left] += part * (1.0 - mean)
                    area[row - top, column - left + 1] += part * mean
    for row in range(bottom - top):
        total = 0.0
        for column in range(right - left):
            total += area[row, column]
            share = min(abs(total), 1.0) * opacity
            if share > 0.0:
                for k in range(3):
                    old = float(picture[top + row, left + column, k])
                    mixed = old + share * (color[k] - old) + 0.5
                    picture[top + row, left + column, k] = np.uint8(mixed)


@entry("u1:3 f8:2 i8 f8 u1:1 f8")
@kernel
def stroke(
    picture: Bytes, points: Array, segments: int, width: float, color: Bytes, opacity: float
) -> None:
    """Paint the first ``segments`` lines from each point (n, 2) to the next; n close the outline.

    Args:
        picture: (h, w, 3), changed in place.
        points: (n, 2), pixels.
        segments: number of lines, at most n.
        width: of the lines, pixels. Their ends are square, half a width beyond the points.
        color: (3,).
        opacity: 0 to 1.
    """
    corners, n = np.empty((4, 2)), len(points)
    for i in range(segments):
        j = i + 1 if i + 1 < n else 0
        ux, uy = points[j, 0] - points[i, 0], points[j, 1] - points[i, 1]
        length = math.sqrt(ux * ux + uy * uy)
        if length > 0.0:
            ux, uy = 0.5 * width * ux / length, 0.5 * width * uy / length
            corners[0, 0], corners[0, 1] = points[i, 0] - ux - uy, points[i, 1] - uy + ux
            corners[1, 0], corners[1, 1] = points[i, 0] - ux + uy, points[i, 1] - uy - ux
            corners[2, 0], corners[2, 1] = points[j, 0] + ux + uy, points[j, 1] + uy - ux
            corners[3, 0], corners[3, 1] = points[j, 0] + ux - uy, points[j, 1] + uy + ux
            fill(picture, corners, color, opacity)


@entry("f8:2 f8:2 f8:2 f8:2 f8:1 u1:2 u1:3 u1:4")
@kernel
def paint(
    state: Array,
    outline: Array,
    rim: Array,
    disc: Array,
    view: Array,
    colors: Bytes,
    background: Bytes,
    pictures: Bytes,
) -> None:
    """Paint pictures of n tables: body and pusher over a background.

    Args:
        state: (11, n), see ``simulation_kernel``.
        outline: (k, 2), of the body about its centroid, m.
        rim, disc: (m, 2), the pusher's outline, and the one inside its rim, about its centre, m.
        view: (4,), x, y (m) of the upper left corner, pixels/m, pixels of outlines (0: none).
        colors: (4, 3), of the body, its outline, the pusher, its rim.
        background: (h, w, 3).
        pictures: (n, h, w, 3), written.
    """
    left, top, scale = view[0], view[1], view[2]
    body, round_rim, round_disc = np.empty_like(outline), np.empty_like(rim), np.empty_like(disc)
    empty = background.reshape(-1)
    for i in range(state.shape[1]):
        picture = pictures[i].reshape(-1)
        for k in range(len(empty)):
            picture[k] = empty[k]
        c, s = scale * math.cos(state[6, i]), scale * math.sin(state[6, i])
        x, y = scale * (state[4, i] - left), scale * (state[5, i] - top)
        for k in range(len(outline)):
            body[k, 0] = x + c * outline[k, 0] - s * outline[k, 1]
            body[k, 1] = y + s * outline[k, 0] + c * outline[k, 1]
        fill(pictures[i], body, colors[0], 1.0)
        if view[3] > 0.0:
            stroke(pictures[i], body, len(body), view[3], colors[1], 1.0)
        x, y = scale * (state[0, i] - left), scale * (state[1, i] - top)
        for k in range(len(rim)):
            round_rim[k, 0], round_rim[k, 1] = x + scale * rim[k, 0], y + scale * rim[k, 1]
            round_disc[k, 0], round_disc[k, 1] = x + scale * disc[k, 0], y + scale * disc[k, 1]
        if view[3] > 0.0:
            fill(pictures[i], round_rim, colors[3], 1.0)
        fill(pictures[i], round_disc, colors[2], 1.0)
