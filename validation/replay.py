"""What touches what it must not: every executed state put into PyBullet again, and contacts told.

In physics hardly anything penetrates: bumping into something shows as a recorded force.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from galley.domain.frames import Array, frozen
from galley.domain.log import OUTSIDE, Log
from galley.domain.scene.model import Scene
from galley.robots.model import RobotModel
from galley.validation.circumstances import noticed, over_window
from galley.validation.poses import between, turn_between
from galley.validation.stage import Stage, ordered
from galley.validation.tolerances import Tolerances
from galley.validation.verdict import Pair, Violation

Progress = Callable[[float], None]
"""Hears what share of the states has been checked, in [0, 1]."""


class Observer(Protocol):
    """Looks at every sample in turn."""

    def look(self, k: int, stage: Stage) -> None:
        """Sample ``k`` is what the stage shows now."""
        ...


_MOST_STEPS, _MANY_STEPS = 1000, 16  # to a sample, and to each in the mean
_BETWEEN_NEWS = 500  # states


@dataclass(frozen=True)
class Replayed:
    """What the states showed.

    Attributes:
        checked: number of states. hands: X_WH (T, 7) of each sample.
        worst, deepest: deepest penetration (m) of an undeclared pair, and the pair.
        declared: the same of pairs that may touch.
    """

    checked: int
    hands: Array
    worst: float
    deepest: Pair | None
    declared: float
    violations: tuple[Violation, ...]


def allowed_pairs(log: Log) -> list[frozenset[Pair]]:
    """What may touch in each sample: those on either side of a motion's end belong to both."""
    of: list[set[Pair]] = [set() for _ in log.motions]
    for k, a, b in log.declared.tolist():
        of[int(k)].add(ordered(a, b))
    declared = [frozenset(pairs) for pairs in of]
    found = [declared[k] for k in log.motion]
    for k in np.flatnonzero(np.diff(log.motion)):
        both = declared[log.motion[k]] | declared[log.motion[k + 1]]
        found[k], found[k + 1] = found[k] | both, found[k + 1] | both
    return found


def replay(
    stage: Stage,
    log: Log,
    furniture: Mapping[str, Array],
    tolerances: Tolerances,
    observers: Sequence[Observer] = (),
    progress: Progress = lambda share: None,
) -> Replayed:
    """Every sample, and states between samples that are more than a step apart.

    Args:
        furniture: poses of the bodies, (T, 7) or (1, 7) for those that stay.
        observers: are shown every sample as well.
    """
    allowed = allowed_pairs(log)
    judge = _Judge(stage, log, tolerances, _recorded(log), _graces(stage, log, tolerances))
    steps = _steps(log, tolerances)
    moving = {name: X for name, X in furniture.items() if np.ptp(X, axis=0).any()}
    stage.put(log.q[0], {name: poses[0] for name, poses in furniture.items()}, log.items[0])
    hands, checked = np.empty((len(log.time), 7)), 0
    for k in range(len(log.time)):
        for i in range(1, int(steps[k])):
            share = i / steps[k]
            stage.put(
                log.q[k - 1] + share * (log.q[k] - log.q[k - 1]),
                {name: between(X[k - 1], X[k], share) for name, X in moving.items()},
                between(log.items[k - 1], log.items[k], share),
            )
            judge.look(k, allowed[k] | allowed[k - 1])
            checked += 1
        stage.put(log.q[k], {name: X[k] for name, X in moving.items()}, log.items[k])
        judge.look(k, allowed[k])
        checked += 1
        hands[k] = stage.hand()
        for observer in observers:
            observer.look(k, stage)
        if k % _BETWEEN_NEWS == 0:
            progress(k / len(log.time))
    return Replayed(
        checked, frozen(hands), judge.worst, judge.deepest, judge.declared, judge.violations
    )


def _steps(log: Log, tolerances: Tolerances) -> Array:
    """In how many steps (T,) each sample is reached from the one before; the first in one."""
    moved = np.abs(np.diff(log.q, axis=0))
    sizes = moved / tolerances.angle_step
    sizes[:, :2] = moved[:, :2] / tolerances.length_step
    largest = sizes.max(axis=1, initial=0.0)
    far = np.abs(np.diff(log.scene_q, axis=0)).max(axis=1, initial=0.0) / tolerances.length_step
    items = np.linalg.norm(np.diff(log.items[:, :, :3], axis=0), axis=2) / tolerances.length_step
    # A held item goes with the arm; any other that moves must be looked at for itself.
    index = np.arange(log.items.shape[1])
    items[(log.held[:-1, None] == index) | (log.held[1:, None] == index)] = 0.0
    largest = np.maximum(np.maximum(largest, far), items.max(axis=1, initial=0.0))
    # What goes further than this in one sample is told for its speed.
    steps = np.concatenate([[1.0], np.clip(np.ceil(largest - 1e-9), 1.0, _MOST_STEPS)])
    if steps.sum() > _MANY_STEPS * len(steps) + _MOST_STEPS:
        steps = np.minimum(steps, _MANY_STEPS)
    return steps


def _recorded(log: Log) -> list[set[Pair]] | None:
    """The pairs that touch in each sample; None of a run without forces, which only looks at times.

    Simulators tell the contacts of a step's beginning: neighbours in time count as well.
    """
    if log.mode != "physics":
        return None
    at: list[set[Pair]] = [set() for _ in range(len(log.time) + 2)]
    names = [str(name) for name in log.names]
    known = {(i, j): ordered(names[i], names[j]) for i, j in np.unique(log.contact_pair, axis=0)}
    for step, (i, j) in zip(log.contact_step.tolist(), log.contact_pair.tolist(), strict=True):
        at[step + 1].add(known[i, j])
    return [a | b | c for a, b, c in zip(at[:-2], at[1:-1], at[2:], strict=True)]


def _graces(stage: Stage, log: Log, tolerances: Tolerances) -> Mapping[str, Array]:
    """How deep (T,) each item may be in something more than else, for it is falling onto it."""
    found = {}
    memory = over_window(log, tolerances.impact_memory)
    for index, item in enumerate(stage.scene.items):
        p, quaternion = log.items[:, index, :3], log.items[:, index, 3:]
        reach = 0.5 * float(np.linalg.norm(item.size))  # m, of the corner that moves fastest
        moved = np.linalg.norm(np.diff(p, axis=0), axis=1)
        moved = moved + reach * turn_between(quaternion[:-1], quaternion[1:])
        # Speeds before the step that led to the sample: in that one, depth itself would be speed.
        padded = np.concatenate([np.zeros(memory + 1), moved / log.period])
        windows = np.lib.stride_tricks.sliding_window_view(padded, memory)
        fastest = windows[: len(p)].max(axis=1)
        found[item.name] = np.where(log.held == index, 0.0, fastest * tolerances.impact_time)
    return found


@dataclass
class _Offence:
    """Two bodies that must not be so near: first time (s), deepest (m), and how to say it."""

    time: float
    depth: float
    kind: str
    words: str  # with ``{depth}`` in it

    def violation(self) -> Violation:
        """As it is reported."""
        return Violation(
            self.time, self.words.format(depth=f"{1e3 * self.depth:.1f} mm"), self.kind
        )


@dataclass
class _Judge:
    """Keeps the worst of what it sees, and the first time of each offence.

    One pass tells depths that may be of earlier states; only those that would change something are
    looked up.
    """

    stage: Stage
    log: Log
    tolerances: Tolerances
    recorded: list[set[Pair]] | None
    graces: Mapping[str, Array]
    worst: float = 0.0
    deepest: Pair | None = None
    declared: float = 0.0
    offences: dict[Pair, _Offence] = field(default_factory=dict)

    @property
    def violations(self) -> tuple[Violation, ...]:
        """All offences."""
        return tuple(offence.violation() for offence in self.offences.values())

    def look(self, k: int, allowed: frozenset[Pair]) -> None:
        """Judge the state that is set now; it belongs to sample ``k``."""
        limits = self.tolerances
        for pair, (told, a, b) in self.stage.penetrating().items():
            free = pair not in allowed
            bound = limits.penetration + self._grace(k, pair) if free else limits.pressed
            unrecorded = told > limits.unrecorded and self._unrecorded(k, pair)
            known = self.offences[pair].depth if pair in self.offences else 0.0
            if not (
                told > (self.worst if free else self.declared)
                or told > max(bound, known)
                or (unrecorded and told > known)
            ):
                continue
            depth = self.stage.depth(a, b)
            if not free:
                self.declared = max(self.declared, depth)
            elif depth > self.worst:
                self.worst, self.deepest = depth, pair
            if depth > bound:
                one, two = pair
                words = f"{one} and {two} penetrate by {{depth}}"
                pressed = f"{one} is pressed {{depth}} into {two}"
                kind = "penetration" if free else "pressed"
                self._offend(k, pair, depth, kind, words if free else pressed)
            elif unrecorded and depth > limits.unrecorded:
                words = f"{pair[0]} is {{depth}} in {pair[1]}, but no contact was recorded"
                self._offend(k, pair, depth, "contact", words)

    def _offend(self, k: int, pair: Pair, depth: float, kind: str, words: str) -> None:
        if pair not in self.offences:
            self.offences[pair] = _Offence(float(self.log.time[k]), depth, kind, words)
        else:
            self.offences[pair].depth = max(self.offences[pair].depth, depth)

    def _unrecorded(self, k: int, pair: Pair) -> bool:
        """Whether a link of the robot is at something in a run with forces, and none is told of."""
        if self.recorded is None or pair in self.recorded[k]:
            return False
        return any(name in self.stage.robot.links for name in pair)

    def _grace(self, k: int, pair: Pair) -> float:
        """What the impact of a loose item on furniture, or another item, adds."""
        if any(name in self.stage.robot.links for name in pair):
            return 0.0
        return max((float(self.graces[n][k]) for n in pair if n in self.graces), default=0.0)


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
