"""The rasteriser's compiled code: points into a camera's picture, triangles into sample buffers.

Each pixel has four samples, on a rotated grid: a buffer has four rows for each row of pixels, and
each of those takes its samples at its own place within the pixel. Depth is kept as 1 / z, which is
linear in the picture and larger for what is nearer; 0 is infinitely far.

All in one file, as Numba notices changes of a function's own file only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from galley.compiled.jit import bare_kernel, entry

ROWS = 4
"""Rows of samples in each row of pixels."""
_NEAR = 0.05  # m: what is nearer to the camera is cut off
_SMALL = 3.0  # pixels: smaller triangles are tested sample by sample
_DARKNESS = 0.62  # of the darkest contact shadow
_SPEAKER = 1  # the row of a pixel's samples in which its contact shadow is computed
_ALIKE = 0.02  # share of 1 / z by which samples of one surface may differ
_OFFSETS = (0.375, 0.875, 0.125, 0.625)  # of a row's samples within their pixels


@entry("f4:2 f4:2 i8:1 f4:3 f4:2 f4:1 f4:2 f4:1")
@bare_kernel
def place(
    points: Any, normals: Any, ends: Any, poses: Any, lamps: Any, lens: Any, seen: Any, lit: Any
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
        lit: written, (n,) float32: light.
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
            w = np.float32(1.0) / max(z, np.float32(_NEAR))
            seen[k, 3] = middle_x + focal * x * w
            seen[k, 4] = middle_y + focal * y * w
            seen[k, 5] = w
            a, b, c = normals[k, 0], normals[k, 1], normals[k, 2]
            x = X[0, 0] * a + X[0, 1] * b + X[0, 2] * c
            y = X[1, 0] * a + X[1, 1] * b + X[1, 2] * c
            z = X[2, 0] * a + X[2, 1] * b + X[2, 2] * c
            light = lamps[len(lamps) - 1, 3]
            for lamp in range(len(lamps) - 1):
                share = x * lamps[lamp, 0] + y * lamps[lamp, 1] + z * lamps[lamp, 2]
                light += max(share, np.float32(0.0)) * lamps[lamp, 3]
            lit[k] = light
        start = ends[body]


@entry("i4:2 f4:2 i4:1 f4:2 f4:2 f4:1 f4:1 i8:3 f4:2 i8:1 f8:2 f4:2 u4:2")
@bare_kernel
def draw(
    triangles: Any,
    colors: Any,
    pictures: Any,
    uvs: Any,
    seen: Any,
    lit: Any,
    lens: Any,
    levels: Any,
    texels: Any,
    window: Any,
    corner: Any,
    near: Any,
    color: Any,
) -> None:
    """Draw triangles into buffers of samples, as far as they lie in a window and face the camera.

    Args:
        triangles: (t, 3) int32, indices of points, counterclockwise seen from outside.
        colors: (t, 3) float32: red, green, blue, 0 to 255, in light of 1.
        pictures: (t,) int32: number of the texture, or -1.
        uvs: (n, 2) float32, where each point lies in its texture, in shares of it.
        seen, lit: of the points, from ``place``.
        lens: as for ``place``.
        levels: (textures, l, 3) int64: width, height and first texel of each texture, at full size
            and halved again and again; width 0 where there are no more.
        texels: (m, 3) float32, rows from the top; 0 to 1.
        window: (4,) int64: left, top, right, bottom, pixels, ends excluded.
        corner: (4, 6), room to work in: column, row, 1 / z, light, u / z, v / z of corners.
        near: changed, (4 h, w) float32: 1 / z of each sample.
        color: changed, (4 h, w) uint32: red + 256 green + 65536 blue.
    """
    left, right = np.float32(window[0]), np.float32(window[2])
    top, bottom = np.float32(window[1]), np.float32(window[3])
    for t in range(len(triangles)):
        a, b, c = triangles[t, 0], triangles[t, 1], triangles[t, 2]
        if min(seen[a, 2], seen[b, 2], seen[c, 2]) <= _NEAR:
            if max(seen[a, 2], seen[b, 2], seen[c, 2]) > _NEAR:
                count = _cut(triangles, t, uvs, seen, lit, lens, corner)
                for k in range(1, count - 1):
                    _fill(corner, k, colors, pictures, t, levels, texels, window, near, color)
            continue
        ax, ay, bx, by = seen[a, 3], seen[a, 4], seen[b, 3], seen[b, 4]
        cx, cy = seen[c, 3], seen[c, 4]
        area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
        if area >= 0.0:  # its back
            continue
        low, high = max(min(ax, bx, cx), left), min(max(ax, bx, cx), right)
        above, below = max(min(ay, by, cy), top), min(max(ay, by, cy), bottom)
        if low > high or above > below:
            continue
        if pictures[t] < 0 and high - low < _SMALL and below - above < _SMALL:
            # Most triangles of a finely modelled robot cover hardly a sample.
            first = max(int(np.ceil(ROWS * above - np.float32(0.5))), ROWS * window[1])
            last = min(int(np.ceil(ROWS * below - np.float32(0.5))), ROWS * window[3])
            inside = np.float32(1.0) / area
            for row in range(first, last):
                y = (row + np.float32(0.5)) * np.float32(1.0 / ROWS)
                offset = np.float32(_OFFSETS[row % ROWS])
                for k in range(
                    max(int(np.ceil(low - offset)), window[0]),
                    min(int(np.ceil(high - offset)), window[2]),
                ):
                    x = k + offset
                    # Shares of the corners in the sample.
                    p = ((cx - bx) * (y - by) - (cy - by) * (x - bx)) * inside
                    q = ((ax - cx) * (y - cy) - (ay - cy) * (x - cx)) * inside
                    r = np.float32(1.0) - p - q
                    if p >= 0.0 and q >= 0.0 and r >= 0.0:
                        w = p * seen[a, 5] + q * seen[b, 5] + r * seen[c, 5]
                        if w > near[row, k]:
                            near[row, k] = w
                            light = p * lit[a] + q * lit[b] + r * lit[c]
                            color[row, k] = _packed(
                                colors[t, 0] * light, colors[t, 1] * light, colors[t, 2] * light
                            )
            continue
        for k in range(3):
            n = triangles[t, k]
            w = seen[n, 5]
            corner[k, 0], corner[k, 1], corner[k, 2] = seen[n, 3], seen[n, 4], w
            corner[k, 3], corner[k, 4], corner[k, 5] = lit[n], uvs[n, 0] * w, uvs[n, 1] * w
        _fill(corner, 1, colors, pictures, t, levels, texels, window, near, color)


@bare_kernel
def _cut(triangles: Any, t: int, uvs: Any, seen: Any, lit: Any, lens: Any, corner: Any) -> int:
    """Corners of the part of a triangle that lies ahead of the camera, three or four."""
    count = 0
    for k in range(3):
        n, m = triangles[t, k], triangles[t, (k + 1) % 3]
        here, there = seen[n, 2] - _NEAR, seen[m, 2] - _NEAR
        if here > 0.0:
            _corner(corner, count, n, m, 0.0, uvs, seen, lit, lens)
            count += 1
        if (here > 0.0) != (there > 0.0):
            _corner(corner, count, n, m, here / (here - there), uvs, seen, lit, lens)
            count += 1
    return count


@bare_kernel
def _corner(
    corner: Any, at: int, n: int, m: int, u: float, uvs: Any, seen: Any, lit: Any, lens: Any
) -> None:
    """The point a share ``u`` of the way from point n to point m, as corner number ``at``."""
    x = seen[n, 0] + u * (seen[m, 0] - seen[n, 0])
    y = seen[n, 1] + u * (seen[m, 1] - seen[n, 1])
    w = 1.0 / max(seen[n, 2] + u * (seen[m, 2] - seen[n, 2]), _NEAR)
    corner[at, 0] = lens[1] + lens[0] * x * w
    corner[at, 1] = lens[2] + lens[0] * y * w
    corner[at, 2] = w
    corner[at, 3] = lit[n] + u * (lit[m] - lit[n])
    corner[at, 4] = (uvs[n, 0] + u * (uvs[m, 0] - uvs[n, 0])) * w
    corner[at, 5] = (uvs[n, 1] + u * (uvs[m, 1] - uvs[n, 1])) * w


@bare_kernel
def _fill(
    corner: Any,
    second: int,
    colors: Any,
    pictures: Any,
    t: int,
    levels: Any,
    texels: Any,
    window: Any,
    near: Any,
    color: Any,
) -> None:
    """Draw the triangle of corners 0, ``second`` and the one after it."""
    ax, ay = corner[0, 0], corner[0, 1]
    bx, by = corner[second, 0], corner[second, 1]
    cx, cy = corner[second + 1, 0], corner[second + 1, 1]
    area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
    if area >= -1e-12:  # its back, or seen from the edge
        return
    top = max(min(ay, by, cy), float(window[1]))
    bottom = min(max(ay, by, cy), float(window[3]))
    first = max(int(np.ceil(ROWS * top - 0.5)), ROWS * window[1])
    last = min(int(np.ceil(ROWS * bottom - 0.5)), ROWS * window[3])
    if first >= last:
        return
    # Quantities that are linear in the picture: value at corner 0, slopes along x and y.
    p, q = 1.0 / area, second + 1
    d1, d2 = corner[second, 2] - corner[0, 2], corner[q, 2] - corner[0, 2]
    w_x, w_y = (d1 * (cy - ay) - d2 * (by - ay)) * p, (d2 * (bx - ax) - d1 * (cx - ax)) * p
    d1, d2 = corner[second, 3] - corner[0, 3], corner[q, 3] - corner[0, 3]
    l_x, l_y = (d1 * (cy - ay) - d2 * (by - ay)) * p, (d2 * (bx - ax) - d1 * (cx - ax)) * p
    even = abs(d1) + abs(d2) < 1e-3
    light = corner[0, 3]
    red, green, blue = colors[t, 0], colors[t, 1], colors[t, 2]
    shade = _packed(red * light, green * light, blue * light)
    texture = pictures[t]
    u_x = u_y = v_x = v_y = 0.0
    width = height = start = 0
    if texture >= 0:
        d1, d2 = corner[second, 4] - corner[0, 4], corner[q, 4] - corner[0, 4]
        u_x, u_y = (d1 * (cy - ay) - d2 * (by - ay)) * p, (d2 * (bx - ax) - d1 * (cx - ax)) * p
        d1, d2 = corner[second, 5] - corner[0, 5], corner[q, 5] - corner[0, 5]
        v_x, v_y = (d1 * (cy - ay) - d2 * (by - ay)) * p, (d2 * (bx - ax) - d1 * (cx - ax)) * p
        u0, v0 = corner[0, 4] / corner[0, 2], corner[0, 5] / corner[0, 2]
        u1, v1 = corner[second, 4] / corner[second, 2], corner[second, 5] / corner[second, 2]
        u2, v2 = corner[q, 4] / corner[q, 2], corner[q, 5] / corner[q, 2]
        covered = abs((u1 - u0) * (v2 - v0) - (v1 - v0) * (u2 - u0)) / -area
        level = 0
        while (
            level + 1 < levels.shape[1]
            and levels[texture, level + 1, 0] > 0
            # Texels of half a pixel: there are four samples to a pixel.
            and covered * levels[texture, level, 0] * levels[texture, level, 1] > 2.0
        ):
            level += 1
        width, height = levels[texture, level, 0], levels[texture, level, 1]
        start = levels[texture, level, 2]
    # Each edge from its upper end: neighbours that share it find the same columns along it.
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
        i = int(np.ceil(max(left, float(window[0])) - offset))
        end = int(np.ceil(min(right, float(window[2])) - offset))
        i, end = max(i, window[0]), min(end, window[2])
        dx, dy = i + offset - ax, y - ay
        w = corner[0, 2] + w_x * dx + w_y * dy
        if texture >= 0:
            u = corner[0, 4] + u_x * dx + u_y * dy
            v = corner[0, 5] + v_x * dx + v_y * dy
            l = light + l_x * dx + l_y * dy
            for k in range(i, end):
                if w > near[row, k]:
                    near[row, k] = w
                    x, y_ = u / w, 1.0 - v / w
                    column = max(0, min(int((x - np.floor(x)) * width), width - 1))
                    line = max(0, min(int((y_ - np.floor(y_)) * height), height - 1))
                    at = start + line * width + column
                    color[row, k] = _packed(
                        red * l * texels[at, 0],
                        green * l * texels[at, 1],
                        blue * l * texels[at, 2],
                    )
                w, u, v, l = w + w_x, u + u_x, v + v_x, l + l_x
        elif i < end:
            light = corner[0, 3] + l_x * dx + l_y * dy
            if even:
                _flat_span(near[row, i:end], color[row, i:end], w, w_x, shade)
            else:
                _span(near[row, i:end], color[row, i:end], w, w_x, light, l_x, red, green, blue)


@bare_kernel
def _flat_span(near: Any, color: Any, w: float, w_x: float, shade: Any) -> None:
    """Draw samples side by side, all in one colour; without branches, which makes it vector code.

    Unsigned counts, too: with signed ones the compiler makes plain code of it, four times slower.
    """
    first, slope = np.float32(w), np.float32(w_x)
    for k in range(np.uint32(len(near))):
        here = first + slope * np.float32(np.int32(k))
        behind = near[k]
        nearer = here > behind
        near[k] = here if nearer else behind
        color[k] = shade if nearer else color[k]


@bare_kernel
def _span(
    near: Any,
    color: Any,
    w: float,
    w_x: float,
    light: float,
    l_x: float,
    red: Any,
    green: Any,
    blue: Any,
) -> None:
    """Draw samples side by side in light that changes evenly."""
    first, slope = np.float32(w), np.float32(w_x)
    lit, change = np.float32(light), np.float32(l_x)
    for k in range(np.uint32(len(near))):
        step = np.float32(np.int32(k))
        here = first + slope * step
        behind = near[k]
        nearer = here > behind
        near[k] = here if nearer else behind
        shine = lit + change * step
        shade = _packed(red * shine, green * shine, blue * shine)
        color[k] = shade if nearer else color[k]


@bare_kernel
def _packed(red: Any, green: Any, blue: Any) -> Any:
    """A colour as one number; each part 0 to 255, cut off at both ends."""
    none, most = np.float32(0.0), np.float32(255.0)
    r = np.uint32(np.int32(min(max(np.float32(red), none), most)))
    g = np.uint32(np.int32(min(max(np.float32(green), none), most)))
    b = np.uint32(np.int32(min(max(np.float32(blue), none), most)))
    return r | (g << np.uint32(8)) | (b << np.uint32(16))


@entry("i8:1 f4:2 f4:1 f4:1 f4 f4:2 f4:2")
@bare_kernel
def shade(
    window: Any, pose: Any, shape: Any, lens: Any, radius: Any, near: Any, light: Any
) -> None:
    """Take light from what is close to a shape and faces it, as a contact shadow.

    Occlusion from distances, after A. Evans, Fast approximations for global illumination on dynamic
    scenes, 2006: a surface is occluded by what is nearer to a point above it than the surface is.
    A surface's normal is from the depths around it; nothing darkens itself or what it encloses.

    Args:
        window: (4,) int64, as for ``draw``; the picture's outermost pixels stay as they are.
        pose: (3, 4) float32, pose of the camera's frame in that of the shape.
        shape: (5,) float32: half sides of a box, radius by which it is grown, and 1 if that is in
            all directions (a sphere), 0 if across its z axis only (a cylinder).
        lens: as for ``place``.
        radius: float32, m: how far above a surface things occlude it.
        near: 1 / z of each sample.
        light: changed, (h, w) float32: share of its light that one sample of each pixel keeps.
    """
    rows, width = near.shape
    left, right = max(window[0], 1), min(window[2], width - 1)
    if left >= right:
        return
    for pixel in range(max(window[1], 1), min(window[3], rows // ROWS - 1)):
        row = ROWS * pixel + _SPEAKER
        _take_light(
            near[row - ROWS, left:right],
            near[row, left - 1 : right + 1],
            near[row + ROWS, left:right],
            light[pixel, left:right],
            np.float32(left + _OFFSETS[_SPEAKER]) - lens[1],
            np.float32((row + 0.5) / ROWS) - lens[2],
            lens[0],
            pose,
            shape,
            radius,
        )


@entry("i8:1 f4:2 f4:2 u4:2")
@bare_kernel
def darken(window: Any, near: Any, light: Any, color: Any) -> None:
    """Apply ``light`` (see ``shade``) to all samples of a window.

    A sample at another depth than its pixel's one belongs to a surface of a pixel beside it.
    """
    height, width = light.shape
    left, right = max(window[0], 1), min(window[2], width - 1)
    if left >= right:
        return
    for pixel in range(max(window[1], 1), min(window[3], height - 1)):
        least = min(
            _least(light[pixel - 1, left:right]),
            _least(light[pixel, left - 1 : right + 1]),
            _least(light[pixel + 1, left:right]),
        )
        if least >= 1.0:
            continue
        speaker = ROWS * pixel + _SPEAKER
        for row in range(ROWS * pixel, ROWS * pixel + ROWS):
            _darken_row(
                near[row, left:right],
                near[speaker - ROWS, left:right],
                near[speaker, left - 1 : right + 1],
                near[speaker + ROWS, left:right],
                light[pixel - 1, left:right],
                light[pixel, left - 1 : right + 1],
                light[pixel + 1, left:right],
                color[row, left:right],
            )


@bare_kernel
def _least(values: Any) -> Any:
    least = np.float32(1.0)
    for k in range(np.uint32(len(values))):
        least = min(least, values[k])
    return least


@bare_kernel
def _darken_row(
    depths: Any,
    above: Any,
    here: Any,
    below: Any,
    light_above: Any,
    light: Any,
    light_below: Any,
    color: Any,
) -> None:
    """Darken samples side by side; ``here`` and ``light`` begin one pixel earlier."""
    one, two = np.uint32(1), np.uint32(2)
    for k in range(np.uint32(len(color))):
        w = depths[k]
        tolerance = np.float32(_ALIKE) * w
        share = light[k + one]
        other = light_below[k] if abs(below[k] - w) <= tolerance else share
        other = light_above[k] if abs(above[k] - w) <= tolerance else other
        other = light[k + two] if abs(here[k + two] - w) <= tolerance else other
        other = light[k] if abs(here[k] - w) <= tolerance else other
        share = share if abs(here[k + one] - w) <= tolerance else other
        part = np.uint32(np.int32(np.float32(256.0) * share + np.float32(0.5)))
        outer = ((color[k] & np.uint32(0x00FF00FF)) * part >> np.uint32(8)) & np.uint32(0x00FF00FF)
        inner = ((color[k] & np.uint32(0x0000FF00)) * part >> np.uint32(8)) & np.uint32(0x0000FF00)
        color[k] = outer | inner


@bare_kernel
def _take_light(
    above: Any,
    here: Any,
    below: Any,
    light: Any,
    left: Any,
    down: Any,
    focal: Any,
    X: Any,
    shape: Any,
    radius: Any,
) -> None:
    """Take light from samples side by side; ``here`` begins one earlier. Has no branches.

    Args:
        above, here, below: 1 / z of samples.
        light: changed, as for ``shade``.
        left, down: the first sample's place from the picture's middle, pixels.
    """
    one, none, least = np.float32(1.0), np.float32(0.0), np.float32(1e-9)
    a, b, c = shape[0], shape[1], shape[2]
    grown, ball = shape[3], shape[4]
    inverse, far = one / radius, np.float32(0.5) / radius
    r00, r01, r02, r03 = X[0, 0], X[0, 1], X[0, 2], X[0, 3]
    r10, r11, r12, r13 = X[1, 0], X[1, 1], X[1, 2], X[1, 3]
    r20, r21, r22, r23 = X[2, 0], X[2, 1], X[2, 2], X[2, 3]
    v = down / focal
    for k in range(np.uint32(len(above))):
        w = here[k + np.uint32(1)]
        z = one / max(w, np.float32(1e-4))
        u = (left + np.float32(np.int32(k))) / focal
        # 1 / z is linear on a plane: its slopes give the normal. Of the two at each side, the
        # smaller one does not cross an edge.
        before, after = w - here[k], here[k + np.uint32(2)] - w
        across = focal * (before if abs(before) < abs(after) else after)
        before, after = w - above[k], below[k] - w
        along = focal * (before if abs(before) < abs(after) else after)
        n, m, l = -across, -along, u * across + v * along - w
        scale = radius / np.sqrt(max(n * n + m * m + l * l, np.float32(1e-12)))
        n, m, l = n * scale, m * scale, l * scale
        x = (r00 * u + r01 * v + r02) * z + r03
        y = (r10 * u + r11 * v + r12) * z + r13
        t = (r20 * u + r21 * v + r22) * z + r23
        # Distance from the shape of the point itself, then of that above it.
        e, f, g = max(abs(x) - a, none), max(abs(y) - b, none), max(abs(t) - c, none)
        flat = max(np.sqrt(e * e + f * f + ball * g * g + least) - grown, none)
        g = g * (one - ball)
        first = np.sqrt(flat * flat + g * g + least)
        x += r00 * n + r01 * m + r02 * l
        y += r10 * n + r11 * m + r12 * l
        t += r20 * n + r21 * m + r22 * l
        e, f, g = max(abs(x) - a, none), max(abs(y) - b, none), max(abs(t) - c, none)
        flat = max(np.sqrt(e * e + f * f + ball * g * g + least) - grown, none)
        g = g * (one - ball)
        second = np.sqrt(flat * flat + g * g + least)
        hidden = max(one - second * inverse, none) * max(one - first * far, none)
        hidden = hidden if first > np.float32(1e-4) and w > none else none
        light[k] *= one - np.float32(_DARKNESS) * hidden


@entry("f4:2 u4:2 u4")
@bare_kernel
def wipe(near: Any, color: Any, background: Any) -> None:
    """Nothing but background: ``near`` 0, ``color`` all ``background`` (uint32)."""
    for row in range(near.shape[0]):
        depths, colors = near[row], color[row]
        for k in range(np.uint32(len(depths))):
            depths[k] = np.float32(0.0)
            colors[k] = background


@entry("i8:1 f4:2 u4:2 f4:2 u4:2")
@bare_kernel
def take_over(window: Any, near: Any, color: Any, to_near: Any, to_color: Any) -> None:
    """Copy the samples of a window (as for ``draw``) into other buffers of the same size."""
    for row in range(ROWS * window[1], ROWS * window[3]):
        a, b = near[row, window[0] : window[2]], color[row, window[0] : window[2]]
        c, d = to_near[row, window[0] : window[2]], to_color[row, window[0] : window[2]]
        for k in range(np.uint32(len(a))):
            c[k], d[k] = a[k], b[k]


@entry("i8:1 u4:2 u1:3")
@bare_kernel
def resolve(window: Any, color: Any, picture: Any) -> None:
    """The mean of each pixel's samples, within a window, into ``picture`` (h, w, 3) uint8."""
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
