"""Where a robot's links are, from its tree of joints: all that the cameraman needs, no engine."""

from __future__ import annotations

import numpy as np

from galley.domain.frames import Array
from galley.robots.model import RobotModel
from galley.robots.urdf_reader import read_tree


class TreeLinks:
    """See ``camera.Links``."""

    def __init__(self, robot: RobotModel) -> None:
        self._tree = read_tree(robot.urdf, robot.joints)
        self._X_WF = self._tree.poses(np.zeros(robot.size))

    def set_robot(self, q: Array) -> None:
        """See ``camera.Links.set_robot``."""
        self._X_WF = self._tree.poses(q)

    def link_pose(self, link: str) -> Array:
        """See ``camera.Links.link_pose``."""
        frame, X_FL = self._tree.link(link)
        return np.asarray(self._X_WF[frame] @ X_FL)
