"""Drake's KinematicTrajectoryOptimization with distances at fixed samples: one solve, no repair.

For every query a plant in which only the arm moves is built from the URDFs that ``DrakeWorld``
loads: joints of base, fingers and furniture are fixed, items welded to the world or to the hand.
Distances and gradients come from Drake's own compiled constraint.
"""

from __future__ import annotations

import logging
import tempfile
from collections.abc import Mapping
from pathlib import Path as File
from time import perf_counter
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
from pydrake.geometry import CollisionFilterDeclaration, GeometrySet
from pydrake.math import BsplineBasis, RigidTransform
from pydrake.multibody.inverse_kinematics import MinimumDistanceLowerBoundConstraint
from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import AddMultibodyPlantSceneGraph
from pydrake.multibody.tree import BodyIndex
from pydrake.planning import KinematicTrajectoryOptimization
from pydrake.solvers import SnoptSolver, SolverOptions
from pydrake.systems.framework import DiagramBuilder
from pydrake.trajectories import BsplineTrajectory

from galley.bench.optimization.peers import Answer, piecewise
from galley.bench.optimization.queries import Case
from galley.collision.backends.urdf import furniture_urdf, item_urdf
from galley.collision.checker import MARGIN
from galley.domain.frames import Array, rotation_about, rotation_rpy, rpy, transform
from galley.domain.scene.model import HAND, Scene
from galley.domain.state import item_pose
from galley.motion.trajectory.timing import rest_to_rest
from galley.robots.model import RobotModel

CONTROL_POINTS, ORDER = 16, 4
_LIMIT = 10.0  # s, after which SNOPT is told to stop
_HAIR = 1e-4  # m below what the ends keep, where they keep less than the margin


class DrakeKto:
    """Distances at ``samples`` places of a cubic B-spline; duration and length are minimised.

    Args:
        samples: evenly spread over the spline, both ends left out (they can't move).
    """

    ours, groups = False, ("arm",)
    _built: tuple[Case, Arm] | None = None  # shared: plants take longer to build than to use

    def __init__(self, name: str, scene: Scene, robot: RobotModel, samples: int) -> None:
        self.name = name
        self.scene = scene
        self.robot = robot
        self.samples = samples

    def prepare(self, case: Case) -> None:
        """See ``Method``."""
        if DrakeKto._built is None or DrakeKto._built[0] is not case:
            DrakeKto._built = (case, Arm(self.scene, self.robot, case))

    def solve(self, case: Case) -> Answer:
        """See ``Method``."""
        assert DrakeKto._built is not None
        world = DrakeKto._built[1]
        began = perf_counter()
        problem = self._problem(case, world)
        options = SolverOptions()
        options.SetOption(SnoptSolver.id(), "Time limit", _LIMIT)
        result = SnoptSolver().Solve(problem.prog(), None, options)
        seconds = perf_counter() - began
        if not result.is_success():
            return Answer(None, seconds, self.name, str(result.get_solution_result()))
        curve = problem.ReconstructTrajectory(result)

        def position(times: Array) -> Array:
            return np.asarray(curve.vector_values(list(times))).T

        knots = np.unique(curve.basis().knots())
        return Answer(piecewise(position, knots, ORDER - 1), seconds, self.name)

    def _problem(self, case: Case, world: Arm) -> KinematicTrajectoryOptimization:
        group, query = self.robot.group("arm"), case.query
        problem = KinematicTrajectoryOptimization(group.size, CONTROL_POINTS, ORDER)
        problem.AddPathPositionConstraint(query.start, query.start, 0.0)
        problem.AddPathPositionConstraint(query.goal, query.goal, 1.0)
        rest = np.zeros(group.size)
        for s in (0.0, 1.0):
            problem.AddPathVelocityConstraint(rest, rest, s)
            problem.AddPathAccelerationConstraint(rest, rest, s)
        problem.AddPositionBounds(group.lower, group.upper)
        problem.AddVelocityBounds(-group.velocity, group.velocity)
        problem.AddAccelerationBounds(-group.acceleration, group.acceleration)
        problem.AddJerkBounds(-group.jerk, group.jerk)
        problem.AddDurationConstraint(0.05, 30.0)
        problem.AddDurationCost(1.0)
        problem.AddPathLengthCost(1.0)
        for s in np.linspace(0.0, 1.0, self.samples + 2)[1:-1]:
            problem.AddPathPositionConstraint(world.constraint, s)
        problem.SetInitialGuess(_guess(case, rest_to_rest(case.path, group).duration))
        return problem


def _guess(case: Case, duration: float) -> BsplineTrajectory:
    """The path itself: control points on it, the first and last three at its ends, at rest."""
    points = case.path.waypoints
    along = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1)))
    shares = np.concatenate([[0, 0], np.linspace(0.0, 1.0, CONTROL_POINTS - 4), [1, 1]])
    at = shares * along[-1]
    control = np.stack([np.interp(at, along, column) for column in points.T], axis=1)
    basis = BsplineBasis(ORDER, CONTROL_POINTS, initial_parameter_value=0.0,
                         final_parameter_value=duration)  # fmt: skip
    return BsplineTrajectory(basis, control.T)


class Arm:
    """A plant with the arm's seven positions, and the constraint on its distances.

    Attributes:
        bound: m, what must be kept: the planner's margin, or what the query's ends keep if that is
            less (a link may be nearer to another link).
    """

    def __init__(self, scene: Scene, robot: RobotModel, case: Case) -> None:
        state = case.query.state
        builder = DiagramBuilder()
        self.plant, graph = AddMultibodyPlantSceneGraph(builder, time_step=0.0)
        logger = logging.getLogger("drake")
        before = logger.level
        logger.setLevel(logging.ERROR)  # meshes without materials, joints without friction
        with tempfile.TemporaryDirectory() as name:
            folder = File(name)
            values = dict(zip(robot.joints, state.q, strict=True))
            for joint in robot.group("arm").joints:
                del values[joint]
            drawers = {j.name: q for j, q in zip(scene.joints, state.scene_q, strict=True)}
            texts = {
                "robot": fixed(robot.urdf, values),
                "furniture": fixed(furniture_urdf(scene, folder), drawers),
                **{item.name: item_urdf(item, folder) for item in scene.items},
            }
            for what, text in texts.items():
                (folder / f"{what}.urdf").write_text(text)
                Parser(self.plant).AddModels(folder / f"{what}.urdf")
            palm = self.plant.GetFrameByName(robot.palm)
            for k, item in enumerate(scene.items):
                placed, body = state.items[k], self.plant.GetFrameByName(item.name)
                if placed.parent == HAND:
                    self.plant.WeldFrames(palm, body, RigidTransform(placed.X_PI))
                else:
                    X_WI = item_pose(scene, state, k, np.eye(4))
                    self.plant.WeldFrames(self.plant.world_frame(), body, RigidTransform(X_WI))
            self.plant.Finalize()
        logger.setLevel(before)
        self._filter(graph, scene, robot, case)
        self._diagram = builder.Build()
        self._root = self._diagram.CreateDefaultContext()
        self.context = self.plant.GetMyMutableContextFromRoot(self._root)
        self._graph, self._graph_context = graph, graph.GetMyContextFromRoot(self._root)
        ends = min(self.distance(case.query.start), self.distance(case.query.goal))
        self.bound = min(MARGIN, ends - _HAIR)
        self.constraint = MinimumDistanceLowerBoundConstraint(self.plant, self.bound, self.context)

    def distance(self, arm: Array) -> float:
        """The least distance (m) at a configuration (7,), at most 2 cm."""
        self.plant.SetPositions(self.context, arm)
        query: Any = self._graph.get_query_output_port().Eval(self._graph_context)
        near = query.ComputeSignedDistancePairwiseClosestPoints(max_distance=0.02)
        return min((float(pair.distance) for pair in near), default=0.02)

    def _filter(self, graph: Any, scene: Scene, robot: RobotModel, case: Case) -> None:
        """Leave out what never changes, and the pairs that may touch."""
        held = case.query.state.held
        rides = () if held is None else (scene.items[held].name,)
        moving = {f"panda_link{k}" for k in range(1, 8)} | {robot.palm, *robot.fingers, *rides}
        every = [self.plant.get_body(BodyIndex(k)) for k in range(1, self.plant.num_bodies())]
        still = [body for body in every if body.name() not in moving]
        declaration = CollisionFilterDeclaration().ExcludeWithin(self._set(still))
        pairs = list(robot.allowed_self_collisions)
        pairs += [(part, item) for item in rides for part in (*robot.fingers, robot.palm)]
        for names in pairs:
            bodies = [self.plant.GetBodyByName(name) for name in names]
            declaration.ExcludeWithin(self._set(bodies))
        graph.collision_filter_manager().Apply(declaration)

    def _set(self, bodies: list[Any]) -> GeometrySet:
        return GeometrySet([self.plant.GetBodyFrameIdOrThrow(body.index()) for body in bodies])


def fixed(urdf: str, values: Mapping[str, float]) -> str:
    """The same robot with some joints fixed at given values."""
    root = ET.fromstring(urdf)
    for joint in root.iter("joint"):
        if joint.get("name") not in values:
            continue
        value, origin = values[joint.get("name", "")], joint.find("origin")
        axis = np.array([float(x) for x in joint.find("axis").get("xyz").split()])
        X = np.eye(4)
        if origin is not None:
            p, angles = ([float(x) for x in origin.get(key, "0 0 0").split()]
                         for key in ("xyz", "rpy"))  # fmt: skip
            X = transform(rotation_rpy(*angles), p)
            joint.remove(origin)
        prismatic = joint.get("type") == "prismatic"
        X = X @ (transform(None, value * axis) if prismatic else
                 transform(rotation_about(axis, value)))  # fmt: skip
        joint.set("type", "fixed")
        ET.SubElement(joint, "origin", xyz=_words(X[:3, 3]), rpy=_words(rpy(X[:3, :3])))
    return ET.tostring(root, encoding="unicode")


def _words(values: Array) -> str:
    return " ".join(repr(float(value)) for value in values)
