"""The visual meshes of a scene and its robot, and the pose of each body."""

from __future__ import annotations

import logging
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np

from galley.domain.frames import Array, from_pose7
from galley.domain.scene.model import Scene, Shape
from galley.robots.base_urdf import drop
from galley.robots.model import RobotModel
from galley.robots.urdf_reader import JointTree, origin_of, read_tree
from galley.viz.render.meshes import (
    VisualMesh,
    box_mesh,
    cylinder_mesh,
    joined,
    picture,
    read_visual,
    simplified,
    sphere_mesh,
    textured,
)

logger = logging.getLogger(__name__)
_GREY = (0.7, 0.7, 0.7)
_AXIS = 0.1  # m, length of the axes that are drawn for a frame
# Links with more triangles than this are simplified. Links that we ship have 22,000: their black
# covers lie close to white parts, which would poke through a simplified mesh.
_MOST_OF_LINK = 25_000


class SceneMeshes:
    """The bodies of a scene with its robot, to be drawn.

    The first body is all static furniture. Then come the moving furniture, the robot's links and
    the items. Links with many triangles are simplified, as drawing time is proportional to their
    number.

    Attributes:
        meshes: a mesh for each body, in the body's own frame.
        names: the name of each body as in logs; empty for the static furniture.
    """

    def __init__(self, scene: Scene, robot: RobotModel) -> None:
        self._scene = scene
        self._tree: JointTree = read_tree(robot.urdf, robot.joints)
        resting = [body for body in scene.bodies if body.name in scene.standing_bodies]
        moving = [body for body in scene.bodies if body.name not in scene.standing_bodies]
        links = link_meshes(robot.urdf)
        start = np.zeros(len(scene.joints))
        base = [
            shape_mesh(shape).placed(scene.body_pose(body.name, start))
            for body in resting
            for shape in body.shapes
        ]
        self._moving = tuple(body.name for body in moving)
        self._links = tuple(self._tree.link(name) for name in links)
        self.meshes: tuple[VisualMesh, ...] = (
            joined(base),
            *(joined([shape_mesh(shape) for shape in body.shapes]) for body in moving),
            *links.values(),
            *(joined([shape_mesh(shape) for shape in item.shapes]) for item in scene.items),
        )
        items = [item.name for item in scene.items]
        self.names: tuple[str, ...] = ("", *self._moving, *links, *items)

    def poses(self, q: Array, scene_q: Array, items: Array) -> Array:
        """The pose X_WB (nb, 4, 4) of each body, for one row of a log (see ``Renderer.render``)."""
        X_WF = self._tree.poses(q)
        return np.array(
            [
                np.eye(4),
                *(self._scene.body_pose(name, scene_q) for name in self._moving),
                *(X_WF[frame] @ X_FL for frame, X_FL in self._links),
                *(from_pose7(pose) for pose in items),
            ]
        )


def for_display(robot: RobotModel, shapes: bool = False) -> RobotModel:
    """The robot with axes drawn at the hand frame and the grasp frame: x red, y green, z blue.

    Args:
        robot: the robot.
        shapes: whether to draw its collision shapes instead of its visual meshes.
    """
    root = ET.fromstring(robot.urdf)
    if shapes:
        for link in root.iter("link"):
            drop(link, "visual")
            for shape in link.findall("collision"):
                shape.tag = "visual"
                shape.insert(0, ET.Element("material", name="shapes"))
        material = ET.SubElement(root, "material", name="shapes")
        ET.SubElement(material, "color", rgba="0.95 0.55 0.2 1")
    hand = next(link for link in root.iter("link") if link.get("name") == robot.palm)
    for k, axis in enumerate(np.eye(3)):
        color = ET.SubElement(ET.SubElement(root, "material", name=f"axis{k}"), "color")
        color.set("rgba", _text(0.1 + 0.8 * axis) + " 1")
        for p_H in (np.zeros(3), robot.p_HT):
            visual = ET.SubElement(hand, "visual")
            ET.SubElement(visual, "origin", xyz=_text(p_H + 0.5 * _AXIS * axis))
            shape = ET.SubElement(ET.SubElement(visual, "geometry"), "box")
            shape.set("size", _text(np.maximum(_AXIS * axis, 0.05 * _AXIS)))
            ET.SubElement(visual, "material", name=f"axis{k}")
    return replace(robot, urdf=ET.tostring(root, encoding="unicode"))


def _text(values: Array) -> str:
    """Numbers separated by spaces, as in a URDF."""
    return " ".join(map(str, values.tolist()))


def shape_mesh(shape: Shape) -> VisualMesh:
    """The mesh of a scene's shape, in its body's frame."""
    own = shape.texture is not None
    if shape.texture is not None:
        mesh = textured(box_mesh(shape.size), picture(shape.texture))
    elif shape.mesh is not None:
        mesh, own = read_visual(shape.mesh)
        mesh = mesh.placed(np.eye(4), shape.size[0])
    else:
        mesh = _simple(shape.kind, shape.size)
    return (mesh if own else mesh.painted(shape.color)).placed(shape.X_BS)


def _simple(kind: str, size: Sequence[float] | Array) -> VisualMesh:
    """A box of ``size`` (3,), a cylinder of radius and length, or a sphere of a radius, metres."""
    if kind == "box":
        return box_mesh(size)
    return sphere_mesh(size[0]) if kind == "sphere" else cylinder_mesh(size[0], size[1])


@lru_cache(maxsize=8)  # each thread of a film, and each camera of an episode, calls this
def link_meshes(urdf: str) -> Mapping[str, VisualMesh]:
    """The mesh of every link with a visual, in the link's frame; a large mesh is simplified."""
    root = ET.fromstring(urdf)
    colors = {
        material.get("name", ""): _rgb(material)
        for material in root.iter("material")
        if material.find("color") is not None
    }
    links: dict[str, VisualMesh] = {}
    for link in root.iter("link"):
        parts = [_visual(visual, colors) for visual in link.findall("visual")]
        meshes = [mesh for mesh in parts if mesh is not None]
        if meshes:
            mesh = joined(meshes)
            large = len(mesh.triangles) > _MOST_OF_LINK
            links[link.get("name", "")] = simplified(mesh, _MOST_OF_LINK) if large else mesh
    return links


def _rgb(material: ET.Element) -> tuple[float, ...]:
    """The colour of a material: red, green and blue, 0 to 1; grey if it has none."""
    color = material.find("color")
    return tuple(_numbers("" if color is None else color.get("rgba", "")))[:3] or _GREY


def _visual(visual: ET.Element, colors: dict[str, tuple[float, ...]]) -> VisualMesh | None:
    """The mesh of one <visual>; None, with a warning, for an unsupported format."""
    geometry = visual.find("geometry")
    element = geometry[0] if geometry is not None and len(geometry) else None
    if element is None:
        return None
    own, scale = False, [1.0, 1.0, 1.0]
    if element.tag != "mesh":
        size = (element.get(name, "") for name in ("size", "radius", "length"))
        mesh = _simple(element.tag, _numbers(" ".join(size)))
    else:
        path = Path(element.get("filename", "").removeprefix("file://"))
        if path.suffix.lower() not in (".obj", ".stl"):
            logger.warning("mesh '%s' is not drawn: its format is neither OBJ nor STL", path)
            return None
        mesh, own = read_visual(path)
        scale = _numbers(element.get("scale", "1 1 1"))
    if not own:
        material = visual.find("material")
        name = "" if material is None else material.get("name", "")
        mesh = mesh.painted(colors.get(name, _GREY))
    return mesh.placed(origin_of(visual), scale)


def _numbers(text: str) -> list[float]:
    """The numbers in a text, separated by spaces."""
    return [float(word) for word in text.split()]
