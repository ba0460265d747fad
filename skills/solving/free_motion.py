"""Free motions: the arm or the base from where it is to where it should be, full margin kept.

Searched on sampled edges by the compiled planners, or by the seed's RRT in PyBullet; what they find
is proven by ``proof``.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import replace

import numpy as np

from galley.compiled.build import PLANNERS, ensure
from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import Array, transform
from galley.domain.state import State
from galley.motion.motion import Attachment, Motion, Record
from galley.motion.path import Path
from galley.motion.planners import compiled_search
from galley.motion.planners.compiled_search import SearchOptions
from galley.motion.planners.planning import ANYTIME_SEARCHES, search
from galley.motion.planners.rrt import RRT, EndRegion, joint_space, path_free
from galley.motion.trajectory.timing import rest_to_rest
from galley.skills.solving.context import PlanningContext
from galley.skills.solving.proof import FREE_CLEARANCE, free_view, holding_contact_pairs, prove

BOTH = "base+arm"
_FINENESS = (1.0, 0.5, 0.25)  # of the space's resolution, from search to search


def free_motion(
    context: PlanningContext,
    state: State,
    group: str,
    goals: Array,
    phase: str,
    action_index: int,
    rng: np.random.Generator,
) -> Motion | Failure:
    """Move one joint group from ``state`` to one of ``goals`` (m, k).

    Planned by the settings' planner (the base always by RRT-Connect), shortcut and proven; in
    PyBullet by the seed's RRT, and proven. With ``shortest`` the seed's QP replaces an arm's path
    where its result is proven free. Where no way is found for the arm alone, base and arm move
    together. The trajectory is a quick
    one, with a stop at each corner: ``finish`` makes the final one.
    """
    began = time.perf_counter()
    finder_of = CompiledFinder if context.compiled else PyBulletFinder
    goals, start = np.atleast_2d(goals), state.q[context.robot.slice(group)]
    for finer in _FINENESS:
        # Search on sampled edges, then prove; where the proof finds a hit, search on a finer grid.
        finder = finder_of(context, state, group, finer, rng)
        found, planner = finder.search(start, goals)
        if group == "arm" and isinstance(found, Failure) and found.kind is FailureKind.BUDGET:
            # The base makes room and comes back: both at once find ways that neither finds alone.
            group, start = BOTH, state.q[context.robot.slice(BOTH)]
            base = np.repeat(state.q[None, context.robot.slice("base")], len(goals), axis=0)
            goals = np.hstack([base, goals])
            finder = finder_of(context, state, group, finer, rng)
            found, planner = finder.search(start, goals)
        if isinstance(found, Failure):
            return found.within(phase)
        record = Record(planner, length_rrt=found.length)
        if group == "arm" and context.settings.optimize == "shortest":
            path, record = _optimized(context, found, state, finder, record)
            if path is not None:
                break
        path = finder.shortcut(found)
        certificate = prove(context, state, path, finder.allowed, FREE_CLEARANCE)
        if certificate.hit is None:
            record = replace(
                record, length_shortcut=path.length, min_clearance_m=certificate.clearance
            )
            break
    else:
        return Failure(
            FailureKind.BUDGET,
            f"no path could be proven free in {len(_FINENESS)} searches",
            numbers={"searches": float(len(_FINENESS))},
        ).within(phase)
    spent = 1e3 * (time.perf_counter() - began)
    record = replace(record, planning_ms=spent - record.optimization_ms)
    held, allowed = held_attachment(context, state), finder.allowed
    trajectory = rest_to_rest(
        path, context.robot.group(path.group), context.speed(state, path.group)
    )
    return Motion(action_index, phase, group, path, trajectory, held, allowed, record=record)


class Finder(ABC):
    """Searches one joint group's space in one State, its edges ``finer`` than the space's."""

    def __init__(
        self,
        context: PlanningContext,
        state: State,
        group: str,
        finer: float,
        rng: np.random.Generator,
    ) -> None:
        self.context, self.state, self.group, self.rng = context, state, group, rng
        self.allowed = holding_contact_pairs(context, state)
        self.prepare(finer)

    @abstractmethod
    def prepare(self, finer: float) -> None:
        """What the searches need."""

    @abstractmethod
    def search(self, start: Array, goals: Array) -> tuple[Path | Failure, str]:
        """A raw path from start (k,) to one of goals (m, k), and the name of the planner."""

    @abstractmethod
    def rrt(self, start: Array, goals: Array, region: EndRegion | None) -> Path | Failure:
        """The seed's RRT, into the region or, with None, to one of goals (m, k)."""

    @abstractmethod
    def shortcut(self, path: Path) -> Path:
        """A path with the same ends, never longer."""

    @abstractmethod
    def free(self, path: Path) -> bool:
        """Whether the path's sampled states are free."""

    def by_region(self, start: Array, goals: Array) -> Path | Failure:
        """The RRT's path about the hand's pose at the first goal, and to one of goals (m, k).

        It may arrive with another elbow than any goal's. The straight segment that follows a motion
        starts at a goal configuration, so join it, or search on for exactly that.
        """
        hand, l1 = self.context.hand(self.state), self.context.settings.l1
        X_HT = transform(None, self.context.robot.p_HT)

        def pose(arm: Array) -> Array:
            return hand(arm) @ X_HT

        region = EndRegion(pose, pose(goals[0]), radius=0.02 if l1 else 0.01, l1=l1)
        found = self.rrt(start, goals, region)
        if isinstance(found, Failure) or (np.abs(goals - found.end).max(axis=1) < 1e-9).any():
            return found
        for goal in goals:
            if self.free(Path(self.group, np.stack([found.end, goal]))):
                return Path(self.group, np.vstack([found.waypoints, goal]))
        return self.rrt(start, goals, None)


class CompiledFinder(Finder):
    """The compiled planners on the kernel."""

    def prepare(self, finer: float) -> None:
        """See ``Finder``."""
        view = free_view(self.context, self.state, self.group, self.allowed)
        self._view = view if finer == 1.0 else view.finer(finer)
        self._seed = int(self.rng.integers(2**62))

    def search(self, start: Array, goals: Array) -> tuple[Path | Failure, str]:
        """See ``Finder``."""
        settings = self.context.settings
        planner = settings.planner if self.group == "arm" else "rrt-connect"
        if planner == "rrt":
            ensure(PLANNERS)
            return self.by_region(start, goals), planner
        anytime = planner == "anytime"
        options = SearchOptions(
            iterations=settings.iterations,
            shortcuts=settings.shortcuts if anytime else 0,
            searches=ANYTIME_SEARCHES if anytime else 1,
            rounds=1,
        )
        return search(self._view, start, goals, self._seed, "rrt-connect", options), planner

    def rrt(self, start: Array, goals: Array, region: EndRegion | None) -> Path | Failure:
        """See ``Finder``."""
        options = SearchOptions(iterations=self.context.settings.rrt_iterations)
        seed = self._seed + (region is None)
        return compiled_search.plan_rrt(self._view, start, goals, region, seed, options)

    def shortcut(self, path: Path) -> Path:
        """See ``Finder``; what is new on it is proven."""
        options = SearchOptions(shortcuts=self.context.settings.shortcuts, required=FREE_CLEARANCE)
        # By the spheres alone where they let the path itself pass, as the search did.
        view = self._view.rough if self.free(path) else self._view
        ensure(PLANNERS)
        return compiled_search.shorten(path, view, self._seed, options)

    def free(self, path: Path) -> bool:
        """See ``Finder``."""
        points = path.waypoints
        return bool(self._view.edges_free(points[:-1], points[1:]).all())


class PyBulletFinder(Finder):
    """The seed's RRT, in Python, on PyBullet's collision checks."""

    def prepare(self, finer: float) -> None:
        """See ``Finder``."""
        self._space = joint_space(self.context.robot, self.group).finer(finer)
        self._free = self.context.free(self.state, self.group, self.allowed)

    def search(self, start: Array, goals: Array) -> tuple[Path | Failure, str]:
        """See ``Finder``; a region is the arm's alone."""
        if self.group == "arm":
            return self.by_region(start, goals), "rrt"
        return self.rrt(start, goals, None), "rrt"

    def rrt(self, start: Array, goals: Array, region: EndRegion | None) -> Path | Failure:
        """See ``Finder``."""
        planner = RRT(iterations=self.context.settings.rrt_iterations)
        return planner.plan(self._space, self._free, start, region, goals, self.rng)

    def shortcut(self, path: Path) -> Path:
        """The path itself: making it shorter is left to the trajectory (``finish``)."""
        return path

    def free(self, path: Path) -> bool:
        """See ``Finder``."""
        return path_free(self._space, self._free, path)


def _optimized(
    context: PlanningContext, path: Path, state: State, finder: Finder, record: Record
) -> tuple[Path | None, Record]:
    """The QP's path if it is proven free, else None; and what to report."""
    from galley.optimization.shortest import shortest  # late: it loads a QP solver

    began = time.perf_counter()
    result = shortest(path)
    kept = None
    if isinstance(result, Failure):
        outcome = f"kept the planned path: {result.message}"
    else:
        outcome = "kept the planned path: the QP's result is in collision"
        # Sampled states first: cheaper than a proof, and they find most hits.
        if finder.free(result):
            certificate = prove(context, state, result, finder.allowed, FREE_CLEARANCE)
            if certificate.hit is None:
                kept, outcome = result, "shortest"
                record = replace(
                    record,
                    length_optimized=result.length,
                    min_clearance_m=certificate.clearance,
                )
    spent = 1e3 * (time.perf_counter() - began)
    return kept, replace(record, optimizer=outcome, optimization_ms=spent)


def held_attachment(context: PlanningContext, state: State) -> tuple[Attachment, ...]:
    """The attachment of what is in the hand, if anything is."""
    if state.held is None:
        return ()
    return (Attachment("item", context.scene.items[state.held].name),)
