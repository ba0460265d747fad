"""roboplan: compiled RRT-Connect on Pinocchio and Coal."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from time import perf_counter

import numpy as np
from roboplan import core, rrt

from galley.bench.motion.peers.planners import Answer
from galley.bench.motion.queries import Query
from galley.domain.frames import Array, rpy, transform
from galley.domain.scene.model import HAND, Scene, Shape
from galley.domain.state import item_pose
from galley.robots.model import RobotModel
from galley.robots.panda.ik import DF
from galley.robots.panda.kinematics import X_FH

_GREY = np.array([0.5, 0.5, 0.5, 1.0])
# Version 0.7.0 takes poses in a link as poses in the link's joint (open-planning/roboplan#351), so
# what is held hangs on the last link that has a joint: there both are the same.
_X_7H = transform(None, (0.0, 0.0, DF)) @ X_FH
_STEP = 0.05  # rad between checked states, its default
_NODES = 1_000_000  # the clock ends a search, not the size of its trees


class Roboplan:
    """The planner with its default options, nothing shortcut."""

    def __init__(self, name: str, scene: Scene, robot: RobotModel) -> None:
        self.name = name
        self.scene = scene
        self.robot = robot
        self.joints = list(robot.group("arm").joints)

    def prepare(self, query: Query) -> None:
        """See ``Planner``."""
        state, robot = query.state, self.robot
        apart = [tuple(pair) for pair in robot.allowed_self_collisions]
        held: list[tuple[str, Shape, Array]] = []
        # What stands still goes into the URDF, onto its first link: objects that are added later
        # would be checked against each other as well, and found touching.
        urdf = ET.fromstring(robot.urdf)
        world = urdf.find("link[@name='world']")
        for body in self.scene.bodies:
            X_WB = self.scene.body_pose(body.name, state.scene_q)
            for k, shape in enumerate(body.shapes):
                if shape.collision:
                    _collision(world, f"{body.name} {k}", shape, X_WB @ shape.X_BS)
        for index, item in enumerate(self.scene.items):
            for k, shape in enumerate(item.shapes):
                name = f"{item.name} {k}"
                if state.items[index].parent == HAND:
                    held.append((name, shape, _X_7H @ state.items[index].X_PI @ shape.X_BS))
                    apart += [(name, finger) for finger in robot.fingers]
                else:
                    X_WI = item_pose(self.scene, state, index, np.eye(4))
                    _collision(world, name, shape, X_WI @ shape.X_BS)
        text = ET.tostring(urdf, encoding="unicode")
        self._scene = core.Scene("kitchen", core.loadUrdfSceneDescriptionFromXml(text))
        self._scene.addGroup("arm", self.joints)
        for name, shape, X in held:
            if shape.kind != "box":
                raise ValueError(f"{name} is a {shape.kind}: this benchmark holds boxes only")
            box, pose = core.Box(*shape.size), np.asfortranarray(X)
            self._scene.addBoxGeometry(name, "panda_link7", box, pose, _GREY)
        self._scene.setCollisions(apart, False)
        self._scene.setJointPositions(state.q)

    def plan(self, query: Query, seed: int, limit: float) -> Answer:
        """See ``Planner``."""
        options = rrt.RRTOptions(
            group_name="arm",
            max_nodes=_NODES,
            collision_check_step_size=_STEP,
            max_planning_time=limit,
            rrt_connect=True,
        )
        planner = rrt.RRT(self._scene, options)
        planner.setRngSeed(seed)
        start = core.JointConfiguration(self.joints, query.start)
        goal = core.JointConfiguration(self.joints, query.goal)
        began = perf_counter()
        try:
            path = planner.plan(start, goal)
        except RuntimeError:  # how it says that there was no path in time
            return Answer(None, perf_counter() - began)
        seconds = perf_counter() - began
        return Answer(np.array(path.positions), seconds)

    def hits(self, query: Query, arm: Array) -> bool:
        """Whether it takes an arm configuration (7,) of the prepared query to be in collision."""
        q = query.state.q.copy()
        q[3:10] = arm
        return bool(self._scene.hasCollisions(q))

    def close(self) -> None:
        """See ``Planner``."""


def _collision(link: ET.Element | None, name: str, shape: Shape, X: Array) -> None:
    """Adds a shape at X (4, 4) to a link.

    Raises:
        ValueError: a mesh, which the kitchen has none of.
    """
    assert link is not None, "the robot's URDF begins with the link 'world'"
    holder = ET.SubElement(link, "collision", name=name)
    ET.SubElement(holder, "origin", xyz=_words(X[:3, 3]), rpy=_words(rpy(X[:3, :3])))
    geometry = ET.SubElement(holder, "geometry")
    if shape.kind == "box":
        ET.SubElement(geometry, "box", size=_words(shape.size))
    elif shape.kind == "cylinder":
        radius, length = shape.size
        ET.SubElement(geometry, "cylinder", radius=repr(float(radius)), length=repr(float(length)))
    elif shape.kind == "sphere":
        ET.SubElement(geometry, "sphere", radius=repr(float(shape.size[0])))
    else:
        raise ValueError(f"{name} is a {shape.kind}: not handed to roboplan")


def _words(values: Array) -> str:
    return " ".join(repr(float(value)) for value in values)
