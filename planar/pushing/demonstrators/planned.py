"""A demonstrator that plans two pushes ahead, by rollouts in the simulation.

A push goes round the body to a contact, then straight ahead at one speed for some steps, then draws
back. Each plan rolls out many pushes on copies of the table, in the compiled simulation:

1. Random first pushes: contact, direction and speed, each of the longest duration. Every step of a
   rollout stands for a push that ends there, because the body hardly moves on without the pusher.
2. The best of them, each ended at its best step, and variations of them. This rollout is exact: it
   includes the drawing back.
3. Random second pushes after the best of these, and variations. These rollouts put the pusher at
   the contact, without its way there.
4. The best of these and variations exactly, with the way there.

The cost of a plan is its steps plus an estimate of the steps left at the end: none if the goal is
covered, else by the distance from it. Of the cheapest pair the first push is executed, and the
second is a candidate of the next plan; if the pair covers the goal, both are executed. If the body
isn't where the simulation predicted it, the demonstrator plans again at once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array
from galley.planar.pushing.config import PushConfig
from galley.planar.pushing.demonstrators.motion import GoalDistance, PusherTiming
from galley.planar.pushing.demonstrators.roadmap import Paths, Roadmap
from galley.planar.pushing.rollout import SUCCESS
from galley.planar.pushing.simulation import PushSimulation, PushState

_FIRST = 512  # random first pushes
_KEPT, _VARIED = 48, 8  # best of them that are rolled out exactly, and variations of each
_BEAM, _SECOND = 24, 32  # best ends that second pushes begin at, and random second pushes at each
_REFINED = 24  # best of all second pushes that are varied
_PROVEN, _VARIED_SECOND = 6, 24  # second pushes rolled out exactly, and variations of each
_LONGEST = 2.0  # s, of a push
_ANGLE = 0.6  # rad, largest angle between a push and the normal
_SLOWEST, _FASTEST = 0.1, 0.6  # speeds of a push, as shares of the speed of travel
_OVERHEAD = 1.2  # s, least time of one more push
_PROGRESS = 0.02  # estimated speed of a body towards the goal, as a share of the speed of travel
_MOVED = 2e-3  # m; a push that moves the body less than this doesn't count
_OFF = 1e-3  # m; plan again if the body is farther than this from where it was predicted
_WAIT = 5  # steps to wait if no contact can be reached


@dataclass(frozen=True, eq=False)
class Pushes:
    """n pushes; each attribute is (n,).

    Attributes:
        contact: index of a contact of the roadmap.
        shift: from the contact along the outline, m.
        angle: from the normal into the body to the direction of the push, rad.
        speed: of the target, m/s.
        steps: control steps from the target's arrival at the standoff to the end.
    """

    contact: NDArray[np.int64]
    shift: Array
    angle: Array
    speed: Array
    steps: NDArray[np.int64]

    def take(self, index: NDArray[np.int64]) -> Pushes:
        """The pushes of an index (k,)."""
        return Pushes(*(getattr(self, name)[index] for name in self.__dataclass_fields__))

    def then(self, other: Pushes) -> Pushes:
        """These pushes, followed by others."""
        return Pushes(
            *(
                np.concatenate([getattr(self, name), getattr(other, name)])
                for name in self.__dataclass_fields__
            )
        )


class Planned:
    """The planning demonstrator of the module."""

    def __init__(self, config: PushConfig) -> None:
        self._pace, self._sim = PusherTiming.of(config), PushSimulation(config)
        self._aim, self._roadmap = GoalDistance(self._sim), Roadmap(self._sim)
        self._longest = max(round(_LONGEST / self._pace.step), 1)
        self._back = self._pace.travel * self._pace.ahead
        self._between = self._roadmap.between()
        self.reset(0)

    def reset(self, seed: int) -> None:
        """Begin an episode; its random numbers come from the seed alone."""
        self._rng = np.random.default_rng(seed)
        self._steps: list[tuple[Array, Array]] = []  # predicted body pose before, and target
        self._next: Pushes | None = None

    def act(self, state: PushState) -> Array:
        """The next target of the pusher (2,), m."""
        if self._steps and self._aim.apart(self._steps[0][0], state.body.T)[0] > _OFF:
            self._steps, self._next = [], None
        if not self._steps:
            self._plan(state)
        return self._steps.pop(0)[1]

    def _plan(self, state: PushState) -> None:
        """Search for pushes from a state, and append the targets of the chosen ones."""
        paths = self._roadmap.paths(state.body[:, 0], state.pusher[:, 0])
        reached = np.nonzero(np.isfinite(paths.lengths))[0]
        if not len(reached):
            self._steps = [(state.body[:, 0].copy(), state.pusher[:, 0].copy())] * _WAIT
            return
        way = _Way(self._pace, paths, reached)
        # 1. Random first pushes.
        pushes = self._drawn(reached, _FIRST)
        costs, steps, _ = self._rolled(state, pushes, way, prefixes=True)
        best = np.argsort(costs, kind="stable")[:_KEPT]
        # 2. The best exactly, with variations, and with the second push of the last plan.
        firsts = replace(pushes.take(best), steps=steps[best])
        firsts = firsts.then(self._varied(firsts, _VARIED))
        if self._next is not None:
            firsts = firsts.then(self._next).then(self._varied(self._next, _KEPT))
        costs, steps, ends = self._rolled(state, firsts, way, prefixes=False)
        order = np.argsort(costs, kind="stable")
        chosen, least, sure = int(order[0]), costs[order[0]], False
        self._next = None
        if not ends.coverage[chosen] > SUCCESS:
            # 3. Second pushes. A pair's cost is the first's steps and the second's cost.
            beam = order[:_BEAM]
            beam = beam[np.isfinite(costs[beam])]
            total, follow = self._followed(ends, firsts.contact, beam)
            # 4. The best pairs exactly.
            for i in np.argsort(total + steps[beam], kind="stable")[:_PROVEN]:
                k = int(beam[i])
                after = PushState(np.ascontiguousarray(ends.values[:, k : k + 1]))
                cost, push, covers = self._proven(after, follow.take(np.array([i])))
                if steps[k] + cost < least:
                    chosen, least, sure = k, steps[k] + cost, covers
                    self._next = push
        after = self._adopt(state, firsts.take(np.array([chosen])), way)
        # The second push follows without a new plan only if it is known to cover the goal.
        if sure and self._next is not None:
            paths = self._roadmap.paths(after.body[:, 0], after.pusher[:, 0])
            self._adopt(after, self._next, _Way(self._pace, paths, self._next.contact))
            self._next = None

    def _proven(self, state: PushState, push: Pushes) -> tuple[float, Pushes, bool]:
        """The best of a push and its variations, rolled out exactly from a state of one table.

        A second push counts only with its exact cost. With an estimate that is too low it would
        look best in every plan, and never be executed.

        Returns:
            The cost in steps, the push, and whether it covers the goal.
        """
        paths = self._roadmap.paths(state.body[:, 0], state.pusher[:, 0])
        if not np.isfinite(paths.lengths[push.contact[0]]):
            return np.inf, push, False
        way = _Way(self._pace, paths, push.contact)
        many = push.then(self._varied(push, _VARIED_SECOND))
        costs, _, ends = self._rolled(state, many, way, prefixes=False)
        best = int(costs.argmin())
        return float(costs[best]), many.take(np.array([best])), bool(ends.coverage[best] > SUCCESS)

    def _drawn(self, contacts: NDArray[np.int64], n: int) -> Pushes:
        """n random pushes of the longest duration, at contacts drawn from these indices."""
        rng = self._rng
        return Pushes(
            contacts[rng.integers(0, len(contacts), n)],
            np.zeros(n),
            rng.uniform(-_ANGLE, _ANGLE, n),
            rng.uniform(_SLOWEST, _FASTEST, n) * self._pace.travel,
            np.full(n, self._longest),
        )

    def _varied(self, pushes: Pushes, n: int) -> Pushes:
        """n random variations of each push: small changes of all but the contact."""
        rng, size = self._rng, n * len(pushes.contact)
        many = pushes.take(np.repeat(np.arange(len(pushes.contact)), n))
        speed = many.speed * np.exp(rng.normal(0.0, 0.15, size))
        return Pushes(
            many.contact,
            many.shift + rng.normal(0.0, 0.1 * self._sim.config.pusher_radius, size),
            many.angle + rng.normal(0.0, 0.1, size),
            np.clip(speed, _SLOWEST * self._pace.travel, _FASTEST * self._pace.travel),
            np.maximum(many.steps + rng.integers(-1, 2, size), 1),
        )

    def _lines(self, pushes: Pushes, bodies: Array) -> tuple[Array, Array]:
        """Standoffs (m) and directions (n, 2) of pushes in the world, for bodies (n, 3)."""
        normal = self._roadmap.normals[pushes.contact]
        tangent = np.stack([-normal[:, 1], normal[:, 0]], axis=1)
        stand = self._roadmap.standoffs[pushes.contact] + pushes.shift[:, None] * tangent
        along = -normal * np.cos(pushes.angle)[:, None] + tangent * np.sin(pushes.angle)[:, None]
        c, s = np.cos(bodies[:, 2]), np.sin(bodies[:, 2])
        turned = [np.stack([c * x - s * y, s * x + c * y], axis=1) for x, y in (stand.T, along.T)]
        return turned[0] + bodies[:, :2], turned[1]

    def _left(self, state: PushState) -> Array:
        """Estimated control steps (n,) from states of n tables to the goal."""
        time = _OVERHEAD + self._aim.distances(state.body.T) / (_PROGRESS * self._pace.travel)
        return np.where(state.coverage > SUCCESS, 0.0, time / self._pace.step)

    def _rolled(
        self, start: PushState, pushes: Pushes, way: _Way, prefixes: bool
    ) -> tuple[Array, NDArray[np.int64], PushState]:
        """Roll out n pushes, each on its own copy of one table, with the pusher's way there.

        Args:
            start: state of the table.
            pushes: the pushes.
            way: targets on the way to their contacts.
            prefixes: True: each push may end at any of its steps, without drawing back. False: it
                ends after ``pushes.steps``, draws back, and stops once the goal is covered.

        Returns:
            Costs (n,), in control steps; inf for a push that doesn't move the body. Steps (n,): of
            the best end, from the target's arrival, with ``prefixes``; otherwise of all that it
            takes. And the states at the end.
        """
        n = len(pushes.contact)
        state = PushState(np.repeat(start.values, n, axis=1))
        stand, along = self._lines(pushes, np.repeat(start.body.T, n, axis=0))
        first = way.steps[pushes.contact]
        last = first + pushes.steps
        best, at = np.full(n, np.inf), np.zeros(n, dtype=np.int64)
        done = np.zeros(n, dtype=bool)
        for j in range(int(last.max()) + 1):
            going = self._target(j, pushes, way, stand, along)
            back = state.pusher.T - self._back * along
            targets = self._roadmap.on_table(np.where((j >= last)[:, None], back, going))
            # All tables take every step; those that are done are put back afterwards.
            if not prefixes:
                before = state.values[:, done | (j > last)]
            self._sim.run(state, targets)
            if prefixes:
                cost = j + 2 + np.where(self._moved(start, state), self._left(state), np.inf)
                good = (j >= first) & (j < last) & (cost < best)
                best[good], at[good] = cost[good], j + 1 - first[good]
            else:
                state.values[:, done | (j > last)] = before
                done |= state.coverage > SUCCESS
                at = np.where(done & (at == 0), j + 1, at)
        if prefixes:
            return best, at, state
        at = np.where(done, at, last + 1)
        left = np.where(done | self._moved(start, state), self._left(state), np.inf)
        return np.asarray(at + left), at, state

    def _moved(self, start: PushState, now: PushState) -> NDArray[np.bool_]:
        """Whether (n,) bodies have moved since the start."""
        return np.asarray(self._aim.apart(now.body.T, start.body.T) > _MOVED)

    def _target(self, j: int, pushes: Pushes, way: _Way, stand: Array, along: Array) -> Array:
        """Targets (n, 2), m, at control step j: on the way, then ahead from the standoff."""
        late = j * self._pace.step - way.arrival[pushes.contact]
        ahead = stand + along * (pushes.speed * np.maximum(late, 0.0))[:, None]
        table = way.targets[min(j, len(way.targets) - 1), way.row[pushes.contact]]
        return np.where((late >= 0.0)[:, None], ahead, table)

    def _followed(
        self, ends: PushState, contact: NDArray[np.int64], beam: NDArray[np.int64]
    ) -> tuple[Array, Pushes]:
        """The best second push after each of n ends.

        Args:
            ends: states after first pushes.
            contact: contacts of the first pushes, at which the pusher is.
            beam: (n,), indices of the ends.

        Returns:
            Costs (n,), in control steps, and the pushes.
        """
        n, contact = len(beam), contact[beam]
        ends = PushState(np.ascontiguousarray(ends.values[:, beam]))
        pushes = self._drawn(np.arange(len(self._roadmap.points)), n * _SECOND)
        source = np.repeat(np.arange(n), _SECOND)
        costs, steps = self._put(ends, contact, source, pushes)
        best = np.argsort(costs, kind="stable")[:_REFINED]
        varied = self._varied(replace(pushes.take(best), steps=steps[best]), _VARIED)
        varied = replace(varied, steps=np.full(len(varied.steps), self._longest))
        again = np.repeat(source[best], _VARIED)
        rolled = self._put(ends, contact, again, varied)
        source = np.concatenate([source, again])
        costs, steps = (np.concatenate(pair) for pair in zip((costs, steps), rolled, strict=True))
        pushes = replace(pushes.then(varied), steps=steps)
        order = np.lexsort((costs, source))  # by source, then by cost: the first is the cheapest
        index = order[np.searchsorted(source[order], np.arange(n))]
        return costs[index], pushes.take(index)

    def _put(
        self, ends: PushState, contact: NDArray[np.int64], source: NDArray[np.int64], pushes: Pushes
    ) -> tuple[Array, NDArray[np.int64]]:
        """Roll out pushes with the pusher put at the standoff, and without drawing back.

        The way there counts by its length only, between the standoffs of both contacts.

        Args:
            ends: states that the pushes begin at.
            contact: contacts of the pushes before, one for each end.
            source: (n,), index of the end that each push begins at.
            pushes: n pushes.

        Returns:
            Costs (n,), in control steps; and steps (n,) from the standoff to the best end.
        """
        pace, n = self._pace, len(source)
        state = PushState(np.ascontiguousarray(ends.values[:, source]))
        state.values[2:4] = 0.0
        stand, along = self._lines(pushes, state.body.T)
        state.values[0:2] = stand.T
        off = self._roadmap.off_table(stand)
        length = self._between[contact[source], pushes.contact]
        before = np.where(off, np.inf, pace.steps(length) + 3.0)  # steps as in an exact rollout
        best, at = np.full(n, np.inf), np.ones(n, dtype=np.int64)
        for j in range(self._longest):
            reach = pushes.speed * (j + 1) * pace.step
            self._sim.run(state, self._roadmap.on_table(stand + along * reach[:, None]))
            cost = before + j + 1 + self._left(state)
            good = cost < best
            best[good], at[good] = cost[good], j + 1
        return best, at

    def _adopt(self, state: PushState, push: Pushes, way: _Way) -> PushState:
        """Append the targets of one push to the steps; returns the predicted state after it."""
        now = state.copy()
        stand, along = self._lines(push, now.body.T)
        last = int(way.steps[push.contact[0]] + push.steps[0])
        for j in range(last + 1):
            target = self._target(j, push, way, stand, along)
            if j == last:
                target = now.pusher.T - self._back * along
            target = np.ascontiguousarray(self._roadmap.on_table(target))
            self._steps.append((now.body[:, 0].copy(), target[0]))
            self._sim.run(now, target)
        return now


class _Way:
    """Targets on the way to each of m contacts that can be reached.

    Attributes:
        row: (m,), index of the contact's row in ``targets``.
        targets: (T, rows, 2), m, at each control step.
        arrival: (m,), time at which the target reaches the standoff, s; inf if it can't.
        steps: (m,), control steps before that.
    """

    def __init__(self, pace: PusherTiming, paths: Paths, reached: NDArray[np.int64]) -> None:
        self.arrival = np.full(len(paths.lengths), np.inf)
        self.arrival[reached] = pace.arrival(paths.lengths[reached])
        self.steps = np.zeros(len(paths.lengths), dtype=np.int64)
        self.steps[reached] = pace.steps(paths.lengths[reached])
        self.row = np.zeros(len(paths.lengths), dtype=np.int64)
        self.row[reached] = np.arange(len(reached))
        steps = np.arange(int(self.steps.max()) + 1)
        self.targets = np.stack([pace.along(paths.to(int(i)), steps) for i in reached], axis=1)
