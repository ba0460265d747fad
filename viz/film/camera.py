"""The virtual cameraman: where each picture of a film is taken from.

Each shot (see ``frames``) gets one viewpoint, on which the camera rests; between shots it swings
over smoothly. Viewpoints are chosen for all shots together, by dynamic programming: each should see
the hand and what it moves, from the open side of the room, and near the one before.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from galley.domain.frames import Array, wrap
from galley.domain.scene.model import Scene
from galley.robots.model import RobotModel
from galley.robots.urdf_reader import read_tree
from galley.viz.film.frames import Frames, Shot, cut
from galley.viz.render.view import FOV, Camera, Occluders, furniture_boxes, sight

SWING = 1.8  # s of film for the way from one viewpoint to the next
_AZIMUTHS = np.radians(np.arange(-180.0, 180.0, 15.0))
_ELEVATIONS = np.radians([14.0, 26.0, 40.0])
_LIKED = np.radians(26.0)
_SAMPLES = 8  # moments of a shot at which lines of sight are tested
_ROOM = 0.30  # m that the camera keeps from furniture
_CONTEXT = {True: 0.40, False: 0.26}  # m shown around what moves, with the base driving or not
_CLOSEST = 1.7  # m


class TreeLinks:
    """Where the robot's links are."""

    def __init__(self, robot: RobotModel) -> None:
        self._tree = read_tree(robot.urdf, robot.joints)
        self._X_WF = self._tree.poses(np.zeros(robot.size))

    def set_robot(self, q: Array) -> None:
        """Set the robot's joints to q (n,)."""
        self._X_WF = self._tree.poses(q)

    def link_pose(self, link: str) -> Array:
        """X_WL (4, 4) of a link."""
        frame, X_FL = self._tree.link(link)
        return np.asarray(self._X_WF[frame] @ X_FL)


@dataclass(frozen=True)
class _View:
    """A viewpoint: on a sphere round ``middle``, at azimuth and elevation (rad)."""

    middle: Array
    azimuth: float
    elevation: float
    distance: float
    merit: float


def film_cameras(
    frames: Frames, lines: list[str], scene: Scene, robot: RobotModel, fps: float
) -> tuple[Camera, ...]:
    """A camera for each frame.

    Args:
        frames: what the film shows, F frames.
        lines: of the log's motions.
        scene: furniture, and regions which tell where work is done.
        robot: the robot.
        fps: pictures a second of film.

    Returns:
        F cameras; the same object again while the camera rests.
    """
    shots, links = cut(frames, lines, robot, fps), TreeLinks(robot)
    work = _work_centre(scene)
    choices = [_views(shot, frames, scene, robot, links, work) for shot in shots]
    chosen = _cheapest(choices)
    lengths = [shot.length for shot in shots]
    rows = np.array([[*v.middle, v.azimuth, v.elevation, np.log(v.distance)] for v in chosen])
    rows[:, 3] = np.unwrap(rows[:, 3])
    track = _smoothed(np.repeat(rows, lengths, axis=0), round(SWING * fps))
    eyes = track[:, :3] + np.exp(track[:, 5:]) * _direction(track[:, 3], track[:, 4])
    eyes = _kept_clear(eyes, furniture_boxes(scene, frames.scene_q[0]), round(SWING * fps))
    cameras: list[Camera] = []
    for eye, target in zip(np.round(eyes, 4), np.round(track[:, :3], 4), strict=True):
        camera = Camera(eye, target)
        last = cameras[-1] if cameras else camera
        rests = np.array_equal(last.position, eye) and np.array_equal(last.target, target)
        cameras.append(last if rests else camera)
    return tuple(cameras)


def _work_centre(scene: Scene) -> Array:
    """The middle (3,) of all regions: where the room's work is done."""
    start = np.array([joint.start for joint in scene.joints])
    points = [
        (scene.body_pose(region.body, start) @ np.array([*box.mean(axis=0), 1.0]))[:3]
        for region in scene.regions
        for box in region.boxes
    ]
    points += [item.X_WI[:3, 3] for item in scene.items]
    return np.mean(points, axis=0) if points else np.zeros(3)


def _views(
    shot: Shot, frames: Frames, scene: Scene, robot: RobotModel, links: TreeLinks, work: Array
) -> list[_View]:
    """All viewpoints for a shot, with their merits."""
    moments = shot.some(_SAMPLES)
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
    # The chassis' origin lies on the floor: without it, an arm at work fills more of the picture.
    shown = origins if shot.drives else origins[:, 1:]
    points = np.concatenate([hands, shown.reshape(-1, 3), things])
    low, high = points.min(axis=0), points.max(axis=0)
    middle = 0.5 * (low + high)
    if not shot.drives:  # lean towards the hand: that is where something happens
        middle = 0.6 * middle + 0.4 * np.mean(hands, axis=0)
    radius = float(0.5 * np.linalg.norm(high - low))
    context = _CONTEXT[shot.drives]
    distance = max(_CLOSEST, (0.72 * radius + context) / np.tan(0.5 * FOV))
    middle = middle - np.array([0.0, 0.0, 0.04 * distance])  # room for the captions below
    azimuth, elevation = (g.ravel() for g in np.meshgrid(_AZIMUTHS, _ELEVATIONS))
    eyes = middle + distance * _direction(azimuth, elevation)
    merit = np.zeros(len(eyes))
    # A hand that only rides along may be hidden for a while.
    weight = (0.6 if shot.drives else 1.6) / len(hands)
    for hand, joints, room in zip(hands, origins, rooms, strict=True):
        merit += weight * sight(eyes, hand, room, joints)
    for thing in things[:: max(1, len(things) // 4)]:
        merit += 0.15 * sight(eyes, thing, rooms[-1], origins[-1][:1])
    close = np.min([room.distance(eyes) for room in (rooms[0], rooms[-1])], axis=0)
    merit -= 3.0 * (close < _ROOM)
    # Look towards the place of work: the room's open side lies behind the camera then.
    inward = work[:2] - origins[..., :2].reshape(-1, 2).mean(axis=0)
    inward = inward / max(float(np.linalg.norm(inward)), 0.3)
    merit += 0.45 * (-_direction(azimuth, np.zeros_like(azimuth))[:, :2] @ inward)
    merit -= 0.5 * np.abs(elevation - _LIKED)
    return [
        _View(middle, float(a), float(e), distance, float(m))
        for a, e, m in zip(azimuth, elevation, merit, strict=True)
    ]


def _cheapest(choices: list[list[_View]]) -> list[_View]:
    """One view a shot, so that the sum of merits less the swings between them is greatest."""
    best = np.array([view.merit for view in choices[0]])
    back: list[Array] = []
    for before, after in pairwise(choices):
        a = np.array([[v.azimuth, v.elevation] for v in before])
        b = np.array([[v.azimuth, v.elevation] for v in after])
        turn = np.abs(wrap(b[:, None, 0] - a[None, :, 0])) + np.abs(b[:, None, 1] - a[None, :, 1])
        total = best[None, :] - 0.15 * turn  # (after, before)
        back.append(total.argmax(axis=1))
        best = total.max(axis=1) + np.array([view.merit for view in after])
    k = int(best.argmax())
    chosen = [choices[-1][k]]
    for views, come in zip(reversed(choices[:-1]), reversed(back), strict=True):
        k = int(come[k])
        chosen.append(views[k])
    chosen.reverse()
    return chosen


def _direction(azimuth: Array, elevation: Array) -> Array:
    """Unit vectors (r, 3) towards azimuth and elevation (r,), radians."""
    flat = np.cos(elevation)
    return np.stack([flat * np.cos(azimuth), flat * np.sin(azimuth), np.sin(elevation)], axis=-1)


def _smoothed(track: Array, width: int) -> Array:
    """Rows (F, k) averaged over a window of ``width`` frames, with weights that fade out (Hann)."""
    if width < 2:
        return track
    weights = np.hanning(width + 2)[1:-1]
    weights /= weights.sum()
    padded = np.pad(track, ((width // 2, width - 1 - width // 2), (0, 0)), mode="edge")
    columns = [np.convolve(column, weights, mode="valid") for column in padded.T]
    return np.stack(columns, axis=1)


def _kept_clear(eyes: Array, furniture: Occluders, width: int) -> Array:
    """The eyes (F, 3), raised over furniture that they would pass through on their way."""
    lift = np.zeros(len(eyes))
    for _ in range(60):
        inside = furniture.distance(eyes + lift[:, None] * (0.0, 0.0, 1.0)) < 0.5 * _ROOM
        if not inside.any():
            break
        lift[inside] += 0.05
    if lift.any():  # a broad hump: at least the lift that is needed, from well before to after
        span = max(width, 1)
        padded = np.pad(lift, span, mode="edge")
        wide = np.lib.stride_tricks.sliding_window_view(padded, 2 * span + 1).max(axis=1)
        lift = _smoothed(wide[:, None], span)[:, 0]
    return eyes + lift[:, None] * (0.0, 0.0, 1.0)
