"""Evaluates a PDDL goal in the final geometry of a run.

The geometric meaning of ``on``, ``in``, ``inside``, ``opened``, ``near`` and ``grasp`` is
implemented independently of ``domain.predicates``, which planning uses; tests compare the two. This
module uses an item's shapes instead of its bounding box.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from itertools import product

import numpy as np

from galley.domain.frames import Array
from galley.domain.pddl.formula import (
    EQUALITY,
    OBJECT,
    And,
    Exists,
    Fact,
    Forall,
    Formula,
    Imply,
    Literal,
    Not,
    Or,
    Variable,
)
from galley.domain.pddl.model import Domain, Problem
from galley.domain.scene.model import Binding, Item, Region, Scene, Shape
from galley.domain.scene.stable_poses import allowed_poses
from galley.validation.poses import relative, rotated
from galley.validation.tolerances import GOAL
from galley.validation.verdict import GoalFact

Lookup = Callable[[Fact], bool]  # whether a ground fact holds
Judge = Callable[[str, tuple[Binding, ...]], tuple[bool, str] | None]
"""Whether a predicate holds for the bindings of its arguments, and why; None: it can't tell."""


@dataclass(frozen=True)
class Goal:
    """The goal of a run.

    Attributes:
        domain: the PDDL domain.
        problem: the PDDL problem, whose goal is evaluated.
        symbolic: the facts after the plan, or after the executed actions, by their effects. They
            decide predicates that nothing else decides, such as ``(empty h1)``.
        judges: judges of facts without a geometric meaning; the first that knows one decides it.
    """

    domain: Domain
    problem: Problem
    symbolic: Collection[Fact] = ()
    judges: tuple[Judge, ...] = ()


def evaluate_goal(goal: Goal, final: FinalState) -> tuple[GoalFact, ...]:
    """Evaluate each part of the goal, with the figures that decided it."""
    return tuple(_evaluate_part(goal, final, part) for part in goal.problem.goal)


def _evaluate_part(goal: Goal, final: FinalState, part: Formula) -> GoalFact:
    """Evaluate one part of the goal; each fact is decided by the first source that knows it."""
    whys: dict[Fact, str] = {}

    def look(fact: Fact) -> bool:
        # The geometry, then the judges, then the symbols.
        value = (
            evaluate_fact(final, fact)
            or _judged(goal, final.scene, fact)
            or (
                fact in goal.symbolic,
                "has no geometric meaning; the plan's symbolic effects decide",
            )
        )
        whys[fact] = value[1]
        return value[0]

    holds = formula_holds(goal, part, {}, look)
    why = "; ".join(dict.fromkeys(whys.values())) or "decided by the objects' names"
    return GoalFact(str(part), holds, why)


def _judged(goal: Goal, scene: Scene, fact: Fact) -> tuple[bool, str] | None:
    """The verdict of the first judge that knows a fact's predicate; None if none does."""
    args = _arguments(scene, fact)
    if args is None:
        return None
    return next(filter(None, (judge(fact.predicate, args) for judge in goal.judges)), None)


def _arguments(scene: Scene, fact: Fact) -> tuple[Binding, ...] | None:
    """The scene elements bound to a fact's arguments; None if one is not bound."""
    bound = {binding.object: binding for binding in scene.bindings}
    if any(name not in bound for name in fact.args):
        return None
    return tuple(bound[name] for name in fact.args)


def formula_holds(goal: Goal, formula: Formula, binding: Mapping[str, str], look: Lookup) -> bool:
    """Whether a formula holds.

    Args:
        goal: for the objects that quantifiers range over.
        formula: the formula.
        binding: the object bound to each free variable.
        look: decides ground facts.
    """

    def evaluate(part: Formula, more: Mapping[str, str] = binding) -> bool:
        return formula_holds(goal, part, more, look)

    match formula:
        case Literal(predicate=predicate, positive=positive):
            fact = formula.ground(binding)
            if predicate == EQUALITY:
                return (fact.args[0] == fact.args[1]) == positive
            return look(fact) == positive
        case And(parts):
            return all(evaluate(part) for part in parts)
        case Or(parts):
            return any(evaluate(part) for part in parts)
        case Not(part):
            return not evaluate(part)
        case Imply(premise, conclusion):
            return not evaluate(premise) or evaluate(conclusion)
        case Exists(variables, part):
            return any(evaluate(part, {**binding, **more}) for more in _bindings(goal, variables))
        case Forall(variables, part):
            return all(evaluate(part, {**binding, **more}) for more in _bindings(goal, variables))


def _bindings(goal: Goal, variables: tuple[Variable, ...]) -> list[dict[str, str]]:
    """All assignments of objects of the right types to variables."""
    candidates = [
        [each.name for each in goal.problem.objects if _is_a(goal.domain, each.type, v.types)]
        for v in variables
    ]
    names = [v.name for v in variables]
    return [dict(zip(names, chosen, strict=True)) for chosen in product(*candidates)]


def _is_a(domain: Domain, name: str, types: tuple[str, ...]) -> bool:
    """Whether a type is one of ``types``, or a subtype of one."""
    if name in types or OBJECT in types:
        return True
    parents = next((each.parents for each in domain.types if each.name == name), ())
    return any(parent != OBJECT and _is_a(domain, parent, types) for parent in parents)


@dataclass(frozen=True)
class FinalState:
    """The geometry at the end of a run. Poses are x, y, z, qx, qy, qz, qw.

    Attributes:
        scene: the scene of the run.
        base: x, y, heading (3,) of the base, m and rad.
        scene_q: scene joint values (nj,), m and rad.
        furniture: the pose X_WB (7,) of each body, by name.
        items: poses X_WI (ni, 7) of the items.
        gripped: for each item, whether it is in a hand, in contact with both fingers.
        still: for each item, whether it is at rest.
    """

    scene: Scene
    base: Array
    scene_q: Array
    furniture: Mapping[str, Array]
    items: Array
    gripped: tuple[bool, ...]
    still: tuple[bool, ...]


def evaluate_fact(final: FinalState, fact: Fact) -> tuple[bool, str] | None:
    """Whether a fact holds and why; None for one without a geometric meaning."""
    args = _arguments(final.scene, fact)
    if args is None:
        return None
    # A predicate has its meaning only with arguments of these kinds.
    match fact.predicate, tuple(arg.kind for arg in args):
        case "near", ("furniture",):
            return _near(final, args[0])
        case "opened", ("furniture",):
            return _opened(final, args[0])
        case "grasp", ("item",):
            gripped = final.gripped[final.scene.item_index[args[0].target]]
            return gripped, f"{args[0].target} is {'' if gripped else 'not '}in the hand"
        case "on", ("item", "furniture"):
            return _on(final, args[0], args[1])
        case (("in" | "inside"), ("item", "furniture")):
            return _within(final, args[0], args[1], closed=fact.predicate == "inside")
    return None


def _near(final: FinalState, place: Binding) -> tuple[bool, str]:
    """Whether the base pose lies in the stance set of a piece of furniture, and why."""
    stance = final.scene.stance(place.target)
    x, y, heading = (float(v) for v in final.base)
    why = f"the base stands at ({x:.2f}, {y:.2f}, {heading:.2f})"
    rounding = 1e-9
    if not all(
        low - rounding <= v <= high + rounding
        for v, low, high in zip((x, y), stance.lower[:2], stance.upper[:2], strict=True)
    ):
        return False, why
    # The smallest number of full turns that takes the heading to the lower bound or beyond.
    turns = np.ceil((stance.lower[2] - rounding - heading) / (2.0 * np.pi))
    return bool(heading + 2.0 * np.pi * turns <= stance.upper[2] + rounding), why


def _opened(final: FinalState, place: Binding) -> tuple[bool, str]:
    """Whether a drawer or door is open, and why."""
    if place.handle is None:
        return False, f"{place.object} has no handle to open it by"
    name, value, words = _opening(final, place.handle)
    return abs(value) > GOAL.closed, f"{name} is open by {words}"


def _opening(final: FinalState, handle_name: str) -> tuple[str, float, str]:
    """Name and value (m or rad) of the joint that a handle moves, and the value as text."""
    k = final.scene.joint_index[final.scene.handle(handle_name).joint]
    joint, value = final.scene.joints[k], float(final.scene_q[k])
    words = (
        f"{value:.3f} rad"
        if joint.kind == "revolute"
        else f"{round(1e3 * value, 1) + 0.0:.1f} mm"  # no "-0.0"
    )
    return joint.name, value, words


def _on(final: FinalState, thing: Binding, place: Binding) -> tuple[bool, str]:
    """Whether an item stands on a surface, on an allowed face and its centre over it, and why."""
    region = _region(final, place)
    if region is None or region.kind != "surface":
        return False, f"{place.object} has no surface to put things on"
    index = final.scene.item_index[thing.target]
    if (why := _not_put_down(final, index)) is not None:
        return False, why
    item, X_BI = final.scene.items[index], _in_body(final, region, index)
    faces = [rotated(X_BI[3:], pose.down) for pose in allowed_poses(item)]
    tilt = min(float(np.arctan2(np.hypot(x, y), -z)) for x, y, z in faces)
    if tilt > GOAL.tilt:
        return False, f"{item.name} is tilted by {np.degrees(tilt):.1f} degrees"
    lowest = float(X_BI[2]) - support_function(item, _to_item(X_BI, np.array([0.0, 0.0, -1.0])))
    under = [
        lowest - float(box[0, 2])
        for box in region.boxes
        if all(box[0, a] <= X_BI[a] <= box[1, a] for a in (0, 1))
    ]
    if not under:
        return False, f"the centre of {item.name} is not over {region.name}"
    gap = min(under, key=abs)
    words = f"{item.name} stands {round(1e3 * gap, 1) + 0.0:.1f} mm above {region.name}"
    return _at_spot(place, X_BI, abs(gap) <= GOAL.gap, words, item)


def _within(final: FinalState, thing: Binding, place: Binding, closed: bool) -> tuple[bool, str]:
    """Whether an item is in the region's volume and, with ``closed``, its drawer is closed."""
    region = _region(final, place)
    if region is None:
        return False, f"{place.object} has no region to put things in"
    if region.kind != "volume" and not closed:
        return False, f"{place.object} has no inside, only a surface"
    index = final.scene.item_index[thing.target]
    if (why := _not_put_down(final, index)) is not None:
        return False, why
    item, X_BI = final.scene.items[index], _in_body(final, region, index)
    excess = -np.inf
    for axis in range(3):
        for sign, bound in ((-1.0, region.boxes[0, 0]), (1.0, region.boxes[0, 1])):
            outwards = sign * np.eye(3)[axis]
            most = sign * float(X_BI[axis]) + support_function(item, _to_item(X_BI, outwards))
            excess = max(excess, most - sign * float(bound[axis]))
    if excess > GOAL.gap:
        return False, f"{item.name} sticks out of {region.name} by {1e3 * excess:.1f} mm"
    words = f"{item.name} is inside {region.name}"
    if not closed:
        return _at_spot(place, X_BI, True, words, item)
    if place.handle is None:
        return True, words
    name, value, open_by = _opening(final, place.handle)
    return abs(value) <= GOAL.closed, f"{item.name} is inside, {name} open by {open_by}"


def _at_spot(place: Binding, X_BI: Array, holds: bool, words: str, item: Item) -> tuple[bool, str]:
    """``holds`` and, if the place has an exact spot, the item is at it."""
    if not holds or place.spot is None:
        return holds, words
    away = float(np.hypot(*(X_BI[:2] - place.spot.xy)))
    words = f"{words}; {item.name} is {1e3 * away:.1f} mm from its spot"
    if away > GOAL.spot or place.spot.yaw is None:
        return away <= GOAL.spot, words
    x_axis = _axis(X_BI, 0)
    if not item.upright and abs(x_axis[2]) > np.sqrt(0.5):
        x_axis = _axis(X_BI, 2)  # of an item that lies with its x axis vertical
    if float(np.hypot(x_axis[0], x_axis[1])) < 1e-6:
        return False, f"{words}, and its x axis is vertical, so that it has no yaw"
    # The angle between two directions in the plane, from 0 to pi.
    c, s = np.cos(place.spot.yaw), np.sin(place.spot.yaw)
    off = abs(float(np.arctan2(c * x_axis[1] - s * x_axis[0], c * x_axis[0] + s * x_axis[1])))
    return off <= GOAL.spot_turn, f"{words}, turned {np.degrees(off):.1f} degrees from its yaw"


def _not_put_down(final: FinalState, index: int) -> str | None:
    """Why an item doesn't count as put down; None if it does."""
    name = final.scene.items[index].name
    if final.gripped[index]:
        return f"{name} is in the hand"
    return None if final.still[index] else f"{name} still moves"


def _region(final: FinalState, place: Binding) -> Region | None:
    """The region of a piece of furniture, or None."""
    return None if place.region is None else final.scene.region(place.region)


def _in_body(final: FinalState, region: Region, index: int) -> Array:
    """X_BI (7,) of an item in the frame of the region's body."""
    return relative(final.furniture[region.body], final.items[index])


def _axis(X_BI: Array, axis: int) -> Array:
    """An axis of the item (3,) in the body's frame."""
    return rotated(X_BI[3:], np.eye(3)[axis])


def _to_item(X_BI: Array, direction: Array) -> Array:
    """A direction (3,) of the body's frame, in the item's frame."""
    return rotated(X_BI[3:] * np.array([-1.0, -1.0, -1.0, 1.0]), direction)


def support_function(item: Item, direction: Array) -> float:
    """The support function (m): the maximum of direction . p_IQ over all points Q of an item.

    Args:
        item: the item; only its shapes that collide count.
        direction: unit vector (3,) in the item's frame.
    """
    return max(_shape_support(shape, direction) for shape in item.shapes if shape.collision)


def _shape_support(shape: Shape, direction: Array) -> float:
    """The support function (m) of one shape, for a unit vector (3,) in the item's frame."""
    d = shape.X_BS[:3, :3].T @ direction
    centre = float(direction @ shape.X_BS[:3, 3])
    if shape.kind == "box":
        return centre + float(np.abs(d) @ shape.size) / 2.0
    if shape.kind == "sphere":
        return centre + float(shape.size[0])
    if shape.kind == "cylinder":
        radius, length = shape.size
        return centre + float(radius * np.hypot(d[0], d[1]) + 0.5 * length * abs(d[2]))
    assert shape.points is not None
    return centre + float((shape.points @ d).max())
