"""The scene format, version 1, as a table: keys, kinds, bounds. See docs/scene.md.

The reader takes keys and bounds from here, and ``scene_schema`` writes the same as JSON Schema,
which editors complete and check by.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from galley.domain.scene.kinds import (
    Either,
    Exactly,
    Fields,
    Flag,
    Items,
    Kind,
    Named,
    Number,
    Text,
    json_schema,
    vector,
    whole,
)
from galley.domain.scene.model import HAND, WORLD

VERSION = 1
MAX_HAND_OPENING = 0.08  # m between the fingers, at most
MAX_SHAPES = 1000  # of a body: Drake takes 6 s to load as many, 40 s for three times as many
NAME = "[A-Za-z_][A-Za-z0-9_-]*"  # also the names of files and URDF links

_POSITIVE, _FROM_0 = Number(positive=True), Number(at_least=0)
_SHARE = Number(at_least=0, at_most=1)
_RATE = Number(at_least=1e-3)  # slower, a drive takes hours: days of simulation
_WIDTH = Number(positive=True, at_most=MAX_HAND_OPENING, about="between the closed fingers, m")
_RANGE = vector(2, about="[lowest, highest]")
_BOX = Items(_RANGE, 3, 3, about="[[x0, x1], [y0, y1], [z0, z1]], m")
_POSE: dict[str, Kind] = {
    "xyz": vector(3, about="position, m"),
    "rpy": vector(3, about="rotation about the fixed x, then y, then z, rad"),
}
_SURFACE: dict[str, Kind] = {
    "friction": replace(_FROM_0, about="Coulomb coefficient (default: that of physics)"),
    "restitution": replace(_SHARE, about="0 to 1 (default: that of physics)"),
}

SHAPE = Fields(
    optional={
        "extents": replace(_BOX, about="a box between corners: [[x0, x1], [y0, y1], [z0, z1]], m"),
        "box": vector(3, _POSITIVE, "a box about its centre: full side lengths [x, y, z], m"),
        "cylinder": vector(2, _POSITIVE, "[radius, length], m; its axis is its own z"),
        "sphere": replace(_POSITIVE, about="radius, m"),
        "mesh": Text(about="an .obj or .stl file beside the scene file"),
        "scale": replace(_POSITIVE, about="of a mesh (default 1)"),
        **_POSE,
        "color": Items(_SHARE, 3, 4, about="red, green, blue and opacity, 0 to 1 (default grey)"),
        "collision": Flag(about="false: only seen, never touched (default true)"),
        "texture": Text(about="of a box: a .png file beside the scene file"),
    },
    one_of=("extents", "box", "cylinder", "sphere", "mesh"),
    about="one of extents, box, cylinder, sphere, mesh, and how it looks",
)
_SHAPES = Items(SHAPE, 1, MAX_SHAPES, about="shapes, posed in the frame of the body or item")

BODY = Fields(
    {"shapes": _SHAPES},
    {
        "parent": Text(about="the body that carries it (default world)"),
        "joint": Text(about="the joint between parent and this body (default: fixed)"),
        "mass": replace(_POSITIVE, about="kg (default 5)"),
        **_SURFACE,
        **_POSE,
    },
    about="a piece of furniture; without xyz and rpy its shapes are in world coordinates",
)
JOINT = Fields(
    {
        "type": Text(("prismatic", "revolute"), about="slides (m) or turns (rad)"),
        "axis": vector(3, about="direction in the world, of any length"),
        "limits": replace(_RANGE, about="[lowest, highest], m or rad"),
    },
    {
        "pivot": vector(3, about="revolute: a point on the axis, in the world, m"),
        "start": Number(about="value at the start, m or rad (default 0)"),
        "friction": replace(_FROM_0, about="N or N m (default 1)"),
        "damping": replace(_FROM_0, about="N s/m or N m s/rad (default 1)"),
    },
    also={
        "if": {"properties": {"type": {"const": "revolute"}}},
        "then": {"required": ["pivot"]},
    },
    about="of a drawer or door",
)
RECTANGLE = Fields(
    {"x": _RANGE, "y": _RANGE, "z": Number(about="height, m")},
    about="in the frame of the region's body, m",
)
REGION = Fields(
    {"body": Text(about="the body that it belongs to")},
    {
        "surface": Items(RECTANGLE, 1, about="rectangles on which things stand"),
        "volume": replace(_BOX, about="inside of a drawer: [[x0, x1], [y0, y1], [z0, z1]], m"),
    },
    one_of=("surface", "volume"),
    about="where things are put",
)
HANDLE = Fields(
    {
        "body": Text(about="the handle itself, moved by the joint"),
        "joint": Text(about="the joint that it opens"),
        "point": vector(3, about="centre of the grasp in the body's frame, m"),
        "approach": vector(3, about="direction in which the hand approaches"),
        "closing": vector(3, about="along which the fingers close, perpendicular to approach"),
        "thickness": replace(_WIDTH, about="between the closed fingers, m, at most 0.08"),
    },
    {"span": replace(_FROM_0, about="allowed offset of the hand to either side, m (default 0)")},
    about="where the hand grasps a drawer or door",
)
GRASP = Fields(
    {"name": Text(), "width": _WIDTH, **_POSE},
    about="the grasp frame in the item's: z points out of the hand, the fingers close along y",
)
GRASPS = Items(GRASP)
ITEM_POSE = Fields(
    optional={
        "on": Text(about="the region on which it stands"),
        "xy": vector(2, about="centre in the frame of the region's body, m"),
        "yaw": Number(about="rad (default 0)"),
        **_POSE,
    },
    also={
        "anyOf": [{"required": ["on", "xy"]}, {"required": ["xyz"], "not": {"required": ["on"]}}]
    },
    about="{on: REGION, xy: [x, y], yaw: angle}, or {xyz: ..., rpy: ...} in the world",
)
ITEM = Fields(
    {"shapes": _SHAPES, "mass": replace(_POSITIVE, about="kg"), "pose": ITEM_POSE},
    {
        "label": Text(about="for pictures and captions (default: its name)"),
        **_SURFACE,
        "grasps": Either(
            (GRASPS, Text()), about="a list, or a file with one (default: from the geometry)"
        ),
        "size": vector(3, _POSITIVE, "bounding box, m (default: that of the shapes)"),
    },
    about="a movable object; its frame is the centre of its bounding box, z up",
)
STANCE = Fields(
    {"x": replace(_RANGE, about="m"), "y": replace(_RANGE, about="m")},
    {"heading": replace(_RANGE, about="rad; it may pass pi (default: every one)")},
    about="base poses that count as near",
)
AT = Fields(
    {"xy": vector(2, about="in the frame of the region's body, m")},
    {"yaw": Number(about="rad (default: any)")},
    about="the exact place where items are put",
)
BINDING = Fields(
    optional={
        "item": Text(about="the item that the object is"),
        "hand": Text(("panda_hand",), about="the object is the hand"),
        "stance": Text(about="furniture: where the base stands"),
        "region": Text(about="where things are put"),
        "handle": Text(about="what opens it; a region is then a volume that it moves"),
        "opening": replace(_POSITIVE, about="how far it is opened, m or rad (default 0.3)"),
        "staging": Text(about="surface to put things down on while it is opened"),
        "at": AT,
        "label": Text(about="furniture: for captions (default: its name)"),
    },
    one_of=("item", "hand", "stance"),
    needs={
        **dict.fromkeys(("region", "handle", "opening", "staging", "label"), ("stance",)),
        "at": ("stance", "region"),
    },
    about="what a PDDL object stands for: an item, the hand, or furniture",
)
PHYSICS = Fields(
    optional={
        "gravity": vector(3, about="m/s^2 (default [0, 0, -9.81])"),
        "friction": replace(_FROM_0, about="of surfaces that give none (default 0.8)"),
        "restitution": replace(_SHARE, about="of surfaces that give none, 0 to 1 (default 0)"),
        "time_step": replace(_POSITIVE, about="s (default 1/240)"),
        "finger_force": replace(_POSITIVE, about="N (default 40)"),
        "finger_friction": replace(_FROM_0, about="of the finger pads (default 1)"),
    },
    merged=True,
)
_AXES = "[x, y, heading]"
BASE = Fields(
    optional={
        "size": vector(3, _POSITIVE, "[length, width, top], m"),
        "ground_gap": replace(_POSITIVE, about="of the chassis, m"),
        "p_BA": vector(3, about="the arm's foot in the base's frame, m"),
        "column": vector(2, _POSITIVE, "[length, width], m"),
        "column_offset": Number(about="m"),
        "plate": vector(3, _POSITIVE, "[length, width, thickness], m"),
        "lower": vector(3, about=f"{_AXES}, m and rad"),
        "upper": vector(3, about=f"{_AXES}, m and rad"),
        "velocity": vector(3, _RATE, f"{_AXES}, m/s and rad/s, at least 0.001"),
        "acceleration": vector(3, _RATE, f"{_AXES}, m/s^2 and rad/s^2, at least 0.001"),
        "jerk": vector(3, _RATE, f"{_AXES}, m/s^3 and rad/s^3, at least 0.001"),
    },
    merged=True,
    about="dimensions and limits (default: those of Galley's kitchen)",
)
START = Fields(
    {
        "base": vector(3, about=f"{_AXES}, m and rad"),
        "arm": vector(7, about="joint angles, rad"),
    },
    {"fingers": Number(at_least=0, at_most=0.04, about="each from the middle, m (default 0.04)")},
    merged=True,
    about="the configuration in which a run begins",
)
ROBOT = Fields(
    {"model": Text(("mobile_panda",)), "start": START},
    {"name": Text(about="(default: the model's)"), "base": BASE},
    merged=True,
)


def _section(of: Kind, about: str, *reserved: str) -> Named:
    return Named(of, NAME, reserved, about=about)


SCENE = Fields(
    {
        "galley_scene": Exactly(VERSION, about="version of the format"),
        "name": Text(about="of the scene, a word"),
        "robot": ROBOT,
        "bodies": _section(BODY, "furniture, the floor included", WORLD, HAND),
        "items": _section(ITEM, "movable objects", WORLD, HAND),
        "stances": _section(STANCE, "where the base counts as near something"),
        "objects": _section(BINDING, "what the objects of the PDDL problem stand for"),
    },
    {
        "extends": Text(about="another scene file, which this one changes"),
        "physics": PHYSICS,
        "joints": _section(JOINT, "drawers and doors"),
        "regions": _section(REGION, "where things are put"),
        "handles": _section(HANDLE, "where the hand grasps a drawer or door"),
    },
)


def scene_schema() -> dict[str, Any]:
    """The JSON Schema (draft 7) of scene files."""
    # A Fields that is not ``merged``: at the root null removes nothing.
    of_root = replace(SCENE, required={}, optional=SCENE.kinds)
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": f"Galley scene, format {VERSION}",
        **json_schema(of_root),
        "required": ["galley_scene"],
        "if": {"not": {"required": ["extends"]}},
        "then": whole(replace(SCENE, merged=True)),
    }


def schema_text() -> str:
    """``scene_schema`` as the text of a file."""
    return json.dumps(scene_schema(), indent=1) + "\n"
