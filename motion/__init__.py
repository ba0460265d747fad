"""Motion planning without collisions: paths, planners, trajectories. Independent of PDDL.

- ``path``, ``motion``: what is planned; ``effects``: how a motion changes a State; ``sequence``:
  whether motions fit one after another
- ``planners/``: paths for a joint group; ``kernel/``: the planners, compiled end to end
- ``trajectory/``: curves in time, on disk, and for a real arm
- ``certify``: proof that a path is free between its checked states
- ``thresholds``: forces, speeds and tolerances of execution; ``guarded_approach``: how hard a
  contact will be, how slow to come for it, from what force it counts

For use as a library::

    from galley.motion import CollisionWorld, box, cylinder, plan, sphere
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from galley.collision.collision_world import CollisionWorld as CollisionWorld
    from galley.collision.solids import box as box
    from galley.collision.solids import convex as convex
    from galley.collision.solids import cylinder as cylinder
    from galley.collision.solids import sphere as sphere
    from galley.motion.path import Path as Path
    from galley.motion.planners.compiled_search import SearchOptions as SearchOptions
    from galley.motion.planners.planning import plan as plan

_WHERE = {
    "CollisionWorld": "galley.collision.collision_world",
    "Path": "galley.motion.path",
    "SearchOptions": "galley.motion.planners.compiled_search",
    "plan": "galley.motion.planners.planning",
    **dict.fromkeys(("box", "convex", "cylinder", "sphere"), "galley.collision.solids"),
}


def __getattr__(name: str) -> Any:
    """Imports on first use."""
    if name in _WHERE:
        from importlib import import_module

        return getattr(import_module(_WHERE[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
