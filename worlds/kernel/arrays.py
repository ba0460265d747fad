"""What the compiled kernel works on: three tuples of arrays, with nothing of Python in them.

``Robot`` does not change, ``Obstacles`` are the world in one State, a ``CollisionQuery`` is what
moves in it and what may touch. A *part* is what is told apart by name: a link's covering spheres,
or a body of boxes, cylinders and hulls that moves (the chassis, a held item, a drawer that the hand
pulls).
Parts 0 .. S - 1 are made of spheres, the others of solids. Frames are those of
``robots.urdf_reader``.

Poses are rows of 12: R row by row, then p. Lengths in metres, angles in radians. Working numbers
are float32, whose rounding (under 10 um in a kitchen) is added to every distance asked for.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Ints = NDArray[np.int64]
Compiled = Any  # what a compiled function is handed: one of the tuples below

BOX, CYLINDER, SPHERE, HULL = 0, 1, 2, 3
ROUNDING = 1e-5  # m, covers the rounding of float32 in positions

# Offsets in Query.layout: where in the buffer the lanes of each kind begin, 16 numbers a value.
Q, FRAMES, BALLS, SOLIDS, LIMIT, WORST, SHARE, SPARE = range(8)


class Solids(NamedTuple):
    """Convex shapes, one a row; hulls have their planes and vertices in tables.

    A shape is (kind, three sizes, first and last row of ``planes``, of ``vertices``). Sizes are
    half x, y, z of a box; radius, half length of a cylinder; radius of a sphere. The whole numbers
    among them are exact in float32.
    """

    shape: Floats  # (m, 8)
    planes: Floats  # (., 4) unit normal n and offset d: inside is n x <= d
    vertices: Floats  # (., 3)


class Robot(NamedTuple):
    """The robot's links as spheres in three levels: part, cluster, sphere; and as convex hulls.

    Balls are rows (x, y, z, r) in the part's frame. A part's ball holds all its spheres, a
    cluster's ball those of the cluster. Together the spheres hold the part's hulls, and no sphere
    reaches further beyond them than the part's excess.
    """

    part_frame: Ints  # (S,)
    part_ball: Floats  # (S, 4)
    part_cluster: Ints  # (S + 1,) where each part's clusters begin
    cluster_ball: Floats  # (C, 4)
    cluster_sphere: Ints  # (C + 1,) where each cluster's spheres begin
    sphere: Floats  # (N, 4)
    part_excess: Floats  # (S,) metres
    part_hull: Ints  # (S + 1,) where each part's hulls begin
    hulls: Solids  # in the part's frame


class Obstacles(NamedTuple):
    """Everything that stands still, in the world frame."""

    solids: Solids
    pose: Floats  # (m, 12)
    low: Floats  # (m, 3) corners of the axis-parallel boxes around them
    high: Floats  # (m, 3)
    body: Ints  # (m,) which body each belongs to


class CollisionQuery(NamedTuple):
    """What moves, what may touch, and room to work in.

    The joints ``moving`` take their values from configurations (k,); the rest stay at ``q``.
    """

    q: Doubles  # (n,)
    moving: Ints  # (k,)
    low: Doubles  # (k,)
    high: Doubles  # (k,)
    weights: Doubles  # (k,) of the metric |weights * (a - b)|
    step: Doubles  # (k,) between checked states of an edge
    parent: Ints  # (n,)
    fixed: Floats  # (n, 12)
    prismatic: Ints  # (n,)
    tool: Doubles  # (13,) pose (12) in its frame of what ``frame_pose`` reports, then the frame
    # To what stands still, and between parts, metres; then 1 if the hulls have the last word where
    # spheres are too near, 0 if the spheres have.
    margins: Floats  # (3,)
    joints: Ints  # (.,) joints whose frames move, parents first
    parts: Ints  # (.,) sphere parts that move against what stands still
    solid_parts: Ints  # (.,) solids (rows of ``solids``) that do
    obstacles: Ints  # (m,) rows of the obstacles that count
    bounds: Floats  # (6, m) their boxes: low x, y, z, high x, y, z; m padded to a multiple of 16
    allowed: NDArray[np.uint8]  # (P, B) part against body
    solids: Solids  # of the parts that aren't made of spheres
    solid_part: Ints  # (m,) part of each
    solid_frame: Ints  # (m,)
    solid_pose: Floats  # (m, 12) in its frame
    solid_ball: Floats  # (m, 4) in its frame
    # Pose in the world, then 1 if it stands still (else 0), the box around it (low, high), and 1 if
    # it rides on the robot and keeps the full margin to its links (0 for the robot's own solids).
    solid_still: Floats  # (m, 20)
    sphere_pairs: Ints  # (., 2) sphere part, sphere part
    mixed_pairs: Ints  # (., 2) sphere part, row of ``solids``
    solid_pairs: Ints  # (., 2) rows of ``solids``
    reach: Floats  # (P, k) bound on how far a part's points are from each moving joint's axis
    sphere_pair_reach: Floats  # (., k) the same for what moves between the two
    mixed_pair_reach: Floats  # (., k)
    solid_pair_reach: Floats  # (., k)
    travel: Floats  # (P + pairs,) scratch: bounds for the edge at hand
    near: Ints  # (3, .) scratch: obstacles to look at, on three levels
    near_bounds: Floats  # (6, .) scratch: bounds of those on the first
    work: Doubles  # (n + 5, 12) scratch: four poses, then those of all frames
    full: Doubles  # (n,) scratch: a configuration of all joints
    stack: Doubles  # (., 2) scratch: stretches of an edge yet to be proven
    layout: Ints  # (8,) offsets in ``buffer``
    buffer: Floats  # scratch
