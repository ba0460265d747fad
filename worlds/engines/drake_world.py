"""The scene and the robot in Drake: one plant and scene graph that audit contacts.

Built from the same URDF texts as ``PyBulletWorld``, under the same names, so that the two engines
can be compared.
"""

from __future__ import annotations

import contextlib
import logging
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from pydrake.geometry import CollisionFilterDeclaration, FrameId, GeometrySet, QueryObject
from pydrake.math import RigidTransform, RotationMatrix
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import AddMultibodyPlantSceneGraph
from pydrake.multibody.tree import ModelInstanceIndex
from pydrake.systems.framework import DiagramBuilder

from galley.domain.frames import Array, to_pose7
from galley.domain.scene.model import Scene
from galley.domain.state import State, item_poses
from galley.robots.model import RobotModel
from galley.worlds.checker import Contact, Pair, pair
from galley.worlds.engines.urdf import furniture_urdf, item_urdf, without_visuals

_XYZW_TO_WXYZ = [6, 3, 4, 5, 0, 1, 2]  # a logged pose, in the order of a free body's positions


class DrakeWorld:
    """A plant with the floor, furniture, items and the robot, each under its name.

    Items are free bodies. Use as a context manager, or call ``close``: the meshes that the scene
    needs lie in a temporary folder, which lives as long as the world.

    Args:
        scene: what to build.
        robot: its URDF makes one model; so does the furniture, and each item.
    """

    def __init__(self, scene: Scene, robot: RobotModel) -> None:
        self.scene = scene
        self.robot = robot
        self._folder = tempfile.TemporaryDirectory(prefix="galley-drake-")
        builder = DiagramBuilder()
        # Continuous (time step 0): no contact solver is built, as nothing is simulated here.
        self.plant, self.scene_graph = AddMultibodyPlantSceneGraph(builder, time_step=0.0)
        with _quiet():
            self._robot_model = self._load("robot", without_visuals(robot.urdf))
            self._item_models = tuple(
                self._load(item.name, item_urdf(item, self.folder)) for item in scene.items
            )
            self._furniture_model = self._load("furniture", furniture_urdf(scene, self.folder))
            self.plant.Finalize()
        self._filter_collisions()
        self._diagram = builder.Build()
        self._root = self._diagram.CreateDefaultContext()
        self.context = self.plant.GetMyMutableContextFromRoot(self._root)
        self._graph_context = self.scene_graph.GetMyContextFromRoot(self._root)
        self._positions = np.array(self.plant.GetPositions(self.context))
        self._robot_at = self._joints_at(robot.joints, self._robot_model)
        self._scene_at = self._joints_at(
            tuple(joint.name for joint in scene.joints), self._furniture_model
        )
        self._item_at = [self._free_body_at(item.name) for item in scene.items]
        self._names = self._geometry_names()

    @property
    def folder(self) -> Path:
        """Where the meshes and URDF files of this world lie."""
        return Path(self._folder.name)

    def _load(self, name: str, urdf: str) -> ModelInstanceIndex:
        # From a file, not from the text: Drake resolves absolute mesh paths only for files.
        path = self.folder / f"{name}.urdf"
        path.write_text(urdf)
        models: list[ModelInstanceIndex] = Parser(self.plant).AddModels(path)
        return models[0]

    def _joints_at(self, names: tuple[str, ...], model: ModelInstanceIndex) -> list[int]:
        joints = [self.plant.GetJointByName(name, model) for name in names]
        return [joint.position_start() for joint in joints]

    def _free_body_at(self, name: str) -> slice:
        start = self.plant.GetBodyByName(name, self._item_model(name)).floating_positions_start()
        return slice(start, start + 7)

    def _item_model(self, name: str) -> ModelInstanceIndex:
        return self._item_models[self.scene.item_index[name]]

    def _frames(self, model: ModelInstanceIndex) -> list[FrameId]:
        bodies = self.plant.GetBodyIndices(model)
        return [self.plant.GetBodyFrameIdOrThrow(body) for body in bodies]

    def _filter_collisions(self) -> None:
        """Excludes the pairs that no world checks."""
        furniture = GeometrySet(self._frames(self._furniture_model))
        declaration = CollisionFilterDeclaration().ExcludeWithin(furniture)
        for a, b in self.robot.allowed_self_collisions:
            frames = [
                self.plant.GetBodyFrameIdOrThrow(
                    self.plant.GetBodyByName(name, self._robot_model).index()
                )
                for name in (a, b)
            ]
            declaration.ExcludeWithin(GeometrySet(frames))
        self.scene_graph.collision_filter_manager().Apply(declaration)

    def _geometry_names(self) -> dict[object, str]:
        inspector = self.scene_graph.model_inspector()
        names: dict[object, str] = {}
        for geometry in inspector.GetAllGeometryIds():
            body = self.plant.GetBodyFromFrameId(inspector.GetFrameId(geometry))
            names[geometry] = str(body.name())
        return names

    # -- states ---------------------------------------------------------------------------------

    def set_state(self, state: State) -> None:
        """Put everything where ``state`` says."""
        self.set_robot(state.q)
        X_WH = self.link_pose(self.robot.palm)
        poses = item_poses(self.scene, state, X_WH)
        self.set_arrays(state.q, state.scene_q, np.array([to_pose7(X) for X in poses]))

    def set_arrays(self, q: Array, scene_q: Array, items: Array) -> None:
        """Put everything where a log's row says.

        Args:
            q: robot configuration (n,).
            scene_q: scene joint values (nj,).
            items: item poses in the world (ni, 7): x, y, z, qx, qy, qz, qw.
        """
        self._positions[self._robot_at] = q
        self._positions[self._scene_at] = scene_q
        for at, pose in zip(self._item_at, items, strict=True):
            self._positions[at] = pose[_XYZW_TO_WXYZ]
        self.plant.SetPositions(self.context, self._positions)

    def set_robot(self, q: Array) -> None:
        """Set the robot's joints to q (n,); a held item is left where it was."""
        self._positions[self._robot_at] = q
        self.plant.SetPositions(self.context, self._positions)

    def link_pose(self, name: str) -> Array:
        """X_WL (4, 4), as ``PyBulletWorld.link_pose``."""
        X_WL = self.plant.GetBodyByName(name).EvalPoseInWorld(self.context)
        return np.array(X_WL.GetAsMatrix4(), dtype=np.float64)

    # -- queries --------------------------------------------------------------------------------

    def contacts(
        self, within: float = 0.0, allowed: frozenset[Pair] = frozenset()
    ) -> tuple[Contact, ...]:
        """Undeclared pairs that penetrate, or are closer than ``within`` metres, nearest first.

        Robot against all and itself, items against all and each other; furniture is not checked
        against itself (drawers run in their slots).
        """
        query: QueryObject = self.scene_graph.get_query_output_port().Eval(self._graph_context)
        found: dict[Pair, float] = {}
        if within > 0.0:
            near = query.ComputeSignedDistancePairwiseClosestPoints(max_distance=within)
            hits = [(hit.id_A, hit.id_B, hit.distance) for hit in near]
        else:  # several times faster, without distances
            hits = [(h.id_A, h.id_B, -h.depth) for h in query.ComputePointPairPenetration()]
        for a, b, distance in hits:
            key = pair(self._names[a], self._names[b])
            if key not in allowed and distance < found.get(key, np.inf):
                found[key] = float(distance)
        contacts = [Contact(a, b, distance) for (a, b), distance in found.items()]
        return tuple(sorted(contacts, key=lambda c: c.distance))

    def close(self) -> None:
        """Remove the temporary folder."""
        self._folder.cleanup()

    def __enter__(self) -> DrakeWorld:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def rigid_transform(X: Array) -> RigidTransform:
    """Drake's type for X (4, 4)."""
    p: Any = X[:3, 3]  # no array has the type that the stubs name
    return RigidTransform(RotationMatrix(X[:3, :3]), p)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Silences Drake's warnings on loading: no joint friction, meshes without materials."""
    logger = logging.getLogger("drake")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
