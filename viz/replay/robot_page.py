"""A page that shows a robot in 3D, with a slider for each joint."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from galley.domain.frames import Array
from galley.domain.scene.model import Scene
from galley.robots.model import RobotModel, join_groups
from galley.robots.urdf_reader import read_tree
from galley.viz.render.scene_meshes import for_display
from galley.viz.render.scene_picture import robot_camera
from galley.viz.replay.bodies import ROOT, Bodies, look_from, open_meshcat
from galley.viz.replay.recording import page

_CONTROLS = Path(__file__).with_name("robot.html")


def robot_html(scene: Scene, robot: RobotModel) -> str:
    """The page of a robot at the start configuration of a scene. It opens without a network.

    In the page, ``galley.set(q)`` moves the joints, ``galley.open(half, k)`` the fingers of hand k
    (of the first one without k), and ``galley.pose(link)`` is a link's pose: 16 numbers, column by
    column.
    """
    tree, meshcat = read_tree(robot.urdf, robot.joints), open_meshcat()
    looks = Bodies(meshcat, scene, for_display(robot), f"{ROOT}/looks")
    empty, solid = replace(scene, bodies=()), for_display(robot, shapes=True)
    shapes = Bodies(meshcat, empty, solid, f"{ROOT}/shapes")
    meshcat.SetProperty(f"{ROOT}/shapes", "visible", False)
    look_from(meshcat, robot_camera(robot, scene.robot.q[None], scene.robot.q[2]))
    drawn = dict(zip((*looks.paths, *shapes.paths), (*looks.names, *shapes.names), strict=True))
    low, high = join_groups("", [*robot.groups]).turn
    links = zip(tree.frame.tolist(), _columns(tree.X_FL), strict=True)
    data = {
        "title": robot.name,
        "joints": robot.joints,
        "units": [unit for group in robot.groups for unit in group.units],
        "hands": [_hand(hand) for hand in robot.hands],
        "start": scene.robot.q.tolist(),
        "limits": np.stack([low, high], axis=1).tolist(),
        "parent": tree.parent.tolist(),
        "slides": tree.prismatic.tolist(),
        "X_PJ": _columns(tree.X_PJ),
        "links": dict(zip(tree.links, links, strict=True)),
        "drawn": {f"/drake/{path}": name for path, name in drawn.items() if name in tree.links},
    }
    return page(meshcat.StaticHtml(), data, _CONTROLS)


def _hand(robot: RobotModel) -> dict[str, object]:
    """A hand's name, the index of its first finger joint in q, and its table (see ``Gripper``)."""
    opened, gripper = robot.group("fingers").upper, robot.gripper
    table = gripper.table or [[0.0, *0.0 * opened], [gripper.open, *opened]]
    return {"name": robot.hand, "fingers": robot.slice("fingers").start, "table": table}


def _columns(X: Array) -> list[list[float]]:
    """Poses (n, 4, 4) as rows of 16 numbers, each column by column."""
    rows: list[list[float]] = X.transpose(0, 2, 1).reshape(-1, 16).tolist()
    return rows
