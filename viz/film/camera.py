"""Chooses the camera of each picture of a film.

Each shot (see ``frames``) has one viewpoint; between shots the camera moves smoothly. The viewpoint
of a shot is the best of a fixed set on a sphere around the action: one that sees the hand and the
items that move, from the open side of the room, close to the viewpoint before.
"""

from __future__ import annotations

from functools import lru_cache

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
# The directions of all viewpoints that are tried, rad.
_AZIMUTH = np.radians(np.tile(np.arange(-180.0, 180.0, 15.0), 3))
_ELEVATION = np.radians(np.repeat([14.0, 26.0, 40.0], 24))
_PREFERRED_ELEVATION = np.radians(26.0)
_SAMPLES = 8  # frames of a shot at which lines of sight are tested
_CLEARANCE = 0.30  # m between camera and furniture
_MARGIN = {True: 0.40, False: 0.26}  # m shown around the action, while the base drives or not
_MIN_DISTANCE = 1.7  # m from the camera to the middle of the action
_STILL = 1e-4  # rad and m, summed over a hand's joints; with less the hand counts as still
_MOVES = 0.01  # m; an item that moves farther within a shot counts as moving
_TURN = 0.15  # penalty in the score per radian from one viewpoint to the next


_tree = lru_cache(maxsize=4)(read_tree)


def link_origins(robot: RobotModel, q: Array) -> Array:
    """Origins (m, 3) in the world of the robot's links, metres, for a configuration q (n,)."""
    tree = _tree(robot.urdf, robot.joints)
    X_WF = tree.poses(q)
    return np.array([(X_WF[frame] @ X_FL)[:3, 3] for frame, X_FL in map(tree.link, robot.links)])


def acting(robot: RobotModel, q: Array) -> list[RobotModel]:
    """The robot with the moving hand as the acting one, for consecutive configurations (k, n).

    While no hand moves, the hand that moved last is the acting one.
    """
    hands, moved, chosen = robot.hands, np.abs(np.diff(q, axis=0)), [0] * len(q)
    if len(hands) == 1:  # also for an arm without a gripper
        return [robot] * len(q)
    own = [np.r_[hand.slice("arm"), hand.slice("fingers")] for hand in hands]
    for k, row in enumerate(moved):
        motion = [float(row[joints].sum()) for joints in own]
        chosen[k + 1] = int(np.argmax(motion)) if max(motion) > _STILL else chosen[k]
    return [hands[k] for k in chosen]


def hand_poses(robot: RobotModel, q: Array) -> Array:
    """Poses X_WH (k, 4, 4) of the palm of the hand that moves, in consecutive q (k, n)."""
    tree, rows = _tree(robot.urdf, robot.joints), zip(acting(robot, q), q, strict=True)
    return np.array([tree.link_pose(own.palm, row) for own, row in rows]).reshape(-1, 4, 4)


def grasp_centres(robot: RobotModel, q: Array) -> Array:
    """Positions (k, 3) of the grasp centre of the hand that moves, metres, in consecutive q (k, n).

    The grasp centre is the point between the fingertips.
    """
    X_WH, p_HT = hand_poses(robot, q), np.array([own.p_HT for own in acting(robot, q)])
    turned = np.einsum("kij,kj->ki", X_WH[:, :3, :3], p_HT.reshape(-1, 3))
    return np.asarray(turned + X_WH[:, :3, 3])


def film_cameras(
    frames: Frames, lines: list[str], scene: Scene, robot: RobotModel, fps: float
) -> tuple[Camera, ...]:
    """Choose a camera for each frame.

    Args:
        frames: the F frames of the film.
        lines: the log's line of each motion.
        scene: for the furniture, and the regions, which show where work is done.
        robot: the robot.
        fps: pictures per second of film.

    Returns:
        A camera for each frame; the same object while the camera rests.
    """
    shots = cut_shots(frames, lines, robot, fps)
    work = _work_centre(scene)
    rows: list[Array] = []
    for shot in shots:
        middle, distance, score = _judged(shot, frames, scene, robot, work)
        if rows:  # prefer a viewpoint close to the one before
            turned = np.abs(wrap(_AZIMUTH - rows[-1][3])) + np.abs(_ELEVATION - rows[-1][4])
            score = score - _TURN * turned
        best = int(score.argmax())
        rows.append(np.array([*middle, _AZIMUTH[best], _ELEVATION[best], np.log(distance)]))
    # Middle, azimuth, elevation and the logarithm of the distance change smoothly between shots.
    track = np.array(rows)
    track[:, 3] = np.unwrap(track[:, 3])
    width = round(SWING * fps)
    track = smoothed(np.repeat(track, [shot.length for shot in shots], axis=0), width)
    eyes = track[:, :3] + np.exp(track[:, 5:]) * unit_vector(track[:, 3], track[:, 4])
    eyes = _raised_over(eyes, furniture_boxes(scene, frames.scene_q[0]), width)
    cameras: list[Camera] = []
    # Rounding makes cameras equal that differ invisibly: the renderer is fast while one rests.
    for eye, target in zip(np.round(eyes, 4), np.round(track[:, :3], 4), strict=True):
        camera = Camera(eye, target)
        cameras.append(cameras[-1] if cameras and camera.same(cameras[-1]) else camera)
    return tuple(cameras)


def _work_centre(scene: Scene) -> Array:
    """The mean position (3,) of all regions and items, around which work is done, metres."""
    start = np.array([joint.start for joint in scene.joints])
    points = [
        (scene.body_pose(region.body, start) @ np.array([*box.mean(axis=0), 1.0]))[:3]
        for region in scene.regions
        for box in region.boxes
    ]
    points += [item.X_WI[:3, 3] for item in scene.items]
    return np.mean(points, axis=0) if points else np.zeros(3)


def _judged(
    shot: Shot, frames: Frames, scene: Scene, robot: RobotModel, work: Array
) -> tuple[Array, float, Array]:
    """The sphere on which the viewpoints of a shot lie, and a score for each viewpoint.

    Args:
        shot: the shot.
        frames: the frames of the film.
        scene, robot: they may hide the hand.
        work: the middle of the workplace (3,), metres.

    Returns:
        The sphere's middle (3,) and radius, metres, and the scores (v,) of the viewpoints; the
        largest is the best.
    """
    moments = shot.spread(_SAMPLES)
    hands = grasp_centres(robot, frames.q[moments])  # (k, 3)
    origins = np.array([link_origins(robot, q) for q in frames.q[moments]])  # (k, m, 3)
    rooms = [furniture_boxes(scene, scene_q) for scene_q in frames.scene_q[moments]]
    paths = frames.items[moments][:, :, :3]  # (k, ni, 3)
    moving = paths[:, np.ptp(paths, axis=0).max(axis=1) > _MOVES].reshape(-1, 3)
    # The chassis' origin is on the floor; without it, a working arm fills more of the picture.
    shown = origins if shot.drives else origins[:, 1:]
    points = np.concatenate([hands, shown.reshape(-1, 3), moving])
    low, high = points.min(axis=0), points.max(axis=0)
    middle = 0.5 * (low + high)
    if not shot.drives:  # shift the view towards the hand
        middle = 0.6 * middle + 0.4 * np.mean(hands, axis=0)
    radius = 0.36 * float(np.linalg.norm(high - low)) + _MARGIN[shot.drives]
    distance = max(_MIN_DISTANCE, radius / np.tan(0.5 * FOV))
    middle = middle - np.array([0.0, 0.0, 0.04 * distance])  # space for the captions below
    eyes = middle + distance * unit_vector(_AZIMUTH, _ELEVATION)
    # While the base drives, the hand may be hidden for a while.
    weight = (0.6 if shot.drives else 1.6) / len(hands)
    score = -0.5 * np.abs(_ELEVATION - _PREFERRED_ELEVATION)
    for hand, joints, room in zip(hands, origins, rooms, strict=True):
        score += weight * visible_from(eyes, hand, room, joints)
    for point in moving[:: max(1, len(moving) // 4)]:
        score += 0.15 * visible_from(eyes, point, rooms[-1], origins[-1][:1])
    # Keep away from furniture, as it stands at the beginning and at the end of the shot.
    close = np.minimum(rooms[0].distance(eyes), rooms[-1].distance(eyes))
    score -= 3.0 * (close < _CLEARANCE)
    # Look towards the workplace, with the room's open side behind the camera.
    inward = work[:2] - origins[..., :2].reshape(-1, 2).mean(axis=0)
    inward = inward / max(float(np.linalg.norm(inward)), 0.3)
    score -= 0.45 * (unit_vector(_AZIMUTH, np.zeros_like(_AZIMUTH))[:, :2] @ inward)
    return middle, distance, score


def smoothed(track: Array, width: int) -> Array:
    """Rows (F, k), each averaged over ``width`` frames with a Hann window."""
    if width < 2:
        return track
    weights = np.hanning(width + 2)[1:-1]
    weights /= weights.sum()
    padded = np.pad(track, ((width // 2, width - 1 - width // 2), (0, 0)), mode="edge")
    columns = [np.convolve(column, weights, mode="valid") for column in padded.T]
    return np.stack(columns, axis=1)


def _raised_over(eyes: Array, furniture: Occluders, width: int) -> Array:
    """Eyes (F, 3), raised in steps of 5 cm where they would pass through furniture."""
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
