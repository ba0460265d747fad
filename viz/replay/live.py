"""Planning and execution in the browser while they happen."""

from __future__ import annotations

import time
from collections import deque
from typing import Any

import numpy as np
from pydrake.geometry import Rgba

from galley.domain.frames import Array
from galley.domain.listener import Listener, Relay
from galley.domain.scene.model import Scene
from galley.robots.model import RobotModel
from galley.viz.film.camera import grasp_centres
from galley.viz.replay.bodies import ROOT, Bodies, columns, open_meshcat

_EVERY = 0.05  # s between two pictures
_KEPT = 400  # tries that stay in the picture, of each kind
_POINTS = 8  # of a motion's path
_FOUND, _FAILED = Rgba(0.10, 0.65, 0.25), Rgba(0.85, 0.15, 0.15)
_PLANNED, _EXECUTED = Rgba(0.95, 0.45, 0.10), Rgba(0.10, 0.35, 0.85)
_TICK = np.array([0.0, 0.0, 0.06])  # m, by which a try is marked


class LiveView(Relay):
    """Shows a scene, and what it hears of: tries as ticks, the path found, and execution.

    A tick stands at the base pose and at the grasp: green if the arm reached it, else red. The
    hand's path is orange as planned and blue as executed. Only this machine can see the page.

    Args:
        scene, robot: what to show, at its start.
        listener: hears all of it, too.

    Attributes:
        address: of the page.

    Raises:
        RuntimeError: no port is free.
    """

    def __init__(self, scene: Scene, robot: RobotModel, listener: Listener) -> None:
        self._meshcat = open_meshcat()
        self.address = self._meshcat.web_url()
        super().__init__(listener)
        self._robot = robot
        self._bodies = Bodies(self._meshcat, scene, robot)
        self._tries: dict[bool, deque[Array]] = {b: deque(maxlen=_KEPT) for b in (True, False)}
        self._executed: list[Array] = []
        self._shown = 0.0
        self._bodies.show_start(scene)

    def skeleton(self, actions: tuple[str, ...]) -> None:
        """A new plan: nothing of it is found yet."""
        self._meshcat.Delete(f"{ROOT}/planned")
        self.listener.skeleton(actions)

    def tried(self, base: Any, contact: Any, found: bool) -> None:
        """Mark a base pose and a grasp."""
        foot = np.array([base[0], base[1], 0.0])
        ticks = self._tries[found]
        ticks += [
            np.array([foot, foot + _TICK]),
            np.array([contact[:3, 3] - _TICK, contact[:3, 3]]),
        ]
        if self._due():
            self._draw_tries()
        self.listener.tried(base, contact, found)

    def refined(self, index: int, state: Any, motions: Any) -> None:
        """Draw the hand's path through an action."""
        self._draw_tries()
        q, points = state.q.copy(), []
        for motion in motions:
            times = np.linspace(0.0, 1.0, _POINTS)
            waypoints = motion.path.waypoints
            at = np.linspace(0.0, 1.0, len(waypoints))
            for row in np.stack([np.interp(times, at, column) for column in waypoints.T], axis=1):
                q[self._robot.slice(motion.group)] = row
                points.append(self._hand(q))
        if len(points) > 1:
            self._meshcat.SetLine(
                f"{ROOT}/planned/{index}", columns(np.array(points)), 2.0, _PLANNED
            )
        self.listener.refined(index, state, motions)

    def moved(self, q: Any, scene_q: Any, items: Any) -> None:
        """Show a state, at most some times a second."""
        if self._due():
            self._bodies.show(q, scene_q, items)
            self._executed.append(self._hand(q))
            if len(self._executed) > 1:
                line = columns(np.array(self._executed))
                self._meshcat.SetLine(f"{ROOT}/executed", line, 3.0, _EXECUTED)
        self.listener.moved(q, scene_q, items)

    def _hand(self, q: Array) -> Array:
        """The grasp centre (3,) at q (n,)."""
        return np.asarray(grasp_centres(self._robot, q[None])[0])

    def _due(self) -> bool:
        """Whether it is time for another picture."""
        now = time.monotonic()
        if now - self._shown < _EVERY:
            return False
        self._shown = now
        return True

    def _draw_tries(self) -> None:
        for found, color in ((True, _FOUND), (False, _FAILED)):
            if self._tries[found]:
                ends = np.array(self._tries[found])
                a, b = columns(ends[:, 0]), columns(ends[:, 1])
                name = "found" if found else "failed"
                self._meshcat.SetLineSegments(f"{ROOT}/tried/{name}", a, b, 3.0, color)
