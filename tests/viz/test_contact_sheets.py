"""Close-up pictures of contacts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
from PIL import Image

from galley.bench.viz.contact_sheets import contact_sheets, stills
from galley.domain.log import Log
from galley.domain.scene.model import Scene
from galley.robots import RobotModel
from galley.viz.film.camera import LinkPoses
from galley.viz.film.inset import close_cameras
from galley.viz.render.view import Camera, furniture_boxes


def test_the_hand_is_in_the_middle_seen_from_nearby_and_not_from_inside_a_wall(
    log: Log, scene: Scene, robot: RobotModel
) -> None:
    q, scene_q = log.q[::20], log.scene_q[::20]
    cameras = close_cameras(q, scene_q, scene, robot, 0.65)
    links = LinkPoses(robot)
    for joints, furniture, camera in zip(q, scene_q, cameras, strict=True):
        links.set_robot(joints)
        X_WH = links.link_pose(robot.palm)
        hand = X_WH[:3, :3] @ robot.p_HT + X_WH[:3, 3]
        np.testing.assert_allclose(camera.target, hand, atol=1e-9)
        assert abs(np.linalg.norm(camera.position - hand) - 0.65) < 1e-9
        assert furniture_boxes(scene, furniture).distance(camera.position[None])[0] > 0.03
        line = (camera.position - hand) / 0.65
        fingers = [links.link_pose(name)[:3, 3] for name in robot.fingers]
        closing = (fingers[1] - fingers[0]) / np.linalg.norm(fingers[1] - fingers[0])
        assert abs(line @ closing) < 0.5  # both fingers show, side by side
    turns = {tuple(np.round(camera.position - camera.target, 6)) for camera in cameras}
    assert len(turns) == 1  # so that the pictures of a sheet can be compared


def test_a_sheet_shows_the_moments_in_order(
    log: Log, scene: Scene, robot: RobotModel, tmp_path: Path
) -> None:
    path = tmp_path / "sheet.png"
    camera = Camera([1.6, 1.6, 2.2], [0.3, 1.1, 0.85])
    times = (0.0, 8.0, 12.0)
    cameras = stills(
        log, scene, robot, times, path, width=160, height=120, columns=2, camera=camera
    )
    assert cameras == (camera,) * 3
    sheet = np.asarray(Image.open(path)).astype(int)
    assert sheet.shape == (240, 320, 3)
    assert (sheet[120:, 160:] == 255).all()  # no fourth picture
    first, second, third = sheet[:90, :160], sheet[:90, 160:], sheet[120:210, :160]
    wood = np.array([0.80, 0.72, 0.60]) / 2.12  # of the open drawer's floor
    shares = third / np.maximum(third.sum(axis=2, keepdims=True), 1)
    pixels, _ = camera.project(np.array([[0.42, 1.25, 0.779]]), 160, 120)
    column, row = pixels[0].astype(int)
    np.testing.assert_allclose(shares[row, column], wood, atol=0.03)
    assert np.abs(first - second).max() > 60
    assert [p.name for p in tmp_path.iterdir()] == ["sheet.png"]


def test_each_contact_gets_a_sheet_and_nothing_else(
    log: Log, scene: Scene, robot: RobotModel, tmp_path: Path
) -> None:
    lines = ["(a) | drive", "recovery 1: (pick b) | close fingers", "(stow c) | open drawer: pull"]
    run = replace(log, motions=np.array(lines), ends=np.array(["", "grip, 40 N", ""]))
    files = contact_sheets(run, scene, robot, tmp_path, width=120, height=96)
    assert [file.name for file in files] == ["01_close_fingers.png", "02_open_drawer__pull.png"]
    for file in files:
        picture = np.asarray(Image.open(file)).astype(int)
        assert picture.shape == (96, 480, 3)
        assert picture.std() > 15
    assert contact_sheets(run, scene, robot, tmp_path, phases=("wipe",)) == ()
