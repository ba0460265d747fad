"""Finds collision-free base and arm configurations for a Manipulation.

``solve_manipulation`` does it for a given base pose: inverse kinematics at the contact, then the
lines (``lines``). ``solve_from_stances`` draws base poses of a stance set and ranks them first.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from galley.domain.frames import Array
from galley.domain.scene.model import Stance
from galley.domain.state import State
from galley.robots.model import RobotModel
from galley.skills.base_placement.placement import facing, score_bases
from galley.skills.base_placement.stances import in_ring, sample_stances
from galley.skills.manipulation.context import PlanningContext
from galley.skills.manipulation.lines import (
    OUT_OF_REACH,
    Segment,
    Tally,
    follow_lines,
    free_at_contact,
    manipulation_parts,
)
from galley.skills.manipulation.manipulation import Line, Manipulation, Stroke
from galley.skills.manipulation.proof import holding_contact_pairs

_REDUNDANT = 12  # values of the redundant joint tried at a contact
_REDUNDANT_FIRST = 6  # the same when base poses are scored
_SOLUTIONS = 6  # free arm configurations from which the lines are tried
_BASES = 16  # free base poses compared for one manipulation
_DRAWN = 128  # base poses drawn at a time
_MOST_DRAWN = 4096  # base poses drawn for all manipulations of one step, at most
_RANK = ("best", "second best")  # the base poses of a comparison that are tried


@dataclass(frozen=True)
class ManipulationSolution:
    """A Manipulation with base and arm configurations.

    Attributes:
        manipulation: the lines and strokes.
        base: the base pose (3,).
        segments: the arm's segment for each Line, in order.
        reason: why this base pose was chosen, if there was a choice.
    """

    manipulation: Manipulation
    base: Array
    segments: tuple[Segment, ...]
    reason: str = ""

    @property
    def margin(self) -> float:
        """The margin (m) kept where the free motions before and after it connect."""
        return min(self.segments[0].margin, self.segments[-1].margin)

    @property
    def before(self) -> Array:
        """The arm configuration (7,) at the beginning of the first line."""
        return self.segments[0].path.start

    def state_after(self, robot: RobotModel) -> State:
        """The State after the last line, but with base and arm where they were before it all."""
        last = self.manipulation.steps[-1]
        assert isinstance(last, Line)
        strokes = [s for s in self.manipulation.steps if isinstance(s, Stroke)]
        q = last.state.q.copy()
        opening = strokes[-1].opening if strokes else self.manipulation.opening
        q[robot.slice("fingers")] = robot.fingers_at(opening)
        return last.state.with_robot(q)


def solve_manipulation(
    context: PlanningContext,
    manipulation: Manipulation,
    base: Array,
    rng: np.random.Generator,
    tally: Tally,
) -> ManipulationSolution | None:
    """Solve a Manipulation from one base pose (3,); None if no solution is found.

    Inverse kinematics gives arm configurations at the contact. Those free of collision are tried
    as starts of the lines, until one keeps the full margin at both ends. ``tally`` counts why
    candidates are rejected.
    """
    tally.tried += 1
    context.effort.spend("ways")
    kinematics = context.robot.kinematics
    solution: ManipulationSolution | None = None
    redundant = kinematics.redundant_values(_REDUNDANT, rng)
    options = kinematics.configurations(manipulation.contact, base, redundant)
    if len(options):
        # The contact is checked first, for it is the likeliest to collide.
        parts = manipulation_parts(manipulation)
        options = free_at_contact(context, parts[0], base, rng.permutation(options), tally)
        for q in options[:_SOLUTIONS]:
            segments = follow_lines(context, parts, base, q, tally)
            if segments is not None:
                solution = ManipulationSolution(manipulation, base, segments)
                # With less than the full margin look on, but keep this one.
                if solution.margin == context.robot.spacing.margin:
                    break
    else:
        tally.reasons[OUT_OF_REACH] += 1
    context.listener.tried(base, manipulation.contact, solution is not None)
    return solution


def widest_first(
    found: Iterator[ManipulationSolution], most: float
) -> Iterator[ManipulationSolution]:
    """Yield solutions as they come, but those with a smaller margin than ``most`` (m) last."""
    narrow = []
    for solution in found:
        if solution.margin == most:
            yield solution
        else:
            narrow.append(solution)
    yield from narrow


def solve_from_stances(
    context: PlanningContext,
    manipulations: Iterator[Manipulation],
    stance: Stance,
    arm_q: Array,
    state: State,
    rng: np.random.Generator,
    tally: Tally,
    limit: int | None = None,
    forward: int = 0,
) -> Iterator[ManipulationSolution]:
    """Solve manipulations from random base poses of a stance set, lazily.

    For each manipulation many base poses are compared, and the best two are tried.

    Args:
        arm_q: the folded arm (7,) with which the base arrives; it must be free of collision there.
        limit: number of tries; by default that of the settings.
        forward: number of first tries in which the base has the heading of a straight drive from
            ``state``; later any heading is drawn.
    """
    limit = context.settings.placements if limit is None else limit
    ahead, bases = tally.tried < forward, None
    for manipulation in manipulations:
        if tally.tried >= limit:
            return
        # A new sampler when the first tries, which arrive forward, are used up.
        if bases is None or (ahead and tally.tried >= forward):
            ahead = tally.tried < forward
            bases = _FreeBases(context, stance, arm_q, state, rng, ahead)
        for base, reason in bases.best(manipulation, tally):
            reached = solve_manipulation(context, manipulation, base, rng, tally)
            if reached is not None:
                yield replace(reached, reason=reason)
                if reached.margin == context.robot.spacing.margin:
                    break


class _FreeBases:
    """Base poses of a stance set at which the robot is free with its arm folded, drawn as needed.

    Poses drawn for one manipulation serve the next, too: most ways to take an item are possible
    from the same places, and few of the places drawn have room for the base.

    Args:
        arm_q: the folded arm (7,).
        forward: whether the base is turned as a straight drive from ``state`` arrives there.
    """

    def __init__(
        self,
        context: PlanningContext,
        stance: Stance,
        arm_q: Array,
        state: State,
        rng: np.random.Generator,
        forward: bool,
    ) -> None:
        self._robot, self._stance, self._rng = context.robot, stance, rng
        self._forward, self._arm, self._q = forward, arm_q, state.q
        self._checker = context.checker(state, holding_contact_pairs(context, state))
        self._bases, self._drawn = np.empty((0, 3)), 0
        self._all = self._bases

    def best(self, manipulation: Manipulation, tally: Tally) -> list[tuple[Array, str]]:
        """The best two base poses (3,) of at most 16, with the reason for each.

        The score (``base_placement.placement``) prefers high manipulability and joint margin at the
        contact, and a short drive with little turning, forward rather than backwards. Poses from
        which the arm doesn't reach are left out; if none reaches, ``tally`` counts a try.
        """
        X_WH, robot = manipulation.contact, self._robot
        near = self._near(X_WH)
        if len(near) < _BASES and self._drawn < _MOST_DRAWN:
            self._draw(X_WH)
            near = self._near(X_WH)
        if len(near) > _BASES:
            near = near[self._rng.choice(len(near), _BASES, replace=False)]
        redundant = robot.kinematics.redundant_values(_REDUNDANT_FIRST, self._rng)
        options = score_bases(robot, X_WH, near, self._q[robot.slice("base")], redundant)
        if not len(options):
            tally.tried += 1
            blocked = not len(near) and bool(in_ring(X_WH, self._all, robot).any())
            tally.reasons["no room for the base" if blocked else OUT_OF_REACH] += 1
        draws = f"of the free draws ({len(options)}) for '{manipulation.name}'"
        ranked = zip(_RANK, options, strict=False)
        return [(option.base, f"{rank} {draws}, {option.reason()}") for rank, option in ranked]

    def _near(self, X_WH: Array) -> Array:
        """The free base poses (n, 3) near enough to X_WH (4, 4) for the stretched arm."""
        return np.asarray(self._bases[in_ring(X_WH, self._bases, self._robot)])

    def _draw(self, X_WH: Array) -> None:
        """Draw more base poses around X_WH (4, 4), and keep those free of collision."""
        bases = sample_stances(X_WH, self._stance, self._robot, _DRAWN, self._rng)
        self._drawn += _DRAWN
        if self._robot.standing_links and len(bases):  # a base that stands has no other pose
            self._drawn = _MOST_DRAWN
        if self._forward:
            bases = facing(bases, self._q[self._robot.slice("base")], self._stance)
        free = self._checker.free_many(self._robot.with_groups(self._q, base=bases, arm=self._arm))
        self._bases = np.vstack([self._bases, bases[free]])
        self._all = np.vstack([self._all, bases])
