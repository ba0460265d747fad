"""The close-up of the hand in a film's corner."""

from dataclasses import replace

import numpy as np
import pytest

from galley.viz.film.camera import film_cameras, grasp_centres
from galley.viz.film.captions import caption_height
from galley.viz.film.frames import frame_times, resample
from galley.viz.film.video import draw_inset, film_insets

FPS = 10.0
LINES = ["(a) | drive", "(b) | reach", "recovery 1: (c) | open drawer: pull"]  # 4 s each


@pytest.mark.parametrize("height", [240, 720])
def test_it_appears_for_contacts_only_and_shows_the_hand(log, scene, robot, height):
    run = replace(log, motions=np.array(LINES))
    frames = resample(run, robot, frame_times(run, FPS))
    cameras = film_cameras(frames, LINES, scene, robot, FPS)
    width = height * 16 // 9
    insets = film_insets(frames, LINES, cameras, scene, robot, FPS, width, height)
    for t, q, motion, inset in zip(frames.time, frames.q, frames.motion, insets, strict=True):
        if motion == 2:
            assert inset is not None
            assert inset.opacity == 1.0
        elif t < 4 * 2 - 0.5:
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
    assert film_insets(frames, ["(a) | go"] * 3, cameras, scene, robot, FPS, width, height) == (
        (None,) * len(insets)
    )


def test_half_faded_in_it_is_half_of_each_picture(log, scene, robot):
    frames = resample(log, robot, np.array([11.0]))
    cameras = film_cameras(frames, LINES, scene, robot, FPS)
    inset = film_insets(frames, LINES, cameras, scene, robot, FPS, 640, 360)[0]
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
