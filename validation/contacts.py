"""Recorded contacts: what the robot, or what it held, touched although it must not.

In physics hardly anything penetrates: bumping into something shows as a force.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from galley.domain.log import OUTSIDE, Log
from galley.domain.scene import Scene
from galley.robots.model import RobotModel
from galley.validation.circumstances import noticed
from galley.validation.replay import allowed_pairs
from galley.validation.stage import ordered
from galley.validation.tolerances import Tolerances
from galley.validation.verdict import Pair, Violation


@dataclass(frozen=True)
class Bumps:
    """Largest force (N) of an undeclared contact, and the violations.

    A link and an item that meet in a motion after which was planned anew are ``events``: it may
    have slipped, or stood elsewhere than was thought.
    """

    most: float
    violations: tuple[Violation, ...]
    events: tuple[Violation, ...]


def bumps(scene: Scene, robot: RobotModel, log: Log, tolerances: Tolerances) -> Bumps:
    """Contacts of undeclared pairs, one of them a robot's link or an item while it is held."""
    links = set(robot.links)
    allowed = allowed_pairs(log)
    items = [item.name for item in scene.items]
    never = robot.allowed_self_collisions
    names = [str(name) for name in log.names]
    known = {(i, j): ordered(names[i], names[j]) for i, j in np.unique(log.contact_pair, axis=0)}
    most: dict[tuple[Pair, bool], tuple[float, float]] = {}
    made_good = noticed(log)
    for c in np.flatnonzero(log.contact_force > 0.0):  # not where it is unknown
        force, step = float(log.contact_force[c]), int(log.contact_step[c])
        pair = known[int(log.contact_pair[c, 0]), int(log.contact_pair[c, 1])]
        held = int(log.held[step])
        ours = links if held < 0 else links | {items[held]}
        if not ours & set(pair) or pair in allowed[step] or pair in never or OUTSIDE in pair:
            continue
        excused = bool(made_good[log.motion[step]]) and any(name in items for name in pair)
        when, largest = most.get((pair, excused), (float(log.time[step]), 0.0))
        if largest <= tolerances.force < force:
            when = float(log.time[step])
        most[pair, excused] = (when, max(largest, force))
    found: dict[bool, list[Violation]] = {False: [], True: []}
    for ((a, b), excused), (when, force) in most.items():
        if force > tolerances.force:
            what = f"{a} is pushed against {b} with {force:.1f} N"
            found[excused].append(Violation(when, what, "contact"))
    largest = max((force for _, force in most.values()), default=0.0)
    return Bumps(largest, tuple(found[False]), tuple(found[True]))
