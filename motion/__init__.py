"""Collision-free motion planning: paths, planners, trajectories. Independent of PDDL.

- ``path``: waypoints of a joint group; ``motion``: a path with its trajectory, attachments and
  allowed contacts; ``effects``: how a motion changes a State; ``sequence``: checks that motions fit
  one after another
- ``planners/``: plan paths for a joint group; ``kernel/``: the planners in compiled code
- ``trajectory/``: curves in time, their files, and their export for a real arm
- ``certify``: proves that a path is free between its checked states
- ``thresholds``: forces, speeds and tolerances of execution; ``guarded_approach``: the force of an
  impact, a safe speed of approach, and the force that counts as contact

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
    """Imports an exported name when it is first used: small programs should start fast.

    Raises:
        AttributeError: the package exports no such name.
    """
    if name in _WHERE:
        from importlib import import_module

        return getattr(import_module(_WHERE[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
