"""Proof that something is in the way: a stated grid without a solution, that has one without it.

The grid is over where the base stands, the value of joint 7 and all arm configurations for it, for
every manipulation listed. It proves nothing of what lies between its points; it says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, islice
from typing import Any

import numpy as np

from galley.domain.failure import Failure, FailureKind
from galley.domain.frames import Array, transform, wrap
from galley.domain.scene import HAND, Body, Handle, Scene, Stance
from galley.domain.state import Placement, State
from galley.skills.build import folded
from galley.skills.contacts import operations, picks
from galley.skills.grasps import CLEARANCE, grasps_at
from galley.skills.grid_search import Outcome, search
from galley.skills.manipulation import Line, Manipulation, Stroke, handle_grasps
from galley.skills.touching import supports
from galley.skills.workbench import OPEN, Workbench

Listed = Callable[[Workbench, State], Sequence[Manipulation]]
"""All manipulations of one kind in a State: every grasp of an item, every way to take a handle."""

_SINGLES = 6  # things removed one at a time, those first that are in the way most often
_PAIRED = 4  # things removed two at a time
_ITEMS = 12  # items removed all together; of more only those that are in the way
_PARKED = transform(None, (0.0, 0.0, -50.0))  # X_WI of an item that is taken away
_GROUND = 0.005  # m, what is no higher carries the base


@dataclass(frozen=True)
class Grid:
    """The steps of the grid.

    Attributes:
        x, y: m, at most, between base positions. heading: rad, likewise.
        joint7: values of joint 7, evenly over its range.
        lines: how often the lines of a manipulation are followed and checked, at most.
    """

    x: float = 0.06
    y: float = 0.10
    heading: float = np.pi / 4
    joint7: int = 12
    lines: int = 400

    def bases(self, bench: Workbench, stance: Stance) -> Array:
        """Base poses (m, 3) in the stance set and within the base's limits; ends included."""
        base = bench.scene.robot.base
        low = np.maximum(stance.lower[:2], base.lower[:2])
        high = np.minimum(stance.upper[:2], base.upper[:2])
        if (low > high).any():
            return np.empty((0, 3))
        x, y = (_steps(low[k], high[k], step) for k, step in ((0, self.x), (1, self.y)))
        span = min(float(stance.upper[2] - stance.lower[2]), 2.0 * np.pi)
        turns = _steps(float(stance.lower[2]), float(stance.lower[2]) + span, self.heading)
        if span > 2.0 * np.pi - 1e-9:
            turns = turns[:-1]
        found = np.stack(np.meshgrid(x, y, wrap(turns), indexing="ij"), axis=-1).reshape(-1, 3)
        within = (found >= np.array(base.lower)).all(axis=1)
        return np.asarray(found[within & (found <= np.array(base.upper)).all(axis=1)])

    def as_json(self) -> dict[str, Any]:
        """The steps, for a certificate."""
        return {
            "x_m": self.x,
            "y_m": self.y,
            "heading_rad": self.heading,
            "joint7": self.joint7,
            "lines": self.lines,
        }


def exhaustive(
    bench: Workbench,
    state: State,
    contacts: Listed,
    stance: Stance,
    what: str,
    grid: Grid | None = None,
) -> Failure | None:
    """Why ``what`` can't be done from anywhere in a stance set, proven on a grid; else None.

    ``BLOCKED``: the grid has no solution, and one without the things named (all of them).
    ``UNREACHABLE``: the arm reaches no contact from any of its points. None: it has a solution, or
    nothing can be said.

    Args:
        contacts: all the ways to do it, which is what the proof is about.
        what: is done, for the message: ``pick the sugar box``.
    """
    grid = Grid() if grid is None else grid
    ways = contacts(bench, state)
    found = _searched(bench, state, ways, stance, grid)
    if found.solutions or not found.complete or not ways:
        return None
    told: dict[str, Any] = {
        "kind": "exhaustive-grid",
        "stance": stance.name,
        "grid": {**grid.as_json(), **found.counts()},
        "ways": [way.name for way in ways],
        "solutions": 0,
    }
    if not found.kinematic:
        return Failure(
            FailureKind.UNREACHABLE,
            f"the arm can't {what} from any of {found.bases} base poses in stance set "
            f"'{stance.name}'",
            (),
            {"bases": float(found.bases), "ways": float(len(ways))},
            told,
        )

    def frees(names: tuple[str, ...]) -> bool:
        return _searched(*_without(bench, state, ways, names), stance, grid).solutions > 0

    names = _culprits(bench, _removable(bench, state, ways), found.blockers, frees)
    if names is None:
        return None
    verb = "is" if len(names) == 1 else "are"
    return Failure(
        FailureKind.BLOCKED,
        f"{' and '.join(names)} {verb} in the way: can't {what} from any of {found.bases} base "
        f"poses, but could without",
        names,
        {"bases": float(found.bases), "kinematic": float(found.kinematic)},
        {**told, "without": list(names), "solutions_without": 1},
    )


def every_pick(bench: Workbench, state: State, index: int) -> list[Manipulation]:
    """Each grasp of an item that stands, with the fingers fully and narrowly open; by name."""
    count = len(grasps_at(bench.scene, state, index))
    found = list(islice(picks(bench, state, index, np.random.default_rng(0)), count))
    ways = []
    for way in sorted(found, key=lambda way: way.name):
        half = next(step.opening for step in way.steps if isinstance(step, Stroke))
        for opening in sorted({OPEN, min(OPEN, half + CLEARANCE)}, reverse=True):
            ways.append(replace(way, opening=opening))
    return ways


def every_operation(
    bench: Workbench, state: State, handle: Handle, value: float
) -> list[Manipulation]:
    """Each way to take a handle and bring its joint to ``value`` (m or rad)."""
    X_WB = bench.scene.body_pose(handle.body, state.scene_q)
    count = len(handle_grasps(X_WB, handle, bench.robot.p_HT))
    return list(islice(operations(bench, state, handle, value, np.random.default_rng(0)), count))


def recheck(
    bench: Workbench,
    state: State,
    contacts: Listed,
    certificate: Mapping[str, Any],
) -> bool:
    """Whether a certificate of ``exhaustive`` holds when its grid is searched anew.

    Args:
        contacts: the same list as then.
        certificate: of a Failure, or read from a report.
    """
    told = certificate["grid"]
    grid = Grid(told["x_m"], told["y_m"], told["heading_rad"], told["joint7"], told["lines"])
    ways, stance = contacts(bench, state), bench.scene.stance(certificate["stance"])
    if [way.name for way in ways] != list(certificate["ways"]):
        return False
    found = _searched(bench, state, ways, stance, grid)
    if found.solutions or not found.complete:
        return False
    if "without" not in certificate:
        return found.kinematic == 0
    names = tuple(certificate["without"])
    return _searched(*_without(bench, state, ways, names), stance, grid).solutions > 0


def _searched(
    bench: Workbench, state: State, ways: Sequence[Manipulation], stance: Stance, grid: Grid
) -> Outcome:
    arms = folded(bench, state)
    arm = arms[0] if len(arms) else bench.tucked
    return search(bench, state, ways, grid.bases(bench, stance), arm, grid.joint7, grid.lines)


def _culprits(
    bench: Workbench,
    removable: Sequence[str],
    blockers: Counter[str],
    frees: Callable[[tuple[str, ...]], bool],
) -> tuple[str, ...] | None:
    """Things without which there is a solution; None where none are found.

    One at a time, items first and the most frequent first; then two; then all items together, less
    those that are not needed for it: so none of them can be left out.
    """
    items = [name for name in removable if name in bench.scene.item_index]
    names = [name for name in blockers if name in removable]
    names.sort(key=lambda name: (name not in items, -blockers[name], name))
    for group in (*((name,) for name in names[:_SINGLES]), *combinations(names[:_PAIRED], 2)):
        if frees(group):
            return group
    # What is hit only where others are gone is none of the blockers yet.
    items = items if len(items) <= _ITEMS else [name for name in names if name in items]
    if len(items) < 2 or not frees(tuple(items)):
        return None
    for name in sorted(items, key=lambda name: blockers[name]):
        rest = tuple(other for other in items if other != name)
        if frees(rest):
            items = list(rest)
    return tuple(items)


def _removable(bench: Workbench, state: State, ways: Sequence[Manipulation]) -> list[str]:
    """What can be thought away: all but what is needed."""
    scene, needed = bench.scene, _needed(bench, state, ways)
    names = [item.name for item in scene.items] + [body.name for body in scene.bodies]
    return [name for name in names if name not in needed]


def _needed(bench: Workbench, state: State, ways: Sequence[Manipulation]) -> set[str]:
    """What can't be thought away: what the hand touches, carriers, the floor, what is held."""
    scene = bench.scene
    found = {body.parent for body in scene.bodies}
    for k, item in enumerate(scene.items):
        if state.items[k].parent == HAND:
            found.add(item.name)
        else:
            found.update((state.items[k].parent, *supports(bench, state, k)))
    for way in ways:
        for step in way.steps:
            found.update(name for pair in step.allowed for name in pair)
    found.update(body.name for body in scene.bodies if _top(body) < _GROUND)
    return found


def _top(body: Body) -> float:
    """Highest z (m) of a body's collision shapes; infinite where it isn't known."""
    tops = [-np.inf]
    for shape in body.shapes:
        if shape.kind == "mesh":
            return np.inf
        if shape.collision:
            X_WS = body.X_WB0 @ shape.X_BS
            tops.append(float(X_WS[2, 3] + np.abs(X_WS[2, :3]) @ shape.half_extents))
    return max(tops)


def _without(
    bench: Workbench, state: State, ways: Sequence[Manipulation], names: tuple[str, ...]
) -> tuple[Workbench, State, list[Manipulation]]:
    """The same manipulations in a world without some items and bodies."""
    scene = bench.scene
    items = [scene.item_index[name] for name in names if name in scene.item_index]
    bodies = [name for name in names if name not in scene.item_index]

    def emptied(at: State) -> State:
        for index in items:
            at = at.with_item(index, Placement("world", _PARKED))
        return at

    found = []
    for way in ways:
        steps: list[Line | Stroke] = []
        for step in way.steps:
            if isinstance(step, Line):
                steps.append(replace(step, state=emptied(step.state)))
            else:
                steps.append(step)
        found.append(replace(way, steps=tuple(steps)))
    if bodies:
        settings = replace(bench.settings, checker="kernel")  # the other world stays as it is
        bench = Workbench(_scene_without(scene, bodies), bench.robot, bench.world, settings)
    return bench, emptied(state), found


def _scene_without(scene: Scene, bodies: Sequence[str]) -> Scene:
    return replace(
        scene,
        bodies=tuple(body for body in scene.bodies if body.name not in bodies),
        regions=tuple(region for region in scene.regions if region.body not in bodies),
        handles=tuple(handle for handle in scene.handles if handle.body not in bodies),
    )


def _steps(low: float, high: float, step: float) -> Array:
    count = int(np.ceil((high - low) / step - 1e-9))
    return np.linspace(low, high, count + 1)
