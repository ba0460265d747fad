"""Named tuples of the arrays that the compiled kernel works on.

``Obstacles`` stand still in one State. ``Moving`` is the robot and what is attached to it. A *part*
has a name in contacts: a link, or a moving body (the chassis, a held item, a drawer that the hand
pulls); a name may belong to several. The other tuples belong to one view: its joints, what is
checked against what, and scratch. Frames are those of ``robots.urdf_reader``: 0 is the world, and
joint j moves frame j + 1.

Poses are rows of 12: R row by row, then p. Lengths in metres, angles in radians. Working numbers
are float32, whose rounding (under 10 um in a kitchen) is added to every required distance.

In shapes, n is the number of joints, k of those that a view moves, P of parts, B of bodies that
stand still, m of the rows in question, S of hulls with spheres.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Ints = NDArray[np.int64]

BOX, CYLINDER, SPHERE, HULL = 0, 1, 2, 3
ROUNDING = 1e-5  # m, covers the rounding of float32 in positions

LIMIT_TOLERANCE = 1e-9  # rad or m by which a configuration may be beyond its joints' limits

# Offsets in Scratch.layout: where in the buffer the lanes of each kind begin, 16 numbers a value.
# Q: values of all joints. FRAMES: poses. BALLS: centres of the balls around the rows of ``Moving``.
# LIMIT: m that the row at hand must keep. WORST: the verdict, negative if something is too near.
# SHARE: in a proof, half the length of a lane's stretch by the curve's parameter, else 0. SPARE:
# room of ``spheres_meet``. RATES: derivatives of the joints by the parameter. TWISTS: those of the
# frames. LIMITS: in a proof, LIMIT of each row.
Q, FRAMES, BALLS, LIMIT, WORST, SHARE, SPARE, RATES, TWISTS, LIMITS = range(10)
# Rows of ``Scratch.travel``, which says what they are.
TRAVEL, SLACK, BEND = range(3)
# Columns of ``Moving.still``, which says what they are.
STILL, LOW, HIGH, OWNER = 12, 13, 16, 19
BODY = 16  # the first owner that is an attached body


def keeps_full_margin(a: float, b: float) -> bool:
    """Whether moving parts of these owners (see ``Moving``) keep the full margin to each other.

    Other pairs of the robot's links keep less: within an arm links are near each other by design.
    """
    return a != b and (max(a, b) >= BODY or min(a, b) > 0)


class Solids(NamedTuple):
    """Convex shapes, one a row; hulls have their planes and vertices in tables.

    A shape is (kind, three sizes, first and last row of ``planes``, of ``vertices``). Sizes are
    half x, y, z of a box; radius, half length of a cylinder; radius of a sphere. The whole numbers
    among them are exact in float32.
    """

    shape: Floats  # (m, 8)
    planes: Floats  # (., 4) unit normal n and offset d: inside is n x <= d
    vertices: Floats  # (., 3)


class Moving(NamedTuple):
    """All that moves: convex solids, one a row, on frames of the joint tree.

    The first S rows are hulls of the robot's links. Spheres cover each of them, in three levels:
    the ball around all, a ball around each cluster of some, and the spheres themselves, of which
    none reaches further beyond the hull than the row's excess. Balls are (x, y, z, r) in the row's
    frame.
    """

    solids: Solids
    part: Ints  # (m,) what it belongs to; row r of the first S is part r
    frame: Ints  # (m,) that carries it
    pose: Floats  # (m, 12) in its frame
    ball: Floats  # (m, 4)
    # Pose (12) in the world of what stands still, then from STILL: 1 if it does; from LOW and HIGH:
    # the box around it; from OWNER: 0 for the robot's links, or 1 and more for those of each of its
    # arms if there are several, from BODY on for each attached body: see ``keeps_full_margin``.
    still: Floats  # (m, 20)
    cluster: Ints  # (S + 1,) where each row's clusters begin
    cluster_ball: Floats  # (C, 4)
    cluster_sphere: Ints  # (C + 1,) where each cluster's spheres begin
    sphere: Floats  # (N, 4)
    excess: Floats  # (S,) metres


class Obstacles(NamedTuple):
    """Everything that stands still, in the world frame."""

    solids: Solids
    pose: Floats  # (m, 12)
    low: Floats  # (m, 3) lowest corners of the axis-parallel boxes around them
    high: Floats  # (m, 3) highest corners
    body: Ints  # (m,) which body each belongs to


class KinematicTree(NamedTuple):
    """The joints, and which of them a configuration (k,) moves.

    The joints ``moving`` take their values from the configuration; the rest stay at ``q``.
    """

    q: Doubles  # (n,) rad or m
    moving: Ints  # (k,) indices of joints
    low: Doubles  # (k,) limits
    high: Doubles  # (k,)
    weights: Doubles  # (k,) of the metric |weights * (a - b)|
    step: Doubles  # (k,) between checked states of an edge
    parent: Ints  # (n,) frame that each joint stands on
    fixed: Floats  # (n, 12) pose in the parent's frame at zero; z is the axis
    prismatic: Ints  # (n,) 1 if it slides along z, 0 if it turns about it
    active: Ints  # (.,) joints whose frames move, parents first


class Checks(NamedTuple):
    """What is checked against what, and how near it may come."""

    # What sampled states must keep: to what stands still, and between parts of one arm, metres;
    # then 1 if the hulls decide where spheres are too near, 0 if the spheres do.
    margins: Floats  # (3,)
    rows: Ints  # (.,) of ``Moving``, against what stands still; what hit last comes first
    obstacles: Ints  # (m,) rows of the obstacles that count
    bounds: Floats  # (6, m) their boxes: low x, y, z, high x, y, z; m padded to a multiple of 16
    allowed: NDArray[np.uint8]  # (P, B) whether a part may touch a body
    pairs: Ints  # (., 2) rows of ``Moving`` in ascending order, those with spheres first
    # (P, k) how far a part's points move at most for each radian or metre of each moving joint.
    reach: Floats
    pair_reach: Floats  # (., k) the same for pairs, where the joint moves one of the two only


class Scratch(NamedTuple):
    """Working memory, so that nothing is allocated in a check."""

    # (3, P + pairs) for the current piece of a curve: TRAVEL, a bound on how far each part moves;
    # of parts alone SLACK, what is added to a computed speed for its rounding; and BEND, half a
    # bound on the acceleration, by the curve's parameter.
    travel: Floats
    # (3, .) candidates on three levels: rows of ``Moving`` and ~ rows of obstacles, or indices
    # into what the level above has listed.
    near: Ints
    near_bounds: Floats  # (6, .) columns of ``Checks.bounds`` of the candidates on the first
    work: Doubles  # (n + 5, 12) four poses, then those of all frames
    full: Doubles  # (n,) a configuration, or the joints' spans along an edge
    stack: Doubles  # (., 2) stretches of a curve yet to be proven: middle and half the length
    layout: Ints  # (10,) offsets in ``buffer``
    buffer: Floats  # 16 configurations, their frames, balls and verdicts
    required: Floats  # (2,) metres that this check requires, as the first two of ``margins``
    line: Doubles  # (2, k) coefficients of a straight edge
    answer: Doubles  # (1,) what a proof requires, then where it failed


class KernelArrays(NamedTuple):
    """The tuples that a compiled function gets, as a table of addresses (``packed``)."""

    moving: Moving
    obstacles: Obstacles
    tree: KinematicTree
    checks: Checks
    scratch: Scratch


def listed(arrays: KernelArrays) -> list[NDArray[Any]]:
    """All arrays, in the order of the table's rows."""
    moving, obstacles, tree, checks, scratch = arrays
    solids: list[Any] = [*moving.solids, *moving[1:], *obstacles.solids, *obstacles[1:]]
    return [*solids, *tree, *checks, *scratch]
