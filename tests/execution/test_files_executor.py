"""What is written for a real arm is what was planned, complete, and within the arm's limits."""

import csv
import json
import re
from dataclasses import asdict

import numpy as np
import pytest

from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.domain.errors import BadInput
from galley.domain.frames import from_pose7
from galley.domain.state import initial_state
from galley.execution.files import INDEX, FileExecutor
from galley.execution.kinematic import KinematicExecutor, execute_all
from galley.motion.thresholds import THRESHOLDS
from galley.tests.execution.errands import DRAWER, SUGAR, errand
from galley.tests.motion.trajectory.readers import read_csv


@pytest.fixture(scope="module")
def planned(kitchen, shared_world):
    """The sugar is taken, and put onto the counter."""
    return errand(kitchen, shared_world, *SUGAR, ("place", "sugar", "countertop", "h1"))


@pytest.fixture(scope="module")
def written(kitchen, robot, planned, tmp_path_factory):
    """The folder, the index, and the log."""
    folder = tmp_path_factory.mktemp("arm") / "robot"
    with PyBulletWorld(kitchen, robot) as world:
        inner = KinematicExecutor(world, initial_state(kitchen))
        executor = FileExecutor(inner, kitchen, robot, folder)
        log = execute_all(executor, planned.motions, planned.names)
        executor.close()
    return folder, json.loads((folder / INDEX).read_text()), log


def entries(written, *kinds):
    return [each for each in written[1]["motions"] if each["kind"] in kinds]


def test_every_motion_has_a_file_and_a_number_in_order(written, planned, robot):
    folder, index, _ = written
    names = [each["file"] for each in index["motions"]]
    assert [each["name"] for each in index["motions"]] == list(planned.names)
    assert [int(name[:3]) for name in names] == list(range(len(planned.names)))
    assert sorted(p.name for p in folder.iterdir()) == sorted([*names, INDEX, "README.txt"])
    reach = planned.of("pick sugar burner h1 | reach")
    assert names[reach] == f"{reach:03d}-pick-sugar-burner-h1-reach.csv"
    assert index["finished"]
    assert index["thresholds"] == asdict(THRESHOLDS)
    assert tuple(index["joint_order"]) == robot.joints
    for group, told in zip(robot.groups, index["groups"], strict=True):
        assert tuple(told["units"]) == group.units
        np.testing.assert_array_equal(told["velocity"], group.velocity)
        np.testing.assert_array_equal(told["upper"], group.upper)


def test_the_files_give_the_trajectories_at_a_thousand_rows_a_second(written, planned, robot):
    folder, index, _ = written
    for motion, entry in zip(planned.motions, index["motions"], strict=True):
        if motion.group == "fingers":
            continue
        joints, samples = read_csv(folder / entry["file"])
        assert joints == robot.group(motion.group).joints == tuple(entry["joints"])
        assert len(samples.times) == entry["rows"]
        assert np.diff(samples.times)[:-1] == pytest.approx(0.001, abs=1e-9)
        assert samples.times[-1] == motion.trajectory.duration == entry["duration_s"]
        np.testing.assert_array_equal(samples.positions, motion.trajectory(samples.times))
        np.testing.assert_array_equal(samples.velocities, motion.trajectory(samples.times, 1))


def test_fingers_are_commands_of_width_speed_and_force(written, kitchen):
    folder, _, _ = written
    commands = {}
    for entry in entries(written, "gripper"):
        with open(folder / entry["file"], newline="") as stream:
            header, row = csv.reader(stream)
        assert header == ["time [s]", "width [m]", "speed [m/s]", "force [N]"]
        assert [float(v) for v in row[1:]] == [
            entry["width_m"],
            entry["speed_m_s"],
            entry["force_N"],
        ]
        commands[entry["phase"]] = entry
    close, release = commands["close fingers"], commands["open fingers"]
    assert close["command"] == "grasp"
    assert close["width_m"] == pytest.approx(0.038, abs=0.003)  # the box's narrow side
    assert close["force_N"] == kitchen.physics.finger_force
    assert 0.0 < close["speed_m_s"] <= 0.1  # the gripper's published most
    assert release["command"] == "move"
    assert release["force_N"] == 0.0
    assert release["width_m"] > close["width_m"]


def test_the_index_says_where_the_hand_is_to_be(written, robot, kitchen):
    """Against PyBullet's own kinematics."""
    _, index, log = written
    with PyBulletWorld(kitchen, robot) as world:
        q = np.array(log.q[0])
        for entry in index["motions"]:
            q[robot.slice(entry["group"])] = entry["end"]
            world.set_robot(q)
            X_WH = from_pose7(entry["hand_at_end"]["in_world"])
            np.testing.assert_allclose(X_WH, world.hand_pose(), atol=2e-6)
            X_AH = from_pose7(entry["hand_at_end"]["in_arm_base"])
            np.testing.assert_allclose(
                world.link_pose("panda_link0") @ X_AH, world.hand_pose(), atol=2e-6
            )


def test_the_index_passes_on_guards_contacts_and_what_is_held(written, planned):
    for motion, entry in zip(planned.motions, written[1]["motions"], strict=True):
        assert [each["name"] for each in entry["holds"]] == [a.name for a in motion.attachments]
        assert {tuple(names) for names in entry["may_touch"]} == motion.allowed
        if motion.guard is None:
            assert entry["guard"] is None
        else:
            assert entry["guard"]["force"] == motion.guard.force
            assert entry["guard"]["speed"] == motion.guard.speed
            np.testing.assert_array_equal(entry["guard"]["direction"], motion.guard.direction)
    guards = [each["guard"] for each in written[1]["motions"] if each["phase"].endswith("lower")]
    assert guards
    assert all(guard["direction"][2] < -0.9 for guard in guards), "lowering feels for the ground"


def test_a_drawer_that_is_pulled_is_said_to_end_open(kitchen, robot, shared_world, tmp_path):
    pulled = errand(kitchen, shared_world, *DRAWER)
    with PyBulletWorld(kitchen, robot) as world:
        inner = KinematicExecutor(world, initial_state(kitchen))
        executor = FileExecutor(inner, kitchen, robot, tmp_path / "robot")
        execute_all(executor, pulled.motions, pulled.names)
        executor.close()
    index = json.loads((tmp_path / "robot" / INDEX).read_text())
    pull = index["motions"][pulled.of("| pull")]
    assert pull["holds"] == [{"kind": "joint", "name": "indigo_drawer_top_joint"}]
    assert pull["scene_joints_at_end"]["indigo_drawer_top_joint"] == pytest.approx(0.3, abs=1e-3)
    times = read_csv(tmp_path / "robot" / pull["file"])[1].times
    assert np.diff(times)[:-1] == pytest.approx(0.001)


def test_a_second_run_replaces_its_own_files_and_no_others(kitchen, robot, planned, tmp_path):
    """Until it is closed the index says that more may come; names may be such as no file has."""
    folder, strange = tmp_path / "robot", "../(pick Ünï/cödé) | " + 300 * "x"
    folder.mkdir()
    (folder / "notes.csv").write_text("mine")
    with PyBulletWorld(kitchen, robot) as world:
        for count in (4, 2):
            inner = KinematicExecutor(world, initial_state(kitchen))
            executor = FileExecutor(inner, kitchen, robot, folder)
            execute_all(executor, planned.motions[:count], (strange,) * count)
            index = json.loads((folder / INDEX).read_text())
            assert (len(index["motions"]), index["finished"]) == (count, False)
            executor.close()
    left = sorted(p.name for p in folder.iterdir())
    files = [name for name in left if re.match(r"\d{3}-", name)]
    assert [len(name) < 100 for name in files] == [True, True]
    assert (folder / "notes.csv").read_text() == "mine"
    assert not [name for name in left if "partial" in name]


def test_a_folder_that_can_not_be_is_refused(kitchen, robot, tmp_path):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "none" / "robot"):
        with pytest.raises(BadInput, match=r"can't be written|does not exist"):
            FileExecutor(None, kitchen, robot, folder)
