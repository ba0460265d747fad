"""Chooses the camera of each picture of a film.

Each shot (see ``frames``) has one viewpoint; between shots the camera moves smoothly. Dynamic
programming chooses all viewpoints together: each should see the hand and what it moves, from the
open side of the room, and be near the previous one.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from galley.domain.frames import Array, wrap
from galley.domain.scene.model import Scene
from galley.robots.model import RobotModel
from galley.robots.urdf_reader import read_tree
from galley.viz.film.frames import Frames, Shot, cut_shots
from galley.viz.render.view import (
    FOV,
    Camera,
    Occluders,
    furniture_boxes,
    unit_vector,
    visible_from,
)

SWING = 1.8  # s of film for the camera to move from one viewpoint to the next
_AZIMUTHS = np.radians(np.arange(-180.0, 180.0, 15.0))
_ELEVATIONS = np.radians([14.0, 26.0, 40.0])
_PREFERRED_ELEVATION = np.radians(26.0)
_SAMPLES = 8  # frames of a shot at which lines of sight are tested
_CLEARANCE = 0.30  # m between camera and furniture
_MARGIN = {True: 0.40, False: 0.26}  # m shown around what moves, with the base driving or not
_MIN_DISTANCE = 1.7  # m


class LinkPoses:
    """Forward kinematics of the robot's links."""

    def __init__(self, robot: RobotModel) -> None:
        self._tree = read_tree(robot.urdf, robot.joints)
        self._X_WF = self._tree.poses(np.zeros(robot.size))

    def set_robot(self, q: Array) -> None:
        """Compute the link poses for q (n,)."""
        self._X_WF = self._tree.poses(q)

    def link_pose(self, link: str) -> Array:
        """X_WL (4, 4) of a link."""
        frame, X_FL = self._tree.link(link)
        return np.asarray(self._X_WF[frame] @ X_FL)


@dataclass(frozen=True)
class _View:
    """A viewpoint on a sphere around ``middle``, at azimuth and elevation (rad), and its score."""

    middle: Array
    azimuth: float
    elevation: float
    distance: float
    score: float


def film_cameras(
    frames: Frames, lines: list[str], scene: Scene, robot: RobotModel, fps: float
) -> tuple[Camera, ...]:
    """Choose a camera for each frame.

    Args:
        frames: of the film, F of them.
        lines: of the log's motions.
        scene: furniture, and regions that show where work is done.
        robot: the robot.
        fps: pictures per second of film.

    Returns:
        F cameras; the same object while the camera rests.
    """
    shots, links = cut_shots(frames, lines, robot, fps), LinkPoses(robot)
    work = _work_centre(scene)
    choices = [_views(shot, frames, scene, robot, links, work) for shot in shots]
    chosen = _best_sequence(choices)
    lengths = [shot.length for shot in shots]
    rows = np.array([[*v.middle, v.azimuth, v.elevation, np.log(v.distance)] for v in chosen])
    rows[:, 3] = np.unwrap(rows[:, 3])
    track = smoothed(np.repeat(rows, lengths, axis=0), round(SWING * fps))
    eyes = track[:, :3] + np.exp(track[:, 5:]) * unit_vector(track[:, 3], track[:, 4])
    eyes = _raised_over(eyes, furniture_boxes(scene, frames.scene_q[0]), round(SWING * fps))
    cameras: list[Camera] = []
    for eye, target in zip(np.round(eyes, 4), np.round(track[:, :3], 4), strict=True):
        camera = Camera(eye, target)
        last = cameras[-1] if cameras else camera
        rests = np.array_equal(last.position, eye) and np.array_equal(last.target, target)
        cameras.append(last if rests else camera)
    return tuple(cameras)


def _work_centre(scene: Scene) -> Array:
    """The mean position (3,) of all regions and items, where work is done."""
    start = np.array([joint.start for joint in scene.joints])
    points = [
        (scene.body_pose(region.body, start) @ np.array([*box.mean(axis=0), 1.0]))[:3]
        for region in scene.regions
        for box in region.boxes
    ]
    points += [item.X_WI[:3, 3] for item in scene.items]
    return np.mean(points, axis=0) if points else np.zeros(3)


def _views(
    shot: Shot, frames: Frames, scene: Scene, robot: RobotModel, links: LinkPoses, work: Array
) -> list[_View]:
    """All viewpoints of a shot with their scores."""
    moments = shot.spread(_SAMPLES)
    at_hands, at_links, rooms = [], [], []
    for k in moments:
        links.set_robot(frames.q[k])
        X_WH = links.link_pose(robot.palm)
        at_hands.append(X_WH[:3, :3] @ robot.p_HT + X_WH[:3, 3])
        at_links.append([links.link_pose(link)[:3, 3] for link in robot.links])
        rooms.append(furniture_boxes(scene, frames.scene_q[k]))
    hands, origins = np.array(at_hands), np.array(at_links)  # (k, 3), (k, m, 3)
    paths = frames.items[moments][:, :, :3]  # (k, ni, 3)
    moves = np.ptp(paths, axis=0).max(axis=1) > 0.01 if len(moments) else np.zeros(0, dtype=bool)
    things = paths[:, moves].reshape(-1, 3)
    # The chassis' origin is on the floor; without it, a working arm fills more of the picture.
    shown = origins if shot.drives else origins[:, 1:]
    points = np.concatenate([hands, shown.reshape(-1, 3), things])
    low, high = points.min(axis=0), points.max(axis=0)
    middle = 0.5 * (low + high)
    if not shot.drives:  # shift the view towards the hand
        middle = 0.6 * middle + 0.4 * np.mean(hands, axis=0)
    radius = float(0.5 * np.linalg.norm(high - low))
    margin = _MARGIN[shot.drives]
    distance = max(_MIN_DISTANCE, (0.72 * radius + margin) / np.tan(0.5 * FOV))
    middle = middle - np.array([0.0, 0.0, 0.04 * distance])  # space for the captions below
    azimuth, elevation = (g.ravel() for g in np.meshgrid(_AZIMUTHS, _ELEVATIONS))
    eyes = middle + distance * unit_vector(azimuth, elevation)
    score = np.zeros(len(eyes))
    # While the base drives, the hand may be hidden for a while.
    weight = (0.6 if shot.drives else 1.6) / len(hands)
    for hand, joints, room in zip(hands, origins, rooms, strict=True):
        score += weight * visible_from(eyes, hand, room, joints)
    for thing in things[:: max(1, len(things) // 4)]:
        score += 0.15 * visible_from(eyes, thing, rooms[-1], origins[-1][:1])
    close = np.min([room.distance(eyes) for room in (rooms[0], rooms[-1])], axis=0)
    score -= 3.0 * (close < _CLEARANCE)
    # Look towards the workplace, with the room's open side behind the camera.
    inward = work[:2] - origins[..., :2].reshape(-1, 2).mean(axis=0)
    inward = inward / max(float(np.linalg.norm(inward)), 0.3)
    score += 0.45 * (-unit_vector(azimuth, np.zeros_like(azimuth))[:, :2] @ inward)
    score -= 0.5 * np.abs(elevation - _PREFERRED_ELEVATION)
    return [
        _View(middle, float(a), float(e), distance, float(m))
        for a, e, m in zip(azimuth, elevation, score, strict=True)
    ]


def _best_sequence(choices: list[list[_View]]) -> list[_View]:
    """One view per shot, maximising the sum of scores minus camera motion (Viterbi)."""
    best = np.array([view.score for view in choices[0]])
    back: list[Array] = []
    for before, after in pairwise(choices):
        a = np.array([[v.azimuth, v.elevation] for v in before])
        b = np.array([[v.azimuth, v.elevation] for v in after])
        turn = np.abs(wrap(b[:, None, 0] - a[None, :, 0])) + np.abs(b[:, None, 1] - a[None, :, 1])
        total = best[None, :] - 0.15 * turn  # (after, before)
        back.append(total.argmax(axis=1))
        best = total.max(axis=1) + np.array([view.score for view in after])
    k = int(best.argmax())
    chosen = [choices[-1][k]]
    for views, come in zip(reversed(choices[:-1]), reversed(back), strict=True):
        k = int(come[k])
        chosen.append(views[k])
    chosen.reverse()
    return chosen


def smoothed(track: Array, width: int) -> Array:
    """Rows (F, k) averaged over ``width`` frames with a Hann window."""
    if width < 2:
        return track
    weights = np.hanning(width + 2)[1:-1]
    weights /= weights.sum()
    padded = np.pad(track, ((width // 2, width - 1 - width // 2), (0, 0)), mode="edge")
    columns = [np.convolve(column, weights, mode="valid") for column in padded.T]
    return np.stack(columns, axis=1)


def _raised_over(eyes: Array, furniture: Occluders, width: int) -> Array:
    """Eyes (F, 3), raised where they would pass through furniture."""
    lift = np.zeros(len(eyes))
    for _ in range(60):
        inside = furniture.distance(eyes + lift[:, None] * (0.0, 0.0, 1.0)) < 0.5 * _CLEARANCE
        if not inside.any():
            break
        lift[inside] += 0.05
    if lift.any():  # spread smoothly over the frames before and after
        span = max(width, 1)
        padded = np.pad(lift, span, mode="edge")
        wide = np.lib.stride_tricks.sliding_window_view(padded, 2 * span + 1).max(axis=1)
        lift = smoothed(wide[:, None], span)[:, 0]
    return eyes + lift[:, None] * (0.0, 0.0, 1.0)
