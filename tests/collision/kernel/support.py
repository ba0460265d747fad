"""What the tests of the collision kernel share: shapes, and Drake and PyBullet as oracles."""

from __future__ import annotations

import itertools
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from pydrake.geometry import (
    Box,
    Convex,
    Cylinder,
    FramePoseVector,
    GeometryFrame,
    GeometryInstance,
    ProximityProperties,
    SceneGraph,
    Sphere,
)
from pydrake.math import RigidTransform
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction
from pydrake.systems.framework import DiagramBuilder

from galley.collision.backends.bullet import pybullet as pb
from galley.collision.backends.bullet import quiet
from galley.collision.checker import Pair, pair
from galley.collision.kernel.arrays import BOX, CYLINDER, HULL, SPHERE
from galley.collision.solids import Solid, box, convex, cylinder, sphere
from galley.domain.frames import Array, quaternion, rotation_from_quaternion, transform
from galley.robots.model import RobotModel

KINDS = ("box", "cylinder", "sphere", "hull")
SLACK = 2e-5  # m: float32 in the kernel, and what Drake's iterative distances may be off


def random_rotation(rng: np.random.Generator) -> Array:
    """Uniform over all rotations (3, 3)."""
    return rotation_from_quaternion(rng.normal(size=4))


def random_solid(
    kind: str,
    rng: np.random.Generator,
    at: Array,
    sizes: tuple[float, float] = (0.03, 0.25),
    turned: bool = True,
) -> Solid:
    """A solid of a kind; each of its measures is between the two sizes (m)."""
    R = random_rotation(rng) if turned else None
    a, b, c = rng.uniform(*sizes, 3)
    if kind == "box":
        return box((a, b, c), at, R)
    if kind == "cylinder":
        return cylinder(a / 2.0, b, at, R)
    if kind == "sphere":
        return sphere(a / 2.0, at)
    points = rng.normal(size=(rng.integers(6, 20), 3))
    points *= np.array([a, b, c]) / (2.0 * np.linalg.norm(points, axis=1)[:, None])
    return convex(points, at, R)


def random_world(
    seed: int, count: int, low: Array, high: Array, apart: float = 0.0
) -> dict[str, Solid]:
    """Boxes, cylinders and spheres within two corners, none nearer than ``apart`` to the origin."""
    rng = np.random.default_rng(seed)
    found: dict[str, Solid] = {}
    while len(found) < count:
        at = rng.uniform(low, high)
        if np.linalg.norm(at[:2]) > apart:
            kind = KINDS[len(found) % 3]
            found[f"{kind}{len(found)}"] = random_solid(kind, rng, at, (0.05, 0.35))
    return found


def within(robot: RobotModel, group: str = "all") -> tuple[Array, Array]:
    """Limits of a group's joints; ``base+arm`` for two, ``all`` for all."""
    names = [g.name for g in robot.groups] if group == "all" else group.split("+")
    return (
        np.concatenate([robot.group(name).lower for name in names]),
        np.concatenate([robot.group(name).upper for name in names]),
    )


def dense(path: Array, step: float) -> Array:
    """States on a polygonal path (n, k), no coordinate further apart than ``step``: (m, k)."""
    rows = [path[:1]]
    for a, b in itertools.pairwise(path):
        n = max(1, int(np.ceil(np.abs(b - a).max() / step)))
        rows.append(a + np.linspace(0.0, 1.0, n + 1)[1:, None] * (b - a))
    return np.concatenate(rows)


class DrakeOracle:
    """A robot among solids in Drake: exact signed distances of named pairs.

    Args:
        robot: its URDF is loaded as it is.
        obstacles: solids in the world by name.
        held: solids in the palm's frame by name.
    """

    def __init__(
        self,
        robot: RobotModel,
        obstacles: Mapping[str, Solid | Sequence[Solid]],
        held: Mapping[str, Solid] | None = None,
    ) -> None:
        builder = DiagramBuilder()
        self.plant, graph = AddMultibodyPlantSceneGraph(builder, time_step=0.0)
        with tempfile.TemporaryDirectory() as folder, quiet():
            path = Path(folder) / "robot.urdf"
            path.write_text(robot.urdf)
            self.model = Parser(self.plant).AddModels(path)[0]
        for name, found in obstacles.items():
            for k, solid in enumerate([found] if isinstance(found, Solid) else found):
                self._add(self.plant.world_body(), f"{name}/{k}", solid)
        for name, solid in (held or {}).items():
            self._add(self.plant.GetBodyByName(robot.palm, self.model), f"{name}/0", solid)
        self.plant.Finalize()
        diagram = builder.Build()
        self.root = diagram.CreateDefaultContext()
        self.context = self.plant.GetMyMutableContextFromRoot(self.root)
        self.graph: SceneGraph = graph
        self.graph_context = graph.GetMyContextFromRoot(self.root)
        joints = [self.plant.GetJointByName(j, self.model) for j in robot.joints]
        self.at = [joint.position_start() for joint in joints]
        self.positions = np.array(self.plant.GetPositions(self.context))
        self.robot = robot
        inspector = graph.model_inspector()
        self.names = {}
        for geometry in inspector.GetAllGeometryIds():
            body = self.plant.GetBodyFromFrameId(inspector.GetFrameId(geometry)).name()
            own = inspector.GetName(geometry).split("::")[-1]
            self.names[geometry] = own.split("/")[0] if "/" in own else body

    def _add(self, body, name, solid):
        shape = drake_shape(solid)
        X = RigidTransform(solid.X)
        self.plant.RegisterCollisionGeometry(body, X, shape, name, CoulombFriction(1.0, 1.0))

    def place(self, q: Array) -> None:
        self.positions[self.at] = q
        self.plant.SetPositions(self.context, self.positions)

    def link_pose(self, link: str, q: Array) -> Array:
        self.place(q)
        X = self.plant.GetBodyByName(link, self.model).EvalPoseInWorld(self.context)
        return np.array(X.GetAsMatrix4())

    def distances(self, q: Array, cap: float = 0.05) -> dict[Pair, float]:
        """Signed distance of every pair that may not touch and is nearer than ``cap`` (m)."""
        self.place(q)
        query = self.graph.get_query_output_port().Eval(self.graph_context)
        found: dict[Pair, float] = {}
        for hit in query.ComputeSignedDistancePairwiseClosestPoints(max_distance=cap):
            key = pair(self.names[hit.id_A], self.names[hit.id_B])
            if key in self.robot.allowed_self_collisions or key[0] == key[1]:
                continue
            found[key] = min(found.get(key, np.inf), hit.distance)
        return found


def drake_shape(solid: Solid):
    """Drake's shape of a solid."""
    if solid.kind == BOX:
        return Box(*(2.0 * solid.size))
    if solid.kind == CYLINDER:
        return Cylinder(solid.size[0], 2.0 * solid.size[1])
    if solid.kind == SPHERE:
        return Sphere(solid.size[0])
    assert solid.hull is not None
    return Convex(points=solid.hull.vertices.T, label="hull")


class DrakePair:
    """Exact signed distance of two solids at any poses."""

    def __init__(self, one: Solid, two: Solid) -> None:
        self.graph = SceneGraph()
        source = self.graph.RegisterSource("solids")
        self.frames, self.ids, self.source = [], [], source
        for k, solid in enumerate((one, two)):
            frame = self.graph.RegisterFrame(source, GeometryFrame(f"{k}"))
            instance = GeometryInstance(RigidTransform(np.eye(4)), drake_shape(solid), f"{k}")
            geometry = self.graph.RegisterGeometry(source, frame, instance)
            self.graph.AssignRole(source, geometry, ProximityProperties())
            self.frames.append(frame)
            self.ids.append(geometry)
        self.context = self.graph.CreateDefaultContext()

    def distance(self, X_WA: Array, X_WB: Array) -> float:
        poses = FramePoseVector()
        for frame, X in zip(self.frames, (X_WA, X_WB), strict=True):
            poses.set_value(frame, RigidTransform(X))
        port = self.graph.get_source_pose_port(self.source)
        port.FixValue(self.context, poses)
        query = self.graph.get_query_output_port().Eval(self.context)
        return float(query.ComputeSignedDistancePairClosestPoints(*self.ids).distance)


class BulletOracle:
    """A robot among solids in PyBullet; distances by Bullet's own search, mesh margins and all."""

    def __init__(self, robot: RobotModel, obstacles: Mapping[str, Solid], client: int) -> None:
        self.client, self.robot = client, robot
        flags = pb.URDF_USE_INERTIA_FROM_FILE | pb.URDF_USE_IMPLICIT_CYLINDER
        with tempfile.TemporaryDirectory() as folder, quiet():
            path = Path(folder) / "robot.urdf"
            path.write_text(robot.urdf)
            self.body = pb.loadURDF(
                str(path), useFixedBase=True, flags=flags, physicsClientId=client
            )
        self.names, self.joints, self.links = {}, {}, {}
        for k in range(pb.getNumJoints(self.body, physicsClientId=client)):
            info = pb.getJointInfo(self.body, k, physicsClientId=client)
            self.joints[info[1].decode()] = k
            self.names[k] = info[12].decode()
            self.links[info[12].decode()] = k
        self.others = {}
        for name, solid in obstacles.items():
            self.others[self.make(solid)] = name

    def make(self, solid: Solid) -> int:
        """Adds a body of its own; returns its number."""
        if solid.kind == BOX:
            how = {"shapeType": pb.GEOM_BOX, "halfExtents": list(solid.size)}
        elif solid.kind == CYLINDER:
            radius, half = solid.size[:2]
            how = {"shapeType": pb.GEOM_CYLINDER, "radius": radius, "height": 2.0 * half}
        elif solid.kind == SPHERE:
            how = {"shapeType": pb.GEOM_SPHERE, "radius": solid.size[0]}
        else:
            assert solid.kind == HULL
            assert solid.hull is not None
            how = {"shapeType": pb.GEOM_MESH, "vertices": solid.hull.vertices.tolist()}
        shape = pb.createCollisionShape(**how, physicsClientId=self.client)
        q = quaternion(solid.X[:3, :3])
        return pb.createMultiBody(0.0, shape, -1, solid.X[:3, 3], q, physicsClientId=self.client)

    def place(self, q: Array) -> None:
        for joint, value in zip(self.robot.joints, q, strict=True):
            pb.resetJointState(
                self.body, self.joints[joint], float(value), physicsClientId=self.client
            )

    def distances(self, q: Array, cap: float = 0.02) -> dict[Pair, float]:
        """Signed distance of every link and obstacle nearer than ``cap`` (m)."""
        self.place(q)
        found: dict[Pair, float] = {}
        for other, name in self.others.items():
            for point in pb.getClosestPoints(self.body, other, cap, physicsClientId=self.client):
                key = pair(self.names.get(point[3], "root"), name)
                found[key] = min(found.get(key, np.inf), point[8])
        for one, two in self._self_pairs():
            for point in pb.getClosestPoints(
                self.body,
                self.body,
                cap,
                self.links[one],
                self.links[two],
                physicsClientId=self.client,
            ):
                found[one, two] = min(found.get((one, two), np.inf), point[8])
        return found

    def _self_pairs(self) -> list[Pair]:
        links = [link for link in self.robot.links if link in self.links]
        return [
            pair(a, b)
            for k, a in enumerate(links)
            for b in links[:k]
            if pair(a, b) not in self.robot.allowed_self_collisions
        ]

    def link_pose(self, link: str, q: Array) -> Array:
        self.place(q)
        found = pb.getLinkState(
            self.body,
            self.links[link],
            computeForwardKinematics=True,
            physicsClientId=self.client,
        )
        return transform(rotation_from_quaternion(found[5]), found[4])


@contextmanager
def bullet(robot: RobotModel, obstacles: Mapping[str, Solid]) -> Iterator[BulletOracle]:
    """A BulletOracle in a client of its own."""
    client = pb.connect(pb.DIRECT)
    try:
        yield BulletOracle(robot, obstacles, client)
    finally:
        pb.disconnect(client)
