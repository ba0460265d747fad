"""Why a failure is certain: its certificate in words, drawn to scale, and what is in the way."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, groupby
from typing import Any

import numpy as np
from markupsafe import Markup
from numpy.typing import ArrayLike

from galley.domain.scene.model import Scene
from galley.results.page.timeline import in_sentence, mishap
from galley.robots.model import RobotModel

Certificate = Mapping[str, Any]
_WIDTH, _HEIGHT = 420.0, 230.0  # of a drawing, in its own units
_EDGE = 20.0  # at each side
_LETTER, _LINE = 7.2, 15.0  # width of a letter, rather more than less, and height of a line


@dataclass
class Explanation:
    """A certificate for a person.

    Attributes:
        sentences: what it shows. drawing: a figure to scale; None for kinds without one.
        blockers: names of bodies and items that are to be marked in a picture of the scene.
        also: messages of further proofs.
        raw: the certificate as JSON.
    """

    sentences: list[str] = field(default_factory=list)
    drawing: Markup | None = None
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
    certificate = failure.get("certificate")
    if not isinstance(certificate, dict):
        said = ["This proves nothing: a limit was reached before a solution or a proof was found."]
        if recoveries:
            rows = [list(row) for _, row in groupby(recoveries, key=mishap)]
            said = ["The run recovered from these mishaps until it gave up."]
            said += map(in_sentence, rows)
        return Explanation(said)
    kind = str(certificate.get("kind") or certificate.get("reason") or "")
    names = [*map(str, failure.get("objects", [])), "the room"]
    blockers: list[Any] = []
    if failure.get("kind") == "blocked" or "blocker" in certificate:
        blockers = [*failure.get("objects", []), certificate.get("blocker")]
    known = {body.name for body in scene.bodies} | {item.name for item in scene.items}
    return Explanation(
        _sentences(kind, certificate, failure, names, scene, robot),
        _drawing(kind, certificate, failure, names, scene, robot),
        tuple(dict.fromkeys(name for name in blockers if name in known)),
        tuple(str(e["message"]) for e in certificate.get("because", []) if "message" in e),
        json.dumps(certificate, indent=1),
    )


def _sentences(
    kind: str,
    c: Certificate,
    failure: Mapping[str, Any],
    names: list[str],
    scene: Scene,
    robot: RobotModel,
) -> list[str]:
    """What ``certificate.txt.jinja`` says of it."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("galley.results.page", ""),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["mm"] = mm
    items = _items(scene, names)
    text = environment.get_template("certificate.txt.jinja").render(
        kind=kind,
        c=c,
        names=names,
        numbers=failure.get("numbers", {}),
        items=items,
        things=lambda indices: [_thing(items, k) for k in indices],
        across=_sides(c)[0] if "widest_m" in c else (),
        reach=robot.kinematics.reach if kind == "distance-bound" else None,
    )
    return [line for line in text.splitlines() if line]


def mm(metres: float, unit: str = " mm") -> str:
    """A length in millimetres."""
    return f"{1e3 * float(metres):.0f}{unit}"


def _items(scene: Scene, names: Sequence[str]) -> list[str]:
    """Those of the names that stand for an item."""
    known = {item.name for item in scene.items}
    known |= {b.object for b in scene.bindings if b.kind == "item"}
    return [name for name in names if name in known]


def _thing(names: Sequence[str], index: int) -> str:
    return names[index] if index < len(names) else f"thing {index + 1}"


def _sides(c: Certificate) -> tuple[list[float], float]:
    """Horizontal sides and height of an item as it lies."""
    sides = [float(side) for side in c["item_m"]]
    height = sides.pop({"x": 0, "y": 1, "z": 2}[c.get("vertical_axis", "z")])
    return sides, height


def _drawing(
    kind: str,
    c: Certificate,
    failure: Mapping[str, Any],
    names: list[str],
    scene: Scene,
    robot: RobotModel,
) -> Markup | None:
    """The figure of a certificate; None for a kind that has none."""
    if kind == "sizes" and "room_height_m" in c:
        (x, y), z = _sides(c)
        room = float(c["room_height_m"])
        boxes = [region.boxes for region in scene.regions if region.name == names[1]]
        width = float((boxes[0][:, 1, :2] - boxes[0][:, 0, :2]).max()) if boxes else max(x, y)
        pair = [("thing", f"{names[0]}: {mm(z)} high", max(x, y), z)]
        row = in_a_row([*pair, ("room", f"{names[1]}: {mm(room)}", width, room)])
        over = rectangle("over", 0.0, room, max(x, y), z - room, f"{mm(z - room)} too high")
        return to_scale(f"{names[0]} is higher than {names[1]}", [*row, over])
    if kind == "sizes" and "widest_m" in c:
        sides, height = _sides(c)
        wide, most = min(sides), float(c["widest_m"])
        pair = [("thing", f"{names[0]}: {mm(wide)} wide", wide, height)]
        row = in_a_row([*pair, ("room", f"the hand: {mm(most)}", most, height)])
        over = rectangle("over", most, 0.0, wide - most, height, f"{mm(wide - most)} too wide")
        return to_scale(f"{names[0]} is wider than the hand opens", [*row, over])
    if kind == "distance-bound":
        return _reach(c, float(failure["numbers"]["shortfall_m"]), names[0], robot)
    return None


def _reach(c: Certificate, short: float, target: str, robot: RobotModel) -> Markup:
    """The reach that is missing, seen from the side: along the line from shoulder to target."""
    hand, reach = float(c["hand_m"]), robot.kinematics.reach
    shoulder = np.array([0.0, float(reach.p_BS[2])])
    # What the bound leaves for the horizontal distance, which is exact by its construction.
    total, rise = reach.to_hand + hand + short, float(c["point_m"][2]) - shoulder[1]
    point = shoulder + np.array([np.sqrt(max(total**2 - rise**2, 0.0)), rise])
    way = (point - shoulder) / np.linalg.norm(point - shoulder)
    wrist, tip = shoulder + reach.to_hand * way, shoulder + (reach.to_hand + hand) * way
    shapes = [
        Shape("floor", [(-0.1, 0.0), (point[0] + 0.1, 0.0)]),
        Shape("base", [0.0 * shoulder, shoulder]),
        Shape("arm", [shoulder, wrist], f"arm: at most {reach.to_hand:.2f} m"),
        Shape("hand", [wrist, tip], f"hand and grasp: at most {hand:.2f} m"),
        Shape("gap", [tip, point], f"missing: {short:.2f} m"),
        Shape("base", [shoulder], f"shoulder, {shoulder[1]:.2f} m high"),
        Shape("target", [point], f"{target}, {point[1]:.2f} m high"),
    ]
    return to_scale(f"the hand stays {short:.2f} m away from {target}", shapes)


# Figures as SVG. Colours are the style sheet's classes.


@dataclass(frozen=True)
class Shape:
    """A point, a line or a polygon.

    Attributes:
        look: class of the style sheet.
        points: (n, 2) metres, y upwards: one for a dot, two for a line.
        label: what is written under the drawing, near below it.
    """

    look: str
    points: ArrayLike
    label: str = ""


def rectangle(look: str, x: float, y: float, width: float, height: float, label: str) -> Shape:
    """A rectangle whose lower left corner is at (x, y), metres."""
    corners = [(x, y), (x + width, y), (x + width, y + height), (x, y + height)]
    return Shape(look, corners, label)


def in_a_row(sides: Sequence[tuple[str, str, float, float]]) -> list[Shape]:
    """Rectangles (look, label, width, height in metres) on a floor, one beside the other."""
    gap = 0.08 * sum(width for _, _, width, _ in sides)
    ends = accumulate((width + gap for _, _, width, _ in sides), initial=0.0)
    return [
        rectangle(look, x, 0.0, width, height, label)
        for (look, label, width, height), x in zip(sides, ends, strict=False)
    ]


def to_scale(caption: str, shapes: Sequence[Shape]) -> Markup:
    """The shapes in one scale, with their labels."""
    every = np.concatenate([np.asarray(shape.points) for shape in shapes])
    low, high = every.min(axis=0), every.max(axis=0)
    across, up = np.maximum(high - low, 1e-6)
    scale = float(min((_WIDTH - 2 * _EDGE) / across, _HEIGHT / up))
    bottom = _EDGE + scale * (high[1] - low[1])
    parts, lanes = [], [0.0]  # where the next label may begin in each line under the drawing
    for shape in shapes:
        at = (np.asarray(shape.points) - low) * (scale, -scale) + (_EDGE, bottom)
        parts.append(_drawn(shape, at))
        if shape.label:
            width = _LETTER * len(shape.label)
            x = max(2.0, min(at[:, 0].mean() - 0.5 * width, _WIDTH - width))
            free = (k for k, end in enumerate(lanes) if end <= x)
            lane = next(free, len(lanes))
            lanes[lane : lane + 1] = [x + width + _LETTER]
            parts.append(_text(x, bottom + _LINE * (lane + 1), shape.label, shape.look))
    figure = (
        '<figure class="drawing"><svg viewBox="0 0 {:.0f} {:.0f}" role="img" aria-label="{}">{}'
        "</svg><figcaption>{}.</figcaption></figure>"
    )
    height, caption = bottom + _LINE * (len(lanes) + 1), f"Drawn to scale: {caption}"
    return Markup(figure).format(_WIDTH, height, caption, Markup("").join(parts), caption)


def _drawn(shape: Shape, at: np.ndarray) -> Markup:
    """A shape at points (n, 2) of the drawing."""
    if len(at) == 1:
        dot = '<circle class="dot {}" cx="{:.1f}" cy="{:.1f}" r="6"/>'
        return Markup(dot).format(shape.look, *at[0])
    if len(at) == 2:
        line = '<line class="{}" x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}"/>'
        return Markup(line).format(shape.look, *at.ravel())
    corners = " ".join(f"{x:.1f},{y:.1f}" for x, y in at)
    return Markup('<polygon class="{}" points="{}"/>').format(shape.look, corners)


def _text(x: float, y: float, text: str, look: str) -> Markup:
    strong = "start strong" if look in ("over", "gap") else "start"
    return Markup('<text class="{}" x="{:.1f}" y="{:.1f}">{}</text>').format(strong, x, y, text)
