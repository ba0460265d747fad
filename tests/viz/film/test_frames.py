from dataclasses import replace

import numpy as np
import pytest

from galley.viz.film.frames import cut_shots, frame_times, resample, slerp, split_line


def test_times_cover_the_log_and_hold_its_end(log):
    times = frame_times(log, 25.0, speed=2.0, hold=1.0)
    assert len(times) == 12 / 2 * 25 + 1 + 25
    assert times[0] == 0.0
    np.testing.assert_allclose(times[1], 0.08)
    assert (times[-26:] == 12.0).all()
    with pytest.raises(ValueError, match="positive"):
        frame_times(log, 25.0, speed=0.0)


def test_samples_lie_between_rows_of_the_log(log, robot):
    frames = resample(log, robot, np.array([-1.0, 2.05, 9.0, 99.0]))
    np.testing.assert_allclose(frames.q[0], log.q[0])
    np.testing.assert_allclose(frames.q[1], 0.5 * (log.q[20] + log.q[21]))
    np.testing.assert_allclose(frames.scene_q[:, 0], [0.0, 0.0, 0.075, 0.3], atol=1e-12)
    assert frames.motion.tolist() == [0, 0, 2, 2]
    q = log.q.copy()
    q[0, 2], q[1, 2] = 3.1, -3.1  # a heading takes the short way round
    frames = resample(replace(log, q=q), robot, np.array([0.05]))
    assert abs(abs(frames.q[0, 2]) - np.pi) < 0.05


def test_slerp_turns_evenly():
    def about_z(angle):
        return np.array([0.0, 0.0, np.sin(angle / 2), np.cos(angle / 2)])

    for u in (0.0, 0.25, 0.5, 1.0):
        found = slerp(about_z(0.2)[None], -about_z(2.2)[None], np.array([[u]]))[0]
        np.testing.assert_allclose(abs(found @ about_z(0.2 + 2.0 * u)), 1.0, atol=1e-12)
    same = slerp(about_z(0.2)[None], about_z(0.2)[None], np.array([[0.3]]))
    np.testing.assert_allclose(same[0], about_z(0.2), atol=1e-12)


def test_shots_follow_actions_and_driving(log, robot):
    frames = resample(log, robot, frame_times(log, 10.0))
    shots = cut_shots(frames, [str(line) for line in log.motions], robot, 10.0)
    assert [(s.first, s.last, s.drives) for s in shots] == [
        (0, 39, True),
        (40, 79, False),
        (80, 120, False),
    ]
    short = cut_shots(frames, [str(line) for line in log.motions], robot, 30.0)
    assert short[0].first == 0
    assert short[-1].last == 120
    assert len(short) < len(shots)
    assert split_line("pick sugar burner h1 | approach") == ("pick sugar burner h1", "approach")
    assert split_line("(navigate a b)") == ("navigate a b", "")
