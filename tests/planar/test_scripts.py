"""The short scripts in ``examples/`` find what they say."""

import re
from pathlib import Path

import pytest

import galley
from galley.tests.command_line import environment, python

pytestmark = pytest.mark.slow
FOLDER = Path(galley.__file__).parent / "examples"


def said(name, *words):
    done = python(FOLDER / name, *map(str, words), env=environment())
    assert done.status == 0, done.err
    return done.out


@pytest.mark.parametrize("name", ["contact/fit.py", "touch/identify.py"])
def test_parameters_are_found_again_within_their_errors(name):
    lines = said(name).splitlines()
    assert len(lines) in (2, 4)
    for line in lines:
        value, error, true = map(float, re.findall(r"[\d.]+(?:e-\d+)?", line.split(":")[1]))
        assert abs(value - true) < 4.0 * error < 0.2


def test_a_throw_hits_and_the_ball_stays_in_the_basket(tmp_path):
    out = said("contact/throw.py", tmp_path)
    misses = [float(each) for each in re.findall(r"by +([\d.]+) mm", out)]
    assert misses == sorted(misses, reverse=True)
    assert misses[-1] < 1.0 < 100.0 < misses[0]
    assert {each.name for each in tmp_path.iterdir()} == {"contact.png", "contact.mp4"}


def test_policies_of_touch_succeed_in_95_of_100_worlds():
    shares = re.findall(r"(\w+): (\d+) of 100", said("touch/policies.py", 100))
    assert [task for task, _ in shares] == ["push", "press", "tell"]
    assert all(int(good) >= 95 for _, good in shares)


def test_the_hand_of_a_flow_of_the_whole_of_q_misses():
    losses = said("reach/whole.py", 80)
    first, *_, last = (float(each) for each in re.findall(r"loss (\S+)", losses))
    assert last < first - 1.0
    assert float(re.search(r"in ([\d.]+) % of samples", losses).group(1)) < 20.0
