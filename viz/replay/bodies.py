"""Draws a scene and its robot in Meshcat, Drake's 3D view in the browser, and moves them."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import numpy as np
import trimesh
from PIL import Image
from pydrake.common import MemoryFile
from pydrake.geometry import InMemoryMesh, Mesh, Meshcat, MeshcatParams
from pydrake.math import RigidTransform, RotationMatrix
from trimesh.exchange.gltf import export_gltf

from galley.collision.backends import quiet_drake
from galley.domain.frames import Array, rotation_rpy, transform
from galley.domain.scene.model import Scene
from galley.robots.model import RobotModel
from galley.viz.render.meshes import MOST_TRIANGLES, Pixels, VisualMesh, simplified
from galley.viz.render.renderer import LAMP
from galley.viz.render.scene_meshes import SceneMeshes
from galley.viz.render.scene_picture import front_camera, start_of
from galley.viz.render.view import Camera

ROOT = "galley"
_Y_UP = transform(rotation_rpy(-np.pi / 2.0, 0.0, 0.0))  # glTF has y up; Meshcat turns it back
_MATTE = {"metallicFactor": 0.0, "roughnessFactor": 0.85}
_BESIDE = "Lights/PointLightNegativeX"  # the lamp at the camera
_SHADED = {"left": -8.0, "right": 8.0, "bottom": -8.0, "top": 8.0}  # m, the area with shadows
_FAR = 20.0  # m from the world's origin to the lamp
_LIGHT: dict[str, dict[str, Any]] = {
    "Lights/PointLightPositiveX": {"intensity": 0.0},
    "Lights/AmbientLight": {"intensity": 0.05 * np.pi},
    _BESIDE: {"intensity": 0.24 * np.pi, "decay": 0.0, "distance": 0.0},
    "Lights/FillLight": {
        "intensity": 0.68 * np.pi,
        "position": [_FAR * part for part in LAMP],
        **{f"shadow.camera.{side}": metres for side, metres in _SHADED.items()},
        **{f"shadow.mapSize.{side}": 2048.0 for side in ("width", "height")},
        "shadow.bias": -0.0005,
        "shadow.normalBias": 0.02,
        "castShadow": True,
    },
    "Render Settings": {"exposure": 0.65},  # for the live page, whose colours are toned
    "Background": {"top_color": [0.68, 0.67, 0.64], "bottom_color": [0.57, 0.52, 0.46]},
}
"""Properties of Meshcat's lamps, so that its pictures look like a film's, and of its background."""
WIDTH, HEIGHT = 1280, 720  # pixels, of the picture for which the first camera is chosen


def open_meshcat() -> Meshcat:
    """Start a Meshcat server on any free port, which only this machine can reach.

    Raises:
        RuntimeError: no port is free.
    """
    with quiet_drake():  # the caller prints the address if it is of use
        return Meshcat(MeshcatParams(host="localhost", show_stats_plot=False))


class Bodies:
    """Puts a scene and its robot into Meshcat, and moves them.

    Args:
        meshcat: the Meshcat to draw into.
        scene, robot: what to draw.
        root: the path in Meshcat below which all bodies are.

    Attributes:
        meshcat: the Meshcat that shows the bodies.
        paths: the path in Meshcat of each body, in the order of ``SceneMeshes.meshes``.
        names: the name of each body as in logs; empty for the furniture that doesn't move.
        world_poses: the function ``SceneMeshes.poses``.
    """

    def __init__(self, meshcat: Meshcat, scene: Scene, robot: RobotModel, root: str = ROOT) -> None:
        self.meshcat = meshcat
        meshes = SceneMeshes(scene, robot)
        self.names, self.world_poses = meshes.names, meshes.poses
        self.paths = draw(meshcat, meshes.meshes, root)
        look_from(meshcat, front_camera(scene, WIDTH, HEIGHT))

    def show(self, q: Array, scene_q: Array, items: Array) -> None:
        """Move everything to one row of a log.

        Args:
            q: robot configuration (n,).
            scene_q: scene joint values (nj,).
            items: item poses (ni, 7).
        """
        for path, X in zip(self.paths, self.world_poses(q, scene_q, items), strict=True):
            self.meshcat.SetTransform(path, rigid(X))

    def show_start(self, scene: Scene) -> None:
        """Move everything to its pose in the scene file."""
        self.show(*start_of(scene))


def draw(
    meshcat: Meshcat, meshes: Sequence[VisualMesh], root: str = ROOT, most: int = MOST_TRIANGLES
) -> tuple[str, ...]:
    """Put meshes into Meshcat below the path ``root``, and set the lamps.

    Each mesh is simplified to at most about ``most`` triangles.

    Returns:
        The path of each mesh, in order.
    """
    paths = tuple(f"{root}/{k}" for k in range(len(meshes)))
    for mesh, path in zip(meshes, paths, strict=True):
        if len(mesh.triangles):
            contents: Any = as_gltf(mesh, most)
            file = MemoryFile(contents, ".gltf", path)
            meshcat.SetObject(path, Mesh(mesh_data=InMemoryMesh(mesh_file=file)))
    for path, properties in _LIGHT.items():
        for name, value in properties.items():
            meshcat.SetProperty(f"/{path}/<object>", name, value)
    meshcat.SetProperty("/Grid", "visible", False)
    meshcat.SetProperty("/Axes", "visible", False)
    return paths


def look_from(meshcat: Meshcat, camera: Camera) -> None:
    """Look through a camera: its position, target and field of view."""
    meshcat.SetCameraPose(columns(camera.position), columns(camera.target))
    meshcat.SetProperty(f"/{_BESIDE}/<object>", "position", [*camera.position])
    lens = "/Cameras/default/rotated/<object>"
    meshcat.SetProperty(lens, "fov", float(np.degrees(camera.fov)))


def rigid(X: Array) -> RigidTransform:
    """Drake's RigidTransform for a pose (4, 4)."""
    R: Any = RotationMatrix.ProjectToRotationMatrix(columns(X[:3, :3].T))
    return RigidTransform(R, columns(X[:3, 3]))


def columns(points: Array) -> Any:
    """Points (n, 3) as the columns of a matrix (3, n), as Drake expects; one point stays (3,)."""
    return np.asfortranarray(np.asarray(points, dtype=np.float64).T)


def as_gltf(mesh: VisualMesh, most: int = MOST_TRIANGLES) -> bytes:
    """The contents of a self-contained glTF file with a body's mesh, in metres, y up.

    The mesh is simplified to at most about ``most`` triangles.
    """
    mesh = simplified(mesh, most).placed(_Y_UP)
    parts = [_textured(mesh, k, picture) for k, picture in enumerate(mesh.textures)]
    if (mesh.pictures < 0).any():
        parts.append(_plain(mesh))
    files = export_gltf(
        trimesh.Scene(parts), include_normals=True, merge_buffers=True, tree_postprocessor=_matte
    )
    document: bytes = files["model.gltf"]
    for name, data in files.items():
        uri = f"data:application/octet-stream;base64,{base64.b64encode(data).decode()}"
        document = document.replace(f'"{name}"'.encode(), f'"{uri}"'.encode())
    return document


def _matte(tree: dict[str, Any]) -> None:
    """Give meshes with a colour per point a matt material: glTF's default material is metal."""
    materials = tree.setdefault("materials", [])
    materials.append({"pbrMetallicRoughness": _MATTE})
    for mesh in tree.get("meshes", []):
        for primitive in mesh["primitives"]:
            primitive.setdefault("material", len(materials) - 1)


def _textured(mesh: VisualMesh, k: int, picture: Pixels) -> trimesh.Trimesh:
    """The triangles with texture ``k``, which is ``picture``."""
    material = trimesh.visual.material.PBRMaterial(
        baseColorTexture=Image.fromarray(picture), **_MATTE
    )
    part = mesh.only(mesh.pictures == k)
    visual = trimesh.visual.TextureVisuals(uv=part.uvs, material=material)
    return _trimesh(part, visual=visual)


def _plain(mesh: VisualMesh) -> trimesh.Trimesh:
    """The triangles without a texture, with a colour per point."""
    part = mesh.only(mesh.pictures < 0)
    colors = np.full((len(part.points), 4), 255, dtype=np.uint8)
    colors[part.triangles.ravel(), :3] = np.repeat(_linear(part.colors), 3, axis=0)
    return _trimesh(part, vertex_colors=colors)


def _trimesh(part: VisualMesh, **look: Any) -> trimesh.Trimesh:
    """The part as a mesh of trimesh; ``look`` are colours or a texture, as trimesh takes them."""
    return trimesh.Trimesh(
        part.points, part.triangles, vertex_normals=part.normals, process=False, **look
    )


def _linear(color: Array) -> Array:
    """sRGB colours (..., 3), 0 to 1, as the linear ones of glTF, 0 to 255 (IEC 61966-2-1)."""
    linear = np.where(color <= 0.04045, color / 12.92, ((color + 0.055) / 1.055) ** 2.4)
    return np.asarray(np.round(255.0 * linear))
