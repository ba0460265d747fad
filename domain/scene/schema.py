"""The scene format, version 1, as pydantic models: keys, types and bounds. See docs/scene.md.

The reader validates files by these models. ``scene_schema`` writes them as a JSON Schema, with
which editors complete and check. A model checks an entry by itself; names are looked up in the
validation's context.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from math import pi
from typing import Annotated, Any, Literal, Self, get_origin

import numpy as np
from pydantic import (
    AfterValidator,
    Field,
    ValidationInfo,
    WithJsonSchema,
    field_validator,
    model_validator,
)

from galley.domain.frames import Array, frozen
from galley.domain.scene.entries import Posed, about, needed
from galley.domain.scene.model import HAND, LARGEST_SIDE, SMALLEST_SIDE, WORLD
from galley.domain.scene.robot_entries import ChassisEntry, RobotFileEntry
from galley.domain.yaml_models import (
    Draft7,
    FileModel,
    Flag,
    FromZero,
    Length,
    Number,
    Pair,
    Positive,
    Range,
    Share,
    Sizes,
    Triple,
    WideRange,
    Word,
    named,
)

VERSION = 1
MAX_HAND_OPENING = 0.08  # m between the fingers, at most
_MAX_SHAPES = 1000  # of a body: Drake takes 6 s to load as many, 40 s for three times as many
_NAME = "[A-Za-z_][A-Za-z0-9_-]*"  # also the names of files and URDF links
_RESERVED = (WORLD, HAND)
_AXES = "[x, y, heading]"


def _name(text: str) -> str:
    if not re.fullmatch(_NAME, text):
        what = "must start with a letter or _ and may go on with letters, digits, _ and -"
        raise ValueError(f"a name {what}")
    return text


def _not_reserved(text: str) -> str:
    if text in _RESERVED:
        raise ValueError(f"'{text}' is a reserved name")
    return text


def _not_a_body(text: str, info: ValidationInfo) -> str:
    if text in ((info.context or {}).get("bodies") or ()):
        raise ValueError("a body has this name too")
    return text


def _direction(vector: tuple[float, ...]) -> tuple[float, ...]:
    if np.linalg.norm(vector) < 1e-9:
        raise ValueError("a direction can't be the zero vector")
    return vector


def _solid(ranges: tuple[tuple[float, ...], ...]) -> tuple[tuple[float, ...], ...]:
    if any(low == high for low, high in ranges):
        raise ValueError("every side must be longer than 0")
    return ranges


_Width = Annotated[float, Field(gt=0, le=MAX_HAND_OPENING, allow_inf_nan=False)]
_Opening = Annotated[float, Field(ge=0, le=0.04, allow_inf_nan=False)]
_Sides = Annotated[tuple[Positive, ...], Length(2)]
_Color = Annotated[tuple[Share, ...], Field(min_length=3, max_length=4)]
_Direction = Annotated[Triple, AfterValidator(_direction)]
_Extents = Annotated[tuple[Range, ...], Length(3), AfterValidator(_solid)]
_Volume = Annotated[tuple[WideRange, ...], Length(3)]
_BodyName = Annotated[Word, named("bodies")]
_JointName = Annotated[Word, named("joints")]
_RegionName = Annotated[Word, named("regions")]
_KEY: dict[str, Any] = {"type": "string", "allOf": [{"pattern": f"^(?:{_NAME})$"}]}
_FREE = {**_KEY, "not": {"enum": list(_RESERVED)}}
_Key = Annotated[str, AfterValidator(_name), WithJsonSchema(_KEY)]
_FreeKey = Annotated[
    str, AfterValidator(_name), AfterValidator(_not_reserved), WithJsonSchema(_FREE)
]
_ItemKey = Annotated[_FreeKey, AfterValidator(_not_a_body)]


class PhysicsEntry(FileModel):
    """Parameters of the physics simulation: gravity, surfaces and fingers."""

    gravity: Triple = about("m/s^2", (0.0, 0.0, -9.81))
    friction: FromZero = about("Coulomb coefficient of surfaces that give none", 0.8)
    restitution: Share = about("of surfaces that give none, 0 to 1", 0.0)
    time_step: Positive = about("s (default 1/240)", 1.0 / 240.0)
    finger_force: Positive = about("largest force of each finger, N", 40.0)
    finger_friction: FromZero = about("of the finger pads", 1.0)


class BaseEntry(ChassisEntry):
    """Dimensions and limits of the base (default: those of Galley's kitchen)."""

    lower: Triple | None = about(f"{_AXES}, m and rad")
    upper: Triple | None = about(f"{_AXES}, m and rad")


class StartEntry(FileModel):
    """The configuration in which a run begins."""

    base: Triple = needed(f"{_AXES}, m and rad")
    arm: tuple[Number, ...] | None = about("joint angles, rad (default: folded)")
    fingers: _Opening | None = about("half the width between them, m (default: open)")


class RobotEntry(FileModel):
    """The robot: a shipped model, or a robot file."""

    one_of = ("model", "file")

    model: Literal["mobile_panda"] | None = about("a shipped one")
    file: RobotFileEntry | None = about("a robot file, or what stands in one")
    start: StartEntry
    name: Word | None = about("(default: the model's)")
    base: BaseEntry = Field(default_factory=BaseEntry)


class ShapeEntry(Posed):
    """One of extents, box, cylinder, sphere, mesh, and how it looks."""

    one_of = ("extents", "box", "cylinder", "sphere", "mesh")

    extents: _Extents | None = about("a box between corners: [[x0, x1], [y0, y1], [z0, z1]], m")
    box: Sizes | None = about("a box about its centre: full side lengths [x, y, z], m")
    cylinder: _Sides | None = about("[radius, length], m; its axis is its own z")
    sphere: Positive | None = about("radius, m")
    mesh: Word | None = about("an .obj or .stl file beside the scene file")
    scale: Positive = about("of a mesh", 1.0)
    color: _Color = about("red, green, blue and opacity, 0 to 1", (0.7, 0.7, 0.7, 1.0))
    collision: Flag = about("false: visual only, without collisions", True)
    texture: Word | None = about("of a box: a .png file beside the scene file")

    @property
    def size(self) -> Array:
        """The size as in ``Shape.size``, m; of a mesh its scale."""
        if self.extents is not None:
            low, high = np.array(self.extents).T
            return np.asarray(high - low)
        value = self.scale if self.which == "mesh" else getattr(self, self.which)
        return np.array(value, dtype=np.float64).reshape(-1)

    @model_validator(mode="after")
    def _possible(self) -> Self:
        if self.extents is not None and self.given("xyz", "rpy"):
            raise ValueError("extents already give the position; use box with xyz and rpy instead")
        if self.texture is not None and self.which not in ("extents", "box"):
            raise ValueError("only a box can have a texture")
        size = self.size
        if self.mesh is None and ((size < SMALLEST_SIDE) | (size > LARGEST_SIDE)).any():
            raise ValueError(f"sizes must lie between {SMALLEST_SIDE:g} and {LARGEST_SIDE:g} m")
        return self


_Shapes = Annotated[tuple[ShapeEntry, ...], Field(min_length=1, max_length=_MAX_SHAPES)]
_SHAPES = "shapes, posed in the frame of the body or item"


class _Solid(FileModel):
    shapes: _Shapes = needed(_SHAPES)
    friction: FromZero | None = about("Coulomb coefficient (default: that of physics)")
    restitution: Share | None = about("0 to 1 (default: that of physics)")


class BodyEntry(_Solid, Posed):
    """A piece of furniture; without xyz and rpy its shapes are in world coordinates."""

    parent: Annotated[Word, named("parents")] = about("the body that carries it", WORLD)
    joint: _JointName | None = about("the joint between parent and this body (default: fixed)")
    mass: Positive = about("kg", 5.0)
    may_touch: tuple[Word, ...] = about("the robot's links that are not checked against it", ())


class JointEntry(FileModel):
    """The joint of a drawer or door."""

    type: Literal["prismatic", "revolute"] = needed("slides (m) or turns (rad)")
    axis: _Direction = needed("direction in the world, of any length")
    limits: WideRange = needed("[lowest, highest], m or rad")
    pivot: Triple | None = about("revolute: a point on the axis, in the world, m")
    start: Number = Field(0.0, description="value at the start, m or rad", validate_default=True)
    friction: FromZero = about("N or N m", 1.0)
    damping: FromZero = about("N s/m or N m s/rad", 1.0)

    @field_validator("start")
    @classmethod
    def _within(cls, start: float, info: ValidationInfo) -> float:
        lower, upper = info.data.get("limits", (start, start))
        if not lower <= start <= upper:
            raise ValueError(f"start {start:g} lies outside [{lower:g}, {upper:g}]")
        return start

    @model_validator(mode="after")
    def _turns(self) -> Self:
        if self.type == "revolute" and self.pivot is None:
            raise ValueError("a revolute joint needs a pivot: a point on its axis")
        return self


class Rectangle(FileModel):
    """A rectangle of a surface, in the frame of the region's body, m."""

    x: WideRange
    y: WideRange
    z: Number = needed("height, m")


class RegionEntry(FileModel):
    """A support region, in which items are put: a surface, or the inside of a drawer."""

    one_of = ("surface", "volume")

    body: _BodyName = needed("the body that it belongs to")
    surface: Annotated[tuple[Rectangle, ...], Field(min_length=1)] | None = about(
        "rectangles on which things stand"
    )
    volume: _Volume | None = about("inside of a drawer: [[x0, x1], [y0, y1], [z0, z1]], m")


class HandleEntry(FileModel):
    """A handle, by which the hand grasps a drawer or door."""

    body: _BodyName = needed("the handle itself, moved by the joint")
    joint: _JointName = needed("the joint that it opens")
    point: Triple = needed("centre of the grasp in the body's frame, m")
    approach: _Direction = needed("direction in which the hand approaches")
    closing: _Direction = needed("along which the fingers close, perpendicular to approach")
    thickness: _Width = needed("between the closed fingers, m, at most 0.08")
    span: FromZero = about("allowed offset of the hand to either side, m", 0.0)

    @model_validator(mode="after")
    def _square(self) -> Self:
        if abs(float(unit(self.approach) @ unit(self.closing))) > 1e-6:
            raise ValueError("approach and closing must be perpendicular")
        return self


class GraspEntry(Posed):
    """The grasp frame in the item's: z points out of the hand, the fingers close along y."""

    xyz: Triple = needed("position, m")
    rpy: Triple = needed("rotation about the fixed x, then y, then z, rad")
    name: Word
    width: _Width = needed("between the closed fingers, m")


class ItemPose(Posed):
    """{on: REGION, xy: [x, y], yaw: angle}, or {xyz: ..., rpy: ...} in the world."""

    on: _RegionName | None = about("the region on which it stands")
    xy: Pair | None = about("centre in the frame of the region's body, m")
    yaw: Number = about("rad", 0.0)

    @model_validator(mode="after")
    def _placed(self) -> Self:
        if self.on is not None and self.xy is None:
            raise ValueError("needs the key 'xy'")
        if self.on is None and not self.given("xyz"):
            what = "needs either {on: REGION, xy: [x, y], yaw: ANGLE} or {xyz: ..., rpy: ...}"
            raise ValueError(what)
        return self


def _or_a_file(schema: dict[str, Any]) -> None:
    schema["anyOf"] = [{k: schema.pop(k) for k in ("type", "items")}, {"type": "string"}]


class ItemEntry(_Solid):
    """A movable object; its frame is the centre of its bounding box, z up."""

    mass: Positive = needed("kg")
    pose: ItemPose
    label: Word | None = about("for pictures and captions (default: its name)")
    grasps: tuple[GraspEntry, ...] = Field(
        (),
        description="a list, or a file with one (default: from the geometry)",
        json_schema_extra=_or_a_file,
    )
    size: Sizes | None = about("bounding box, m (default: that of the shapes)")
    upright: Literal["required", "any"] = about(
        "how it may be put down: upright, or on any face that it rests on", "required"
    )


class StanceEntry(FileModel):
    """A stance set: the base poses that count as near a piece of furniture."""

    x: Range = needed("m")
    y: Range = needed("m")
    heading: Range = about("rad; it may pass pi (default: every one)", (-pi, pi))


class SpotEntry(FileModel):
    """The exact place where items are put."""

    xy: Pair = needed("in the frame of the region's body, m")
    yaw: Number | None = about("rad (default: any)")


_FURNITURE = ("region", "handle", "opening", "staging", "at", "label")


class BindingEntry(FileModel):
    """What a PDDL object stands for: an item, the hand, or furniture."""

    one_of = ("item", "hand", "stance")

    item: Annotated[Word, named("items")] | None = about("the item that the object is")
    hand: Word | None = about("the object is the hand")
    stance: Annotated[Word, named("stances")] | None = about("furniture: where the base stands")
    region: _RegionName | None = about("where things are put")
    handle: Annotated[Word, named("handles")] | None = about(
        "handle that opens it; a region must then be a volume that moves"
    )
    opening: Positive = about("how far it is opened, m or rad", 0.3)
    staging: Annotated[Word, named("surfaces")] | None = about(
        "surface to put things down on while it is opened"
    )
    at: SpotEntry | None = None
    label: Word = about("furniture: for captions (default: its name)", "")

    @field_validator(*_FURNITURE)
    @classmethod
    def _of_furniture(cls, value: Any, info: ValidationInfo) -> Any:
        if info.data.get("item") or info.data.get("hand"):
            what = "an item" if info.data.get("item") else "a hand"
            raise ValueError(f"is only for furniture; the object is {what}")
        if info.field_name == "at" and info.data.get("region", "?") is None:
            raise ValueError("is a place in a region, so the key 'region' is needed too")
        return value


class SceneFile(FileModel):
    """A scene file, with everything that it extends."""

    galley_scene: Annotated[Word, WithJsonSchema({"const": VERSION})]  # already checked
    name: Word = needed("of the scene, a word")
    robot: RobotEntry
    bodies: dict[_FreeKey, BodyEntry] = needed("furniture, the floor included")
    items: dict[_ItemKey, ItemEntry] = needed("movable objects")
    stances: dict[_Key, StanceEntry] = needed("where the base counts as near something")
    objects: dict[_Key, BindingEntry] = needed("what the objects of the PDDL problem stand for")
    extends: Word | None = about("another scene file, which this one changes")
    physics: PhysicsEntry = Field(default_factory=PhysicsEntry)
    joints: dict[_Key, JointEntry] = about("drawers and doors", {})
    regions: dict[_Key, RegionEntry] = about("where things are put", {})
    handles: dict[_Key, HandleEntry] = about("where the hand grasps a drawer or door", {})


SECTIONS = tuple(n for n, f in SceneFile.model_fields.items() if get_origin(f.annotation) is dict)
# The mappings in which a file that extends another may change or remove (null) single keys.
MERGED: Mapping[str, Any] = {key: {} for key in (*SECTIONS, "physics")} | {
    "robot": {"start": {}, "base": {}}
}


def unit(direction: tuple[float, ...]) -> Array:
    """A direction's unit vector (3,)."""
    return frozen(np.array(direction) / np.linalg.norm(direction))


def scene_schema() -> dict[str, Any]:
    """The JSON Schema (draft 7) of scene files."""
    full = SceneFile.model_json_schema(schema_generator=Draft7)
    kinds = full.pop("$defs")
    robot = kinds["RobotEntry"]["properties"]
    robot["file"] = {"anyOf": [robot["file"], {"type": "string"}]}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": f"Galley scene, format {VERSION}",
        "$defs": kinds,
        "required": ["galley_scene"],
        "if": {"required": ["extends"]},
        "then": _partial(full, kinds, MERGED),
        "else": full,
    }


def _partial(
    full: dict[str, Any], kinds: dict[str, Any], merged: Mapping[str, Any]
) -> dict[str, Any]:
    """The schema of a file that extends another: keys may be missing, and null removes entries."""
    partial = {**full, "required": [], "properties": {**full["properties"]}}
    for name, below in merged.items():
        entry = full["properties"][name]
        if "$ref" in entry:
            part = _partial(kinds[entry["$ref"].rsplit("/")[-1]], kinds, below)
            part.pop("oneOf", None)
            part["properties"] = {key: _or_null(each) for key, each in part["properties"].items()}
        else:
            part = {**entry, "additionalProperties": _or_null(entry["additionalProperties"])}
        partial["properties"][name] = part
    return partial


def _or_null(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema that allows null, too."""
    return {"anyOf": [schema, {"type": "null"}]}


def schema_text() -> str:
    """``scene_schema`` as the text of a file."""
    return json.dumps(scene_schema(), indent=1) + "\n"
