"""Checks contacts: replays every executed state in PyBullet, and inspects recorded contact forces.

Under physics hardly anything penetrates: a collision shows as a recorded force.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from galley.domain.frames import Array, frozen
from galley.domain.log import OUTSIDE, Log
from galley.domain.scene.model import Scene
from galley.robots.model import RobotModel
from galley.validation.mechanics.contacts import RecordedContacts
from galley.validation.poses import interpolated, rotation_angle
from galley.validation.replay_world import ReplayWorld, ordered_pair
from galley.validation.sample_masks import ends_in_recovery, samples_in
from galley.validation.tolerances import Tolerances
from galley.validation.verdict import Pair, Violation

Progress = Callable[[float], None]
"""Called with the share of states that have been checked, in [0, 1]."""


class SampleCheck(Protocol):
    """A check that is called at every sample in turn."""

    def check(self, k: int, world: ReplayWorld) -> None:
        """Check sample ``k``, whose state is set in ``world``."""
        ...


_MOST_STEPS, _MEAN_STEPS = 1000, 16  # interpolation steps per sample: largest, and mean
_PROGRESS_EVERY = 500  # samples


@dataclass(frozen=True)
class ReplayResult:
    """The result of a replay.

    Attributes:
        checked: number of states. hands: X_WH (T, 7) of samples with an item in the hand, else NaN.
        max_undeclared, deepest: largest penetration (m) of a pair that may not touch, and the pair.
        max_declared: largest penetration (m) of a pair that may touch.
    """

    checked: int
    hands: Array
    max_undeclared: float
    deepest: Pair | None
    max_declared: float
    violations: tuple[Violation, ...]


def declared_pairs(log: Log) -> list[frozenset[Pair]]:
    """Pairs that may touch in each motion."""
    by_motion: list[set[Pair]] = [set() for _ in log.motions]
    for k, a, b in log.declared.tolist():
        by_motion[int(k)].add(ordered_pair(a, b))
    return [frozenset(pairs) for pairs in by_motion]


def allowed_pairs(log: Log) -> list[frozenset[Pair]]:
    """Pairs that may touch in each sample; those around a motion's end belong to both motions."""
    declared = declared_pairs(log)
    pairs_at = [declared[k] for k in log.motion]
    for k in np.flatnonzero(np.diff(log.motion)):
        both = declared[log.motion[k]] | declared[log.motion[k + 1]]
        pairs_at[k], pairs_at[k + 1] = pairs_at[k] | both, pairs_at[k + 1] | both
    return pairs_at


def replay(
    world: ReplayWorld,
    log: Log,
    furniture: Mapping[str, Array],
    tolerances: Tolerances,
    recorded: RecordedContacts,
    checks: Sequence[SampleCheck] = (),
    progress: Progress = lambda share: None,
) -> ReplayResult:
    """Check all samples, and interpolated states where samples are more than a step apart.

    Args:
        furniture: poses of the bodies, (T, 7), or (1, 7) for static ones.
        recorded: contacts of the log.
        checks: called at each sample.
    """
    allowed = allowed_pairs(log)
    penetrations = _PenetrationCheck(
        world, log, tolerances, recorded, _impact_allowances(world, log, tolerances)
    )
    steps = _steps(log, tolerances)
    moving = {name: X for name, X in furniture.items() if np.ptp(X, axis=0).any()}
    world.set_state(log.q[0], {name: poses[0] for name, poses in furniture.items()}, log.items[0])
    hands, checked = np.full((len(log.time), 7), np.nan), 0
    parts, held = steps.astype(int).tolist(), (log.held >= 0).tolist()
    for k in range(len(log.time)):
        for i in range(1, parts[k]):
            share = i / steps[k]
            world.set_state(
                log.q[k - 1] + share * (log.q[k] - log.q[k - 1]),
                {name: interpolated(X[k - 1], X[k], share) for name, X in moving.items()},
                interpolated(log.items[k - 1], log.items[k], share),
            )
            penetrations.check(k, allowed[k] | allowed[k - 1])
            checked += 1
        world.set_state(log.q[k], {name: X[k] for name, X in moving.items()}, log.items[k])
        penetrations.check(k, allowed[k])
        checked += 1
        if held[k]:
            hands[k] = world.hand_pose()
        for check in checks:
            check.check(k, world)
        if k % _PROGRESS_EVERY == 0:
            progress(k / len(log.time))
    return ReplayResult(
        checked,
        frozen(hands),
        penetrations.max_undeclared,
        penetrations.deepest,
        penetrations.max_declared,
        penetrations.violations,
    )


def _steps(log: Log, tolerances: Tolerances) -> Array:
    """Number of interpolation steps (T,) from the sample before; 1 for the first."""
    moved = np.abs(np.diff(log.q, axis=0))
    sizes = moved / tolerances.angle_step
    sizes[:, :2] = moved[:, :2] / tolerances.length_step
    largest = sizes.max(axis=1, initial=0.0)
    far = np.abs(np.diff(log.scene_q, axis=0)).max(axis=1, initial=0.0) / tolerances.length_step
    items = np.linalg.norm(np.diff(log.items[:, :, :3], axis=0), axis=2) / tolerances.length_step
    # A held item moves with the arm; every other one counts by itself.
    index = np.arange(log.items.shape[1])
    items[(log.held[:-1, None] == index) | (log.held[1:, None] == index)] = 0.0
    largest = np.maximum(np.maximum(largest, far), items.max(axis=1, initial=0.0))
    # Larger motions within a sample violate a speed limit anyway.
    steps = np.concatenate([[1.0], np.clip(np.ceil(largest - 1e-9), 1.0, _MOST_STEPS)])
    if steps.sum() > _MEAN_STEPS * len(steps) + _MOST_STEPS:
        steps = np.minimum(steps, _MEAN_STEPS)
    return steps


def _impact_allowances(world: ReplayWorld, log: Log, tolerances: Tolerances) -> Mapping[str, Array]:
    """Additional penetration (T,) allowed to each loose item, for its impact after a fall."""
    allowances = {}
    memory = samples_in(log, tolerances.impact_memory)
    for index, item in enumerate(world.scene.items):
        p, quaternion = log.items[:, index, :3], log.items[:, index, 3:]
        radius = 0.5 * float(np.linalg.norm(item.size))  # m, of the corner that moves fastest
        moved = np.linalg.norm(np.diff(p, axis=0), axis=1)
        moved = moved + radius * rotation_angle(quaternion[:-1], quaternion[1:])
        # Speeds before the step to this sample: within it, being pushed out would count as speed.
        padded = np.concatenate([np.zeros(memory + 1), moved / log.period])
        windows = np.lib.stride_tricks.sliding_window_view(padded, memory)
        fastest = windows[: len(p)].max(axis=1)
        allowances[item.name] = np.where(log.held == index, 0.0, fastest * tolerances.impact_time)
    return allowances


@dataclass
class _DeepContact:
    """A pair that penetrates too far: first time (s), largest depth (m), and the sentence."""

    time: float
    depth: float
    kind: str
    words: str  # with ``{depth}`` in it


_PARTING = 6  # samples in which a contact that is let go comes apart


@dataclass
class _PenetrationCheck:
    """Collects the deepest penetrations, and those that are violations.

    Estimated depths may be of earlier states; the exact depth is computed only where it matters.
    """

    world: ReplayWorld
    log: Log
    tolerances: Tolerances
    recorded: RecordedContacts
    allowances: Mapping[str, Array]
    max_undeclared: float = 0.0
    deepest: Pair | None = None
    max_declared: float = 0.0
    deep_contacts: dict[Pair, _DeepContact] = field(default_factory=dict)
    touched: dict[Pair, tuple[int, float]] = field(default_factory=dict)

    @property
    def violations(self) -> tuple[Violation, ...]:
        return tuple(
            Violation(c.time, c.words.format(depth=f"{1e3 * c.depth:.1f} mm"), c.kind)
            for c in self.deep_contacts.values()
        )

    def check(self, k: int, allowed: frozenset[Pair]) -> None:
        """Check the current state, which belongs to sample ``k``."""
        limits = self.tolerances
        harmless = min(
            self.max_undeclared,
            self.max_declared,
            limits.penetration,
            limits.declared_penetration,
            limits.unrecorded,
        )
        for pair, (estimate, a, b) in self.world.penetrations(harmless).items():
            undeclared = pair not in allowed
            bound = limits.declared_penetration
            if undeclared:
                bound = limits.penetration + self._allowance(k, pair)
            missing = estimate > limits.unrecorded and self._unrecorded(k, pair)
            most = limits.unrecorded + (self._parting(k, pair) if missing else 0.0)
            unrecorded = missing and estimate > most
            if not missing:
                self.touched[pair] = k, estimate
            largest = self.deep_contacts[pair].depth if pair in self.deep_contacts else 0.0
            if not (
                estimate > (self.max_undeclared if undeclared else self.max_declared)
                or estimate > max(bound, largest)
                or (unrecorded and estimate > largest)
            ):
                continue
            depth = self.world.penetration_depth(a, b)
            if not undeclared:
                self.max_declared = max(self.max_declared, depth)
            elif depth > self.max_undeclared:
                self.max_undeclared, self.deepest = depth, pair
            if depth > bound:
                if undeclared:
                    kind, words = "penetration", f"{pair[0]} and {pair[1]} penetrate by {{depth}}"
                else:
                    kind, words = "pressed", f"{pair[0]} is pressed {{depth}} into {pair[1]}"
                self._add(k, pair, depth, kind, words)
            elif unrecorded and depth > most:
                words = f"{pair[0]} is {{depth}} in {pair[1]}, but no contact was recorded"
                self._add(k, pair, depth, "contact", words)

    def _add(self, k: int, pair: Pair, depth: float, kind: str, words: str) -> None:
        new = _DeepContact(float(self.log.time[k]), depth, kind, words)
        contact = self.deep_contacts.setdefault(pair, new)
        contact.depth = max(contact.depth, depth)

    def _parting(self, k: int, pair: Pair) -> float:
        """How deep (m) a pair was when its contact was last recorded, just before sample ``k``.

        By so much the shapes here differ from the simulator's, whose bodies only touched then. It
        counts while they part, and no further than another tolerance.
        """
        last, depth = self.touched.get(pair, (-_PARTING, 0.0))
        return min(depth, self.tolerances.unrecorded) if k - last < _PARTING else 0.0

    def _unrecorded(self, k: int, pair: Pair) -> bool:
        """Whether a run with forces lacks a record of this contact of a robot link."""
        return (
            self.recorded.has_forces
            and any(name in self.world.robot.links for name in pair)
            and not self.recorded.recorded_near(k, pair)
        )

    def _allowance(self, k: int, pair: Pair) -> float:
        """Additional penetration for the impact of a loose item on furniture or another item."""
        if any(name in self.world.robot.links for name in pair):
            return 0.0
        return max(
            (float(self.allowances[n][k]) for n in pair if n in self.allowances), default=0.0
        )


@dataclass(frozen=True)
class ContactForces:
    """Largest force (N) of an undeclared contact, and the violations.

    Contacts of a link with an item in a motion that ended in a recovery are ``events``: the item
    may have slipped, or stood elsewhere than expected.
    """

    most: float
    violations: tuple[Violation, ...]
    events: tuple[Violation, ...]


def check_contact_forces(
    scene: Scene, robot: RobotModel, log: Log, pairs: Sequence[Pair], tolerances: Tolerances
) -> ContactForces:
    """Check recorded forces on robot links and held items from undeclared contacts.

    Args:
        pairs: of each contact, by name.
    """
    links = set(robot.links)
    allowed = allowed_pairs(log)
    items = [item.name for item in scene.items]
    never = robot.allowed_self_collisions
    forces, steps = log.contact_force.tolist(), log.contact_step.tolist()
    most: dict[tuple[Pair, bool], tuple[float, float]] = {}
    recovered = ends_in_recovery(log)
    for pair, step, force in zip(pairs, steps, forces, strict=True):
        if not force > 0.0 or pair in allowed[step] or pair in never or OUTSIDE in pair:  # or NaN
            continue
        held = int(log.held[step])
        if links.isdisjoint(pair) and (held < 0 or items[held] not in pair):
            continue
        excused = bool(recovered[log.motion[step]]) and any(name in items for name in pair)
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
    return ContactForces(largest, tuple(found[False]), tuple(found[True]))


def check_guarded_forces(
    scene: Scene, robot: RobotModel, log: Log, pairs: Sequence[Pair], tolerances: Tolerances
) -> tuple[Violation, ...]:
    """Check that what a guarded motion may touch is touched no harder than its guard asks for.

    What the hand does to a thing in a sample is the sum over its links and what it holds. A handle
    between the fingers is left out: they press on it with what their motors exert.

    Args:
        pairs: of each contact, by name.
    """
    links, items = set(robot.links), [item.name for item in scene.items]
    motion_of, violations = log.motion[log.contact_step], []
    gripped: set[Pair] = set()
    for k, declared in enumerate(declared_pairs(log)):
        mine = np.flatnonzero(motion_of == k).tolist()
        if str(log.ends[k]).startswith("grip"):
            gripped = {pair for pair in declared if not links.isdisjoint(pair)}
        gripped &= {pairs[c] for c in mine}
        share = tolerances.overshoot_share * log.guards[k]
        sums: defaultdict[tuple[int, str], float] = defaultdict(float)
        for c in mine:
            if pairs[c] in declared and pairs[c] not in gripped:
                step = int(log.contact_step[c])
                hand = links | ({items[log.held[step]]} if log.held[step] >= 0 else set())
                others = [name for name in pairs[c] if name not in hand]
                if len(others) == 1:
                    sums[step, others[0]] += float(log.contact_force[c])
        (step, other), force = max(sums.items(), key=lambda entry: entry[1], default=((0, ""), 0))
        least = tolerances.overshoot if log.held[step] < 0 else tolerances.overshoot_held
        bound = log.guards[k] + max(least, share)
        if force > bound:  # never, without a guard
            what = (
                f"the hand presses on {other} with {force:.0f} N; the motion's guard asks for"
                f" {log.guards[k]:.0f} N, and up to {bound:.0f} N are allowed"
            )
            violations.append(Violation(float(log.time[step]), what, "contact"))
    return tuple(violations)
