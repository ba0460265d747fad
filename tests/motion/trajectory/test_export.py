"""Exported trajectories: full precision, exact ends, the fields that ROS asks for."""

import csv
import json

import numpy as np
import pytest

from galley.domain.errors import BadInput
from galley.motion.path import Path
from galley.motion.trajectory.export import ros_message, write_csv, write_ros
from galley.motion.trajectory.timing import rest_to_rest
from galley.motion.trajectory.trajectory import Trajectory
from galley.tests.motion.trajectory.readers import read_ros


@pytest.fixture
def arm(robot):
    return robot.group("arm")


@pytest.fixture
def trajectory(arm):
    return rest_to_rest(Path("arm", np.random.default_rng(0).uniform(-1, 1, (3, 7))), arm)


def test_csv_rows_are_a_millisecond_apart_and_end_with_the_end(trajectory, arm, tmp_path):
    file = tmp_path / "t.csv"
    rows = write_csv(file, trajectory, arm)
    with open(file, newline="") as stream:
        header, *lines = csv.reader(stream)  # Python's own reader as a stranger's
    table = np.array(lines, dtype=float)
    assert len(table) == rows
    assert header[0] == "time [s]"
    assert header[1:4] == [
        "panda_joint1 position [rad]",
        "panda_joint1 velocity [rad/s]",
        "panda_joint1 acceleration [rad/s^2]",
    ]
    assert header[19].startswith("panda_joint7 position")
    np.testing.assert_allclose(np.diff(table[:, 0])[:-1], 1e-3, rtol=1e-9)
    assert table[-1, 0] == trajectory.duration
    for order in range(3):
        np.testing.assert_array_equal(table[:, 1 + order :: 3], trajectory(table[:, 0], order))
    assert [p.name for p in tmp_path.iterdir()] == ["t.csv"], "nothing half-written is left"


def test_units_are_those_of_the_joints(robot, tmp_path):
    base = robot.group("base")
    write_csv(tmp_path / "b.csv", rest_to_rest(Path("base", np.eye(3)), base), base)
    header = (tmp_path / "b.csv").read_text().splitlines()[0].split(",")
    assert header[2].endswith("velocity [m/s]")
    assert header[9].endswith("acceleration [rad/s^2]")


def test_a_ros_message_has_its_fields_and_no_others(trajectory, arm, tmp_path):
    count = write_ros(tmp_path / "t.json", trajectory, arm, frame="world")
    message = json.loads((tmp_path / "t.json").read_text())
    assert set(message) == {"header", "joint_names", "points"}
    assert message["header"] == {"stamp": {"sec": 0, "nanosec": 0}, "frame_id": "world"}
    assert message["joint_names"] == list(arm.joints)
    assert len(message["points"]) == count == int(np.ceil(100 * trajectory.duration)) + 1
    for point in message["points"]:
        assert set(point) == {
            "positions",
            "velocities",
            "accelerations",
            "effort",
            "time_from_start",
        }
        assert [len(point[k]) for k in ("positions", "velocities", "accelerations")] == [7] * 3
        assert point["effort"] == []
        assert 0 <= point["time_from_start"]["nanosec"] < 10**9
        assert all(isinstance(v, int) for v in point["time_from_start"].values())
    assert message["points"][-1]["positions"] == trajectory.end.tolist()


def test_ros_times_increase_and_end_with_the_end(trajectory, arm, tmp_path):
    write_ros(tmp_path / "t.json", trajectory, arm, rate=30.0)
    joints, samples = read_ros(tmp_path / "t.json")
    assert joints == arm.joints
    expected = trajectory.sampled(1 / 30)
    np.testing.assert_allclose(samples.times, expected.times, rtol=0, atol=1e-9)
    assert (np.diff(samples.times) > 0).all()
    for got, right in zip(samples[1:], expected[1:], strict=True):
        np.testing.assert_array_equal(got, right)


@pytest.mark.parametrize("duration", [1.0 + 3e-10, 3e-10])
def test_points_never_share_a_stamp(duration, arm, tmp_path):
    # At 10 kHz the last period would be 0.3 ns long.
    turning = Trajectory("arm", np.array([0.0, duration]), np.ones((1, 2, 7)))
    message = ros_message(turning, arm, rate=1e4)
    stamps = [p["time_from_start"] for p in message["points"]]
    times = [10**9 * s["sec"] + s["nanosec"] for s in stamps]
    assert times == sorted(set(times))
    assert times[-1] == round(duration * 1e9)
    assert message["points"][-1]["positions"] == turning.end.tolist()
    assert write_ros(tmp_path / "t.json", turning, arm, rate=1e4) == len(times)


def test_another_group_is_refused(trajectory, robot, tmp_path):
    with pytest.raises(ValueError, match="is of group 'arm', not 'base'"):
        write_csv(tmp_path / "t.csv", trajectory, robot.group("base"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("rate", [0.0, -1.0, np.nan, np.inf])
def test_a_rate_that_is_not_positive_is_refused(rate, trajectory, arm, tmp_path):
    with pytest.raises(ValueError, match="rate"):
        write_ros(tmp_path / "t.json", trajectory, arm, rate)


@pytest.mark.parametrize("write", [write_csv, write_ros])
def test_where_nothing_can_be_written_is_bad_input(write, trajectory, arm, tmp_path):
    with pytest.raises(BadInput, match="folder does not exist"):
        write(tmp_path / "no" / "t", trajectory, arm)
    with pytest.raises(BadInput, match="is a folder"):
        write(tmp_path, trajectory, arm)
    assert [p.name for p in tmp_path.parent.glob(f".{tmp_path.name}*")] == []
