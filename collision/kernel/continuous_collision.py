"""Whether edges are free: sampled, to guide a search, or proven, for paths that are returned.

The proof is of a polynomial curve of configurations with a parameter s in [0, 1], of which a
straight edge is the simplest. A stretch of the curve, from s - h to s + h, keeps the required
distance if its middle keeps more than that, by as much as any point can travel from the middle to
either end. A stretch that can't be proven in this way is halved, until all are proven or one is too
short (``_proof``). This is the method of F. Schwarzer, M. Saha, J.-C. Latombe, "Exact collision
checking of robot paths" (2002). Their curves are straight, and their bound on the travel is the
same all along a curve (``set_travel``). There is a second bound here, from the speed in the
stretch's middle, in which joints may cancel each other, and a bound on the acceleration
(``kinematics.travelled``). The lesser of the two counts.

``state_check.any_in_collision`` checks the middles of 16 stretches at once. It adds each one's
travel to the distance that is required of it.

``table`` is made by ``packed.pack``. Planners call these functions by address, so that compiling a
planner does not compile the kernel.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated

import numpy as np

from galley.collision.kernel.arrays import BEND, RATES, ROUNDING, SHARE, SLACK, TRAVEL, WORST, Q
from galley.collision.kernel.narrow_phase import narrow_phase_native
from galley.collision.kernel.packed import (
    PIECE_PROVEN,
    POLYLINE_FREE,
    ROWS,
    SEGMENT_FREE,
    STATE_CHECK,
    double_rows_at,
    doubles_at,
    int_rows_at,
    unpack,
)
from galley.collision.kernel.state_check import state_check_native
from galley.compiled.annotations import Bool, Configuration, Configurations, Float, Lanes, Table
from galley.compiled.jit import bare_kernel, entry, native
from galley.compiled.lanes import LANES, lane_indices, load, minimum, splat, store
from galley.compiled.native import address, call

FINEST = 1e-4  # m of travel from a stretch's middle: if so short and not proven free, it is a hit
_FIRST_STRETCH = 0.06  # m of travel in each stretch with which a proof begins
_EPSILON = 2.0**-22  # relative rounding of one step of evaluating a polynomial in float32
_AXIS_ERROR = 1e-4  # rad, covers the rounding of float32 in the directions of axes


@bare_kernel
def _check_states(table: Table, count: int, early: int) -> bool:
    """``state_check.any_in_collision``, called by its address."""
    return call(table[STATE_CHECK, 0], address(table), count, early, 0) != 0


@bare_kernel
def _fill(table: Table, a: Configuration, b: Configuration, s: Lanes) -> None:
    """Writes the configurations a + s (b - a) for 16 values of s into the buffer."""
    _, _, tree, _, scratch = unpack(table)
    buffer, at = scratch.buffer, scratch.layout[Q]
    for k in range(len(tree.moving)):
        start = splat(np.float32(a[k]))
        store(buffer, at + tree.moving[k] * LANES, start + s * splat(np.float32(b[k] - a[k])))


@bare_kernel
def _fill_curve(table: Table, piece: Configurations, s: Lanes) -> None:
    """Writes the configurations of a polynomial (d + 1, k) at 16 values of s, and its slopes.

    By Horner's rule, for the value and the derivative by s together.
    """
    _, _, tree, _, scratch = unpack(table)
    buffer, at, rates = scratch.buffer, scratch.layout[Q], scratch.layout[RATES]
    for k in range(len(tree.moving)):
        value, slope = splat(np.float32(piece[len(piece) - 1, k])), splat(np.float32(0.0))
        for power in range(len(piece) - 2, -1, -1):
            slope = value + s * slope
            value = splat(np.float32(piece[power, k])) + s * value
        store(buffer, at + tree.moving[k] * LANES, value)
        store(buffer, rates + tree.moving[k] * LANES, slope)


@bare_kernel
def _sample(table: Table) -> None:
    """Prepares checks of single states: they keep the margins, and nothing travels."""
    _, _, _, checks, scratch = unpack(table)
    scratch.required[0], scratch.required[1] = checks.margins[0], checks.margins[1]
    store(scratch.buffer, scratch.layout[SHARE], splat(np.float32(0.0)))


@entry("i8:2 f8:1")
@bare_kernel
def state_free(table: Table, q: Configuration) -> bool:
    """Whether one configuration (k,) keeps the margins."""
    _sample(table)
    _fill(table, q, q, splat(np.float32(0.0)))
    return not _check_states(table, 1, 1)


@entry("i8:2 f8:2 b1:1")
@bare_kernel
def states_free(table: Table, states: Configurations, out: Bool) -> None:
    """Whether each of many configurations (m, k) keeps the margins: fills ``out`` (m,)."""
    _, _, tree, _, scratch = unpack(table)
    _sample(table)
    buffer, at = scratch.buffer, scratch.layout[Q]
    worst = scratch.layout[WORST]
    m = len(states)
    for first in range(0, m, LANES):
        count = min(LANES, m - first)
        for k in range(len(tree.moving)):
            for lane in range(LANES):
                # Spare lanes repeat the last state: 16 are computed in any case.
                row = first + min(lane, count - 1)
                buffer[at + tree.moving[k] * LANES + lane] = states[row, k]
        _check_states(table, count, 0)
        for lane in range(count):
            out[first + lane] = buffer[worst + lane] >= 0.0


@bare_kernel
def edge_states(table: Table, a: Configuration, b: Configuration) -> int:
    """How many states of the edge from a to b are checked: b and those before it, without a."""
    _, _, tree, _, _ = unpack(table)
    steps = 0.0
    for k in range(len(tree.moving)):
        steps = max(steps, abs(b[k] - a[k]) / tree.step[k])
    # A whole number of steps that rounding has put a little higher needs no extra state.
    return max(1, int(np.ceil(steps - 1e-9)))


@bare_kernel
def segment_free(table: Table, a: Configuration, b: Configuration) -> bool:
    """Whether the states of the edge from a to b, a step apart, are free; a is left out."""
    return call(table[SEGMENT_FREE, 0], address(table), address(a), address(b), 0) != 0


@bare_kernel
def polyline_free(table: Table, points: Configurations, n: int) -> bool:
    """``segment_free`` of the edges between the first n rows of ``points`` (., k), n at least 2.

    Short edges share batches of states.
    """
    return call(table[POLYLINE_FREE, 0], address(table), address(points), n, 0) != 0


@entry("i8:2 f8:2 f8:2 b1:1")
@bare_kernel
def segments_free(table: Table, A: Configurations, B: Configurations, out: Bool) -> None:
    """``segment_free`` of many edges, from the rows of A (m, k) to those of B: fills ``out``."""
    for k in range(len(A)):
        out[k] = segment_free(table, A[k], B[k])


@bare_kernel
def set_travel(table: Table, piece: Configurations, span: Configuration) -> float:
    """Fills ``scratch.travel`` for a curve; returns the largest bound (m) on travel.

    A point x of a part moves by dx/dq_k, at most its reach, for each joint k. Its acceleration is
    the sum of d2x/dq_j dq_k q_j' q_k' and of dx/dq_k q_k''. For j nearer the base than
    k, or k itself, that second derivative is at most the reach of k: it is z_j x (z_k x (x - o_k)),
    or z_j x z_k if k slides, or zero if j slides.

    Args:
        piece: (d + 1, k) coefficients, lowest power first, of a parameter in [0, 1].
        span: (k,) bounds on the magnitude of each joint's derivative there.
    """
    _, _, tree, checks, scratch = unpack(table)
    largest = 0.0
    P = len(checks.reach)
    for row in range(3):
        for p in range(P):
            scratch.travel[row, p] = 0.0
    for k in range(len(tree.moving)):
        # Half the acceleration is wanted. Of the products of rates, q_k' q_k' occurs once and
        # q_j' q_k' twice; each counts with the outer joint, so joint k takes those before it.
        within = 0.5 * span[k]
        for j in range(len(tree.moving)):
            if tree.moving[j] < tree.moving[k]:
                within += span[j]
        bend, sizes = span[k] * within, 0.0
        for power in range(1, len(piece)):
            size = power * abs(piece[power, k])
            sizes += size
            bend += 0.5 * (power - 1) * size  # of q_k'', whose coefficients are these
        # The computed speed is wrong by the rounding of the axis, of the joint's rate, and of the
        # distance from the axis.
        slack = _AXIS_ERROR * span[k] + len(piece) * _EPSILON * sizes
        for p in range(P):
            reach = checks.reach[p, k]
            if reach > 0.0:
                scratch.travel[TRAVEL, p] += span[k] * reach
                scratch.travel[SLACK, p] += slack * reach + ROUNDING * span[k]
                scratch.travel[BEND, p] += bend * reach
    for p in range(P):
        largest = max(largest, scratch.travel[TRAVEL, p])
    # Two parts approach each other only by joints that move one of them: bounds of their own.
    for m in range(len(checks.pairs)):
        travel = 0.0
        for k in range(len(tree.moving)):
            travel += span[k] * checks.pair_reach[m, k]
        scratch.travel[TRAVEL, P + m] = travel
        largest = max(largest, travel)
    return largest


@bare_kernel
def segment_proven(
    table: Table, a: Configuration, b: Configuration, required: float
) -> tuple[float, int]:
    """Proof that the whole edge from a to b, both ends included, keeps ``required`` metres.

    Returns:
        (hit, states): -1.0 if it is proven, else the share in [0, 1] at which the stretch begins
        that could not be proven; and how many states were checked.
    """
    _, _, tree, _, scratch = unpack(table)
    for k in range(len(tree.moving)):
        # As a polynomial, a + s (b - a), whose derivative is the same everywhere.
        scratch.line[0, k], scratch.line[1, k] = a[k], b[k] - a[k]
        scratch.full[k] = abs(b[k] - a[k])
    return piece_proven(table, scratch.line, scratch.full, required)


@bare_kernel
def piece_proven(
    table: Table, piece: Configurations, span: Configuration, required: float
) -> tuple[float, int]:
    """Proof that all of a polynomial curve, both ends included, keeps ``required`` metres.

    Args:
        piece: (d + 1, k) coefficients, lowest power first, of a parameter in [0, 1].
        span: (k,) or more: bounds on the magnitude of each joint's derivative there.

    Returns:
        (hit, states), as ``segment_proven``.
    """
    _, _, _, _, scratch = unpack(table)
    # A native function takes and returns integers: ``answer`` carries the number in and out.
    scratch.answer[0] = required
    states = call(table[PIECE_PROVEN, 0], address(table), address(piece), address(span), len(piece))
    return scratch.answer[0], states


@bare_kernel
def _proof(table: Table, piece: Configurations, largest: float) -> tuple[float, int]:
    """The proof of a curve whose travel is in ``scratch.travel``: halves stretches on a stack.

    A row of the stack is a stretch: its middle s and half its length h, of the parameter.

    Args:
        largest: bound (m) on the travel of anything along the curve.

    Returns:
        (hit, states), as ``segment_proven``.
    """
    _, _, _, _, scratch = unpack(table)
    buffer, stack = scratch.buffer, scratch.stack
    shares, worst = scratch.layout[SHARE], scratch.layout[WORST]
    size = min(LANES, max(1, int(np.ceil(largest / _FIRST_STRETCH))))
    for k in range(size):  # the stretches nearest to the beginning lie on top
        stack[k, 0] = (size - k - 0.5) / size
        stack[k, 1] = 0.5 / size
    states = 0
    while size > 0:
        # The top 16 stretches, one a lane; lanes to spare repeat the last.
        count = min(size, LANES)
        size -= count
        for lane in range(LANES):
            row = size + min(lane, count - 1)
            # WORST is free until the verdicts are written there. Rounding to float32 may shorten
            # a stretch, and must not.
            buffer[worst + lane] = stack[row, 0]
            buffer[shares + lane] = stack[row, 1] * (1.0 + 1e-6)
        _fill_curve(table, piece, load(buffer, worst))
        states += count
        if not _check_states(table, count, 0):
            continue  # all of these are proven
        # The halves of what is not proven go back on the stack, by way of free rows: they may
        # land on rows that are still to be read.
        base = size + LANES
        pushed = 0
        for lane in range(count):
            if buffer[worst + lane] >= 0.0:
                continue  # this one is proven
            middle, half = stack[size + lane, 0], stack[size + lane, 1]
            # Too short to be halved further, or the stack is full: no proof.
            if half * largest < FINEST or base + pushed + 2 > len(stack):
                return max(0.0, middle - half), states
            stack[base + pushed, 0], stack[base + pushed, 1] = middle - 0.5 * half, 0.5 * half
            stack[base + pushed + 1, 0] = middle + 0.5 * half
            stack[base + pushed + 1, 1] = 0.5 * half
            pushed += 2
        for k in range(pushed):
            stack[size + k, 0] = stack[base + k, 0]
            stack[size + k, 1] = stack[base + k, 1]
        size += pushed
    return -1.0, states


@entry("i8:2 f8:2 f8")
@bare_kernel
def path_proven(table: Table, points: Configurations, required: float) -> tuple[int, float, int]:
    """``segment_proven`` for a path's edges (n, k): (edge, share, states); edge -1 if proven."""
    states = 0
    for k in range(max(1, len(points) - 1)):  # a path of one point has an edge to itself
        after = points[min(k + 1, len(points) - 1)]
        hit, checked = segment_proven(table, points[k], after, required)
        states += checked
        if hit >= 0.0:
            return k, hit, states
    return -1, 0.0, states


@entry("i8:2 f8:3 f8:2 f8")
@bare_kernel
def curve_proven(
    table: Table, pieces: Annotated[Float, "n d+1 k"], spans: Configurations, required: float
) -> tuple[int, float, int]:
    """``piece_proven`` for the pieces (n, d + 1, k) of a curve: (piece, share, states).

    ``spans`` (n, k) are those of the pieces. The piece is -1 if all are proven.
    """
    states = 0
    for k in range(len(pieces)):
        hit, checked = piece_proven(table, pieces[k], spans[k], required)
        states += checked
        if hit >= 0.0:
            return k, hit, states
    return -1, 0.0, states


@native(4)
def segment_free_native(place: int, start: int, end: int, unused: int) -> int:
    """``segment_free``, of the table at ``place`` and configurations by their addresses."""
    table = int_rows_at(place, ROWS, 3)
    _, _, tree, _, _ = unpack(table)
    a, b = doubles_at(start, len(tree.moving), 0), doubles_at(end, len(tree.moving), 0)
    n = edge_states(table, a, b)
    batches = (n + LANES - 1) // LANES
    _sample(table)
    for batch in range(batches):
        # Each batch spreads over the whole edge, so that a collision shows in an early one.
        share = lane_indices() * splat(np.float32(batches / n)) + splat(np.float32((1 + batch) / n))
        _fill(table, a, b, minimum(share, splat(np.float32(1.0))))
        if _check_states(table, min(LANES, n), 1):
            return 0
    return 1


@native(4)
def polyline_free_native(place: int, rows: int, n: int, unused: int) -> int:
    """``polyline_free``, of the table at ``place`` and n points at the address ``rows``."""
    table = int_rows_at(place, ROWS, 3)
    _, _, tree, _, scratch = unpack(table)
    points = double_rows_at(rows, n, len(tree.moving))
    buffer, at = scratch.buffer, scratch.layout[Q]
    _sample(table)
    total = 0
    for i in range(n - 1):
        total += edge_states(table, points[i], points[i + 1])
    batches = (total + LANES - 1) // LANES
    for batch in range(batches):
        # Each batch spreads over the whole line. Its states ascend, so the edges are passed once:
        # ``before`` states lie on edges before this one.
        edge, before = 0, 0
        steps = edge_states(table, points[0], points[1])
        for lane in range(LANES):
            state = min(batch + lane * batches, total - 1)
            while state >= before + steps:
                before += steps
                edge += 1
                steps = edge_states(table, points[edge], points[edge + 1])
            a, b, share = points[edge], points[edge + 1], (state + 1 - before) / steps
            for k in range(len(tree.moving)):
                buffer[at + tree.moving[k] * LANES + lane] = a[k] + share * (b[k] - a[k])
        if _check_states(table, min(LANES, total), 1):
            return 0
    return 1


@native(4)
def piece_proven_native(place: int, coefficients: int, spans: int, rows: int) -> int:
    """``piece_proven`` of ``rows`` coefficients and spans, by address; returns the states.

    ``answer`` holds what is required, then the hit.
    """
    table = int_rows_at(place, ROWS, 3)
    _, _, tree, checks, scratch = unpack(table)
    k = len(tree.moving)
    piece = double_rows_at(coefficients, rows, k)
    largest = set_travel(table, piece, doubles_at(spans, k, 0))
    scratch.required[0] = scratch.answer[0] + ROUNDING
    # Between parts, half of what sampled states keep is proven, so that what a search finds can
    # be proven at all.
    scratch.required[1] = np.float32(0.5) * checks.margins[1] + np.float32(ROUNDING)
    scratch.answer[0], states = _proof(table, piece, largest)
    return states


@cache
def functions() -> tuple[int, ...]:
    """Addresses of the native functions, in the order in which ``packed.pack`` takes them."""
    natives = (
        state_check_native,
        segment_free_native,
        polyline_free_native,
        piece_proven_native,
        narrow_phase_native,
    )
    return tuple(native_function.address for native_function in natives)
