"""A log as a self-contained page with a 3D recording, made with Drake's Meshcat."""

from __future__ import annotations

import html
import json
import logging
import os
import re
import sys
import tempfile
import webbrowser
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pydrake.geometry import Meshcat, MeshcatAnimation, Rgba

from galley.domain.files import write_atomically
from galley.domain.frames import Array, to_pose7
from galley.domain.log import Log
from galley.domain.scene.model import Scene
from galley.robots.model import RobotModel
from galley.viz.film.camera import grasp_centres
from galley.viz.film.captions import action_captions, split_recovery
from galley.viz.film.frames import frame_times, resample, slerp
from galley.viz.replay.bodies import ROOT, Bodies, columns, open_meshcat, rigid
from galley.viz.replay.loopback import serve

logger = logging.getLogger(__name__)
METRES, RADIANS = 1e-3, 2e-3
"""The largest error of a body's position and orientation between two keyframes."""
_PATH = Rgba(0.95, 0.45, 0.10)  # of the hand's path
_LINE = "hand-path"  # its path in Meshcat, below ``ROOT``
_PATH_METRES = 0.003  # m, the largest error of the line
_DISPLAYS = {"DISPLAY", "WAYLAND_DISPLAY", "BROWSER"}  # one is set where a browser can open
_PATIENCE = 10.0  # s, for the browser to load a page
_HEIGHT = 480  # px of the frame in a notebook
_CONTROLS = Path(__file__).with_name("controls.html")
_OUTSIDE = re.compile(r"https?://(?!www\.w3\.org)[\w./@#-]+")
"""Addresses in Meshcat's program, in comments and for headsets. They are removed, so that the page
never sends a request. The names of XML's namespaces are not addresses."""
_COMMAND = re.compile(
    r'fetch\("data:application/octet-binary;base64,([\w+/=]*)"\)\s*'
    r"\.then\(res => res\.arrayBuffer\(\)\)\s*"
    r"\.then\(buffer => viewer\.handle_command_bytearray\(new Uint8Array\(buffer\)\)\);"
)
"""A command in Meshcat's page. In this form the commands run at some time, in any order."""
_AT_ONCE = (
    r'viewer.handle_command_bytearray(Uint8Array.from(atob("\1"), each => each.charCodeAt(0)));'
)

_LIT = "<script>viewer.renderer.toneMapping = 0; viewer.scene.environment = null;</script>"
"""The lamps alone light the scene, as in a film; the background gives no light."""


def replay_html(
    log: Log, scene: Scene, robot: RobotModel, *, fps: int = 15, title: str = ""
) -> str:
    """The page of a run: robot, scene and the hand's path.

    It opens from a file, without network. In the page, ``window.galley`` has ``seek(t)``,
    ``play()``, ``pause()``, ``time()`` and ``duration``, in seconds of the log from its first
    sample. A page that embeds it can post ``{galley: "seek", time: t}``, ``{galley: "play"}`` or
    ``{galley: "pause"}``. It gets ``{galley: "ready", duration}``, and ``{galley: "time", time,
    playing}`` whenever that changes.

    Args:
        log: the log of the run.
        scene, robot: the scene and the robot of the run.
        fps: poses per second; poses that can be interpolated are left out.
        title: the title of the page; if empty, the mode and the duration of the log.

    Raises:
        ValueError: ``fps`` is not positive.
    """
    frames = resample(log, robot, frame_times(log, fps))
    meshcat = open_meshcat()
    bodies = Bodies(meshcat, scene, robot)
    rows = zip(frames.q, frames.scene_q, frames.items, strict=True)
    record(meshcat, bodies.paths, np.array([bodies.world_poses(*row) for row in rows]), fps)
    data = {
        "title": title or f"{log.mode}, {log.duration:.1f} s",
        "duration": float(frames.time[-1] - frames.time[0]),
        "moments": _moments(log, scene),
        "legend": draw_path(meshcat, grasp_centres(robot, frames.q), "path of the hand"),
    }
    return page(meshcat.StaticHtml(), data)


def record(meshcat: Meshcat, paths: Sequence[str], X_WB: Array, fps: float) -> None:
    """Give Meshcat an animation of the bodies at ``paths``, with poses X_WB (F, nb, 4, 4)."""
    animation = MeshcatAnimation(frames_per_second=fps)
    animation.set_autoplay(False)
    for k, path in enumerate(paths):
        poses = np.array([to_pose7(X) for X in X_WB[:, k]])
        chosen = keyframes(poses, METRES, RADIANS)
        meshcat.SetTransform(path, rigid(X_WB[0, k]))
        for frame in chosen if len(chosen) > 1 else ():
            animation.SetTransform(frame, path, rigid(X_WB[frame, k]))
    # An animated object that draws nothing: without it, a recording would end with the last motion.
    meshcat.SetTransform(f"{ROOT}/clock", rigid(np.eye(4)))
    for frame in (0, len(X_WB) - 1):
        animation.SetTransform(frame, f"{ROOT}/clock", rigid(np.eye(4)))
    meshcat.SetAnimation(animation)


def draw_path(meshcat: Meshcat, points: Array, name: str) -> list[tuple[str, str, str]]:
    """Draw a line through points (m, 3), world frame, metres.

    Returns:
        Its row of the legend: the line's colour, its name, and its path in Meshcat below ``ROOT``.
        Empty if all points are the same.
    """
    poses = np.concatenate([points, np.tile([0.0, 0.0, 0.0, 1.0], (len(points), 1))], axis=1)
    corners = points[keyframes(poses, _PATH_METRES, RADIANS)]
    if len(corners) < 2:
        return []
    meshcat.SetLine(f"{ROOT}/{_LINE}", columns(corners), 2.0, _PATH)
    return [("#f2731a", name, _LINE)]


def _moments(log: Log, scene: Scene) -> list[dict[str, Any]]:
    """The texts on the page: for each motion its start time (s), action, phase and alert."""
    lines = [str(line) for line in log.motions]
    captions = action_captions(lines, scene)
    moments: list[dict[str, Any]] = []
    for k in np.flatnonzero(np.diff(log.motion, prepend=-1)):
        motion = log.motion[k]
        if 0 <= motion < len(captions):
            action, _, phase = captions[motion]
            alert = split_recovery(lines[motion])[0]
            time = float(log.time[k] - log.time[0])
            moments.append({"time": time, "action": action, "phase": phase, "alert": alert})
    return moments


def keyframes(poses: Array, metres: float, radians: float) -> list[int]:
    """The numbers of the frames to keep among poses (F, 7), in order, the first one included.

    Between two keyframes the browser interpolates, positions linearly and orientations by slerp.
    The error is at most ``metres`` and ``radians`` (the algorithm of D. Douglas and T. Peucker,
    1973). Of a body that never moves, only the first frame is kept.
    """
    frames, spans = {0, len(poses) - 1}, [(0, len(poses) - 1)]
    while spans:
        i, j = spans.pop()
        if j - i < 2:
            continue
        u = (np.arange(i + 1, j) - i)[:, None] / (j - i)
        p = poses[i, :3] + u * (poses[j, :3] - poses[i, :3])
        a = np.broadcast_to(poses[i, 3:], (len(u), 4))
        r = slerp(a, np.broadcast_to(poses[j, 3:], (len(u), 4)), u)
        between = poses[i + 1 : j]
        apart = np.linalg.norm(between[:, :3] - p, axis=1) / metres
        cosine = np.clip(np.abs((between[:, 3:] * r).sum(axis=1)), 0.0, 1.0)
        worst = np.maximum(apart, 2.0 * np.arccos(cosine) / radians)
        # Split the span at its worst frame, and look at both halves.
        if worst.max() > 1.0:
            k = i + 1 + int(worst.argmax())
            frames.add(k)
            spans += [(i, k), (k, j)]
    order = sorted(frames)
    same = len(order) <= 2 and np.allclose(poses[0], poses[-1], atol=1e-6)
    return order[:1] if same else order


def page(meshcat: str, data: dict[str, Any], controls: Path | str = _CONTROLS) -> str:
    """Make a self-contained page from Meshcat's page and controls.

    Args:
        meshcat: Meshcat's own page, its ``StaticHtml``.
        data: the data for the controls, with a ``title``. A replay also needs ``duration`` in
            seconds, ``moments`` in order of time, and ``legend``, rows as ``draw_path`` returns
            them. A motion needs ``clearance`` instead of ``moments``: metres and the pair of
            bodies, at even times.
        controls: the file that is added to the page's body. The data replace ``GALLEY_DATA``.

    Raises:
        ValueError: this version of Drake writes its page in a way that is not known here.
    """
    # In a script, "<" could end it.
    text = json.dumps(data, ensure_ascii=True).replace("<", "\\u003c")
    added = Path(controls).read_text(encoding="utf-8").replace("GALLEY_DATA", text)
    meshcat, commands = _COMMAND.subn(_AT_ONCE, _OUTSIDE.sub("", meshcat))
    if not commands:
        raise ValueError("this version of Drake writes its page in another way")
    head, body, foot = meshcat.rpartition("</body>")
    head = head.replace(
        "<title>Drake MeshCat</title>", f"<title>{html.escape(data['title'])}</title>", 1
    )
    return head + _LIT + added + body + foot


@dataclass(frozen=True)
class ReplayPage:
    """A self-contained page with a 3D recording.

    Attributes:
        html: the page; it needs no other file and no network.
    """

    html: str

    def __repr__(self) -> str:
        return f"Replay({len(self.html) / 1e6:.1f} MB; save(path) writes it)"

    def save(self, path: str | Path) -> Path:
        """Write the page; it appears whole or not at all.

        Raises:
            BadInput: ``path`` can't be written.
        """
        write_atomically(Path(path), self.html)
        return Path(path)

    def show(self) -> None:
        """Show the page: in a notebook inline, else in the browser, from the loopback address.

        The address works for as long as this process lives. If no browser opens, a warning in the
        log gives the address, and a file with the same page.
        """
        ipython = sys.modules.get("IPython")
        if ipython is not None and hasattr(ipython.get_ipython(), "kernel"):
            ipython.display.display(self)
            return
        address, loaded = serve({"/": lambda: self.html})
        display = sys.platform in ("darwin", "win32") or _DISPLAYS & os.environ.keys()
        # A script may end next, and the server with it: wait until the browser has the page.
        if display and webbrowser.open(address) and loaded.wait(_PATIENCE):
            return
        folder = tempfile.mkdtemp(prefix="galley-")
        path = self.save(Path(folder) / "view.html")
        logger.warning("no browser opened %s, which ends with this program: open %s", address, path)

    def _repr_html_(self) -> str:
        """The page in its own frame, for a notebook."""
        return (
            f'<iframe style="width: 100%; height: {_HEIGHT}px; border: 0" '
            f'title="replay" srcdoc="{html.escape(self.html)}"></iframe>'
        )
