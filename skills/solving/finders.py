"""Searching for free motions' paths: by the compiled planners, or by the seed's RRT in PyBullet.

Both search on sampled edges with the full margin; what they find is proven by ``proof``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from galley.compiled.build import PLANNERS, ensure
from galley.domain.failure import Failure
from galley.domain.frames import Array
from galley.domain.state import State
from galley.motion.path import Path
from galley.motion.planners import compiled_search
from galley.motion.planners.compiled_search import SearchOptions
from galley.motion.planners.planning import ANYTIME_SEARCHES, ask, search
from galley.motion.planners.rrt import RRT, EndRegion
from galley.motion.planners.space import edge_free, path_free
from galley.skills.solving.proof import FREE, free_view
from galley.skills.solving.workbench import Workbench
from galley.worlds.checker import Pair

BOTH = "base+arm"


class Finder(Protocol):
    """Searches one joint group's space in one State."""

    def search(self, start: Array, goals: Array) -> tuple[Path | Failure, str]:
        """A raw path from start (k,) to one of goals (m, k), and the name of the planner."""
        ...

    def shortcut(self, path: Path) -> Path:
        """A path with the same ends, never longer."""
        ...

    def free(self, path: Path) -> bool:
        """Whether the path's sampled states are free."""
        ...


class CompiledFinder:
    """The compiled planners on the kernel."""

    def __init__(
        self,
        bench: Workbench,
        state: State,
        group: str,
        allowed: frozenset[Pair],
        finer: float,
        rng: np.random.Generator,
    ) -> None:
        self.bench, self.state, self.group = bench, state, group
        view = free_view(bench, state, group, allowed)
        self._view = view if finer == 1.0 else view.finer(finer)
        self._seed = int(rng.integers(2**62))

    def search(self, start: Array, goals: Array) -> tuple[Path | Failure, str]:
        """See ``Finder``."""
        settings = self.bench.settings
        if self.group == "arm" and settings.planner == "rrt":
            return self._rrt(start, goals), "rrt"
        anytime = self.group == "arm" and settings.planner == "anytime"
        options = SearchOptions(
            iterations=settings.iterations,
            shortcuts=settings.shortcuts if anytime else 0,
            searches=ANYTIME_SEARCHES if anytime else 1,
            rounds=1,
        )
        name = "anytime" if anytime else "rrt-connect"
        return search(self._view, start, goals, self._seed, "rrt-connect", options), name

    def _rrt(self, start: Array, goals: Array) -> Path | Failure:
        question = ask(self._view)
        options = SearchOptions(iterations=self.bench.settings.rrt_iterations)

        def search_for(region: EndRegion | None) -> Path | Failure:
            seed = self._seed + (region is None)
            return compiled_search.plan_rrt(
                self.group, question, start, goals, region, seed, options
            )

        def joins(a: Array, b: Array) -> bool:
            return bool(self._view.edges_free(a[None], b[None])[0])

        ensure(PLANNERS)
        return _by_region(search_for, _region(self.bench, self.state, goals[0]), goals, joins)

    def shortcut(self, path: Path) -> Path:
        """See ``Finder``; what is new on it is proven."""
        options = SearchOptions(shortcuts=self.bench.settings.shortcuts, required=FREE)
        # By the spheres alone where they let the path itself pass, as the search did.
        view = self._view.rough if self.free(path) else self._view
        ensure(PLANNERS)
        return compiled_search.shorten(path, ask(view), self._seed, options)

    def free(self, path: Path) -> bool:
        """See ``Finder``."""
        points = path.waypoints
        return bool(self._view.edges_free(points[:-1], points[1:]).all())


class PyBulletFinder:
    """The seed's RRT, in Python, on PyBullet's collision checks."""

    def __init__(
        self,
        bench: Workbench,
        state: State,
        group: str,
        allowed: frozenset[Pair],
        finer: float,
        rng: np.random.Generator,
    ) -> None:
        self.bench, self.state, self.group, self._rng = bench, state, group, rng
        self._space = bench.space(group).finer(finer)
        self._free = bench.free(state, group, allowed)

    def search(self, start: Array, goals: Array) -> tuple[Path | Failure, str]:
        """See ``Finder``."""
        rrt = RRT(iterations=self.bench.settings.rrt_iterations)

        def search_for(region: EndRegion | None) -> Path | Failure:
            return rrt.plan(self._space, self._free, start, region, goals, self._rng)

        def joins(a: Array, b: Array) -> bool:
            return edge_free(self._space, self._free, a, b)

        region = _region(self.bench, self.state, goals[0]) if self.group == "arm" else None
        return _by_region(search_for, region, goals, joins), "rrt"

    def shortcut(self, path: Path) -> Path:
        """The path itself: making it shorter is left to the trajectory (``finish``)."""
        return path

    def free(self, path: Path) -> bool:
        """See ``Finder``."""
        return path_free(self._space, self._free, path)


def _by_region(
    search_for: Callable[[EndRegion | None], Path | Failure],
    region: EndRegion | None,
    goals: Array,
    joins: Callable[[Array, Array], bool],
) -> Path | Failure:
    """The RRT's path into the region, and from there to one of ``goals`` (m, k).

    It may arrive with another elbow than any goal's. The straight segment that follows a motion
    starts at a goal configuration, so join it, or search on for exactly that.

    Args:
        search_for: the RRT, into a region or, with None, to a goal configuration.
        joins: whether the edge between two configurations is free.
    """
    found = search_for(region)
    if isinstance(found, Failure) or (np.abs(goals - found.end).max(axis=1) < 1e-9).any():
        return found
    for goal in goals:
        if joins(found.end, goal):
            return Path(found.group, np.vstack([found.waypoints, goal]))
    return search_for(None)


def _region(bench: Workbench, state: State, goal: Array) -> EndRegion:
    """About the pose of the grasp centre at ``goal``."""
    pose = bench.tool(state)
    radius = 0.02 if bench.settings.l1 else 0.01
    return EndRegion(pose, pose(goal), radius=radius, l1=bench.settings.l1)
