"""Looks for a way to run manipulations at every point of a grid, deterministically.

The planner's own tests in the planner's own order: arm configurations, the contact, the lines. A
hand in collision at a contact is so wherever the base stands, so that it is looked at but once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array, inverse
from galley.domain.state import State
from galley.reachability.arm import configurations, follow, reachable_bases
from galley.robots.panda import X_FH, stretch
from galley.robots.panda_ik import A7, D1, DF, LIMITS
from galley.skills.lines import run_through
from galley.skills.manipulation import Line, Manipulation
from galley.skills.proof import CONTACT_MARGIN, grip
from galley.skills.tally import Tally
from galley.skills.workbench import Workbench
from galley.worlds.checker import MARGIN, Contact

_X_HF = inverse(X_FH)
_LOOKS = 24  # of the configurations in collision that are asked what they touch, a manipulation
_BATCH = 48  # base poses whose configurations are checked at a time
_INSET = 0.01  # rad, off the limits of joint 7


@dataclass
class Outcome:
    """What a grid holds.

    Attributes:
        bases: base poses in the grid. free: those where the robot finds room, the arm folded.
        kinematic: pairs of a manipulation and a base pose from which the arm reaches its contact.
        in_collision: arm configurations at contacts that touch what they must not.
        followed: how often lines were followed and checked.
        solutions: 1 if the search ended with one, else 0.
        complete: False where it ended before the grid did.
        blockers: what is in the way, how often.
    """

    bases: int = 0
    free: int = 0
    kinematic: int = 0
    in_collision: int = 0
    followed: int = 0
    solutions: int = 0
    complete: bool = True
    blockers: Counter[str] = field(default_factory=Counter)

    def counts(self) -> dict[str, int]:
        """The figures for a certificate."""
        names = ("bases", "free", "kinematic", "in_collision", "followed")
        return {name: int(getattr(self, name)) for name in names}


def search(
    bench: Workbench,
    state: State,
    ways: Sequence[Manipulation],
    bases: Array,
    arm: Array,
    joint7: int,
    lines: int,
) -> Outcome:
    """Every manipulation from every base pose (m, 3); ends at the first solution.

    Args:
        arm: the folded configuration (7,) in which the base arrives.
        joint7: values of joint 7 that are solved for.
        lines: how often lines are followed, at most.
    """
    found = Outcome(bases=len(bases))
    robot, spec = bench.robot, bench.scene.robot.base
    checker = bench.checker(state, grip(bench, state))
    Q = np.repeat(state.q[None], len(bases), axis=0)
    Q[:, robot.slice("base")] = bases
    Q[:, robot.slice("arm")] = arm
    free = checker.free_many(Q) if len(bases) else np.zeros(0, dtype=bool)
    found.free = int(free.sum())
    q7 = np.linspace(LIMITS.lower[6] + _INSET, LIMITS.upper[6] - _INSET, joint7)
    tally = Tally()
    for way in ways:
        near = np.flatnonzero(_in_ring(bench, way, bases))
        reached = near[reachable_bases(way.contact, bases[near], spec, q7)] if len(near) else near
        found.kinematic += len(reached)
        usable = reached[free[reached]]
        for k in _spread(reached[~free[reached]], _LOOKS if not len(usable) else 4):
            found.blockers.update(_named(bench, checker.contacts(Q[k])[:1]))
        if not len(usable):
            continue
        hits = _hand_hits(bench, way, bases[usable[0]], q7)
        if hits:
            found.blockers.update(dict.fromkeys(sorted(hits), len(usable)))
            found.in_collision += len(usable)
            continue
        for begin in range(0, len(usable), _BATCH):
            if _try(bench, way, bases[usable[begin : begin + _BATCH]], q7, lines, tally, found):
                return found
            if not found.complete:
                return found
    found.blockers.update(tally.bodies())
    return found


def _try(
    bench: Workbench,
    way: Manipulation,
    bases: Array,
    q7: Array,
    lines: int,
    tally: Tally,
    found: Outcome,
) -> bool:
    """One manipulation from some base poses: whether it can be run from one of them."""
    robot, spec, line = bench.robot, bench.scene.robot.base, _first(way)
    arms = [configurations(way.contact, base, spec, q7) for base in bases]
    owner = np.repeat(np.arange(len(bases)), [len(a) for a in arms])
    Q = np.empty((len(owner), robot.size))
    Q[:, robot.slice("base")] = bases[owner]
    Q[:, robot.slice("arm")] = np.concatenate(arms)
    Q[:, robot.slice("fingers")] = way.opening
    scene_q = None if line.scene_q is None else np.repeat(line.scene_q[-1:], len(Q), axis=0)
    checker = bench.checker(line.state, line.allowed, CONTACT_MARGIN)
    free = checker.free_many(Q, scene_q)
    found.in_collision += int((~free).sum())
    for k in _spread(np.flatnonzero(~free), 4):
        value = None if scene_q is None else scene_q[k]
        found.blockers.update(_named(bench, checker.contacts(Q[k], value)[:1]))
    for k in np.flatnonzero(free):
        if found.followed == lines:
            found.complete = False
            return False
        found.followed += 1
        base = bases[owner[k]]
        if run_through(bench, way, base, Q[k][robot.slice("arm")], tally) is not None:
            found.solutions = 1
            return True
    return False


def _hand_hits(bench: Workbench, way: Manipulation, base: Array, q7: Array) -> set[str]:
    """What the hand touches at the contact or on the way there, wherever the base stands.

    Its pose is the manipulation's: any arm configuration shows it.
    """
    robot, spec, line = bench.robot, bench.scene.robot.base, _first(way)
    hand = {robot.palm, *robot.fingers}
    if line.state.held is not None:
        hand.add(bench.scene.items[line.state.held].name)
    contact = configurations(way.contact, base, spec, q7)[0]
    path = follow(contact, line.poses[::-1], base, spec)
    shown = [(-1, contact, False)]
    if path is not None:
        shown += [(len(path) // 2, path[::-1][len(path) // 2], False), (0, path[-1], True)]
    found: set[str] = set()
    for index, arm, full in shown:
        q = np.concatenate([base, arm, [way.opening] * 2])
        allowed = grip(bench, line.state) if full else line.allowed
        checker = bench.checker(line.state, allowed, MARGIN if full else CONTACT_MARGIN)
        scene_q = None if line.scene_q is None else line.scene_q[index]
        for touching in checker.contacts(q, scene_q):
            if len({touching.a, touching.b} & hand) == 1:
                found.update(set(_named(bench, (touching,))) - hand)
    return found


def _in_ring(bench: Workbench, way: Manipulation, bases: Array) -> NDArray[np.bool_]:
    """Of base poses (m, 3): whether a stretched arm could span the way to the contact at all."""
    spec = bench.scene.robot.base
    X_WF = way.contact @ _X_HF
    p_WC = X_WF[:3, 3] - DF * X_WF[:3, 2]  # the wrist lies on a circle of radius A7 about C
    height = float(p_WC[2]) - (spec.p_BA[2] + D1)
    c, s = np.cos(bases[:, 2]), np.sin(bases[:, 2])
    x = bases[:, 0] + c * spec.p_BA[0] - s * spec.p_BA[1] - p_WC[0]
    y = bases[:, 1] + s * spec.p_BA[0] + c * spec.p_BA[1] - p_WC[1]
    return np.asarray(x * x + y * y <= (stretch()[1] + A7) ** 2 - height**2)


def _spread(rows: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    """At most so many of the rows, spread over them."""
    return rows[:: max(1, -(-len(rows) // most))]


def _named(bench: Workbench, contacts: Sequence[Contact]) -> list[str]:
    """What is touched, the robot's own links left out."""
    names = (name for contact in contacts for name in (contact.a, contact.b))
    return [name for name in names if name not in bench.robot.links]


def _first(way: Manipulation) -> Line:
    first = way.steps[0]
    assert isinstance(first, Line)
    return first
