"""Why a failure is certain: its certificate in words, drawn to scale, and what is in the way."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import numpy as np
from markupsafe import Markup

from galley.domain.scene.model import Scene
from galley.results.page import drawings
from galley.results.page.timeline import in_sentence, mishap
from galley.robots.model import RobotModel

Certificate = Mapping[str, Any]


@dataclass
class Explanation:
    """A certificate for a person.

    Attributes:
        sentences: what it shows. drawings: figures to scale.
        blockers: names of bodies and items that are to be marked in a picture of the scene.
        also: messages of further proofs.
        raw: the certificate as JSON.
    """

    sentences: list[str] = field(default_factory=list)
    drawings: list[Markup] = field(default_factory=list)
    blockers: tuple[str, ...] = ()
    also: tuple[str, ...] = ()
    raw: str = ""


def explain(
    failure: Mapping[str, Any],
    scene: Scene,
    robot: RobotModel,
    recoveries: Sequence[Mapping[str, Any]] = (),
) -> Explanation:
    """The certificate of a failure of the report; without one, what the run had to recover from."""
    told = Explanation()
    certificate = failure.get("certificate")
    if not isinstance(certificate, dict):
        tried = [entry for entry in failure.get("evidence", []) if isinstance(entry, dict)]
        told.sentences = [
            "This proves nothing: a limit was reached before a solution or a proof was found."
        ]
        if recoveries:
            rows = [list(row) for _, row in groupby(recoveries, key=mishap)]
            told.sentences = [
                "The run recovered from these mishaps until it gave up.",
                *map(in_sentence, rows),
            ]
        told.raw = json.dumps(tried, indent=1) if tried else ""
        return told
    told.raw = json.dumps(certificate, indent=1)
    told.also = tuple(
        str(each["message"]) for each in certificate.get("because", []) if "message" in each
    )
    kind = str(certificate.get("kind") or certificate.get("reason") or "")
    if kind in _KINDS:
        _KINDS[kind](told, certificate, failure, _Place(scene, robot))
    if failure.get("kind") == "blocked" or "blocker" in certificate:
        named = [*failure.get("objects", []), certificate.get("blocker")]
        known = {body.name for body in scene.bodies} | {item.name for item in scene.items}
        told.blockers = tuple(dict.fromkeys(name for name in named if name in known))
    return told


def _thing(names: list[str], index: int) -> str:
    return names[index] if index < len(names) else f"thing {index + 1}"


@dataclass(frozen=True)
class _Place:
    scene: Scene
    robot: RobotModel

    def item_size(self, name: str) -> tuple[float, ...]:
        """The size (3,) of the item that a PDDL object or a name stands for; empty: no item."""
        bound = [b.target for b in self.scene.bindings if b.object == name and b.kind == "item"]
        sizes = [item.size for item in self.scene.items if item.name in (*bound, name)]
        return tuple(float(side) for side in sizes[0]) if sizes else ()

    def region_width(self, name: str) -> float | None:
        """The longer side (m) of a region's largest box."""
        boxes = [region.boxes for region in self.scene.regions if region.name == name]
        return float((boxes[0][:, 1, :2] - boxes[0][:, 0, :2]).max()) if boxes else None


def _sizes(told: Explanation, c: Certificate, failure: Mapping[str, Any], place: _Place) -> None:
    names: list[str] = [*failure.get("objects", []), "the room"]
    name, rest = names[0], names[1:]
    x, y, z = (float(side) for side in c["item_m"])
    if "room_height_m" in c:
        room = float(c["room_height_m"])
        told.sentences.append(
            f"{name} is {1e3 * z:.0f} mm high when it stands upright; {rest[0]} has "
            f"{1e3 * room:.0f} mm. {1e3 * (z - room):.0f} mm are missing, wherever it is put."
        )
        width = place.region_width(rest[0]) or max(x, y)
        told.drawings.append(drawings.boxes((name, max(x, y), z), (rest[0], width, room)))
    elif "widest_m" in c:
        widest = float(c["widest_m"])
        up = {"x": 0, "y": 1, "z": 2}[c.get("vertical_axis", "z")]
        sides = [side for axis, side in enumerate((x, y, z)) if axis != up]
        lies = " as it lies" if up != 2 else ""
        wide = f"is {1e3 * min(sides):.0f} mm across{lies} at its narrowest"
        if "parts_m" in c:
            wide = f"has {len(c['parts_m'])} parts, and surfaces that face away from each other "
            wide += "are farther apart or covered by other parts"
        told.sentences.append(
            f"{name} {wide}; the fingers take "
            f"at most {1e3 * widest:.0f} mm of their opening of {1e3 * float(c['opening_m']):.0f} "
            "mm, as a little room is left beside each."
        )
        if c.get("below"):
            told.sentences.append("The hand has no room to take it from above and below either.")
        height = (x, y, z)[up]
        told.drawings.append(
            drawings.boxes((name, min(sides), height), ("the hand", widest, height), across=True)
        )
    elif "largest_room_m" in c:
        short, long = sorted((x, y))
        told.sentences.append(
            f"{name} is {1e3 * short:.0f} x {1e3 * long:.0f} mm wide and fits into no part of "
            f"{rest[0]}, however it is turned about the vertical."
        )
        sides = sorted(float(side) for side in c["largest_room_m"])
        told.drawings.append(
            drawings.rectangles(
                [(rest[0], sides[::-1])], [(name, (long, short))], f"{name} does not fit"
            )
        )


def _bound(told: Explanation, c: Certificate, failure: Mapping[str, Any], place: _Place) -> None:
    point = np.array(c["point_m"], dtype=float)
    hand, short = float(c["hand_m"]), float(failure["numbers"]["shortfall_m"])
    reach = place.robot.kinematics.reach
    target = (failure.get("objects") or ["the target"])[0]
    told.sentences.append(
        f"No joint angles bring the hand's frame farther than {reach.to_hand:.2f} m from the "
        f"shoulder, which is {reach.p_BS[2]:.2f} m high, and {target} is at most {hand:.2f} m from "
        f"that frame in any grasp. From the nearest place in the stance set '{c['stance']}' "
        f"{short:.2f} m are missing."
    )
    # What the bound leaves for the horizontal distance, which is exact by its construction.
    total, rise = reach.to_hand + hand + short, float(point[2] - reach.p_BS[2])
    away = float(np.sqrt(max(total**2 - rise**2, 0.0)))
    told.drawings.append(
        drawings.reach(
            np.array([0.0, reach.p_BS[2]]),
            np.array([away, point[2]]),
            reach.to_hand,
            hand,
            target,
            short,
        )
    )


def _covering(told: Explanation, c: Certificate, failure: Mapping[str, Any], _: _Place) -> None:
    parts = [f"{name}: {count}" for name, count in c["ruled_out"].items() if count]
    told.sentences.append(
        f"All grasps were divided into {c['cells']:,} cells. None is left: a cell is ruled out as "
        "a whole if the hand overlaps something there, or the wrist is out of the arm's reach, "
        f"however the hand turns and leans. Ruled out by {', '.join(parts)}; the other cells were "
        "divided further."
    )
    if c.get("moved_away"):
        told.sentences.append(f"Moved out of the way for this: {', '.join(c['moved_away'])}.")


def _drawer(told: Explanation, c: Certificate, failure: Mapping[str, Any], _: _Place) -> None:
    free, needed = max(float(c["free_m"]), 0.0), float(c["needed_m"])
    told.sentences.append(
        f"{c['joint']} moves by {1e3 * free:.0f} mm, then it meets {c['blocker']}; "
        f"{1e3 * needed:.0f} mm are needed."
    )
    rows = [("free way", free), ("needed", needed)]
    told.drawings.append(drawings.bars(rows, "m", f"{c['blocker']} stops {c['joint']}"))


def _packing(told: Explanation, c: Certificate, failure: Mapping[str, Any], place: _Place) -> None:
    names = [name for name in map(str, failure.get("objects", [])) if place.item_size(name)]
    told.sentences.append(
        f"There is no way to share out {', '.join(names)} over the parts of {c['region']}: those "
        f"in the same part overlap, or take more area than it has. At a height of "
        f"{1e3 * float(c['at_height_m']):.0f} mm above it:"
    )
    told.sentences += [
        f"{' and '.join(_thing(names, k) for k in pair['things'])} overlap by at least "
        f"{1e3 * float(pair['overlap_m']):.0f} mm in part {pair['part'] + 1}, however they are "
        "placed and turned."
        for pair in c["not_together"]
    ]
    for row in c.get("rows", ()):
        told.sentences.append(
            f"{', '.join(_thing(names, k) for k in row['things'])} take at least "
            f"{1e3 * float(row['least_m']):.0f} mm in a row in part {row['part'] + 1}, in any "
            f"order, which is {1e3 * float(row['side_m']):.0f} mm long."
        )
    things = [
        (_thing(names, k), sorted(map(float, each["size_m"][:2]))[::-1])
        for k, each in enumerate(c["things"])
    ]
    rooms = [(f"part {k + 1}", each["sides_m"]) for k, each in enumerate(c["parts"])]
    told.drawings.append(drawings.rectangles(rooms, things, f"{c['region']} from above"))


def _friction(told: Explanation, c: Certificate, failure: Mapping[str, Any], _: _Place) -> None:
    numbers = failure["numbers"]
    told.sentences.append(
        f"Two fingers that press with {c['finger_force_N']:g} N each hold at most "
        f"{numbers['held_N']:.1f} N by friction (coefficient {c['finger_friction']:g})."
    )
    rows = [("weight", float(numbers["weight_N"])), ("held", float(numbers["held_N"]))]
    told.drawings.append(drawings.bars(rows, "N", "the weight against what the fingers hold"))


def _spot(told: Explanation, c: Certificate, failure: Mapping[str, Any], _: _Place) -> None:
    names: list[str] = [*failure.get("objects", []), "", "", ""]
    other, thing, where = names[:3]
    outline, spot = np.array(c["outline_m"], dtype=float), np.array(c["spot_m"], dtype=float)
    radius = float(c["inner_radius_m"])
    told.sentences.append(
        f"At {where}, {thing} covers a circle of radius {1e3 * radius:.0f} mm however it is "
        f"turned, and {other} stands in it."
    )
    told.drawings.append(
        drawings.from_above([(other, outline)], [(thing, spot, radius)], "two things in one place")
    )


def _spots(told: Explanation, c: Certificate, failure: Mapping[str, Any], _: _Place) -> None:
    (one, other), (r1, r2) = c["things"], (float(r) for r in c["inner_radii_m"])
    apart = float(c["most_apart_m"])
    told.sentences.append(
        f"The places are at most {1e3 * apart:.0f} mm apart, but {one} and {other} cover circles "
        f"of radius {1e3 * r1:.0f} and {1e3 * r2:.0f} mm however they are turned."
    )
    circles = [(one, np.zeros(2), r1), (other, np.array([apart, 0.0]), r2)]
    told.drawings.append(drawings.from_above([], circles, "two circles that overlap"))


def _symbols(told: Explanation, c: Certificate, failure: Mapping[str, Any], _: _Place) -> None:
    reason, conflict = c["reason"], " and ".join(map(str, c.get("conflict", [])))
    if reason == "opposite":
        told.sentences.append(f"The goal asks for {conflict}: a fact and its opposite.")
    elif reason == "mutex":
        told.sentences.append(
            f"In every state that can be reached, at most one of {', '.join(c['group'])} holds: "
            f"no action adds a second one. The goal asks for {conflict} together."
        )
    elif reason == "exhausted":
        told.sentences.append(
            f"All {c['states']} reachable states were looked at, and {conflict} "
            "hold together in none of them."
        )
    elif reason == "unreachable":
        never = ", ".join(map(str, c.get("never", [])))
        told.sentences.append(f"No sequence of actions ever makes this true: {never}.")
        told.sentences += [f"It could be remedied: {each}." for each in c.get("remedies", [])]


def _listed(told: Explanation, c: Certificate, failure: Mapping[str, Any], _: _Place) -> None:
    told.sentences += [str(each) for each in c.get("violations", [])]
    if "verdict" in c:
        told.sentences.append(f"Drake found: {c['verdict']}.")
    if "missing" in c:
        told.sentences.append(f"The scene gives {c['object']} no {c['missing']}.")
    if "why" in c:
        told.sentences.append(f"{c['fact']} does not hold: {c['why']}.")


_Explain = Callable[[Explanation, Certificate, Mapping[str, Any], _Place], None]
_KINDS: dict[str, _Explain] = {
    "sizes": _sizes,
    "distance-bound": _bound,
    "covering": _covering,
    "swept-drawer": _drawer,
    "packing": _packing,
    "friction": _friction,
    "spot": _spot,
    "spots": _spots,
    **dict.fromkeys(("opposite", "mutex", "exhausted", "unreachable"), _symbols),
    **dict.fromkeys(("executed-states", "audit", "scene", "fact"), _listed),
}
