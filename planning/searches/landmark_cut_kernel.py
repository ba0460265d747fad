"""The landmark-cut heuristic on flat arrays, compiled by Numba. Import it late: that takes time.

Helmert and Domshlak, "Landmarks, critical paths and abstractions: what's the difference anyway?"
(2009). The justification graph has an arc from the supporter of each operator, its precondition of
highest h_max, to each of its effects. The goal zone are the propositions from which the goal is
reached at cost 0. The operators that enter it from propositions reachable without it are a
disjunctive action landmark. Its least cost is added to the heuristic and subtracted from the
operators.

Costs belong to actions: if a landmark contains one part of an action, all its parts become cheaper.
So no cost is counted twice, and the heuristic is admissible with conditional effects (Röger,
Pommerening and Helmert, "Optimal planning in the presence of conditional effects", 2014, the basic
variant).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from galley.compiled.jit import entry, kernel

_UNKNOWN, _GOAL, _BEHIND = 0, 1, 2  # the goal zone, and what is reachable only through it
UNREACHED = np.int64(1 << 60)


@kernel
def _push(heap: Any, size: int, key: Any) -> int:
    """Pushes ``key`` onto a binary heap; returns the new size."""
    place = size
    while place > 0:
        above = (place - 1) >> 1
        if heap[above] <= key:
            break
        heap[place] = heap[above]
        place = above
    heap[place] = key
    return size + 1


@kernel
def _outside(
    start: int,
    value: Any,
    goal_value: int,
    zone: Any,
    stack: Any,
    base: int,
    adders: Any,
    added_by: Any,
    supporter: Any,
) -> bool:
    """Whether ``start`` is reachable in the justification graph without the goal zone.

    This holds for every proposition cheaper than the goal, as none in the goal zone is. So a short
    backward search replaces the usual forward exploration.
    """
    if zone[start] == _BEHIND:
        return False
    stack[base] = start
    zone[start] = _BEHIND  # until proven otherwise
    size = base + 1
    place = base
    while place < size:
        p = stack[place]
        place += 1
        for i in range(adders[p, 0], adders[p, 1]):
            s = supporter[added_by[i]]
            if s < 0 or zone[s] != _UNKNOWN:
                continue
            if value[s] < goal_value:
                for k in range(base, size):
                    zone[stack[k]] = _UNKNOWN
                return True
            zone[s] = _BEHIND
            stack[size] = s
            size += 1
    return False


@kernel
def _drop(heap: Any, size: int) -> int:
    """Pops the least key, ``heap[0]``, off a binary heap; returns the new size."""
    size -= 1
    key = heap[size]
    place = 0
    while True:
        below = 2 * place + 1
        if below >= size:
            break
        if below + 1 < size and heap[below + 1] < heap[below]:
            below += 1
        if heap[below] >= key:
            break
        heap[place] = heap[below]
        place = below
    heap[place] = key
    return size


@entry("i4:1 i8 i8 i4:2 i4:1 i4:1 i4:2 i4:1 i4:2 i4:1 i4:2 i4:1 i8:1 i8:1")
@kernel
def landmark_cut(
    true: Any,  # propositions that hold
    true_count: int,
    goal: int,  # the proposition that is the goal
    operators: Any,  # columns: start in pre, start in add, owner; one row more than operators
    pre: Any,
    add: Any,
    readers: Any,  # rows of (start, end) into ``read_by``, for each proposition
    read_by: Any,
    adders: Any,  # the same for the operators that add each proposition
    added_by: Any,
    parts: Any,  # the same for the operators of each owner
    part_of: Any,
    base_cost: Any,  # of each operator
    heap: Any,
) -> int:
    """The heuristic's value, -1 for a dead end."""
    count = readers.shape[0]
    bits = 0  # of a proposition, the lower part of a heap key; the upper part is its value
    while (1 << bits) < count:
        bits += 1
    low = (1 << bits) - 1
    total_operators = operators.shape[0] - 1
    cost = base_cost.copy()  # remaining cost of each operator
    value = np.full(count, UNREACHED, np.int64)
    missing = np.empty(total_operators, np.int32)
    supporter = np.full(total_operators, -1, np.int32)
    support = np.zeros(total_operators, np.int64)  # the supporter's value
    zone = np.empty(count, np.int8)
    entered = np.zeros(total_operators, np.int32)  # the round in which it was last tested for a cut
    rounds = 0
    stack = np.empty(count, np.int32)  # the goal zone, and above it the stack of a search
    cut = np.empty(total_operators, np.int32)
    queue = np.empty(count, np.int32)  # ring buffer of propositions whose value has decreased
    waits = np.zeros(count, np.bool_)  # whether they are in the queue
    for o in range(total_operators):
        missing[o] = operators[o + 1, 0] - operators[o, 0]
    size = 0
    for i in range(true_count):
        value[true[i]] = 0
        size = _push(heap, size, np.int64(true[i]))
    # h_max: the cheapest achiever's cost plus the value of its most expensive precondition.
    while size:
        key = heap[0]
        size = _drop(heap, size)
        p = key & low
        v = key >> bits
        if v > value[p]:
            continue
        for i in range(readers[p, 0], readers[p, 1]):
            o = read_by[i]
            missing[o] -= 1
            if missing[o] == 0:
                supporter[o] = p
                support[o] = v
                t = v + cost[o]
                for j in range(operators[o, 1], operators[o + 1, 1]):
                    q = add[j]
                    if t < value[q]:
                        value[q] = t
                        size = _push(heap, size, (t << bits) | q)
    if value[goal] == UNREACHED:
        return -1
    total = 0
    while value[goal] > 0:
        # The goal zone: propositions from which the goal is reached at cost 0.
        zone[:] = _UNKNOWN
        zone[goal] = _GOAL
        stack[0] = goal
        zone_size = 1
        place = 0
        while place < zone_size:
            p = stack[place]
            place += 1
            for i in range(adders[p, 0], adders[p, 1]):
                o = added_by[i]
                s = supporter[o]
                if s >= 0 and cost[o] == 0 and zone[s] != _GOAL:
                    zone[s] = _GOAL
                    stack[zone_size] = s
                    zone_size += 1
        # The cut: operators that enter the zone from propositions reachable without it.
        cut_size = 0
        least: Any = UNREACHED
        rounds += 1
        for place in range(zone_size):
            p = stack[place]
            for i in range(adders[p, 0], adders[p, 1]):
                o = added_by[i]
                s = supporter[o]
                if s < 0 or entered[o] == rounds or zone[s] == _GOAL:
                    continue
                entered[o] = rounds
                if value[s] < value[goal] or _outside(
                    s, value, value[goal], zone, stack, zone_size, adders, added_by, supporter
                ):
                    cut[cut_size] = o
                    cut_size += 1
                    if cost[o] < least:
                        least = cost[o]
        total += least
        # The distinct owners of the cut.
        owners = 0
        for i in range(cut_size):
            owner = operators[cut[i], 2]
            seen = False
            for k in range(owners):
                if cut[k] == owner:
                    seen = True
                    break
            if not seen:
                cut[owners] = owner
                owners += 1
        # Incremental h_max: decreased values propagate through the operators they support, in any
        # order, since a proposition is queued again whenever it decreases.
        first = last = waiting = 0
        for i in range(owners):
            owner = cut[i]
            for k in range(parts[owner, 0], parts[owner, 1]):
                o = part_of[k]
                cost[o] -= least
                if supporter[o] < 0:
                    continue
                t = support[o] + cost[o]
                for j in range(operators[o, 1], operators[o + 1, 1]):
                    q = add[j]
                    if t < value[q]:
                        value[q] = t
                        if not waits[q]:
                            waits[q] = True
                            queue[last] = q
                            last = last + 1 if last + 1 < count else 0
                            waiting += 1
        while waiting:
            waiting -= 1
            p = queue[first]
            first = first + 1 if first + 1 < count else 0
            waits[p] = False
            v = value[p]
            for i in range(readers[p, 0], readers[p, 1]):
                o = read_by[i]
                if supporter[o] != p or support[o] <= v:
                    continue
                supporting = pre[operators[o, 0]]
                for j in range(operators[o, 0] + 1, operators[o + 1, 0]):
                    if value[pre[j]] > value[supporting]:
                        supporting = pre[j]
                supporter[o] = supporting
                if value[supporting] == support[o]:
                    continue
                support[o] = value[supporting]
                t = support[o] + cost[o]
                for j in range(operators[o, 1], operators[o + 1, 1]):
                    q = add[j]
                    if t < value[q]:
                        value[q] = t
                        if not waits[q]:
                            waits[q] = True
                            queue[last] = q
                            last = last + 1 if last + 1 < count else 0
                            waiting += 1
    return total
