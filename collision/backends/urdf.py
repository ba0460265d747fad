"""Writes a Scene's furniture and items as URDF for PyBullet and Drake: collision shapes and masses.

All furniture is one multibody on the world: a link for each body, a joint for each scene joint. A
link's frame L is axis-parallel to the world; it sits in the joint's pivot for a revolute joint and
in the world's origin otherwise (at zero joints), so that joint values mean the same in every world.

A mesh is written as the OBJ of its convex hull, which both engines read, under an ASCII name.
Shapes that are only seen are left out: pictures are drawn by our own renderer.
"""

from __future__ import annotations

import pickle
from functools import lru_cache
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np

from galley.domain.frames import Array, inverse, rpy, transform
from galley.domain.meshes import hull_triangles
from galley.domain.scene.model import WORLD, Body, Item, Scene, Shape
from galley.robots.base_urdf import drop

FURNITURE = "furniture"


def loaded_parts(scene: Scene) -> bytes:
    """A key of all that engines load of a scene: equal for scenes that look the same to them."""
    return pickle.dumps((scene.bodies, scene.joints, scene.items))


def link_frame(scene: Scene, body: Body) -> Array:
    """X_WL (4, 4) of a furniture body's link while all joints are zero."""
    if body.joint is not None:
        joint = scene.joint(body.joint)
        if joint.kind == "revolute":
            return transform(None, joint.pivot)
    return np.eye(4)


def furniture_urdf(scene: Scene, folder: Path | str, moving_only: bool = False) -> str:
    """URDF text of all furniture.

    Args:
        scene: bodies and joints.
        folder: where meshes that the text needs are written.
        moving_only: leave out bodies that never move (see ``item_urdf``).
    """
    robot = ET.Element("robot", name=FURNITURE)
    ET.SubElement(robot, "link", name=WORLD)
    for body in scene.bodies:
        if moving_only and body.name in scene.standing_bodies:
            continue
        X_WL = link_frame(scene, body)
        _link(robot, body, inverse(X_WL) @ body.X_WB0, folder)
        parent = body.parent
        if moving_only and parent in scene.standing_bodies:
            parent = WORLD
        X_WP = np.eye(4) if parent == WORLD else link_frame(scene, scene.body(parent))
        if body.joint is None:
            joint = ET.SubElement(robot, "joint", name=f"{body.name}_fixed", type="fixed")
        else:
            spec = scene.joint(body.joint)
            joint = ET.SubElement(robot, "joint", name=spec.name, type=spec.kind)
            ET.SubElement(joint, "axis", xyz=_words(spec.axis))
            _add(joint, "limit", lower=spec.lower, upper=spec.upper, effort=1000, velocity=10)
            _add(joint, "dynamics", damping=spec.damping, friction=spec.friction)
        ET.SubElement(joint, "parent", link=parent)
        ET.SubElement(joint, "child", link=body.name)
        _origin(joint, inverse(X_WP) @ X_WL)
    return _text(robot)


def item_urdf(item: Item | Body, folder: Path | str, X_LB: Array | None = None) -> str:
    """URDF text of one body, whose link has its name.

    Args:
        item: the body.
        folder: where meshes that the text needs are written.
        X_LB: pose of the body in its link (4, 4); None: at the link's origin.
    """
    robot = ET.Element("robot", name=item.name)
    _link(robot, item, np.eye(4) if X_LB is None else X_LB, folder)
    return _text(robot)


@lru_cache(maxsize=8)
def without_visuals(urdf: str) -> str:
    """A robot's URDF text without visual shapes, which engines take long to load."""
    root = ET.fromstring(urdf)
    for link in root.iter("link"):
        drop(link, "visual")
    return _text(root)


def _text(robot: ET.Element) -> str:
    # One element a line: PyBullet's importer reads lines of at most 1024 characters.
    ET.indent(robot)
    return ET.tostring(robot, encoding="unicode")


def _link(robot: ET.Element, body: Item | Body, X_LB: Array, folder: Path | str) -> None:
    """Adds a link with a body's mass, inertia and collision shapes."""
    link = ET.SubElement(robot, "link", name=body.name)
    centre, I_C = inertial(body.shapes, X_LB, body.mass)
    element = ET.SubElement(link, "inertial")
    ET.SubElement(element, "origin", xyz=_words(centre), rpy="0 0 0")
    _add(element, "mass", value=body.mass)
    moments = zip(("ixx", "ixy", "ixz", "iyy", "iyz", "izz"), I_C[np.triu_indices(3)], strict=True)
    _add(element, "inertia", **dict(moments))
    for k, shape in enumerate(body.shapes):
        if shape.collision:
            collision = ET.SubElement(link, "collision", name=f"{body.name}_{k}_collision")
            _origin(collision, X_LB @ shape.X_BS)
            file = Path(folder, f"{body.name}_{k}_hull.obj")
            _geometry(ET.SubElement(collision, "geometry"), shape, file)


def _geometry(geometry: ET.Element, shape: Shape, file: Path) -> None:
    """Adds the element for a shape; the hull of a mesh is written into ``file``."""
    if shape.kind == "box":
        ET.SubElement(geometry, "box", size=_words(shape.size))
    elif shape.kind == "cylinder":
        _add(geometry, "cylinder", radius=shape.size[0], length=shape.size[1])
    elif shape.kind == "sphere":
        _add(geometry, "sphere", radius=shape.size[0])
    else:
        assert shape.points is not None
        triangles = hull_triangles(shape.points)
        a, b, c = shape.points[triangles].transpose(1, 0, 2)
        normals = np.cross(b - a, c - a)
        normals /= np.maximum(np.linalg.norm(normals, axis=1, keepdims=True), 1e-30)
        lines = [f"v {_words(point)}" for point in shape.points]
        lines += [f"vn {_words(normal)}" for normal in normals]
        for k, corners in enumerate((triangles + 1).tolist(), 1):
            lines.append("f " + " ".join(f"{corner}//{k}" for corner in corners))
        file.write_text("\n".join(lines) + "\n")
        ET.SubElement(geometry, "mesh", filename=str(file))


def inertial(shapes: tuple[Shape, ...], X_LB: Array, mass: float) -> tuple[Array, Array]:
    """Centre of mass and inertia of a body, its mass spread evenly over its shapes' volumes.

    Each shape counts as its bounding box.

    Args:
        shapes: those of the body.
        X_LB: pose of the body in its link L (4, 4).
        mass: kg.

    Returns:
        The centre (3,), m, and the inertia (3, 3) about it, kg m^2, in the axes of L.
    """
    solid = [s for s in shapes if s.collision]
    if not solid:  # it collides with nothing: as a ball of 5 cm radius
        return np.zeros(3), np.eye(3) * (0.4 * mass * 0.05**2)
    volumes = np.array([np.prod(2.0 * s.half_extents) for s in solid])
    masses = mass * volumes / volumes.sum()
    poses = [X_LB @ s.X_BS @ transform(None, s.middle) for s in solid]
    centre = sum(m * X[:3, 3] for m, X in zip(masses, poses, strict=True)) / mass
    I_C = np.zeros((3, 3))
    for m, X, shape in zip(masses, poses, solid, strict=True):
        a, b, c = (2.0 * shape.half_extents) ** 2
        own = np.diag([b + c, a + c, a + b]) * m / 12.0
        d = X[:3, 3] - centre  # Steiner: moved to the common centre
        I_C += X[:3, :3] @ own @ X[:3, :3].T + m * (d @ d * np.eye(3) - np.outer(d, d))
    return np.asarray(centre), I_C


def _add(element: ET.Element, tag: str, **figures: float) -> None:
    ET.SubElement(element, tag, {name: _number(value) for name, value in figures.items()})


def _origin(element: ET.Element, X: Array) -> None:
    ET.SubElement(element, "origin", xyz=_words(X[:3, 3]), rpy=_words(rpy(X[:3, :3])))


def _words(values: Array | tuple[float, ...]) -> str:
    return " ".join(_number(v) for v in values)


def _number(value: float) -> str:
    return f"{float(value):.12g}"
