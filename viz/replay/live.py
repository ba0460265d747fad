"""Shows planning and execution in the browser as they happen."""

from __future__ import annotations

import json
import time
from collections import deque
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from pydrake.geometry import Rgba

from galley.domain.action_text import in_words
from galley.domain.frames import Array
from galley.domain.listener import Listener, Relay
from galley.domain.scene.model import Scene
from galley.robots.catalog import robot_of
from galley.viz.film.camera import grasp_centres
from galley.viz.film.captions import split_recovery
from galley.viz.film.frames import split_line
from galley.viz.replay.bodies import ROOT, Bodies, columns, open_meshcat
from galley.viz.replay.loopback import serve

_PAGE = Path(__file__).with_name("live.html")
_EVERY = 0.05  # s between two pictures
_KEPT = 400  # tries of each kind that stay in the picture
_POINTS = 8  # points by which a motion's path is drawn
_FOUND, _FAILED = Rgba(0.10, 0.65, 0.25), Rgba(0.85, 0.15, 0.15)
_PLANNED, _EXECUTED = Rgba(0.95, 0.45, 0.10), Rgba(0.10, 0.35, 0.85)
_TICK = np.array([0.0, 0.0, 0.06])  # m, the line that marks a try


class LiveView(Relay):
    """A listener that shows the scene, tried base poses and grasps, the planned path and execution.

    A tick stands at the base pose and at the grasp: green if the arm reached it, else red. The
    hand's path is orange as planned and blue as executed. A bar shows the current step and a
    legend. Only this machine can open the page, which exists before a scene is loaded.

    Args:
        listener: receives all events, too.

    Attributes:
        address: the address of the page.

    Raises:
        RuntimeError: no port is free.
    """

    def __init__(self, listener: Listener) -> None:
        self._meshcat = open_meshcat()
        super().__init__(listener)
        self._tries: dict[bool, deque[Any]] = {b: deque(maxlen=_KEPT) for b in (True, False)}
        self._executed: list[Array] = []
        self._before = np.empty(0)  # the configuration shown last
        self._began, self._shown = time.monotonic(), 0.0
        self._said = ["", "", ""]
        page = _PAGE.read_text(encoding="utf-8").replace("MESHCAT", self._meshcat.web_url())
        self.address, _ = serve({"/": lambda: page, "/now": self._now})

    def _now(self) -> str:
        """The page's bar as JSON: action, phase, alert, and seconds since the start."""
        return json.dumps([*self._said, time.monotonic() - self._began])

    def loaded(self, scene: Scene) -> None:
        """Show a scene and its robot at the start."""
        self._scene, self._robot = scene, robot_of(scene.robot)
        self._bodies = Bodies(self._meshcat, scene, self._robot)
        self._bodies.show_start(scene)
        self.listener.loaded(scene)

    def stage(self, text: str) -> None:
        """Show the name of the next stage in the page's bar."""
        self._said = [text, "", ""]
        self.listener.stage(text)

    def action(self, index: int, total: int, text: str, event: str) -> None:
        """Show the action that is being refined."""
        self._said[1] = f"action {index + 1} of {total}: {in_words(text, self._scene)}"
        self.listener.action(index, total, text, event)

    def executing(self, name: str) -> None:
        """Show the motion that is being executed."""
        alert, line = split_recovery(name)
        action, phase = split_line(line)
        self._said = [in_words(action, self._scene), phase, alert]
        self.listener.executing(name)

    def skeleton(self, actions: tuple[str, ...]) -> None:
        """Remove the paths of the plan before, as none of the new plan is known yet."""
        self._meshcat.Delete(f"{ROOT}/planned")
        self.listener.skeleton(actions)

    def tried(self, base: Any, contact: Any, found: bool) -> None:
        """Mark a base pose and a grasp, green if the arm reached it, else red."""
        foot, grasp = np.array([base[0], base[1], 0.0]), contact[:3, 3]
        self._tries[found] += [(foot, foot + _TICK), (grasp - _TICK, grasp)]
        if self._due():
            self._draw_tries()
        self.listener.tried(base, contact, found)

    def refined(self, index: int, state: Any, motions: Any) -> None:
        """Draw the hand's path through an action."""
        self._draw_tries()
        Q, points = state.q[None], list[Array]()
        for motion in motions:
            times = np.linspace(0.0, motion.trajectory.duration, _POINTS)
            robot = self._robot.acting(motion.hand)
            Q = robot.with_groups(Q[-1], **{motion.group: motion.trajectory(times)})
            points += [*grasp_centres(replace(robot, views={}), Q)]
        if len(points) > 1:
            line = columns(np.array(points))
            self._meshcat.SetLine(f"{ROOT}/planned/{index}", line, 2.0, _PLANNED)
        self.listener.refined(index, state, motions)

    def moved(self, q: Any, scene_q: Any, items: Any) -> None:
        """Show the current state and the path so far, at most every ``_EVERY`` seconds."""
        if self._due():
            self._bodies.show(q, scene_q, items)
            before = self._before if self._executed else q
            self._executed += [*grasp_centres(self._robot, np.stack([before, q]))[1:]]
            self._before = q
            if len(self._executed) > 1:
                line = columns(np.array(self._executed))
                self._meshcat.SetLine(f"{ROOT}/executed", line, 3.0, _EXECUTED)
        self.listener.moved(q, scene_q, items)

    def _due(self) -> bool:
        """Whether it is time for another picture."""
        now = time.monotonic()
        if now - self._shown < _EVERY:
            return False
        self._shown = now
        return True

    def _draw_tries(self) -> None:
        """Draw the ticks of all tries that are still shown."""
        for reached, color in ((True, _FOUND), (False, _FAILED)):
            if self._tries[reached]:
                a, b = map(columns, np.array(self._tries[reached]).swapaxes(0, 1))
                self._meshcat.SetLineSegments(f"{ROOT}/tried/{reached}", a, b, 3.0, color)
