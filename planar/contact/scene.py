"""Reads a scene of ``galley contact run`` (YAML, version 1). docs/contact.md has the format."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from galley.domain.errors import BadInput
from galley.domain.files import read_pairs
from galley.domain.frames import Array
from galley.domain.parameters import parameters
from galley.domain.scene.yaml_reader import Entry, Reader
from galley.planar.contact.bodies import Body2D, Contact, Points, Support, World
from galley.planar.contact.setup import COORDINATES, Setup, Waypoints, sampled
from galley.planar.contact.shapes import (
    Box,
    Circle,
    HalfPlane,
    Moved,
    Polygon,
    Rounded,
    Shape,
    regular_polygon,
)

VERSION = 1
_MARK = "galley_contact"
_SHAPES = ("circle", "box", "polygon", "file", "regular", "half_plane")
_BODY = ("mass", "inertia", "pose", "velocity", "force", "motion", "support")
_SUPPORT = tuple(each.name for each in parameters(Support))
_LAW = (*(each.name for each in parameters(Contact)), "count", "points")
_MOST_STEPS = 100_000
_Value = TypeVar("_Value")


def load_setup(path: Path | str) -> Setup:
    """The setup of a file.

    Raises:
        BadInput: every error found, each with its line and key.
    """
    reader = Reader(path)
    root = reader.root((_MARK,))
    top = root.fields(
        (_MARK, "h", "duration", "bodies"), ("gravity", "contact", "pairs", "cost", "scheme")
    )
    if _MARK in top and top[_MARK].number() != VERSION:
        top[_MARK].fault(f"must be {VERSION}")
    h = top["h"].number(positive=True) if "h" in top else 1.0
    duration = top["duration"].number(positive=True) if "duration" in top else 1.0
    n = max(1, round(duration / h))
    if n > _MOST_STEPS:
        top["duration"].fault(f"takes {n} steps of h = {h:g} s; at most {_MOST_STEPS}")
        n = 1
    elif abs(n * h - duration) > 1e-9 * duration:
        top["duration"].fault(f"must be a whole number of steps of h = {h:g} s")
    entries = top["bodies"].named() if "bodies" in top else {}
    found = {name: _body(name, entry, h, n) for name, entry in entries.items()}
    names = tuple(found)
    law = _law(top["contact"], {}) if "contact" in top else {}
    pairs = (
        [_pair(entry, names, law) for entry in top["pairs"].elements()] if "pairs" in top else []
    )
    body, coordinate = _cost(top.get("cost"), names)
    gravity = top["gravity"].vector(2) if "gravity" in top else np.array([0.0, -9.81])
    scheme = top["scheme"].text(("bdf1", "bdf2")) if "scheme" in top else "bdf2"
    reader.finish()
    place = top["pairs"] if pairs else top["bodies"]
    bodies = [each for each, _ in found.values() if each is not None]
    contact: Any = dict(pairs) if "pairs" in top else Contact(**law)
    if len({frozenset(pair) for pair, _ in pairs}) < len(pairs):
        place.fault("has a pair of bodies twice")
    else:
        world = _made(place, lambda: World(bodies, contact, gravity))
    reader.finish()
    assert world is not None
    free = [control for each, control in found.values() if each is not None and each.free]
    if body is None:
        body = world.free[0]
    elif body not in world.free:
        top["cost"].fault(f"'{names[body]}' is not moved by forces: its final pose is given")
        reader.finish()
    return Setup(world, np.stack(free, axis=1), h, (body, coordinate), scheme)


def _made(entry: Entry, make: Callable[[], _Value]) -> _Value | None:
    """What ``make`` returns; its ValueError is an error in ``entry``, and gives None."""
    try:
        return make()
    except ValueError as error:
        entry.fault(str(error))
        return None


def _body(name: str, entry: Entry, h: float, n: int) -> tuple[Body2D | None, Array]:
    """A body and its controls (n, 3)."""
    e = entry.fields(("shape",), _BODY)
    controls = np.zeros((n, 3))
    if "shape" not in e:
        return None, controls
    given: dict[str, Any] = {"name": name}
    for key in ("mass", "inertia"):
        if key in e:
            given[key] = e[key].number(positive=True)
    for key in ("pose", "velocity"):
        if key in e:
            given[key] = e[key].vector(3)
    if "motion" in e:
        pairs = _timed(e["motion"])
        given["motion"] = _made(e["motion"], lambda: Waypoints(pairs))
    if "support" in e:
        numbers = {
            k: v.number() for k, v in e["support"].fields(("limit", "length"), _SUPPORT).items()
        }
        given["support"] = _made(e["support"], lambda: Support(**numbers))
    if "force" in e:
        if "mass" not in e:
            e["force"].fault("only a body with a mass has one")
        forces = _timed(e["force"])
        made = _made(e["force"], lambda: sampled(forces, h, n))
        controls = controls if made is None else made
    shape = _shape(e["shape"])
    if shape is None or entry.reader.errors:
        return None, controls
    return _made(entry, lambda: Body2D(shape, **given)), controls


def _timed(entry: Entry) -> list[tuple[float, Array]]:
    """(time, three numbers) pairs."""
    pairs = []
    for each in entry.elements():
        parts = each.elements()
        if len(parts) != 2:
            each.fault("expected a time and three numbers: [0, [0, 0, 0]]")
            continue
        pairs.append((parts[0].number(), parts[1].vector(3)))
    if not pairs and not entry.reader.errors:
        entry.fault("expected at least one [time, [., ., .]]")
    return pairs or [(0.0, np.zeros(3))]


def _shape(entry: Entry) -> Shape | None:
    """One of ``_SHAPES``, rounded and moved if the entry says so."""
    e = entry.fields((), (*_SHAPES, "rounding", "at"))
    kinds = [name for name in _SHAPES if name in e]
    if len(kinds) != 1:
        entry.fault(f"needs one of {', '.join(_SHAPES)}, got {len(kinds)}")
        return None
    value = e[kinds[0]]
    made: Shape | None
    match kinds[0]:
        case "circle":
            radius = value.number(positive=True)
            made = Circle(radius)
        case "box":
            size = value.vector(2, positive=True)
            made = Box(size / 2.0)
        case "regular":
            sides, radius = value.vector(2, positive=True)
            if sides != int(sides) or not 3 <= sides <= 100:
                value.fault(f"expected [sides, radius], with 3 to 100 sides, got {sides:g}")
                return None
            made = regular_polygon(int(sides), radius)
        case "half_plane":
            *direction, offset = value.vector(3)
            made = _made(value, lambda: HalfPlane(direction, offset))
        case "polygon":
            vertices = [each.vector(2) for each in value.elements()]
            made = _made(value, lambda: Polygon(vertices))
        case _:
            corners = _corners(value)
            made = None if corners is None else _made(value, lambda: Polygon(corners))
    if "rounding" in e and made is not None:
        radius = e["rounding"].number(positive=True)
        if isinstance(made, Box | Polygon):
            made = Rounded(made, radius)
        else:
            e["rounding"].fault(f"only boxes and polygons have corners, not a {kinds[0]}")
    if "at" in e and made is not None:
        made = Moved(made, e["at"].vector(3))
    return made


def _corners(entry: Entry) -> Array | None:
    """The vertices in a CSV file, x and y (m) a line, beside the scene."""
    try:
        pairs = read_pairs(entry.file.parent / entry.text(), "x and y")
    except BadInput as error:
        entry.fault(str(error))
        return None
    return np.array([(x, y) for _, x, y in pairs]).reshape(-1, 2)


def _law(entry: Entry, base: dict[str, Any], more: tuple[str, ...] = ()) -> dict[str, Any]:
    """The parameters of a contact law, over those of ``base``."""
    values = dict(base)
    for name, each in entry.fields(more, _LAW).items():
        if name == "points":
            values[name] = each.text(tuple(Points))
        elif name == "count":
            count = each.number(at_least=1.0)
            if count % 1.0:
                each.fault(f"must be a whole number, got {count:g}")
            values[name] = int(count)
        elif name not in more:
            values[name] = each.number(at_least=0.0)
            _made(each, lambda name=name: Contact(**{name: values[name]}))  # type: ignore[misc]
    return values


def _pair(
    entry: Entry, names: tuple[str, ...], base: dict[str, Any]
) -> tuple[tuple[int, int], Contact | None]:
    """Two bodies that may touch, and how."""
    values = _law(entry, base, ("bodies",))
    named = dict(entry.named())
    indices = [0, 0]
    if "bodies" in named:
        elements = named["bodies"].elements()
        if len(elements) != 2:
            named["bodies"].fault(f"expected two names, got {len(elements)}")
        else:
            indices = [names.index(e.text(names)) if names else 0 for e in elements]
    return (indices[0], indices[1]), _made(entry, lambda: Contact(**values))


def _cost(entry: Entry | None, names: tuple[str, ...]) -> tuple[int | None, int]:
    """The index of a body (None: the first free one), and of a coordinate."""
    e = {} if entry is None else entry.fields((), ("body", "coordinate"))
    body = names.index(e["body"].text(names)) if "body" in e and names else None
    known = tuple(COORDINATES)
    return body, known.index(e["coordinate"].text(known)) if "coordinate" in e else 1
