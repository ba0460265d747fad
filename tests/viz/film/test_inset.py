"""The close-up of the hand in a film's corner."""

from dataclasses import replace

import numpy as np
import pytest

from galley.viz.film.camera import film_cameras, grasp_centres
from galley.viz.film.captions import caption_height
from galley.viz.film.frames import frame_times, resample
from galley.viz.film.video import FilmJob, draw_inset, film_insets

FPS = 10.0
LINES = ["(a) | drive", "(b) | carry", "(c) | open drawer: pull"]  # 4 s each


@pytest.fixture
def run(log, robot):
    """Carries an item from 4 to 8 s, and has a finger at a handle from 10 s on."""
    steps = np.arange(40, len(log.time))
    carries = steps < 80
    return replace(
        log,
        motions=np.array(LINES),
        held=np.where(log.motion == 1, 0, -1),
        names=np.array([robot.fingers[0], "sugar_box", "indigo_drawer_handle_top"]),
        contact_step=np.concatenate([steps[carries], steps[60:]]),
        contact_pair=np.array([[0, 1]] * 40 + [[2, 0]] * (len(steps) - 60)),
        contact_distance=np.zeros(len(steps) - 20),
        contact_force=np.ones(len(steps) - 20),
    )


@pytest.mark.parametrize("height", [240, 720])
def test_it_appears_for_contacts_only_and_shows_the_hand(run, scene, robot, height):
    assert scene.items[0].name == "sugar_box"
    frames = resample(run, robot, frame_times(run, FPS))
    cameras = film_cameras(frames, LINES, scene, robot, FPS)
    width = height * 16 // 9
    insets = film_insets(run, FilmJob(scene, robot, frames, cameras, (), width, height), FPS)
    for t, q, inset in zip(frames.time, frames.q, insets, strict=True):
        if t > 9.05:  # a second before the contact
            assert inset is not None
            assert inset.opacity == 1.0
        elif t < 9.0 - 0.5:
            assert inset is None
        if inset is None:
            continue
        assert 0.0 < inset.opacity <= 1.0
        hand = grasp_centres(robot, q[None])
        pixel = inset.camera.project(hand, inset.width, inset.height)[0][0]
        assert (np.abs(pixel / (inset.width, inset.height) - 0.5) < 0.25).all()
        assert 0 <= inset.left <= width - inset.width
        assert 0 <= inset.top <= height - caption_height(height) - inset.height
    before = [inset.opacity for inset in insets if inset is not None and inset.opacity < 1.0]
    assert before == sorted(before)  # it fades in


def test_half_faded_in_it_is_half_of_each_picture(run, scene, robot):
    frames = resample(run, robot, np.array([11.0]))
    cameras = film_cameras(frames, LINES, scene, robot, FPS)
    inset = film_insets(run, FilmJob(scene, robot, frames, cameras, (), 640, 360), FPS)[0]
    assert inset is not None
    plain = np.full((360, 640, 3), 40, np.uint8)
    close = np.full((inset.height, inset.width, 3), 240, np.uint8)
    drawn = draw_inset(plain, replace(inset, opacity=0.5), close)
    middle = drawn[inset.top + inset.height // 2, inset.left + inset.width // 2]
    np.testing.assert_allclose(middle, 140, atol=1)
    outside = drawn.copy()
    outside[inset.top - 3 : inset.top + inset.height + 3, inset.left - 3 :] = 40
    outside = outside[:, : inset.left - 3]
    assert (outside == 40).all()
