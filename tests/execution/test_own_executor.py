"""The executor that docs/disturbances.md writes is one, in 20 lines."""

import re
from pathlib import Path

import numpy as np
import pytest

import galley
from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.domain.state import initial_state
from galley.execution.kinematic import KinematicExecutor, execute_all
from galley.motion.trajectory.export import ROS_RATE
from galley.tests.execution.errands import SUGAR, errand

PAGE = Path(galley.__file__).parent / "docs" / "disturbances.md"


def blocks():
    return re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)


@pytest.fixture
def relay():
    """The documented class."""
    names = {}
    exec(compile(blocks()[1], str(PAGE), "exec"), names)
    return names["Relay"]


def test_it_runs_the_motions_and_hands_each_on(relay, kitchen, robot, shared_world):
    planned = errand(kitchen, shared_world, *SUGAR)
    sent = []
    with PyBulletWorld(kitchen, robot) as world:
        inner = KinematicExecutor(world, initial_state(kitchen))
        executor = relay(inner, robot, lambda *what: sent.append(what))
        log = execute_all(executor, planned.motions, planned.names)
        assert executor.observe().held == 0
        executor.close()
    assert [name for name, _ in sent] == list(planned.names) == log.motions.tolist()
    for motion, (_, message) in zip(planned.motions, sent, strict=True):
        points = message["points"]
        times = np.arange(len(points) - 1) / ROS_RATE
        found = [point["positions"] for point in points]
        np.testing.assert_allclose(found[:-1], motion.trajectory(times), atol=1e-12)
        np.testing.assert_allclose(found[-1], motion.trajectory.end, atol=1e-12)


def test_the_page_runs_from_top_to_bottom(capsys):
    code = "".join(blocks())
    exec(compile(code, str(PAGE), "exec"), {})
    said = capsys.readouterr().out
    assert "sugar_box" in said
    assert "navigate center burner | drive" in said
