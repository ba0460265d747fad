"""Replays every executed state in PyBullet, and checks it for penetrations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from galley.domain.frames import Array, frozen
from galley.domain.log import Log
from galley.validation.forces import allowed_pairs
from galley.validation.poses import item_corners
from galley.validation.replay_world import ReplayWorld
from galley.validation.sample_masks import samples_in
from galley.validation.tolerances import Tolerances
from galley.validation.verdict import Pair, Violation

Progress = Callable[[float], None]
"""Called with the share of states that have been checked, in [0, 1]."""
_PROGRESS_EVERY = 500  # samples


SampleCheck = Callable[[int, ReplayWorld], None]
"""Checks the sample with this index, whose state is set in the world."""


def replay(
    world: ReplayWorld,
    log: Log,
    furniture: Mapping[str, Array],
    tolerances: Tolerances,
    checks: Sequence[SampleCheck] = (),
    progress: Progress = lambda share: None,
) -> tuple[Array, Penetrations]:
    """Set every sample of a log in ``world``, in order, and check it.

    Args:
        world: the replay world; it is left in the state of the last sample.
        log: a well-formed log.
        furniture: pose of each body by name, (T, 7), or (1, 7) for a static one.
        tolerances: those of penetration matter here.
        checks: further checks, called at each sample.
        progress: called with the share of samples done.

    Returns:
        X_WH (T, h, 7) of each hand, NaN in samples in which it is empty; and the penetrations.
    """
    allowed = allowed_pairs(log)
    penetrations = Penetrations(world, log, tolerances)
    moving = {name: X for name, X in furniture.items() if len(X) > 1}
    world.set_state(log.q[0], {name: X[0] for name, X in furniture.items()}, log.items[0])
    holds = log.holds
    hands = np.full((*holds.shape, 7), np.nan)
    for k in range(len(log.time)):
        world.set_state(log.q[k], {name: X[k] for name, X in moving.items()}, log.items[k])
        penetrations.check(k, allowed[k])
        for hand in np.flatnonzero(holds[k] >= 0).tolist():
            hands[k, hand] = world.hand_pose(hand)
        for check in checks:
            check(k, world)
        if k % _PROGRESS_EVERY == 0:
            progress(k / len(log.time))
    return frozen(hands), penetrations


def _impact_allowances(world: ReplayWorld, log: Log, tolerances: Tolerances) -> dict[str, Array]:
    """The additional penetration (T,), m, allowed to each loose item for its impact after a fall.

    It is the highest speed of its corners within the last ``impact_memory`` (s) times
    ``impact_time`` (s). It is 0 for a held item.
    """
    allowances = {}
    memory = samples_in(log, tolerances.impact_memory)
    for index, corners in enumerate(item_corners(world.scene, log.items)):
        moved = np.linalg.norm(np.diff(corners, axis=0), axis=2).max(axis=1, initial=0.0)
        # Only speeds before the step to this sample: in it the item may be moving back out.
        padded = np.concatenate([np.zeros(memory + 1), moved / log.period])
        windows = np.lib.stride_tricks.sliding_window_view(padded, memory)
        fastest = windows[: len(corners)].max(axis=1)
        name = world.scene.items[index].name
        held = (log.holds == index).any(axis=1)
        allowances[name] = np.where(held, 0.0, fastest * tolerances.impact_time)
    return allowances


@dataclass
class _DeepContact:
    """A pair that penetrates too deep.

    Attributes:
        time: of the first sample in which it does, s.
        depth: its deepest penetration, m.
        declared: whether the pair may touch.
    """

    time: float
    depth: float
    declared: bool


@dataclass
class Penetrations:
    """Collects the deepest penetrations, and those that are violations.

    Bullet's estimates are cheap, but may stem from earlier states. The exact depth is computed only
    for a pair whose estimate could change a result.

    Attributes:
        world: the replay world.
        log: the log of the run.
        tolerances: those of penetration and impact matter here.
        max_undeclared: deepest penetration (m) of a pair that may not touch.
        deepest: that pair, or None.
        max_declared: deepest penetration (m) of a pair that may touch.
        deep_contacts: the pairs that penetrate too deep.
    """

    world: ReplayWorld
    log: Log
    tolerances: Tolerances
    max_undeclared: float = 0.0
    deepest: Pair | None = None
    max_declared: float = 0.0
    deep_contacts: dict[Pair, _DeepContact] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._allowances = _impact_allowances(self.world, self.log, self.tolerances)

    @property
    def violations(self) -> tuple[Violation, ...]:
        """One violation of each pair that penetrates too deep, at the time of the first sample."""
        violations = []
        for (a, b), contact in self.deep_contacts.items():
            depth = f"{1e3 * contact.depth:.1f} mm"
            what, kind = f"{a} and {b} penetrate by {depth}", "penetration"
            if contact.declared:
                what, kind = f"{a} is pressed {depth} into {b}", "pressed"
            violations.append(Violation(contact.time, what, kind))
        return tuple(violations)

    def check(self, k: int, allowed: frozenset[Pair]) -> None:
        """Check the world's current state, which is sample ``k``; ``allowed`` pairs may touch."""
        limits = self.tolerances
        # Estimates up to here change no maximum and are no violation.
        harmless = min(self.max_undeclared, self.max_declared, limits.penetration)
        for pair, (estimate, a, b) in self.world.penetrations(harmless).items():
            declared = pair in allowed
            bound = limits.declared_penetration
            if not declared:
                bound = limits.penetration + self._allowance(k, pair)
            known = self.deep_contacts.get(pair)
            deepest = self.max_declared if declared else self.max_undeclared
            # Neither a new maximum, nor a deeper violation of this pair.
            if estimate <= min(deepest, max(bound, known.depth if known else 0.0)):
                continue
            depth = self.world.penetration_depth(a, b)
            if declared:
                self.max_declared = max(self.max_declared, depth)
            elif depth > self.max_undeclared:
                self.max_undeclared, self.deepest = depth, pair
            if depth > bound:
                new = _DeepContact(float(self.log.time[k]), depth, declared)
                contact = self.deep_contacts.setdefault(pair, new)
                contact.depth = max(contact.depth, depth)

    def _allowance(self, k: int, pair: Pair) -> float:
        """Additional penetration (m) for the impact of a loose item on furniture or another item.

        There is none for an impact on the robot.
        """
        if any(name in self.world.robot.links for name in pair):
            return 0.0
        return max(float(self._allowances[n][k]) for n in pair if n in self._allowances)
