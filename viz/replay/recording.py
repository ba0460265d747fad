"""A log as one page that turns, plays and needs nothing else: Drake's Meshcat with a recording."""

from __future__ import annotations

import numpy as np
from pydrake.geometry import MeshcatAnimation, Rgba

from galley.domain.frames import Array, to_pose7
from galley.domain.log import Log
from galley.domain.scene.model import Scene
from galley.robots.model import RobotModel
from galley.viz.film.camera import LinkPoses
from galley.viz.film.captions import action_captions, split_recovery
from galley.viz.film.frames import Frames, frame_times, resample, slerp
from galley.viz.replay.bodies import ROOT, Bodies, columns, open_meshcat, rigid
from galley.viz.replay.contacts import LARGEST, contact_arrows, draw_arrow
from galley.viz.replay.page import Moment, page

METRES, RADIANS = 5e-4, 1e-3
"""How far a body may be from where it was, in its carrier's frame, between two kept poses."""
_PATH = Rgba(0.95, 0.45, 0.10)  # of the hand's path
_PATH_METRES = 0.003  # that the line may leave out


def replay_html(
    log: Log, scene: Scene, robot: RobotModel, *, fps: int = 15, title: str = ""
) -> str:
    """The page of a run: robot, scene, the hand's path, and contacts as arrows while they last.

    It opens from a file, without network. In the page, ``window.galley`` has ``seek(t)``,
    ``play()``, ``pause()``, ``time()`` and ``duration``, in seconds of the log from its first
    sample. A page that embeds it can post ``{galley: "seek", time: t}``, ``{galley: "play"}`` or
    ``{galley: "pause"}``, and hears ``{galley: "ready", duration}``, and ``{galley: "time", time,
    playing}`` whenever that changes.

    Args:
        log: the run.
        scene, robot: what it ran on.
        fps: poses a second, of which those are kept that can't be interpolated.
        title: of the page; empty: what the log says of itself.

    Raises:
        ValueError: ``fps`` is not positive.
    """
    frames = resample(log, robot, frame_times(log, fps))
    meshcat = open_meshcat()
    bodies = Bodies(meshcat, scene, robot)
    X_WB = np.array(
        [
            bodies.world_poses(q, scene_q, items)
            for q, scene_q, items in zip(frames.q, frames.scene_q, frames.items, strict=True)
        ]
    )
    animation = MeshcatAnimation(frames_per_second=fps)
    animation.set_autoplay(False)
    relative = bodies.relative(X_WB)
    for k, path in enumerate(bodies.paths):
        poses = np.array([to_pose7(X) for X in relative[:, k]])
        kept = keyframes(poses, METRES, RADIANS)
        meshcat.SetTransform(path, rigid(relative[0, k]))
        for frame in kept if len(kept) > 1 else ():
            animation.SetTransform(frame, path, rigid(relative[frame, k]))
    arrows = contact_arrows(log, scene, robot, frames, bodies, X_WB)
    for k, arrow in enumerate(arrows):
        draw_arrow(meshcat, animation, f"{arrow.path}/contact-{k}", arrow)
    # The last frame of all, so that every recording lasts as long as its log.
    meshcat.SetTransform(f"{ROOT}/clock", rigid(np.eye(4)))
    for frame in (0, len(frames.time) - 1):
        animation.SetTransform(frame, f"{ROOT}/clock", rigid(np.eye(4)))
    hand = hand_path(frames, robot)
    if len(hand) > 1:
        meshcat.SetLine(f"{ROOT}/hand-path", columns(hand), 2.0, _PATH)
    meshcat.SetAnimation(animation)
    return page(
        meshcat.StaticHtml(),
        title=title or f"{log.mode}, {log.duration:.1f} s",
        duration=float(frames.time[-1] - frames.time[0]),
        moments=_moments(log, scene),
        legend=_legend(bool(len(hand) > 1), bool(arrows), log.mode == "physics"),
    )


def hand_path(frames: Frames, robot: RobotModel) -> Array:
    """Where the grasp centre went (m, 3), metres in the world; straight parts by their ends."""
    path = LinkPoses(robot).hands(frames.q)
    poses = np.concatenate([path, np.tile([0.0, 0.0, 0.0, 1.0], (len(path), 1))], axis=1)
    return path[keyframes(poses, _PATH_METRES, RADIANS)]


def _moments(log: Log, scene: Scene) -> list[Moment]:
    """What to say from when on: a line for each motion that began."""
    captions = action_captions([str(line) for line in log.motions], scene)
    began = np.flatnonzero(np.diff(log.motion, prepend=-1))
    return [
        Moment(
            float(log.time[k] - log.time[0]),
            captions[log.motion[k]][0],
            captions[log.motion[k]][2],
            split_recovery(str(log.motions[log.motion[k]]))[0],
        )
        for k in began
        if 0 <= log.motion[k] < len(captions)
    ]


def _legend(path: bool, arrows: bool, forces: bool) -> list[tuple[str, str]]:
    """Colours and what they mean."""
    lines = [("#f2731a", "path of the hand")] if path else []
    if arrows:
        scale = f", this long: {LARGEST:.0f} N" if forces else ""
        lines.append(("#d81b60", f"contact{scale}"))
    return lines


def keyframes(poses: Array, metres: float, radians: float) -> list[int]:
    """The frames of poses (F, 7) that must be kept, the first among them; in order.

    What the browser shows between two of them (positions linear, orientations by slerp) is at most
    ``metres`` and ``radians`` off (D. Douglas, T. Peucker, 1973). A pose that stays is kept once.
    """
    kept, spans = {0, len(poses) - 1}, [(0, len(poses) - 1)]
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
        if worst.max() > 1.0:
            k = i + 1 + int(worst.argmax())
            kept.add(k)
            spans += [(i, k), (k, j)]
    order = sorted(kept)
    same = len(order) <= 2 and np.allclose(poses[0], poses[-1], atol=1e-6)
    return order[:1] if same else order
