"""Searching and shortening paths for free motions: by the compiled planners, or in Python.

Both search on sampled edges with the full margin; what they find is proven by ``proof``.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from galley.compiled.jit import first_use
from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import Array
from galley.domain.state import State
from galley.motion import compiled_search, rrt_connect
from galley.motion.compiled_search import SearchOptions
from galley.motion.edges import edge_free, path_free
from galley.motion.path import Path
from galley.motion.planning import ANYTIME_SEARCHES, PLANNERS_COMPILED, ask, search
from galley.motion.rrt import RRT, EndRegion
from galley.motion.shortcut import shortcut
from galley.skills.proof import FREE, free_view
from galley.skills.workbench import Workbench
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

    def gives_up_on_arm_alone(self, failure: Failure) -> bool:
        """Whether it is worth while to let the base move too."""
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
        settings = bench.settings
        self._options = SearchOptions(
            iterations=settings.iterations, shortcuts=settings.shortcuts, rounds=1
        )

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
        region = _region(self.bench, self.state, goals[0])
        with first_use(PLANNERS_COMPILED):
            found = compiled_search.plan_rrt(
                self.group, question, start, goals, region, self._seed, options
            )
            if isinstance(found, Failure) or _arrived(found, goals):
                return found
            # Arrived in the region, perhaps with another elbow: the straight segment that follows
            # starts at a goal configuration, so join it, or search on for exactly that.
            ends = np.repeat(found.end[None], len(goals), axis=0)
            for goal in goals[self._view.edges_free(ends, goals)][:1]:
                return Path(self.group, np.vstack([found.waypoints, goal]))
            return compiled_search.plan_rrt(
                self.group, question, start, goals, None, self._seed + 1, options
            )

    def shortcut(self, path: Path) -> Path:
        """See ``Finder``; what is new on it is proven."""
        options = SearchOptions(shortcuts=self._options.shortcuts, required=FREE)
        # By the spheres alone where they let the path itself pass, as the search did.
        view = self._view.rough if self.free(path) else self._view
        with first_use(PLANNERS_COMPILED):
            return compiled_search.shorten(path, ask(view), self._seed, options)

    def free(self, path: Path) -> bool:
        """See ``Finder``."""
        points = path.waypoints
        return bool(self._view.edges_free(points[:-1], points[1:]).all())

    def gives_up_on_arm_alone(self, failure: Failure) -> bool:
        """The search found nothing; a goal in collision stays one."""
        return failure.kind is FailureKind.BUDGET


class PythonFinder:
    """The planners in Python, on whatever checks single configurations."""

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
        settings, space, free, rng = self.bench.settings, self._space, self._free, self._rng
        if self.group != "arm" or settings.planner != "rrt":
            planner = rrt_connect.RRTConnect(iterations=settings.iterations)
            return planner.plan(space, free, start, goals, rng), "rrt-connect"
        region = _region(self.bench, self.state, goals[0])
        rrt = RRT(iterations=settings.rrt_iterations)
        found = rrt.plan(space, free, start, region, goals, rng)
        if isinstance(found, Failure) or _arrived(found, goals):
            return found, "rrt"
        for goal in goals:
            if edge_free(space, free, found.end, goal):
                return Path(space.group, np.vstack([found.waypoints, goal])), "rrt"
        return rrt.plan(space, free, start, None, goals, rng), "rrt"

    def shortcut(self, path: Path) -> Path:
        """See ``Finder``."""
        return shortcut(path, self._space, self._free, self._rng, self.bench.settings.shortcuts)

    def free(self, path: Path) -> bool:
        """See ``Finder``."""
        return path_free(self._space, self._free, path)

    def gives_up_on_arm_alone(self, failure: Failure) -> bool:
        """Never: in Python that would take minutes."""
        return False


def _arrived(path: Path, goals: Array) -> bool:
    return bool((np.abs(goals - path.end).max(axis=1) < 1e-9).any())


def _region(bench: Workbench, state: State, goal: Array) -> EndRegion:
    """About the hand's pose at ``goal``; the kernel's tool frame is the grasp centre."""
    pose = bench.tool(state) if bench.compiled else bench.hand(state)
    radius = 0.02 if bench.settings.l1 else 0.01
    return EndRegion(pose, pose(goal), radius=radius, l1=bench.settings.l1)
