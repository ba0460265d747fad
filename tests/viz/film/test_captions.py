from dataclasses import replace

import numpy as np
import pytest

from galley.viz.film.captions import (
    Caption,
    action_captions,
    caption_height,
    draw_caption,
    film_captions,
    finger_force,
    speed_badge,
)
from galley.viz.film.frames import frame_times, resample

FULL = Caption("3/8  place sugar countertop", "approach", "12.4 s", "2x speed", "Galley")


def picture(width, height):
    return np.full((height, width, 3), 200, dtype=np.uint8)


def colored(picture, color):
    return np.abs(picture.astype(int) - color).max(axis=2) < 40


@pytest.mark.parametrize(("width", "height"), [(1280, 720), (854, 480), (640, 360)])
def test_the_bar_is_dark_with_bright_letters(width, height):
    before = picture(width, height)
    after = draw_caption(before, FULL)
    assert (before == 200).all()  # a copy is drawn on
    bar = caption_height(height)
    assert (after[2 * bar : height - bar] == 200).all()  # between the tags above and the bar
    foot = after[height - bar :].astype(int)
    letters = foot.min(axis=2) > 190
    rows, columns = np.flatnonzero(letters.any(axis=1)), np.flatnonzero(letters.any(axis=0))
    assert 0.3 * bar < np.ptp(rows) < 0.9 * bar  # letters a third of the bar or more, none cut off
    assert rows.min() > 1
    assert rows.max() < bar - 2
    assert columns.min() < 0.05 * width
    assert np.median(foot) < 80
    assert colored(foot, (250, 150, 40)).sum() > 30  # the phase


def test_tags_stand_in_their_corners():
    plain = picture(1280, 720)
    tags = (Caption(badge="2x speed"), slice(1000, None)), (Caption(title="Galley"), slice(300))
    for caption, columns in tags:
        changed = (draw_caption(plain, caption) != 200).any(axis=2)
        assert changed.sum() == changed[:100, columns].sum() > 0
    assert (draw_caption(plain, Caption()) == plain).all()
    long = draw_caption(plain, Caption("4/9  " + "stow " * 40, "approach", "1.0 s"))
    phase = colored(long[-caption_height(720) :], (250, 150, 40))
    assert phase.any()  # the action ends in dots before it
    assert np.flatnonzero(phase.any(axis=0)).max() < 1280 - 40


def test_actions_are_counted_and_put_into_words(scene):
    lines = ["(navigate center burner) | drive", "(pick sugar burner h1) | approach"]
    lines.append("(pick sugar burner h1) | retreat")
    pick = ("2/2  pick up the sugar box from the burner", "(pick sugar burner h1)")
    assert action_captions(lines, scene) == [
        ("1/2  drive from the center to the burner", "(navigate center burner)", "drive"),
        (*pick, "approach"),
        (*pick, "retreat"),
    ]
    assert speed_badge(1.0) == ""
    assert speed_badge(2.5) == "2.5x speed"


def test_actions_without_motions_are_counted(scene):
    plan = ("(a)", "(cook x)", "(b)", "(wash x)", "(a)")
    lines = ["(a) | go", "(a) | stop", "(b) | go", "(a) | go"]
    again = ["recovery 1: (b) | go", "recovery 1: (c) | go", "recovery 2: (end) | retreat"]

    def told(*plans):
        return [words for words, _, _ in action_captions(lines + again, scene, plans)]

    first, rest = ["1/5  a", "1/5  a", "3/5  b", "5/5  a"], ["2/3  b", "3/3  c", "end"]
    assert told(plan, ("(cook x)", "(b)", "(c)"), ()) == first + rest
    without = ["1/3  a", "1/3  a", "2/3  b", "3/3  a", "1/2  b", "2/2  c", "1/1  end"]
    assert told() == without  # those with motions


def test_the_pddl_stands_under_the_words_where_it_can_be_read():
    words = Caption("1/2  open the drawer", "pull", "1.0 s")
    for height, readable in ((720, True), (1080, True), (240, False)):
        plain = picture(height * 16 // 9, height)
        with_pddl = draw_caption(plain, replace(words, pddl="(open drawer h1)"))
        lowest = with_pddl[-caption_height(height) // 3 :, : height // 2].astype(int)
        other = draw_caption(plain, words)[-caption_height(height) // 3 :, : height // 2]
        assert (np.abs(lowest - other).max() > 60) == readable


def touched(log, robot):
    """The log with the left finger pressing with 30 + 8 N on two things, the right one with 31."""
    left, right = robot.fingers
    return replace(
        log,
        mode="physics",
        motions=np.array(["(a) | drive", "recovery 1: (b) | lower", "recovery 1: (b) | lift"]),
        ends=np.array(["", "contact, 12 N", "panda_hand met wall, 90 N"]),
        names=np.array([left, "sugar_box", right, "range"]),
        contact_step=np.array([50, 50, 50, 50]),
        contact_pair=np.array([[0, 1], [3, 0], [2, 1], [1, 3]]),
        contact_distance=np.zeros(4),
        contact_force=np.array([30.0, 8.0, 31.0, 500.0]),
    )


def test_the_force_shown_is_that_of_the_finger_that_presses_most(log, robot):
    force = finger_force(touched(log, robot), robot)
    assert force[50] == 38.0
    assert np.delete(force, 50).max() == 0.0
    assert (finger_force(log, robot) == 0.0).all()
    unknown = replace(touched(log, robot), contact_force=np.full(4, np.nan))
    assert (finger_force(unknown, robot) == 0.0).all()


def test_a_film_says_what_ended_motions_and_when_it_is_recovering(log, scene, robot):
    run = touched(log, robot)
    frames = resample(run, robot, frame_times(run, 10.0, hold=1.0))
    told = film_captions(run, frames, scene, robot, 1.0)
    at = {round(float(t), 1): caption for t, caption in zip(frames.time, told, strict=True)}
    assert at[1.0].alert == at[1.0].event == ""
    assert at[5.0].alert == "recovery 1"
    assert at[5.0].action == "1/1  b"
    assert (at[5.0].force, at[5.0].limit) == (38, 40)  # N, of the scene's ``finger_force``
    assert at[7.8].event == ""
    assert at[8.2].event == "lower: contact, 12 N"
    assert at[8.2].expected
    assert at[10.0].event == ""  # it is gone again
    assert told[-1].event == "lift: panda_hand met wall, 90 N"
    assert not told[-1].expected
    assert {caption.mode for caption in told} == {"physics"}


@pytest.mark.parametrize(
    ("lines", "ended", "meant"),
    [
        (["(a) | push", "(b) | lift"], "contact, 21 N", True),
        (["(a) | push", "recovery 1: (a) | push"], "contact, 21 N", False),
        (["recovery 1: (a) | push", "recovery 1: (b) | lift"], "contact, 21 N", True),
        (["(a) | press", "(b) | lift"], "contact, 64 N instead of 5 N", False),
        (["(a) | pull", "(b) | lift"], "stuck, 36 N, 8 % of the way", False),
    ],
)
def test_only_what_was_meant_is_green(log, scene, robot, lines, ended, meant):
    run = replace(log, motions=np.array([*lines, "x"]), ends=np.array([ended, "", ""]))
    frames = resample(run, robot, frame_times(run, 10.0, hold=1.0))
    events = [c for c in film_captions(run, frames, scene, robot, 1.0) if c.event]
    assert {caption.expected for caption in events} == {meant}


def test_what_a_physics_run_has_is_seen_in_the_picture():
    plain = picture(1280, 720)
    words = Caption("1/2  a", "b", "1.0 s", mode="physics", event="b: grip, 40 N", force=40)
    fine = draw_caption(plain, words)
    green, red = (110, 214, 140), (255, 110, 96)
    rows, columns = np.nonzero(colored(fine, green))
    assert len(rows) > 50
    assert rows.min() > 580
    assert rows.max() < 720 - caption_height(720)
    assert columns.max() < 640
    wrong = draw_caption(plain, replace(words, expected=False))
    assert not colored(wrong, green).any()
    assert colored(wrong, red).sum() > 50

    def letters(force, color):
        drawn = draw_caption(plain, Caption(force=force, limit=40))
        return int(colored(drawn[:, 640:], color).sum())

    white = (250, 250, 250)
    assert letters(0, white) == letters(0, red) == letters(60, red) == letters(61, white) == 0
    assert min(letters(38, white), letters(60, white), letters(61, red)) > 200
    alert = draw_caption(plain, Caption(alert="recovery 1", title="Galley"))
    assert ((alert[..., 0] > 150) & (alert[..., 2] < 90))[:150, :400].sum() > 2000


def test_in_a_narrow_picture_force_and_event_stand_above_each_other():
    event = "open drawer: close fingers: grip, 39 N, 80 % of the way"
    words = Caption("a", "b", "1.0 s", event=event, force=41, limit=40)
    narrow = draw_caption(picture(480, 400), words)
    alone = draw_caption(picture(480, 400), replace(words, event=""))
    changed = np.argwhere((narrow != alone).any(axis=2))
    force = np.argwhere((alone != 200).any(axis=2))
    above = force[force[:, 0] < 400 - caption_height(400)]
    assert changed[:, 0].max() < above[:, 0].min()
