"""The rasteriser's kernel: projects points into a camera's picture, and draws triangles.

Each pixel has four samples, on a rotated grid: a buffer has four rows for each row of pixels, and
each of those takes its samples at its own place within the pixel. Depth is kept as 1 / z, which is
linear in the picture and larger for what is nearer; 0 is infinitely far.

A sample's colour is red + 256 green + 65536 blue, and in the last byte the share of its light that
comes from the first lamp, in 1 / 256: ``shadow`` takes it away where that lamp does not shine.

All in one file, as Numba notices changes of a function's own file only.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

import numpy as np
from numpy.typing import NDArray

from galley.compiled.annotations import Float, Int, Point, Points
from galley.compiled.jit import bare_kernel, entry

ROWS = 4
"""Rows of samples in each row of pixels."""
_NEAR = 0.05  # m: what is nearer to the camera is cut off
_OFFSETS = (0.375, 0.875, 0.125, 0.625)  # of a row's samples within their pixels
_BIAS = 1.00025  # of 1 / z in the lamp's picture, 25 mm: thin plates have noise in theirs
_BLUR = 1.5  # pixels of the lamp's picture, width of a shadow's edge
_DARKNESS = 192  # of 256, of the lamp's light, that a shadow takes
_Ints: TypeAlias = NDArray[np.int32]
_Colors: TypeAlias = NDArray[np.uint32]  # of samples, see the module


@entry("f4:2 f4:2 i8:1 f4:3 f4:2 f4:1 f4:2 f4:2")
@bare_kernel
def place(
    points: Points,
    normals: Points,
    ends: Int,
    poses: Annotated[Float, "bodies 3 4"],
    lamps: Annotated[Float, "lamps 4"],
    lens: Point,
    seen: Annotated[Float, "n 6"],
    lit: Annotated[Float, "n 2"],
) -> None:
    """Points of all bodies in the camera's frame and in its picture, and how much light they get.

    Args:
        points, normals: (n, 3) float32, in the frames of their bodies; those of each in a row.
        ends: (nb,) where each body's points end.
        poses: (nb, 3, 4) float32, pose of each body in the camera's frame.
        lamps: (l + 1, 4) float32: unit directions to each lamp, in the camera's frame, and its
            intensity; the last row's is that of the light from everywhere.
        lens: (3,) float32: focal length and the picture's middle, pixels.
        seen: written, (n, 6) float32: x, y, z in the camera's frame; column, row, 1 / z.
        lit: written, (n, 2) float32: light, and how much of it comes from the first lamp.
    """
    focal, middle_x, middle_y = lens[0], lens[1], lens[2]
    start = 0
    for body in range(len(ends)):
        X = poses[body]
        for k in range(start, ends[body]):
            a, b, c = points[k, 0], points[k, 1], points[k, 2]
            x = X[0, 0] * a + X[0, 1] * b + X[0, 2] * c + X[0, 3]
            y = X[1, 0] * a + X[1, 1] * b + X[1, 2] * c + X[1, 3]
            z = X[2, 0] * a + X[2, 1] * b + X[2, 2] * c + X[2, 3]
            seen[k, 0], seen[k, 1], seen[k, 2] = x, y, z
            # Points behind the near plane get a finite w; draw() clips their triangles itself.
            w = np.float32(1.0) / max(z, np.float32(_NEAR))
            seen[k, 3] = middle_x + focal * x * w
            seen[k, 4] = middle_y + focal * y * w
            seen[k, 5] = w
            a, b, c = normals[k, 0], normals[k, 1], normals[k, 2]
            x = X[0, 0] * a + X[0, 1] * b + X[0, 2] * c
            y = X[1, 0] * a + X[1, 1] * b + X[1, 2] * c
            z = X[2, 0] * a + X[2, 1] * b + X[2, 2] * c
            light = lamps[len(lamps) - 1, 3]
            # Backwards, so that the first lamp's light is what is left in lit[k, 1].
            for lamp in range(len(lamps) - 2, -1, -1):
                share = x * lamps[lamp, 0] + y * lamps[lamp, 1] + z * lamps[lamp, 2]
                lit[k, 1] = max(share, np.float32(0.0)) * lamps[lamp, 3]
                light += lit[k, 1]
            lit[k, 0] = light
        start = ends[body]


@entry("i4:2 f4:2 i4:1 f4:2 f4:2 f4:2 f4:1 i8:2 f4:2 i8:1 f8:2 f4:2 u4:2")
@bare_kernel
def draw(
    triangles: Annotated[_Ints, "t 3"],
    colors: Annotated[Float, "t 3"],
    pictures: Annotated[_Ints, "t"],
    uvs: Annotated[Float, "n 2"],
    seen: Annotated[Float, "n 6"],
    lit: Annotated[Float, "n 2"],
    lens: Point,
    textures: Annotated[Int, "textures 3"],
    texels: Annotated[Float, "texels 3"],
    window: Annotated[Int, "4"],
    corner: Annotated[Float, "4 6"],
    near: Annotated[Float, "4h w"],
    color: Annotated[_Colors, "4h w"],
) -> None:
    """Draw triangles into buffers of samples, as far as they lie in a window and face the camera.

    Args:
        triangles: (t, 3) int32, indices of points, counterclockwise seen from outside.
        colors: (t, 3) float32: red, green, blue, 0 to 255, in light of 1.
        pictures: (t,) int32: number of the texture, or -1.
        uvs: (n, 2) float32, where each point lies in its texture, in shares of it.
        seen, lit: of the points, from ``place``.
        lens: as for ``place``.
        textures: (textures, 3) int64: height, width and first texel of each.
        texels: (m, 3) float32, rows from the top; 0 to 1.
        window: (4,) int64: left, top, right, bottom, pixels, ends excluded.
        corner: (4, 6), room to work in: column, row, 1 / z, light, u / z, v / z of corners.
        near: changed, (4 h, w) float32: 1 / z of each sample.
        color: changed, (4 h, w) uint32, see the module.
    """
    left, right = np.float32(window[0]), np.float32(window[2])
    top, bottom = np.float32(window[1]), np.float32(window[3])
    for t in range(len(triangles)):
        a, b, c = triangles[t, 0], triangles[t, 1], triangles[t, 2]
        count = 3
        if min(seen[a, 2], seen[b, 2], seen[c, 2]) <= _NEAR:
            if max(seen[a, 2], seen[b, 2], seen[c, 2]) <= _NEAR:  # all of it is behind the camera
                continue
            count = _cut(triangles, t, uvs, seen, lit, lens, corner)
        else:
            ax, ay, bx, by = seen[a, 3], seen[a, 4], seen[b, 3], seen[b, 4]
            cx, cy = seen[c, 3], seen[c, 4]
            if (bx - ax) * (cy - ay) >= (by - ay) * (cx - ax):  # the camera sees its back
                continue
            if max(min(ax, bx, cx), left) > min(max(ax, bx, cx), right):
                continue
            above, below = max(min(ay, by, cy), top), min(max(ay, by, cy), bottom)
            half, rows = np.float32(0.5), np.float32(ROWS)
            # Most triangles of a finely modelled robot lie between two rows of samples: skip them.
            if np.ceil(rows * above - half) >= np.ceil(rows * below - half):
                continue
            for k in range(3):
                n = triangles[t, k]
                w = seen[n, 5]
                corner[k, 0], corner[k, 1], corner[k, 2] = seen[n, 3], seen[n, 4], w
                corner[k, 3], corner[k, 4], corner[k, 5] = lit[n, 0], uvs[n, 0] * w, uvs[n, 1] * w
        lamp = lit[a, 1] + lit[b, 1] + lit[c, 1]
        # The first lamp's share of the light is one number for the whole triangle.
        light = max(lit[a, 0] + lit[b, 0] + lit[c, 0], np.float32(1e-6))
        share = np.uint32(np.int32(np.float32(255.0) * lamp / light)) << np.uint32(24)
        # A part of four corners is a fan of two triangles.
        for k in range(1, count - 1):
            _fill(corner, k, colors[t], share, pictures[t], textures, texels, window, near, color)


@bare_kernel
def _cut(
    triangles: _Ints, t: int, uvs: Float, seen: Float, lit: Float, lens: Point, corner: Float
) -> int:
    """Write the corners of the part of triangle ``t`` that is ahead of the camera; their number.

    The arrays are those of ``draw``. The part has three or four corners: Sutherland and Hodgman's
    clipping (Reentrant polygon clipping, 1974) at the plane z = ``_NEAR``.
    """
    count = 0
    for k in range(3):
        n, m = triangles[t, k], triangles[t, (k + 1) % 3]
        here, there = seen[n, 2] - _NEAR, seen[m, 2] - _NEAR
        for crossing in range(2):  # the corner itself, then where its edge crosses the plane
            if here <= 0.0 if crossing == 0 else (here > 0.0) == (there > 0.0):
                continue
            u = here / (here - there) if crossing else 0.0
            x = seen[n, 0] + u * (seen[m, 0] - seen[n, 0])
            y = seen[n, 1] + u * (seen[m, 1] - seen[n, 1])
            w = 1.0 / max(seen[n, 2] + u * (seen[m, 2] - seen[n, 2]), _NEAR)
            corner[count, 0] = lens[1] + lens[0] * x * w
            corner[count, 1] = lens[2] + lens[0] * y * w
            corner[count, 2] = w
            corner[count, 3] = lit[n, 0] + u * (lit[m, 0] - lit[n, 0])
            corner[count, 4] = (uvs[n, 0] + u * (uvs[m, 0] - uvs[n, 0])) * w
            corner[count, 5] = (uvs[n, 1] + u * (uvs[m, 1] - uvs[n, 1])) * w
            count += 1
    return count


@bare_kernel
def _fill(
    corner: Annotated[Float, "4 6"],
    second: int,
    tint: Point,
    share: np.uint32,
    texture: int,
    textures: Annotated[Int, "textures 3"],
    texels: Annotated[Float, "texels 3"],
    window: Annotated[Int, "4"],
    near: Annotated[Float, "4h w"],
    color: Annotated[_Colors, "4h w"],
) -> None:
    """Draw the triangle of corners 0, ``second`` and the one after it, row by row of samples.

    The arrays are those of ``draw``. ``tint`` is the triangle's colour, 0 to 255 in light of 1;
    ``share`` the last byte of its samples, the share of the first lamp's light; ``texture`` a row
    of ``textures``, or -1.
    """
    ax, ay = corner[0, 0], corner[0, 1]
    bx, by = corner[second, 0], corner[second, 1]
    cx, cy = corner[second + 1, 0], corner[second + 1, 1]
    area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
    if area >= -1e-12:  # the camera sees its back or its edge
        return
    top = max(min(ay, by, cy), float(window[1]))
    bottom = min(max(ay, by, cy), float(window[3]))
    first = max(int(np.ceil(ROWS * top - 0.5)), ROWS * window[1])
    last = min(int(np.ceil(ROWS * bottom - 0.5)), ROWS * window[3])
    if first >= last:
        return
    # Quantities that are linear in the picture: value at corner 0, slopes along x and y.
    w_x, w_y = _slopes(corner, second, 2, area)
    l_x, l_y = _slopes(corner, second, 3, area)
    u_x = u_y = v_x = v_y = 0.0
    width = height = start = 0
    if texture >= 0:
        u_x, u_y = _slopes(corner, second, 4, area)
        v_x, v_y = _slopes(corner, second, 5, area)
        height, width, start = textures[texture, 0], textures[texture, 1], textures[texture, 2]
    # Each edge is followed from its upper end, so that triangles that share it agree on which of
    # them has a sample: no gaps and no overlaps.
    s_ab = (bx - ax) / (by - ay) if by != ay else 0.0
    s_bc = (cx - bx) / (cy - by) if cy != by else 0.0
    s_ca = (ax - cx) / (ay - cy) if ay != cy else 0.0
    for row in range(first, last):
        y = (row + 0.5) / ROWS
        left, right = 1e9, -1e9
        if min(ay, by) <= y < max(ay, by):
            x = ax + (y - ay) * s_ab if ay < by else bx + (y - by) * s_ab
            left, right = min(left, x), max(right, x)
        if min(by, cy) <= y < max(by, cy):
            x = bx + (y - by) * s_bc if by < cy else cx + (y - cy) * s_bc
            left, right = min(left, x), max(right, x)
        if min(cy, ay) <= y < max(cy, ay):
            x = cx + (y - cy) * s_ca if cy < ay else ax + (y - ay) * s_ca
            left, right = min(left, x), max(right, x)
        offset = _OFFSETS[row % ROWS]
        i = max(int(np.ceil(max(left, float(window[0])) - offset)), window[0])
        end = min(int(np.ceil(min(right, float(window[2])) - offset)), window[2])
        if i >= end:
            continue
        dx, dy = i + offset - ax, y - ay
        w = corner[0, 2] + w_x * dx + w_y * dy
        light = corner[0, 3] + l_x * dx + l_y * dy
        if texture < 0:  # the fast path, vectorised
            _span(near[row, i:end], color[row, i:end], w, w_x, light, l_x, tint, share)
            continue
        u = corner[0, 4] + u_x * dx + u_y * dy
        v = corner[0, 5] + v_x * dx + v_y * dy
        for k in range(i, end):
            if w > near[row, k]:
                near[row, k] = w
                # u / z and v / z are linear in the picture; dividing by 1 / z gives u and v.
                x, y = u / w, 1.0 - v / w
                column = max(0, min(int((x - np.floor(x)) * width), width - 1))
                line = max(0, min(int((y - np.floor(y)) * height), height - 1))
                at = start + line * width + column
                red, green, blue = texels[at, 0], texels[at, 1], texels[at, 2]
                color[row, k] = share | _packed(
                    tint[0] * light * red, tint[1] * light * green, tint[2] * light * blue
                )
            w, u, v, light = w + w_x, u + u_x, v + v_x, light + l_x


@bare_kernel
def _slopes(corner: Float, second: int, column: int, area: float) -> tuple[float, float]:
    """Slopes along x and y in the picture of a quantity, a column of ``corner``, per pixel."""
    d1 = corner[second, column] - corner[0, column]
    d2 = corner[second + 1, column] - corner[0, column]
    x1, y1 = corner[second, 0] - corner[0, 0], corner[second, 1] - corner[0, 1]
    x2, y2 = corner[second + 1, 0] - corner[0, 0], corner[second + 1, 1] - corner[0, 1]
    return (d1 * y2 - d2 * y1) / area, (d2 * x1 - d1 * x2) / area


@bare_kernel
def _span(
    near: Float,
    color: _Colors,
    w: float,
    w_x: float,
    light: float,
    l_x: float,
    tint: Point,
    share: np.uint32,
) -> None:
    """Draw samples side by side, of one colour, in light that changes linearly along the row.

    ``near`` and ``color`` (k,) are the samples; ``w`` and ``light`` the values of 1 / z and of
    light at the first of them, ``w_x`` and ``l_x`` their slopes. The loop has no branches and
    counts with an unsigned number, so that the compiler vectorises it: with a signed one it is
    four times slower.
    """
    first, slope = np.float32(w), np.float32(w_x)
    lit, change = np.float32(light), np.float32(l_x)
    red, green, blue = tint[0], tint[1], tint[2]
    for k in range(np.uint32(len(near))):
        step = np.float32(np.int32(k))
        here = first + slope * step
        behind = near[k]
        nearer = here > behind
        near[k] = here if nearer else behind
        shine = lit + change * step
        shade = share | _packed(red * shine, green * shine, blue * shine)
        color[k] = shade if nearer else color[k]


@bare_kernel
def _packed(red: float, green: float, blue: float) -> np.uint32:
    """A colour as one number (see the module); each part is clipped to 0 to 255."""
    none, most = np.float32(0.0), np.float32(255.0)
    r = np.uint32(np.int32(min(max(np.float32(red), none), most)))
    g = np.uint32(np.int32(min(max(np.float32(green), none), most)))
    b = np.uint32(np.int32(min(max(np.float32(blue), none), most)))
    return r | (g << np.uint32(8)) | (b << np.uint32(16))


@entry("i8:1 f4:2 f4:1 f4:1 f4:2 f4:2 u4:2")
@bare_kernel
def shadow(
    window: Annotated[Int, "4"],
    pose: Annotated[Float, "3 4"],
    lens: Point,
    lamp_lens: Point,
    lamp_near: Annotated[Float, "4h w"],
    near: Annotated[Float, "4h w"],
    color: _Colors,
) -> None:
    """Take the first lamp's light from samples that it does not reach.

    A sample is in shadow where the lamp's own picture has something nearer to it (L. Williams,
    Casting curved shadows on curved surfaces, 1978). A pixel's samples look at different places
    around theirs, which makes edges soft.

    Args:
        window: (4,) int64, as for ``draw``.
        pose: (3, 4) float32, pose of the camera's frame in that of the lamp.
        lens, lamp_lens: as for ``place``, of camera and lamp.
        lamp_near, near: 1 / z of each sample of the lamp's picture and of the camera's.
        color: changed, of the camera's samples.
    """
    left, right = window[0], window[2]
    half = np.float32(0.5)
    # Two rows of samples at a time: one look-up in the lamp's picture serves both.
    for row in range(ROWS * window[1], ROWS * window[3], 2):
        offset = np.float32(_OFFSETS[row % ROWS])
        _shadow_rows(
            near[row, left:right],
            color[row, left:right],
            color[row + 1, left:right],
            (np.float32(left) + offset - lens[1]) / lens[0],
            (np.float32((row + 0.5) / ROWS) - lens[2]) / lens[0],
            np.float32(1.0) / lens[0],
            pose,
            lamp_lens[0],
            lamp_lens[1] + np.float32(_BLUR) * (offset - half),
            lamp_lens[2] + np.float32(_BLUR * ((row % ROWS + 0.5) / ROWS - 0.5)),
            lamp_near,
        )


@bare_kernel
def _shadow_rows(
    near: Annotated[Float, "w"],
    color: Annotated[_Colors, "w"],
    color_below: Annotated[_Colors, "w"],
    u: np.float32,
    v: np.float32,
    step: np.float32,
    X: Annotated[Float, "3 4"],
    focal: np.float32,
    middle_x: np.float32,
    middle_y: np.float32,
    lamp_near: Annotated[Float, "4h w"],
) -> None:
    """Shadow two rows of samples, by one look-up in the lamp's picture for both; no branches.

    Both rows share the look-up, as they are closer together than a shadow's edge is wide. For the
    lack of branches see ``_span``.

    Args:
        near: 1 / z of the upper row's samples.
        color, color_below: changed, the samples of both rows.
        u, v: x / z and y / z of the upper row's first sample, in the camera's frame.
        step: difference of u between neighbours.
        X: pose of the camera's frame in that of the lamp.
        focal, middle_x, middle_y: the lamp's lens, shifted for the blur.
        lamp_near: 1 / z of each sample of the lamp's picture.
    """
    last_line, last_column = np.int32(lamp_near.shape[0] - 1), np.int32(lamp_near.shape[1] - 1)
    one, none, half, eighth = np.float32(1.0), np.int32(0), np.float32(0.5), np.float32(0.125)
    r00, r10, r20 = X[0, 0], X[1, 0], X[2, 0]
    c0, c1 = X[0, 1] * v + X[0, 2], X[1, 1] * v + X[1, 2]
    c2 = X[2, 1] * v + X[2, 2]
    p0, p1, p2 = X[0, 3], X[1, 3], X[2, 3]
    for k in range(np.uint32(len(near))):
        w = near[k]
        here = u + step * np.float32(np.int32(k))
        z = one / (r20 * here + c2 + p2 * w)
        line = np.int32(np.float32(ROWS) * (middle_y + focal * (r10 * here + c1 + p1 * w) * z))
        offset = eighth * np.float32((3 + 4 * line - (line & 2)) & 7)  # _OFFSETS[line % ROWS]
        column = np.int32(middle_x + focal * (r00 * here + c0 + p0 * w) * z - offset + half)
        nearest = lamp_near[max(none, min(line, last_line)), max(none, min(column, last_column))]
        taken = np.uint32(_DARKNESS) if nearest > w * z * np.float32(_BIAS) else np.uint32(0)
        color[k] = _darker(color[k], taken)
        color_below[k] = _darker(color_below[k], taken)


@bare_kernel
def _darker(packed: np.uint32, taken: np.uint32) -> np.uint32:
    """A sample's colour without ``taken`` / 256 of the light that the first lamp gives it."""
    even, odd, bits = np.uint32(0x00FF00FF), np.uint32(0x0000FF00), np.uint32(8)
    part = np.uint32(256) - ((packed >> np.uint32(24)) * taken >> bits)
    outer = ((packed & even) * part >> bits) & even
    return outer | (((packed & odd) * part >> bits) & odd)


@entry("i8:1 u4:2 u1:3")
@bare_kernel
def resolve(window: Int, color: _Colors, picture: NDArray[np.uint8]) -> None:
    """Write the mean of each pixel's four samples, within a window, into a picture.

    Args:
        window: (4,) int64, as for ``draw``.
        color: (4 h, w), the samples.
        picture: changed, (h, w, 3) uint8: red, green, blue.
    """
    even, odd = np.uint32(0x00FF00FF), np.uint32(0x0000FF00)
    half, quarter = np.uint32(0x00020002), np.uint32(0x00000200)
    for row in range(window[1], window[3]):
        a, b = color[ROWS * row], color[ROWS * row + 1]
        c, d = color[ROWS * row + 2], color[ROWS * row + 3]
        out = picture[row]
        for k in range(window[0], window[2]):
            # Red and blue at once: there is room for the carry between them.
            outer = (a[k] & even) + (b[k] & even) + (c[k] & even) + (d[k] & even) + half
            inner = (a[k] & odd) + (b[k] & odd) + (c[k] & odd) + (d[k] & odd) + quarter
            out[k, 0] = (outer >> np.uint32(2)) & np.uint32(0xFF)
            out[k, 1] = (inner >> np.uint32(10)) & np.uint32(0xFF)
            out[k, 2] = (outer >> np.uint32(18)) & np.uint32(0xFF)
