"""A close-up of the hand in a corner of a film's pictures, while it touches something.

It appears for the motions that grasp, lift, lower, pull, push or let go, from where the fingers and
what is between them are seen, in a corner that hides neither the hand nor what it moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from galley.domain.frames import Array
from galley.domain.scene.model import Scene
from galley.robots.model import RobotModel
from galley.viz.film.camera import LinkPoses, smoothed
from galley.viz.film.captions import Caption, caption_height, draw_caption, split_recovery
from galley.viz.film.frames import Frames, split_line
from galley.viz.render.view import Camera, Image, furniture_boxes, unit_vector, visible_from

CONTACTS = ("fingers", "lower", "lift", "pull", "push")
"""Phases in which something is grasped, moved while held, or let go."""
DISTANCE = 0.65  # m from camera to hand
_AZIMUTHS = np.radians(np.arange(-180.0, 180.0, 15.0))
_ELEVATIONS = np.radians([5.0, 15.0, 25.0, 38.0, 52.0])
_ROOM = 0.06  # m that the camera keeps from furniture
_FOV = float(np.radians(34.0))
_SAMPLES = 8  # frames of an episode by which direction and corner are chosen
_FADE = 0.4  # s of film, before and after the contact
_GAP = 1.6  # s of film, that the inset stays between two contacts
_CALM = 0.6  # s of film, over which the hand's motion is smoothed
_HEIGHT, _SHAPE = 0.36, 4 / 3  # share of the picture's height; width over height
_RIM = (240, 240, 240)


@dataclass(frozen=True)
class Inset:
    """The close-up in one picture: its camera, corner and size in pixels, opacity in (0, 1]."""

    camera: Camera
    left: int
    top: int
    width: int
    height: int
    opacity: float


def in_contact(line: str, phases: Sequence[str] = CONTACTS) -> bool:
    """Whether one of these words stands in the phase of a log's line."""
    phase = split_line(split_recovery(line)[1])[1]
    return any(word in phase for word in phases)


def inset_size(height: int) -> tuple[int, int]:
    """Width and height of the inset, pixels, in a picture of this height."""
    return round(_SHAPE * _HEIGHT * height), round(_HEIGHT * height)


def film_insets(
    frames: Frames,
    lines: list[str],
    cameras: Sequence[Camera],
    scene: Scene,
    robot: RobotModel,
    fps: float,
    width: int,
    height: int,
) -> tuple[Inset | None, ...]:
    """The inset of each frame, or None.

    Args:
        frames: of the film. lines: of the log's motions. cameras: of the frames.
        scene, robot: what may be in the way.
        fps: pictures per second of film. width, height: of the pictures, pixels.
    """
    touching = np.array([in_contact(line) for line in lines] or [False])
    motion = frames.motion.clip(0, len(touching) - 1)
    on = touching[motion] & (frames.motion >= 0)
    insets: list[Inset | None] = [None] * len(on)
    edges = np.flatnonzero(np.diff(np.concatenate([[0], on.astype(int), [0]])))
    spans = [[int(a), int(b)] for a, b in edges.reshape(-1, 2)]
    for before, after in pairwise(list(spans)):
        if after[0] - before[1] < _GAP * fps:
            after[0] = before[0]
            spans.remove(before)
    fade = max(1, round(_FADE * fps))
    for first, last in spans:
        rows = np.arange(max(first - fade, 0), min(last + fade, len(on)))
        chosen = np.unique(np.linspace(first, last - 1, _SAMPLES).round().astype(int))
        way = best_direction(frames.q[chosen], frames.scene_q[chosen], scene, robot, DISTANCE)
        hands = smoothed(_hands(frames.q[rows], robot), max(1, round(_CALM * fps))).round(3)
        left, top = _corner(frames, chosen, cameras, robot, width, height)
        for k, hand in zip(rows.tolist(), hands, strict=True):
            away = float(max(first - k, k - last + 1, 0)) / (fade + 1)
            opacity = (1.0 - away) ** 2 * (1.0 + 2.0 * away)
            camera = Camera(hand + DISTANCE * way, hand, _FOV)
            insets[k] = Inset(camera, left, top, *inset_size(height), opacity)
    return tuple(insets)


def draw_inset(picture: Image, inset: Inset, close: Image) -> Image:
    """A copy of a picture (h, w, 3) with the close-up in its frame."""
    drawn = picture.copy()
    rim = max(1, round(inset.height / 120))
    framed = np.empty((inset.height + 2 * rim, inset.width + 2 * rim, 3), np.uint8)
    framed[:] = _RIM
    framed[rim:-rim, rim:-rim] = draw_caption(
        close, Caption(title="hand, close up" if inset.height > 160 else "hand")
    )
    top, left = max(inset.top - rim, 0), max(inset.left - rim, 0)
    part = drawn[top : top + len(framed), left : left + framed.shape[1]]
    framed = framed[: part.shape[0], : part.shape[1]]
    share = np.uint16(round(256 * inset.opacity))
    part[:] = (part * (256 - share) + framed * share) >> 8
    return drawn


def close_cameras(
    q: Array, scene_q: Array, scene: Scene, robot: RobotModel, distance: float
) -> tuple[Camera, ...]:
    """Cameras that follow the hand, all in one direction from it: ``best_direction``."""
    best = best_direction(q, scene_q, scene, robot, distance)
    return tuple(Camera(hand + distance * best, hand, _FOV) for hand in _hands(q, robot))


def best_direction(
    q: Array, scene_q: Array, scene: Scene, robot: RobotModel, distance: float
) -> Array:
    """The direction (3,) from the hand in which it is seen best.

    Best is where nothing stands between camera and hand, the palm's broad side is seen, so that
    both fingers and what is between them show, and the camera looks down a little.

    Args:
        q, scene_q: robot configurations (k, n) and scene joint values (k, nj).
        scene, robot: what may be in the way.
        distance: from each camera to the grasp centre, m.
    """
    links = LinkPoses(robot)
    azimuth, elevation = (g.ravel() for g in np.meshgrid(_AZIMUTHS, _ELEVATIONS))
    directions = unit_vector(azimuth, elevation)
    merit = np.zeros(len(directions))
    for joints, furniture, hand in zip(q, scene_q, _hands(q, robot), strict=True):
        links.set_robot(joints)
        X_WH = links.link_pose(robot.palm)
        fingers = np.array([links.link_pose(name)[:3, 3] for name in robot.fingers])
        closing = fingers[-1] - fingers[0]
        length = float(np.linalg.norm(closing))
        closing = closing / length if length > 1e-6 else X_WH[:3, 1]
        eyes = hand + distance * directions
        room = furniture_boxes(scene, furniture)
        origins = np.array([links.link_pose(link)[:3, 3] for link in robot.links])
        merit += 2.0 * visible_from(eyes, hand, room, origins)
        merit -= 3.0 * (room.distance(eyes) < _ROOM)
        # From the side of the fingertips: on the other one is the hand itself.
        merit -= 1.0 * np.abs(directions @ closing)
        merit -= 1.5 * np.maximum(-directions @ X_WH[:3, 2] - 0.3, 0.0)
    merit = merit / len(q) - 0.5 * np.abs(elevation - np.radians(20.0))
    return np.asarray(directions[int(merit.argmax())])


def _hands(q: Array, robot: RobotModel) -> Array:
    """Grasp centre (k, 3) in each configuration (k, n), m."""
    links, hands = LinkPoses(robot), []
    for joints in q:
        links.set_robot(joints)
        X_WH = links.link_pose(robot.palm)
        hands.append(X_WH[:3, :3] @ robot.p_HT + X_WH[:3, 3])
    return np.array(hands)


def _corner(
    frames: Frames,
    chosen: Array,
    cameras: Sequence[Camera],
    robot: RobotModel,
    width: int,
    height: int,
) -> tuple[int, int]:
    """Left and top of the inset, pixels: the corner that hides least of arm and items."""
    links, bar = LinkPoses(robot), caption_height(height)
    across, down = inset_size(height)
    margin = round(0.45 * bar)
    right, low = width - margin - across, height - 2 * bar - margin - down
    high = round(1.4 * bar)  # under the tags
    corners = np.array([[right, high], [margin, high], [right, low], [margin, low]])
    cost = 0.01 * np.arange(4.0)
    for k in chosen:
        links.set_robot(frames.q[k])
        arm = np.array([links.link_pose(link)[:3, 3] for link in robot.links[1:]])
        points = np.concatenate([arm, _hands(frames.q[k : k + 1], robot), frames.items[k, :, :3]])
        weight = np.ones(len(points))
        weight[len(arm)] = 20.0  # the hand
        pixels = cameras[k].project(points, width, height)[0]
        off = np.abs(pixels[None] - (corners + 0.5 * np.array([across, down]))[:, None])
        away = np.maximum(off - 0.5 * np.array([across, down]), 0.0).max(axis=2) / height
        near = np.exp(-np.where(np.isfinite(away), away, 9.0) / 0.06)
        cost += (weight * near).sum(axis=1)
    left, top = corners[int(cost.argmin())]
    return int(max(left, 0)), int(max(top, 0))
