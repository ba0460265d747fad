"""Checks recorded contact forces: those of unexpected contacts, and those beyond a motion's guard.

In simulated physics bodies hardly penetrate, so a collision shows as a recorded force.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from galley.domain.log import OUTSIDE, Log
from galley.domain.scene.model import Scene
from galley.robots.model import RobotModel
from galley.validation.replay_world import ordered_pair
from galley.validation.sample_masks import ends_in_recovery
from galley.validation.tolerances import Tolerances
from galley.validation.verdict import Pair, Violation


def contact_pairs(log: Log) -> list[Pair]:
    """The names of the two bodies of each recorded contact, in alphabetical order."""
    names = log.names.tolist()
    return [ordered_pair(names[i], names[j]) for i, j in log.contact_pair.tolist()]


def declared_pairs(log: Log) -> list[frozenset[Pair]]:
    """The pairs that may touch in each motion: the contacts that the log declares for it."""
    by_motion: list[set[Pair]] = [set() for _ in log.motions]
    for k, a, b in log.declared.tolist():
        by_motion[int(k)].add(ordered_pair(a, b))
    return [frozenset(pairs) for pairs in by_motion]


def allowed_pairs(log: Log) -> list[frozenset[Pair]]:
    """The pairs that may touch in each sample.

    In the samples before and after a change of motion, the pairs of both motions may touch.
    """
    declared = declared_pairs(log)
    pairs_at = [declared[k] for k in log.motion]
    for k in np.flatnonzero(np.diff(log.motion)):
        both = declared[log.motion[k]] | declared[log.motion[k + 1]]
        pairs_at[k], pairs_at[k + 1] = pairs_at[k] | both, pairs_at[k + 1] | both
    return pairs_at


def check_contact_forces(
    scene: Scene, robot: RobotModel, log: Log, pairs: Sequence[Pair], tolerances: Tolerances
) -> tuple[float, list[Violation], list[Violation]]:
    """Check recorded forces on robot links and held items from unexpected contacts.

    Args:
        scene: the scene of the run.
        robot: the robot's model.
        log: the log of the run.
        pairs: the names of the two bodies of each contact, see ``contact_pairs``.
        tolerances: ``force`` is the largest force (N) that is no violation.

    Returns:
        The largest force (N), the violations, and the events. An event is a contact with an item in
        a motion that ended in a recovery: the item may have slipped, or stood elsewhere.
    """
    links, items = set(robot.links), [item.name for item in scene.items]
    allowed, recovered = allowed_pairs(log), ends_in_recovery(log)
    largest = 0.0
    first: dict[tuple[Pair, bool], float] = {}  # s at which a pair is first pushed too hard
    most: defaultdict[tuple[Pair, bool], float] = defaultdict(float)
    steps, forces = log.contact_step.tolist(), log.contact_force.tolist()
    for pair, step, force in zip(pairs, steps, forces, strict=True):
        if pair in allowed[step] or pair in robot.allowed_self_collisions or OUTSIDE in pair:
            continue
        held = {items[k] for k in log.holds[step] if k >= 0}
        if not force > 0.0 or not (links | held) & set(pair):
            continue  # no force or NaN; or two bodies that the robot doesn't move
        largest = max(largest, force)
        if force > tolerances.force:
            key = pair, bool(recovered[log.motion[step]]) and not set(items).isdisjoint(pair)
            first.setdefault(key, float(log.time[step]))
            most[key] = max(most[key], force)
    reports: dict[bool, list[Violation]] = {False: [], True: []}
    for ((a, b), excused), force in most.items():
        what = f"{a} is pushed against {b} with {force:.1f} N"
        reports[excused].append(Violation(first[(a, b), excused], what, "contact"))
    return largest, reports[False], reports[True]


def check_guarded_forces(
    scene: Scene, robot: RobotModel, log: Log, pairs: Sequence[Pair], tolerances: Tolerances
) -> tuple[Violation, ...]:
    """Check the forces of allowed contacts against the guard of each motion.

    The guard ends the motion at its force; the contact may exceed that force by a tolerance until
    the arm has stopped. The force on a body in a sample is the sum over the hand's links and the
    items that it holds. A gripped handle is left out: the fingers press on it by their own force.

    Args:
        scene: the scene of the run.
        robot: the robot's model.
        log: the log of the run.
        pairs: the names of the two bodies of each contact, see ``contact_pairs``.
        tolerances: ``overshoot``, ``overshoot_share`` and ``overshoot_held`` bound the excess.

    Returns:
        For each motion at most one violation, of the largest force.
    """
    links, items = set(robot.links), [item.name for item in scene.items]
    motion_of, violations = log.motion[log.contact_step], []
    gripped: set[Pair] = set()
    for k, declared in enumerate(declared_pairs(log)):
        own = np.flatnonzero(motion_of == k).tolist()
        # A grip begins with the motion that ended in one, and ends with the first motion in which
        # the pair has no contact.
        if str(log.ends[k]).startswith("grip"):
            gripped = {pair for pair in declared if not links.isdisjoint(pair)}
        gripped &= {pairs[c] for c in own}
        share = tolerances.overshoot_share * log.guards[k]
        sums: defaultdict[tuple[int, str], float] = defaultdict(float)
        for c in own:
            if pairs[c] in declared and pairs[c] not in gripped:
                step = int(log.contact_step[c])
                hand = links | {items[held] for held in log.holds[step] if held >= 0}
                others = [name for name in pairs[c] if name not in hand]
                if len(others) == 1:
                    sums[step, others[0]] += float(log.contact_force[c])
        (step, other), force = max(sums.items(), key=lambda entry: entry[1], default=((0, ""), 0))
        holding = (log.holds[step] >= 0).any()
        least = tolerances.overshoot_held if holding else tolerances.overshoot
        bound = log.guards[k] + max(least, share)
        if force > bound:  # False without a guard, whose force is NaN
            what = (
                f"the hand presses on {other} with {force:.0f} N; the motion's guard stops at"
                f" {log.guards[k]:.0f} N, and up to {bound:.0f} N are allowed"
            )
            violations.append(Violation(float(log.time[step]), what, "contact"))
    return tuple(violations)
