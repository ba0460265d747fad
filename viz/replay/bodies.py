"""A scene and its robot as Meshcat's objects."""

from __future__ import annotations

import numpy as np
from pydrake.common import MemoryFile
from pydrake.geometry import InMemoryMesh, Mesh, Meshcat, MeshcatParams
from pydrake.math import RigidTransform, RotationMatrix

from galley.domain.frames import Array, inverse
from galley.domain.scene.model import Scene
from galley.robots.model import RobotModel
from galley.viz.render.scene_meshes import SceneMeshes
from galley.viz.render.scene_picture import front_camera
from galley.viz.replay.gltf import as_gltf

ROOT = "galley"
WIDTH, HEIGHT = 1280, 720  # of the picture that the first camera is chosen for, pixels


def open_meshcat() -> Meshcat:
    """A Meshcat that only this machine can reach, at any free port.

    Raises:
        RuntimeError: no port is free.
    """
    return Meshcat(MeshcatParams(host="localhost", show_stats_plot=False))


class Bodies:
    """Puts a scene and its robot into Meshcat, and moves them.

    Each link stands below the link that carries it, so that only what moves by itself needs poses.

    Args:
        meshcat: where to.
        scene, robot: what.

    Attributes:
        paths: Meshcat's path of each body, in the order of ``SceneMeshes.meshes``.
        names: of each body, as logs have it; empty for the furniture that does not move.
    """

    def __init__(self, meshcat: Meshcat, scene: Scene, robot: RobotModel) -> None:
        self.meshcat = meshcat
        self._meshes = SceneMeshes(scene, robot)
        self.names = self._meshes.names
        paths: list[str] = []
        for k, (mesh, carrier) in enumerate(
            zip(self._meshes.meshes, self._meshes.carriers, strict=True)
        ):
            paths.append(f"{paths[carrier] if carrier >= 0 else ROOT}/{k}")
            if len(mesh.triangles):
                file = MemoryFile(as_gltf(mesh), ".gltf", self.names[k] or "furniture")
                meshcat.SetObject(paths[k], Mesh(mesh_data=InMemoryMesh(mesh_file=file)))
        self.paths = tuple(paths)
        camera = front_camera(scene, WIDTH, HEIGHT)
        meshcat.SetCameraPose(camera.position, camera.target)
        meshcat.SetProperty("/Grid", "visible", False)
        meshcat.SetProperty("/Axes", "visible", False)

    def world_poses(self, q: Array, scene_q: Array, items: Array) -> Array:
        """X_WB (nb, 4, 4) of every body, for one row of a log."""
        return self._meshes.poses(q, scene_q, items)

    def relative(self, X_WB: Array) -> Array:
        """Poses (..., nb, 4, 4) in the frame of each body's carrier, from those in the world."""
        X = np.array(X_WB)
        for k, carrier in enumerate(self._meshes.carriers):
            if carrier >= 0:
                X[..., k, :, :] = _inverses(X_WB[..., carrier, :, :]) @ X_WB[..., k, :, :]
        return X

    def show(self, q: Array, scene_q: Array, items: Array) -> None:
        """Move everything to one row of a log."""
        for path, X in zip(
            self.paths, self.relative(self.world_poses(q, scene_q, items)), strict=True
        ):
            self.meshcat.SetTransform(path, rigid(X))


def rigid(X: Array) -> RigidTransform:
    """A pose (4, 4) as Drake's."""
    return RigidTransform(RotationMatrix.ProjectToRotationMatrix(X[:3, :3]), X[:3, 3])


def _inverses(X: Array) -> Array:
    """Inverse of each pose (..., 4, 4)."""
    flat = X.reshape(-1, 4, 4)
    return np.array([inverse(each) for each in flat]).reshape(X.shape)
