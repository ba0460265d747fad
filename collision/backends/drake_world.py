"""DrakeWorld: the scene and the robot in Drake, one plant and scene graph that audit contacts.

Built from the same URDF texts as ``PyBulletWorld``, under the same names, so that the two engines
can be compared.
"""

from __future__ import annotations

import tempfile
from collections import OrderedDict
from pathlib import Path

import numpy as np
from pydrake.geometry import CollisionFilterDeclaration, FrameId, GeometrySet, QueryObject
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import AddMultibodyPlantSceneGraph
from pydrake.multibody.tree import ModelInstanceIndex
from pydrake.systems.framework import DiagramBuilder

from galley.collision.backends import quiet_drake
from galley.collision.backends.urdf import furniture_urdf, item_urdf, loaded_parts, without_visuals
from galley.collision.checker import ContactPair, Pair, pair
from galley.collision.collision_world import Cache, cached
from galley.domain.frames import Array, frozen, to_pose7
from galley.domain.scene.model import Scene
from galley.domain.state import State, item_poses
from galley.robots.model import RobotModel

_XYZW_TO_WXYZ = [6, 3, 4, 5, 0, 1, 2]  # a logged pose, in the order of a free body's positions


class _LoadedScene:
    """A plant with its scene graph, which nothing changes once it is built: see ``DrakeWorld``.

    Attributes:
        diagram: Drake's diagram of plant and scene graph.
        plant: the multibody plant.
        graph: the scene graph.
        positions: the plant's positions at the start (nq,).
        robot_at: indices in ``positions`` of the robot's joints.
        scene_at: indices in ``positions`` of the scene's joints.
        item_at: slice in ``positions`` of each item's pose.
        names: by a geometry's id, the name of the body that it belongs to.
    """

    def __init__(self, scene: Scene, robot: RobotModel) -> None:
        self.scene, self.robot = scene, robot
        builder = DiagramBuilder()
        # Continuous (time step 0): no contact solver is built, as nothing is simulated here.
        self.plant, self.graph = AddMultibodyPlantSceneGraph(builder, time_step=0.0)
        with quiet_drake(), tempfile.TemporaryDirectory(prefix="galley-drake-") as name:
            folder = Path(name)
            self._robot_model = self._load("robot", without_visuals(robot.urdf), folder)
            self._item_models = tuple(
                self._load(item.name, item_urdf(item, folder), folder) for item in scene.items
            )
            self._furniture_model = self._load("furniture", furniture_urdf(scene, folder), folder)
            self.plant.Finalize()
        self._filter_collisions()
        self.diagram = builder.Build()
        self.positions = frozen(self.plant.GetPositions(self.plant.CreateDefaultContext()))
        self.robot_at = self._joints_at(robot.joints, self._robot_model)
        self.scene_at = self._joints_at(
            tuple(joint.name for joint in scene.joints), self._furniture_model
        )
        self.item_at = [self._free_body_at(item.name) for item in scene.items]
        self.names = self._geometry_names()

    def _load(self, name: str, urdf: str, folder: Path) -> ModelInstanceIndex:
        """Adds a URDF's text to the plant, as one model."""
        # From a file, not from the text: Drake resolves absolute mesh paths only for files.
        path = folder / f"{name}.urdf"
        path.write_text(urdf)
        models: list[ModelInstanceIndex] = Parser(self.plant).AddModels(path)
        return models[0]

    def _joints_at(self, names: tuple[str, ...], model: ModelInstanceIndex) -> list[int]:
        """Where joints of a model are in the plant's positions."""
        joints = [self.plant.GetJointByName(name, model) for name in names]
        return [joint.position_start() for joint in joints]

    def _free_body_at(self, name: str) -> slice:
        """Where an item's pose is in the plant's positions: seven numbers."""
        model = self._item_models[self.scene.item_index[name]]
        start = self.plant.GetBodyByName(name, model).floating_positions_start()
        return slice(start, start + 7)

    def _frame(self, name: str, model: ModelInstanceIndex) -> FrameId:
        """The scene graph's frame of a body."""
        body = self.plant.GetBodyByName(name, model).index()
        frame: FrameId = self.plant.GetBodyFrameIdOrThrow(body)
        return frame

    def _filter_collisions(self) -> None:
        """Excludes the pairs that no world checks; see ``checker.unchecked_pairs``."""
        bodies = self.plant.GetBodyIndices(self._furniture_model)
        furniture = GeometrySet([self.plant.GetBodyFrameIdOrThrow(body) for body in bodies])
        declaration = CollisionFilterDeclaration().ExcludeWithin(furniture)
        for a, b in self.robot.allowed_self_collisions:
            frames = [self._frame(name, self._robot_model) for name in (a, b)]
            declaration.ExcludeWithin(GeometrySet(frames))
        apart = [
            (self.robot.standing_links, self.scene.standing_bodies),
            (self.robot.wheels, self.scene.floors),
        ]
        apart += [(body.may_touch, (body.name,)) for body in self.scene.bodies]
        for links, bodies in apart:
            ours = [self._frame(name, self._robot_model) for name in links]
            theirs = [self._frame(name, self._furniture_model) for name in bodies]
            declaration.ExcludeBetween(GeometrySet(ours), GeometrySet(theirs))
        self.graph.collision_filter_manager().Apply(declaration)

    def _geometry_names(self) -> dict[object, str]:
        """The name of the body that each geometry belongs to, by the geometry's id."""
        inspector = self.graph.model_inspector()
        names: dict[object, str] = {}
        for geometry in inspector.GetAllGeometryIds():
            body = self.plant.GetBodyFromFrameId(inspector.GetFrameId(geometry))
            names[geometry] = str(body.name())
        return names


_loaded: Cache[_LoadedScene] = OrderedDict()
_KEPT = 4  # loaded scenes that are kept: loading takes longer than auditing a plan


class DrakeWorld:
    """A plant with the floor, furniture, items and the robot, each under its name.

    Items are free bodies. The next world of an equal scene uses the same plant, in a context of its
    own.

    Args:
        scene: furniture, items and joints.
        robot: any RobotModel. Its URDF makes one model of the plant, the furniture another, and
            each item one of its own.
    """

    def __init__(self, scene: Scene, robot: RobotModel) -> None:
        self.scene = scene
        self.robot = robot
        key = loaded_parts(scene), robot
        loaded = cached(_loaded, key, lambda: _LoadedScene(scene, robot), _KEPT)
        self.plant, self.scene_graph = loaded.plant, loaded.graph
        self._loaded = loaded
        self._root = loaded.diagram.CreateDefaultContext()
        self.context = self.plant.GetMyMutableContextFromRoot(self._root)
        self._graph_context = self.scene_graph.GetMyContextFromRoot(self._root)
        self._positions = np.array(loaded.positions)

    # -- states ---------------------------------------------------------------------------------

    def set_state(self, state: State) -> None:
        """Put everything where ``state`` says."""
        self.set_robot(state.q)
        X_WH = self.link_pose(self.robot.acting(state.hand).palm)
        poses = item_poses(self.scene, state, X_WH)
        self.set_arrays(state.q, state.scene_q, np.array([to_pose7(X) for X in poses]))

    def set_arrays(self, q: Array, scene_q: Array, items: Array) -> None:
        """Put everything where a log's row says.

        Args:
            q: robot configuration (n,).
            scene_q: scene joint values (nj,).
            items: item poses in the world (ni, 7): x, y, z, qx, qy, qz, qw.
        """
        self.set_positions(self.positions(q, scene_q, items))

    def positions(self, q: Array, scene_q: Array, items: Array) -> Array:
        """The plant's positions (..., nq) for rows of a log (..., n), (..., nj), (..., ni, 7)."""
        loaded = self._loaded
        positions = np.empty((*q.shape[:-1], len(loaded.positions)))
        positions[...] = loaded.positions
        positions[..., loaded.robot_at] = q
        positions[..., loaded.scene_at] = scene_q
        for k, at in enumerate(loaded.item_at):
            positions[..., at] = items[..., k, _XYZW_TO_WXYZ]
        return positions

    def set_positions(self, positions: Array) -> None:
        """Put everything where the plant's positions (nq,) say."""
        self._positions[:] = positions
        self.plant.SetPositions(self.context, self._positions)

    def set_robot(self, q: Array) -> None:
        """Set the robot's joints to q (n,); a held item is left where it was."""
        self._positions[self._loaded.robot_at] = q
        self.plant.SetPositions(self.context, self._positions)

    def link_pose(self, name: str) -> Array:
        """X_WL (4, 4) of a link or body, as ``PyBulletWorld.link_pose``."""
        X_WL = self.plant.GetBodyByName(name).EvalPoseInWorld(self.context)
        return np.array(X_WL.GetAsMatrix4(), dtype=np.float64)

    # -- queries --------------------------------------------------------------------------------

    def contacts(
        self, within: float = 0.0, allowed: frozenset[Pair] = frozenset()
    ) -> tuple[ContactPair, ...]:
        """Pairs that penetrate, or are closer than ``within`` metres, nearest first.

        The robot against everything and itself, items against everything and each other. Furniture
        is not checked against itself (drawers run in their slots).

        Args:
            within: metres; with 0, only pairs that penetrate, with minus the depth as distance.
            allowed: pairs that may touch, which are left out.
        """
        query: QueryObject = self.scene_graph.get_query_output_port().Eval(self._graph_context)
        distances: dict[Pair, float] = {}  # a pair of bodies may have several geometries
        if within > 0.0:
            near = query.ComputeSignedDistancePairwiseClosestPoints(max_distance=within)
            hits = [(hit.id_A, hit.id_B, hit.distance) for hit in near]
        else:  # several times faster, without distances
            hits = [(h.id_A, h.id_B, -h.depth) for h in query.ComputePointPairPenetration()]
        for a, b, distance in hits:
            key = pair(self._loaded.names[a], self._loaded.names[b])
            if key not in allowed and distance < distances.get(key, np.inf):
                distances[key] = float(distance)
        contacts = [ContactPair(a, b, distance) for (a, b), distance in distances.items()]
        return tuple(sorted(contacts, key=lambda c: c.distance))

    def __enter__(self) -> DrakeWorld:
        return self

    def __exit__(self, *error: object) -> None:
        """Releases nothing: a context manager only because ``PyBulletWorld`` is one."""
