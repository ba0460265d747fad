"""A close-up of the hand in a corner of a film's pictures, while it touches something.

It appears for the motions that grasp, lift, lower, pull, push or let go, from where the fingers and
what is between them are seen, in a corner that hides neither the hand nor what it moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
# Of all directions that are tried, rad.
_AZIMUTH = np.radians(np.tile(np.arange(-180.0, 180.0, 15.0), 5))
_ELEVATION = np.radians(np.repeat([5.0, 15.0, 25.0, 38.0, 52.0], 24))
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
    links = LinkPoses(robot)
    touching = np.array([*map(_in_contact, lines), False])  # the last: of no motion
    on = np.flatnonzero(touching[frames.motion.clip(-1, len(lines))])
    insets: list[Inset | None] = [None] * len(frames.motion)
    episodes = np.split(on, np.flatnonzero(np.diff(on) > _GAP * fps) + 1) if len(on) else []
    fade = max(1, round(_FADE * fps))
    for first, last in ((int(each[0]), int(each[-1])) for each in episodes):
        rows = np.arange(max(first - fade, 0), min(last + fade + 1, len(insets)))
        chosen = np.unique(np.linspace(first, last, _SAMPLES).round().astype(int))
        way = _best_direction(frames, chosen, scene, robot, links)
        hands = smoothed(links.hands(frames.q[rows]), max(1, round(_CALM * fps))).round(3)
        seen = [cameras[k].project(links.hands(frames.q[[k]]), width, height)[0] for k in chosen]
        left, top = _corner(np.concatenate(seen), width, height)
        for k, hand in zip(rows.tolist(), hands, strict=True):
            away = max(first - k, k - last, 0) / (fade + 1)
            camera = Camera(hand + DISTANCE * way, hand, _FOV)
            insets[k] = Inset(camera, left, top, *inset_size(height), 1.0 - away)
    return tuple(insets)


def _in_contact(line: str) -> bool:
    """Whether something is grasped, moved while held, or let go in a motion of the log."""
    phase = split_line(split_recovery(line)[1])[1]
    return any(word in phase for word in CONTACTS)


def inset_size(height: int) -> tuple[int, int]:
    """Width and height of the inset, pixels, in a picture of this height."""
    return round(_SHAPE * _HEIGHT * height), round(_HEIGHT * height)


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


def _best_direction(
    frames: Frames, chosen: Array, scene: Scene, robot: RobotModel, links: LinkPoses
) -> Array:
    """The direction (3,) from the hand in which it is seen best in the chosen frames.

    Best is where nothing stands between camera and hand, the palm's broad side is seen, so that
    both fingers and what is between them show, and the camera looks down a little.
    """
    directions = unit_vector(_AZIMUTH, _ELEVATION)
    merit = -0.5 * len(chosen) * np.abs(_ELEVATION - np.radians(20.0))
    for k, hand in zip(chosen, links.hands(frames.q[chosen]), strict=True):
        origins = links.origins(frames.q[k])
        X_WH = links.link_pose(robot.palm)
        closing = np.diff([links.link_pose(robot.fingers[f])[:3, 3] for f in (0, -1)], axis=0)[0]
        eyes, room = hand + DISTANCE * directions, furniture_boxes(scene, frames.scene_q[k])
        merit += 2.0 * visible_from(eyes, hand, room, origins)
        merit -= 3.0 * (room.distance(eyes) < _ROOM)
        # From the side of the fingertips: on the other one is the hand itself.
        merit -= np.abs(directions @ closing) / max(float(np.linalg.norm(closing)), 1e-6)
        merit -= 1.5 * np.maximum(-directions @ X_WH[:3, 2] - 0.3, 0.0)
    return np.asarray(directions[int(merit.argmax())])


def _corner(hands: Array, width: int, height: int) -> tuple[int, int]:
    """Left and top of the inset, pixels: in the corner that is farthest from the hand (k, 2)."""
    bar, (across, down) = caption_height(height), inset_size(height)
    margin, high = round(0.45 * bar), round(1.4 * bar)  # under the tags
    right, low = width - margin - across, height - 2 * bar - margin - down
    corners = np.array([[right, high], [margin, high], [right, low], [margin, low]]).clip(0)
    middles = corners + 0.5 * np.array([across, down])
    away = np.linalg.norm(np.nan_to_num(hands)[:, None] - middles, axis=2).min(axis=0)
    left, top = corners[int(away.argmax())]
    return int(left), int(top)
