"""How to get there without hitting anything: paths, trajectories, planners. PDDL is not seen here.

- ``planning``: ``plan``, the library's way in; a pose as goal
- ``compiled_search``, ``kernel``: the planners, compiled end to end, and their Python side
- ``path``, ``trajectory``, ``motion``: what is planned; ``effects``: what a motion does to a State
- ``space``: where planners search, and how edges are checked; ``rrt``: the seed's RRT, in Python
- ``certify``: proof that a path is free between its checked states; ``audit``: Drake's opinion
- ``timing``: from a path to a trajectory within limits; less jerk by averaging
- ``archive``, ``store``: trajectories on disk; ``export``: for a real arm

For use as a library::

    from galley.motion import CollisionWorld, box, cylinder, plan, sphere
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from galley.motion.compiled_search import SearchOptions
    from galley.motion.path import Path
    from galley.motion.planning import plan
    from galley.worlds.collision_world import CollisionWorld
    from galley.worlds.solids import box, convex, cylinder, sphere

_WHERE = {
    "CollisionWorld": "galley.worlds.collision_world",
    "Path": "galley.motion.path",
    "SearchOptions": "galley.motion.compiled_search",
    "box": "galley.worlds.solids",
    "convex": "galley.worlds.solids",
    "cylinder": "galley.worlds.solids",
    "plan": "galley.motion.planning",
    "sphere": "galley.worlds.solids",
}

__all__ = [
    "CollisionWorld",
    "Path",
    "SearchOptions",
    "box",
    "convex",
    "cylinder",
    "plan",
    "sphere",
]


def __getattr__(name: str) -> Any:
    """Imports what is asked for when it is asked for."""
    if name in _WHERE:
        from importlib import import_module

        return getattr(import_module(_WHERE[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
