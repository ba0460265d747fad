"""Forward kinematics of 16 configurations at once, and of one in double precision.

Of 16: the frames' poses, their twists, and from these the bound on travel that proofs need.
"""

from __future__ import annotations

import numpy as np

from galley.collision.kernel.arrays import BEND, FRAMES, RATES, SHARE, SLACK, TRAVEL, TWISTS, Q
from galley.collision.kernel.packed import unpack
from galley.compiled.annotations import Indices, Lanes, LaneTriple, Pose, Poses, Table, Vector
from galley.compiled.jit import bare_kernel
from galley.compiled.lanes import LANES, load, minimum, nearest_integer, splat, square_root, store

FRAME = 12 * LANES  # numbers in the buffer for a frame's pose: R row by row, then p
# Numbers for a frame's twist: the velocity of its point that is in the world's origin, then the
# angular velocity; by the curve's parameter.
TWIST = 6 * LANES

_PER_TURN = np.float32(1.0 / (2.0 * np.pi))
# 2 pi in two parts, so that x - k 2 pi loses no digits.
_HIGH = np.float32(6.28125)
_LOW = np.float32(2.0 * np.pi - 6.28125)
# Fits of sin(x) / x and cos(x) in x^2 on [-pi, pi] (least squares at 400 Chebyshev nodes); the
# largest errors in float32 are 6e-7 and 5e-7.
_S = np.array(
    [
        0.999999995,
        -0.1666666468,
        0.008333311005,
        -0.0001984017341,
        2.75297223e-06,
        -2.467892269e-08,
        1.345703173e-10,
    ],
    dtype=np.float32,
)
_C = np.array(
    [
        0.9999999999,
        -0.4999999985,
        0.04166666348,
        -0.0013888863,
        2.480055196e-05,
        -2.753477414e-07,
        2.060335931e-09,
        -9.72176088e-12,
    ],
    dtype=np.float32,
)


@bare_kernel
def sine_cosine(x: Lanes) -> tuple[Lanes, Lanes]:
    """Sines and cosines of 16 angles, rad."""
    # Without whole turns, an angle is within half a turn of 0, where the fits hold.
    k = nearest_integer(x * splat(_PER_TURN))
    r = x - k * splat(_HIGH) - k * splat(_LOW)
    u = r * r
    s = splat(_S[5]) + u * splat(_S[6])
    s = splat(_S[3]) + u * (splat(_S[4]) + u * s)
    s = splat(_S[1]) + u * (splat(_S[2]) + u * s)
    s = r * (splat(_S[0]) + u * s)
    c = splat(_C[6]) + u * splat(_C[7])
    c = splat(_C[4]) + u * (splat(_C[5]) + u * c)
    c = splat(_C[2]) + u * (splat(_C[3]) + u * c)
    c = splat(_C[0]) + u * (splat(_C[1]) + u * c)
    return s, c


@bare_kernel
def load_vector(buffer: Vector, at: int) -> LaneTriple:
    """Three vectors of lanes that stand one after another, such as the x, y and z of points."""
    return load(buffer, at), load(buffer, at + LANES), load(buffer, at + 2 * LANES)


@bare_kernel
def load_axis(buffer: Vector, at: int) -> LaneTriple:
    """One of a frame's axes in the world, a column of R, whose x is at ``at``: lanes."""
    return load(buffer, at), load(buffer, at + 3 * LANES), load(buffer, at + 6 * LANES)


@bare_kernel
def store_vector(buffer: Vector, at: int, x: Lanes, y: Lanes, z: Lanes) -> None:
    """Writes three vectors of lanes one after another, as ``load_vector`` reads them."""
    store(buffer, at, x)
    store(buffer, at + LANES, y)
    store(buffer, at + 2 * LANES, z)


@bare_kernel
def frames(table: Table, joints: Indices) -> None:
    """Writes the poses of the frames that ``joints`` move; the others are there already.

    Args:
        joints: (m,) parents before children. The values are in the buffer at Q.
    """
    _, _, tree, _, scratch = unpack(table)
    buffer, fixed = scratch.buffer, tree.fixed
    q_at, frames_at = scratch.layout[Q], scratch.layout[FRAMES]
    for at in range(len(joints)):
        j = joints[at]
        p = frames_at + tree.parent[j] * FRAME
        f = frames_at + (j + 1) * FRAME
        value = load(buffer, q_at + j * LANES)
        x, y, z = splat(fixed[j, 9]), splat(fixed[j, 10]), splat(fixed[j, 11])
        s, c = sine_cosine(value)
        for row in range(3):
            r = p + row * 3 * LANES
            d = f + row * 3 * LANES
            # A row of the parent's R, times the fixed pose; then the joint's own motion along z,
            # or about it.
            m0, m1, m2 = load_vector(buffer, r)
            k0 = m0 * splat(fixed[j, 0]) + m1 * splat(fixed[j, 3]) + m2 * splat(fixed[j, 6])
            k1 = m0 * splat(fixed[j, 1]) + m1 * splat(fixed[j, 4]) + m2 * splat(fixed[j, 7])
            k2 = m0 * splat(fixed[j, 2]) + m1 * splat(fixed[j, 5]) + m2 * splat(fixed[j, 8])
            origin = load(buffer, p + (9 + row) * LANES) + m0 * x + m1 * y + m2 * z
            if tree.prismatic[j] != 0:
                origin = origin + k2 * value
                store(buffer, d, k0)
                store(buffer, d + LANES, k1)
            else:
                store(buffer, d, k0 * c + k1 * s)
                store(buffer, d + LANES, k1 * c - k0 * s)
            store(buffer, d + 2 * LANES, k2)
            store(buffer, f + (9 + row) * LANES, origin)


@bare_kernel
def twists(table: Table) -> None:
    """Writes the twists of the frames that move; those of the others stay zero.

    The poses are in the buffer at FRAMES, the joints' rates at RATES.
    """
    _, _, tree, _, scratch = unpack(table)
    buffer, layout = scratch.buffer, scratch.layout
    rates_at, frames_at, twists_at = layout[RATES], layout[FRAMES], layout[TWISTS]
    for at in range(len(tree.active)):
        j = tree.active[at]
        f, p = frames_at + (j + 1) * FRAME, twists_at + tree.parent[j] * TWIST
        t = twists_at + (j + 1) * TWIST
        rate = load(buffer, rates_at + j * LANES)
        x, y, z = load_axis(buffer, f + 2 * LANES)
        x, y, z = rate * x, rate * y, rate * z  # along the joint's axis
        # What the parent's frame does, and what the joint adds: a slide, or a turn about an axis
        # through o, under which the world's origin moves by o x omega.
        u, v, w = load_vector(buffer, p)
        a, b, c = load_vector(buffer, p + 3 * LANES)
        if tree.prismatic[j] != 0:
            u, v, w = u + x, v + y, w + z
        else:
            ox, oy, oz = load_vector(buffer, f + 9 * LANES)
            u, v, w = u + oy * z - oz * y, v + oz * x - ox * z, w + ox * y - oy * x
            a, b, c = a + x, b + y, c + z
        store_vector(buffer, t, u, v, w)
        store_vector(buffer, t + 3 * LANES, a, b, c)


@bare_kernel
def travelled(
    table: Table, part: int, frame: int, x: Lanes, y: Lanes, z: Lanes, radius: float
) -> Lanes:
    """Bound (m) on the travel of a ball's points from the middle of a stretch to its ends: lanes.

    By Taylor's theorem: share * speed + share^2 / 2 * acceleration, where share is half the
    stretch's length by the curve's parameter. The speed is that of the middle, at most the
    centre's and what turning adds within the radius; the acceleration is bounded all along the
    piece. So is the speed, by ``continuous_collision.set_travel``: share times that bounds the
    travel as well, and the lesser counts.

    Args:
        part: that the ball belongs to.
        frame: that carries it.
        x, y, z: its centre in the world, m.
        radius: m.
    """
    _, _, _, _, scratch = unpack(table)
    buffer, t = scratch.buffer, scratch.layout[TWISTS] + frame * TWIST
    # The centre's velocity: of the frame's point in the world's origin, and omega x centre.
    a, b, c = load_vector(buffer, t + 3 * LANES)
    u = load(buffer, t) + b * z - c * y
    v = load(buffer, t + LANES) + c * x - a * z
    w = load(buffer, t + 2 * LANES) + a * y - b * x
    speed = square_root(u * u + v * v + w * w)
    speed = speed + splat(radius) * square_root(a * a + b * b + c * c)
    share = load(buffer, scratch.layout[SHARE])
    # BEND is half the bound on the acceleration.
    speed = speed + splat(scratch.travel[SLACK, part]) + share * splat(scratch.travel[BEND, part])
    return share * minimum(splat(scratch.travel[TRAVEL, part]), speed)


@bare_kernel
def to_world(buffer: Vector, frame: int, x: float, y: float, z: float) -> LaneTriple:
    """A point (x, y, z) of a frame, whose pose begins at ``frame``, in the world: lanes."""
    a, b, c = splat(x), splat(y), splat(z)
    u, v, w = load_vector(buffer, frame + 9 * LANES)
    k, m, n = load_vector(buffer, frame)
    u = u + k * a + m * b + n * c
    k, m, n = load_vector(buffer, frame + 3 * LANES)
    v = v + k * a + m * b + n * c
    k, m, n = load_vector(buffer, frame + 6 * LANES)
    return u, v, w + k * a + m * b + n * c


@bare_kernel
def pose_of(table: Table, row: int, lane: int, out: Pose) -> None:
    """Writes the pose in the world of a row of ``Moving`` in one of the 16 configurations."""
    moving, _, _, _, scratch = unpack(table)
    buffer = scratch.buffer
    at = scratch.layout[FRAMES] + moving.frame[row] * FRAME + lane
    S = moving.pose[row]
    for i in range(3):
        a = float(buffer[at + 3 * i * LANES])
        b = float(buffer[at + (3 * i + 1) * LANES])
        c = float(buffer[at + (3 * i + 2) * LANES])
        for j in range(3):
            out[3 * i + j] = a * S[j] + b * S[3 + j] + c * S[6 + j]
        out[9 + i] = buffer[at + (9 + i) * LANES] + a * S[9] + b * S[10] + c * S[11]


@bare_kernel
def compose(a: Pose, b: Pose, out: Pose) -> None:
    """Multiplies poses: out = a b, in double precision; ``out`` must be another array."""
    for i in range(3):
        for j in range(3):
            out[3 * i + j] = a[3 * i] * b[j] + a[3 * i + 1] * b[3 + j] + a[3 * i + 2] * b[6 + j]
        out[9 + i] = a[9 + i] + a[3 * i] * b[9] + a[3 * i + 1] * b[10] + a[3 * i + 2] * b[11]


@bare_kernel
def poses(parent: Indices, fixed: Poses, prismatic: Indices, q: Vector, out: Poses) -> None:
    """Writes the poses (n + 1, 12) of all frames for one configuration, in double precision.

    Args:
        parent, fixed, prismatic: (n,), (n, 12), (n,) of the joints: see ``KinematicTree``.
        q: (n,) of all joints, rad or m.
    """
    out[0] = 0.0  # the world's frame
    out[0, 0] = out[0, 4] = out[0, 8] = 1.0
    for j in range(len(q)):
        f = out[j + 1]
        compose(out[parent[j]], fixed[j], f)
        if prismatic[j] != 0:
            for i in range(3):
                f[9 + i] += f[3 * i + 2] * q[j]
        else:
            s, c = np.sin(q[j]), np.cos(q[j])
            for i in range(3):
                x, y = f[3 * i], f[3 * i + 1]
                f[3 * i] = x * c + y * s
                f[3 * i + 1] = y * c - x * s
