"""The landmark-cut heuristic on flat arrays, compiled by Numba. Import it late: that takes time.

Helmert and Domshlak, "Landmarks, critical paths and abstractions: what's the difference anyway?"
(2009). The justification graph leads from the dearest precondition of each operator to its
effects. The operators that cross from what is reached for certain into the zone from which the
goal is free are a landmark: every plan uses one. Its least cost is counted and taken off.

Costs belong to actions, not to their parts: where a landmark holds one part of an action, all its
parts get cheaper. So the sum never counts an action's cost twice, and stays admissible for
conditional effects (Röger, Pommerening and Helmert, "Optimal planning in the presence of
conditional effects", 2014, where this is the plain way).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from galley.compiled.jit import entry, kernel

_UNKNOWN, _GOAL, _BEHIND = 0, 1, 2  # zones: the goal's, and what is reached through it alone
UNREACHED = np.int64(1 << 60)


@kernel
def _push(heap: Any, size: int, key: Any) -> int:
    """Adds ``key`` to a binary heap and returns its size."""
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
    """Whether the justification graph leads to ``start`` without the goal zone.

    It does so to all that costs less than the goal, since nothing in the goal zone does. That is
    why a search backwards, which is over soon, does for the one forwards through all that is
    reached, as which this is mostly described.
    """
    if zone[start] == _BEHIND:
        return False
    stack[base] = start
    zone[start] = _BEHIND  # unless found otherwise
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
    """Takes the least key, ``heap[0]``, off a binary heap and returns its size."""
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
    operators: Any,  # columns: first of pre, first of add, owner; one row more than operators
    pre: Any,
    add: Any,
    readers: Any,  # rows of (start, end) into ``read_by``, for each proposition
    read_by: Any,
    adders: Any,  # the same for the operators that add it
    added_by: Any,
    parts: Any,  # the same for the operators of each owner
    part_of: Any,
    base_cost: Any,  # of each operator
    heap: Any,
) -> int:
    """The heuristic's value, -1 for a dead end."""
    count = readers.shape[0]
    bits = 0  # a heap's key is a value and below it, in so many bits, a proposition
    while (1 << bits) < count:
        bits += 1
    low = (1 << bits) - 1
    total_operators = operators.shape[0] - 1
    cost = base_cost.copy()  # of each operator: what is left of its owner's
    value = np.full(count, UNREACHED, np.int64)
    missing = np.empty(total_operators, np.int32)
    supporter = np.full(total_operators, -1, np.int32)
    support = np.zeros(total_operators, np.int64)  # the supporter's value
    zone = np.empty(count, np.int8)
    entered = np.zeros(total_operators, np.int32)  # the round in which it was looked at for a cut
    rounds = 0
    stack = np.empty(count, np.int32)  # the zone, and above it the stack of a search
    cut = np.empty(total_operators, np.int32)
    queue = np.empty(count, np.int32)  # a ring of propositions whose value has fallen
    waits = np.zeros(count, np.bool_)  # whether they are in it
    for o in range(total_operators):
        missing[o] = operators[o + 1, 0] - operators[o, 0]
    size = 0
    for i in range(true_count):
        value[true[i]] = 0
        size = _push(heap, size, np.int64(true[i]))
    # h_max: a proposition costs as much as the dearest precondition of the cheapest operator.
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
        # The zone from which the goal costs nothing more.
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
        # The operators that enter it from where one gets without it.
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
        # Each owner once, however many of its parts are in the cut: others are marked by -1.
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
        # Values that fall make the operators cheaper of which they are the dearest precondition.
        # No order is needed for that: each proposition is looked at again whenever it falls.
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
                dearest = pre[operators[o, 0]]
                for j in range(operators[o, 0] + 1, operators[o + 1, 0]):
                    if value[pre[j]] > value[dearest]:
                        dearest = pre[j]
                supporter[o] = dearest
                if value[dearest] == support[o]:
                    continue
                support[o] = value[dearest]
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
