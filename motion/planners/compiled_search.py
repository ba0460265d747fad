"""RRT-Connect and shortcutting, called from Python: the compiled code is in ``motion.kernel``.

Callers check starts and goals first, so that they can name the bodies in collision. Calls share no
state, and the compiled code releases the interpreter's lock.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import Array, as_input
from galley.motion.path import Path

if TYPE_CHECKING:
    from galley.collision.view import View

_SEEDS = 2**63 - 1


@dataclass(frozen=True)
class SearchOptions:
    """Parameters and budget of a search.

    Attributes:
        radius: longest edge of a tree, in the metric of the group; inf for no limit. With a larger
            one, trees cross open space in fewer edges, but more edges are blocked.
        iterations: most iterations of one search.
        shortcuts: most random changes that are tried to shorten a path; 0 for none. With more,
            paths get shorter and take longer to plan.
        patience: tries in a row without a gain after which shortening stops.
        required: metres of clearance that a path must be proven to keep; None for sampled paths.
        goal_bias: share of the RRT's samples that are goals; RRT-Connect does not use it.

    Raises:
        ValueError: a value is below 0 or not finite (``radius`` may be inf).
    """

    radius: float = 0.75
    iterations: int = 30_000
    shortcuts: int = 120
    patience: int = 50
    required: float | None = None
    goal_bias: float = 0.1

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if value is not None and not (value >= 0.0 and (value < inf or name == "radius")):
                raise ValueError(f"{name} must be a finite number from 0, got {value}")


def plan_rrt_connect(
    view: View,
    start: Array,
    goals: Array,
    seed: int,
    options: SearchOptions | None = None,
) -> Path | Failure:
    """A short path by RRT-Connect, from start (k,) to one of ``goals`` (m, k), all of them free.

    Args:
        view: collision view of the joint group; a second search samples edges at half its step.
        start: configuration (k,).
        goals: configurations (m, k).
        seed: the same seed gives the same path.
        options: parameters and budget; the defaults if None.

    Returns:
        The path, proven if the options require it. Else a Failure: ``blocked`` if there is no goal,
        or if the start or every goal is nearer to an obstacle than required; ``budget`` if no path
        was found or proven.
    """
    from galley.motion.kernel import plan as kernel

    options = options or SearchOptions()
    q, ends = as_input(start), as_input(goals).reshape(-1, len(start))
    if len(ends) == 0:
        return Failure(FailureKind.BLOCKED, "no goal configuration is free")
    budget = kernel.Budget(int(options.iterations), int(options.shortcuts), int(options.patience))
    tables = view.table, view.fine.table
    result = kernel.plan(*tables, _box(view), _rules(options), budget, q, ends, _seed(seed))
    if result.status == kernel.FOUND:
        return Path(view.group, result.path)
    return _failure(result, options)


def _failure(result: Any, options: SearchOptions) -> Failure:
    """The Failure for a ``kernel.PlanResult`` without a path."""
    from galley.motion.kernel import plan as kernel

    keep = f"keep {1e3 * (options.required or 0.0):.1f} mm"
    required = {"required_m": float(options.required or 0.0)}
    ends = {
        kernel.START_NOT_PROVEN: f"the start configuration is not proven to {keep}",
        kernel.GOALS_NOT_PROVEN: f"no goal configuration is proven to {keep}",
    }
    if result.status in ends:
        return Failure(FailureKind.BLOCKED, ends[result.status], numbers=required)
    numbers = {
        "iterations": result.iterations,
        "tree_sizes": result.start_nodes + result.goal_nodes,
        "searches": result.searches,
    }
    plural = "" if result.searches == 1 else "es"
    tried = f"in {result.iterations} iterations, {result.searches} search{plural}"
    if result.status == kernel.NOT_PROVEN:
        message = f"RRT-Connect found a path, but none proven to {keep}, {tried}"
        return Failure(FailureKind.BUDGET, message, numbers=numbers | required)
    return Failure(FailureKind.BUDGET, f"RRT-Connect found no path {tried}", numbers=numbers)


def shorten(path: Path, view: View, seed: int, options: SearchOptions | None = None) -> Path:
    """Shortens a free path: the result has the same ends, is never longer, and its edges are free.

    If the options have ``required``, the new edges are proven; old edges stay as they are.

    Args:
        path: over the view's joint group, its edges free.
        view: collision view of the joint group.
        seed: the same seed gives the same path.
        options: of which ``shortcuts``, ``patience`` and ``required`` count; the defaults if None.
    """
    from galley.motion.kernel.shortcut import shorten_seeded

    options = options or SearchOptions()
    rules, budget = _rules(options), (int(options.shortcuts), int(options.patience))
    points = as_input(path.waypoints)
    shorter = shorten_seeded(view.table, _box(view), rules, points, *budget, _seed(seed))
    return Path(path.group, shorter)


def _box(view: View) -> Any:
    """The box to search, and its metric, as the kernel's tuple."""
    from galley.motion.kernel.rules import SearchBox

    tree = view.arrays.tree
    return SearchBox(tree.low, tree.high, tree.weights)


def _rules(options: SearchOptions) -> Any:
    """The rules for a free edge, as the kernel's tuple."""
    from galley.motion.kernel.rules import Rules

    proven, required = options.required is not None, float(options.required or 0.0)
    return Rules(float(options.radius), proven, required)


def _seed(seed: int) -> int:
    """The seed as the kernel takes it, from 0 to 2^63 - 1; negative and larger ones wrap around."""
    if not isinstance(seed, (int, np.integer)):
        raise ValueError(f"seed must be a whole number, got {seed!r}")
    return int(seed) & _SEEDS
