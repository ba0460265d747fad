"""Read a scene of ``galley contact run`` (YAML, version 1); docs/contact.md has the format."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AfterValidator, Field, create_model

from galley.domain.files import read_pairs
from galley.domain.frames import Array
from galley.domain.yaml_models import (
    LARGEST,
    At,
    FileModel,
    Length,
    Number,
    Pair,
    Positive,
    Triple,
    Word,
    YamlFile,
    named,
    one_of,
    parameter_fields,
    version,
)
from galley.planar.contact.bodies import Body2D, Contact, Points, Support, World
from galley.planar.contact.setup import COORDINATES, Setup, Waypoints, sampled
from galley.planar.contact.shapes import (
    Box,
    Circle,
    HalfPlane,
    Moved,
    Polygon,
    Rounded,
    Shape2D,
    regular_polygon,
)

VERSION = 1
_MARK = "galley_contact"
_MOST_STEPS = 100_000


def _regular(numbers: tuple[float, ...]) -> tuple[float, ...]:
    """Check [sides, radius] of a regular polygon; raises ValueError."""
    sides = numbers[0]
    if sides != int(sides) or not 3 <= sides <= 100:
        raise ValueError(f"expected [sides, radius], with 3 to 100 sides, got {sides:g}")
    return numbers


_Sizes = Annotated[tuple[Positive, ...], Length(2)]
_Timed = Annotated[tuple[Number, Triple], Length(2)]
_Course = Annotated[tuple[_Timed, ...], Field(min_length=1)]
_Name = Annotated[Word, named("bodies")]
_Law: Any = create_model(
    "_Law",
    __base__=FileModel,
    count=(Annotated[int, Field(ge=1, le=LARGEST)], 1),
    points=(Points, Points.AUTO),
    **parameter_fields(Contact),
)
_LAW = tuple(_Law.model_fields)
_Names: Any = Annotated[tuple[_Name, ...], Length(2)]
_Pair: Any = create_model("_Pair", __base__=_Law, bodies=(_Names, ...))
_Support: Any = create_model(
    "_Support", __base__=FileModel, **parameter_fields(Support, required=("limit", "length"))
)


class _Shape(FileModel):
    one_of = ("circle", "box", "polygon", "file", "regular", "half_plane")

    circle: Positive | None = None
    box: _Sizes | None = None
    polygon: tuple[Pair, ...] | None = None
    file: Word | None = None
    regular: Annotated[_Sizes, AfterValidator(_regular)] | None = None
    half_plane: Triple | None = None
    rounding: Positive | None = None
    at: Triple | None = None


class _Body(FileModel):
    shape: _Shape
    mass: Positive | None = None
    inertia: Positive | None = None
    pose: Triple | None = None
    velocity: Triple | None = None
    force: _Course | None = None
    motion: _Course | None = None
    support: _Support | None = None


class _Cost(FileModel):
    body: _Name | None = None
    coordinate: Annotated[Word, one_of(COORDINATES)] = "y"


class _Scene(FileModel):
    galley_contact: Annotated[Number, version(VERSION)]
    h: Positive
    duration: Positive
    bodies: dict[str, _Body]
    gravity: Pair = (0.0, -9.81)
    contact: _Law = _Law()
    pairs: tuple[_Pair, ...] | None = None
    cost: _Cost = _Cost()
    scheme: Literal["bdf1", "bdf2"] = "bdf2"


def load_setup(path: Path | str) -> Setup:
    """The setup that a scene file describes.

    Raises:
        BadInput: every error in the file, each with its line and key.
    """
    file = YamlFile(path)
    scene = file.read(_Scene, {"bodies": file.names("bodies")})
    h, n = scene.h, max(1, round(scene.duration / scene.h))
    if n > _MOST_STEPS:
        file.fault(("duration",), f"takes {n} steps of h = {h:g} s; at most {_MOST_STEPS}")
        raise file.bad_input()
    if abs(n * h - scene.duration) > 1e-9 * scene.duration:
        file.fault(("duration",), f"must be a whole number of steps of h = {h:g} s")
    made = [_body(file, name, entry, h, n) for name, entry in scene.bodies.items()]
    names, law = list(scene.bodies), scene.contact.given()
    contact: Any = Contact(**law)
    if scene.pairs is not None:
        indices = [tuple(map(names.index, pair.bodies)) for pair in scene.pairs]
        laws = [Contact(**law | pair.given(*_LAW)) for pair in scene.pairs]
        contact = dict(zip(indices, laws, strict=True))
        if len(set(map(frozenset, indices))) < len(indices):
            file.fault(("pairs",), "has a pair of bodies twice")
    file.finish()
    bodies = [body for body, _ in made if body is not None]
    key = "pairs" if scene.pairs else "bodies"
    world = file.made((key,), lambda: World(bodies, contact, np.array(scene.gravity)))
    file.finish()
    assert world is not None
    cost = world.free[0] if scene.cost.body is None else names.index(scene.cost.body)
    if cost not in world.free:
        file.fault(("cost",), f"'{names[cost]}' is not moved by forces: its final pose is given")
        file.finish()
    free = [controls for body, controls in made if body is not None and body.free]
    coordinate = list(COORDINATES).index(scene.cost.coordinate)
    return Setup(world, np.stack(free, axis=1), h, (cost, coordinate), scene.scheme)


def _body(file: YamlFile, name: str, body: _Body, h: float, n: int) -> tuple[Body2D | None, Array]:
    """A body and its controls (n, 3); None, with the errors recorded, if the entry is bad."""
    at, controls = ("bodies", name), np.zeros((n, 3))
    shape = _shape(file, (*at, "shape"), body.shape)
    given = body.given("mass", "inertia", "pose", "velocity")
    if body.motion is not None:
        motion = body.motion
        given["motion"] = file.made((*at, "motion"), lambda: Waypoints(motion))
    if body.support is not None:
        given["support"] = Support(**body.support.given())
    if body.force is not None:
        forces = body.force
        if body.mass is None:
            file.fault((*at, "force"), "only a body with a mass has one")
        made = file.made((*at, "force"), lambda: sampled(forces, h, n))
        controls = controls if made is None else made
    if shape is None or file.errors:
        return None, controls
    return file.made(at, lambda: Body2D(shape, name=name, **given)), controls


def _shape(file: YamlFile, at: At, given: _Shape) -> Shape2D | None:
    """A shape, rounded and moved as the file says; None, with the error recorded, if it is bad."""
    kind = given.which
    made = file.made((*at, kind), lambda: _bare(kind, getattr(given, kind), file.path.parent))
    if given.rounding is not None and made is not None:
        if not isinstance(made, Box | Polygon):
            file.fault((*at, "rounding"), f"only boxes and polygons have corners, not a {kind}")
            return None
        made = Rounded(made, given.rounding)
    return made if made is None or given.at is None else Moved(made, np.array(given.at))


def _bare(kind: str, value: Any, folder: Path) -> Shape2D:
    """A shape about its own origin, upright."""
    match kind:
        case "circle":
            return Circle(value)
        case "box":
            return Box(np.array(value) / 2.0)
        case "regular":
            return regular_polygon(int(value[0]), value[1])
        case "half_plane":
            return HalfPlane(value[:2], value[2])
        case "polygon":
            return Polygon([np.array(vertex) for vertex in value])
        case _:
            return Polygon(_corners(folder / value))


def _corners(path: Path) -> Array:
    """The vertices (n, 2) in a CSV file with x and y (m) on each line.

    Raises:
        BadInput: there is no such file, or one of its lines is wrong.
    """
    return np.array([(x, y) for _, x, y in read_pairs(path, "x and y")]).reshape(-1, 2)
