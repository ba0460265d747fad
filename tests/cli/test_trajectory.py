"""``galley trajectory``: table, limits, torques and export, on a small run made by hand."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import galley
from galley.domain.state import initial_state
from galley.motion.effects import effects
from galley.motion.motion import Attachment, Motion
from galley.motion.path import Path as JointPath
from galley.motion.trajectory.store import save_trajectories
from galley.motion.trajectory.timing import rest_to_rest
from galley.motion.trajectory.trajectory import Trajectory, slowed
from galley.optimization.torques import HeldItem, TorqueModel
from galley.results.report import Report
from galley.results.run_folder import keep_inputs
from galley.robots.panda.models import mobile_panda
from galley.tests.motion.trajectory.readers import read_csv, read_ros

KITCHEN = Path(galley.__file__).parent / "domain" / "kitchen" / "kitchen.yaml"


def planned(scene, moves):
    """Motions one after another from the scene's start: (group, how far each joint goes, item)."""
    robot = mobile_panda(scene.robot.base)
    q = scene.robot.q.copy()
    motions = []
    for k, (group, step, item) in enumerate(moves):
        at = robot.slice(group)
        end = q.copy()
        end[at] += step
        path = JointPath(group, np.array([q[at], end[at]]))
        attachments = (Attachment("item", item),) if item else ()
        timed = rest_to_rest(path, robot.group(group))
        motions.append(Motion(k // 2, f"phase {k}", group, path, timed, attachments))
        q = end
    return robot, tuple(motions)


MOVES = (
    ("base", [0.1, -0.1, -0.2], ""),
    ("arm", [0.2, 0.3, -0.1, 0.4, 0.2, -0.5, 0.3], ""),
    ("fingers", [-0.01, -0.01], ""),
    ("arm", [-0.2, 0.1, 0.1, 0.2, 0.0, -0.2, 0.1], "block"),
)


@pytest.fixture
def recorded(small_scene, tmp_path):
    """A run's folder, and what is in it."""
    scene = replace(small_scene)
    robot, motions = planned(scene, MOVES)
    folder = tmp_path / "recorded"
    folder.mkdir()
    save_trajectories(folder / "trajectories.npz", motions)
    keep_inputs(folder, scene.source, "", "")
    tell(folder, "(navigate table)", "(pick block h1)")
    return folder, scene, robot, motions


def tell(folder, *plan):
    """Write the report of a run with this plan."""
    report = Report("", "", "", {"seed": 0}).as_json() | {"plan": plan, "files": {}}
    (folder / "report.json").write_text(json.dumps(report))


def rows(out):
    """The table's lines by motion number."""
    return {int(line.split()[0]): line for line in out.splitlines() if line.strip()[:1].isdigit()}


def test_the_table_has_a_row_for_each_motion_with_its_figures(recorded, cli):
    folder, _, _, motions = recorded
    done = cli("trajectory", folder)
    assert (done.status, done.err) == (0, "")
    table = rows(done.out)
    assert sorted(table) == [0, 1, 2, 3]
    for k, motion in enumerate(motions):
        assert f"phase {k}" in table[k]
        assert f"{motion.trajectory.duration:.2f}" in table[k]
        assert f"{np.linalg.norm(motion.path.end - motion.path.start):.3f}" in table[k]
        assert "100" in table[k].split(), "rest to rest uses one of the limits in full"
    assert "navigate table" in table[0]
    assert "pick block h1" in table[2]


def test_torques_count_what_the_hand_holds(recorded, cli):
    folder, scene, robot, motions = recorded
    state = initial_state(scene)
    for motion in motions:  # where the last one begins
        model = effects(scene, robot, motion, state)
        state = model.at(motion.path.end)
    X_HI = model.state.items[0].X_PI
    loaded = TorqueModel(robot, HeldItem(scene.items[0], X_HI))
    check = loaded.check(motions[3].trajectory, model.state.q)
    empty = TorqueModel(robot).check(motions[3].trajectory, model.state.q)
    assert str(check) != str(empty)
    done = cli("trajectory", folder, "--motion", 3)
    assert str(check) in done.out
    assert list(rows(done.out)) == [3]
    assert str(check) not in cli("trajectory", folder, "--motion", 3, "--no-torques").out
    other = cli("trajectory", folder, "--motion", 3, "--inertials", "urdf").out
    assert str(check) not in other
    assert "the URDF's" in other


def test_exports_hold_the_motion_that_was_named(recorded, cli, here):
    folder, _, robot, motions = recorded
    done = cli("trajectory", folder, "--motion", 1, "--csv", "a.csv", "--ros", "a.json")
    assert (done.status, done.err) == (0, "")
    assert sorted(p.name for p in here.iterdir()) == ["a.csv", "a.json"]
    arm = robot.group("arm")
    for read, rate in ((read_csv, 1000), (read_ros, 100)):
        joints, samples = read(here / ("a.csv" if rate == 1000 else "a.json"))
        assert joints == arm.joints
        expected = motions[1].trajectory.sampled(1 / rate)
        np.testing.assert_allclose(samples.times, expected.times, atol=1e-9)
        np.testing.assert_array_equal(samples.positions, expected.positions)


def test_a_trajectory_saved_alone_is_read_too(recorded, cli, here):
    _, _, _, motions = recorded
    motions[1].trajectory.save(here / "one.npz")
    done = cli("trajectory", here / "one.npz", "--csv", "one.csv")
    assert done.status == 0, done.err
    assert list(rows(done.out)) == [0]
    assert "the hand is assumed empty" in done.out  # held, as far as the file says
    assert (here / "one.csv").is_file()


@pytest.mark.parametrize(
    ("factor", "told"), [(0.5, "200.0 % of the velocity limit"), (0.1, "acceleration limit")]
)
def test_a_motion_too_fast_for_the_robot_is_told_with_status_1(factor, told, recorded, cli, here):
    arm = recorded[2].group("arm")
    path = JointPath("arm", np.array([arm.lower, arm.upper]) * 0.9)
    slowed(rest_to_rest(path, arm), factor).save(here / "fast.npz")
    done = cli("trajectory", here / "fast.npz")
    assert done.status == 1
    assert any(told in line and line.startswith("motion 0: ") for line in done.faults)
    assert any("too much" in line for line in done.faults), "torques, too"


def test_positions_beyond_the_limits_are_told(recorded, cli, here):
    arm = recorded[2].group("arm")
    q = 0.5 * (arm.lower + arm.upper)
    q[3] = arm.upper[3] + 0.02
    Trajectory("arm", np.array([0.0, 1.0]), q[None, None]).save(here / "far.npz")
    done = cli("trajectory", here / "far.npz", "--no-torques")
    assert done.status == 1
    assert done.faults == ["motion 0: panda_joint4 goes 0.02 rad beyond its limit"]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("nowhere",), "nowhere: no such file"),
        (("RUN", "--motion", 4), "has no motion 4: its motions are 0 to 3"),
        (("RUN", "--csv", "a.csv"), "holds 4 motions, but --csv and --ros write one"),
        (("RUN", "--motion", 1, "--csv", "a.txt"), "a.txt: --csv needs a name that ends in .csv"),
        (("RUN", "--motion", 1, "--ros", "report.json"), "report.json: is a run's report"),
        (("RUN", "--rate", "5"), "argument --rate: needs --csv or --ros"),
        (("RUN", "--no-torques", "--inertials", "urdf"), "not allowed with --no-torques"),
        (("RUN", "--scene", KITCHEN), "'block', which"),
    ],
)
def test_what_does_not_fit_is_bad_input(arguments, told, recorded, cli, here):
    arguments = [recorded[0] if a == "RUN" else a for a in arguments]
    done = cli("trajectory", *arguments)
    assert done.status == 2
    assert "Traceback" not in done.err
    assert told in done.faults[-1]
    assert done.out == ""
    assert list(here.iterdir()) == []


@pytest.mark.parametrize("text", ["{", '{"plan": 3}'])
def test_a_damaged_report_is_bad_input(text, recorded, cli):
    (recorded[0] / "report.json").write_text(text)
    done = cli("trajectory", recorded[0])
    assert done.status == 2
    assert len(done.faults) == 1
    assert "report.json" in done.faults[0]


@pytest.mark.parametrize("odd", ["start", "end"])
def test_a_trajectory_that_leaves_its_waypoints_is_refused(odd, recorded, cli):
    folder, _, robot, motions = recorded
    path, group = motions[1].path, robot.group("arm")
    points = path.waypoints.copy()
    points[{"start": 0, "end": -1}[odd]] += 0.05
    other = rest_to_rest(JointPath("arm", points), group)
    changed = (motions[0], replace(motions[1], trajectory=other), *motions[2:])
    save_trajectories(folder / "trajectories.npz", changed)
    done = cli("trajectory", folder, "--no-torques")
    assert done.status == 2
    assert done.faults == [
        f"{folder}/trajectories.npz: motion 1: its trajectory does not follow its waypoints"
    ]


def test_names_with_brackets_are_printed_as_they_are(recorded, cli, here):
    folder, *_ = recorded
    tell(folder, "(navigate [bold])", ":dog:")
    done = cli("trajectory", folder, "--motion", 1, "--csv", "[x].csv", "--no-torques")
    assert (done.status, done.err) == (0, "")
    assert "\n[x].csv: " in done.out
    assert "navigate [bold]" in rows(done.out)[1]
    assert ":dog:" in rows(cli("trajectory", folder, "--motion", 2, "--no-torques").out)[2]


@pytest.mark.parametrize(
    ("group", "size", "told"), [("legs", 7, "no joint group 'legs'"), ("arm", 6, "has 6 joints")]
)
def test_trajectories_of_other_robots_are_bad_input(group, size, told, cli, here):
    Trajectory(group, np.array([0.0, 1.0]), np.zeros((1, 1, size))).save(here / "x.npz")
    done = cli("trajectory", "x.npz")
    assert done.status == 2
    assert told in done.faults[0]


def test_a_run_of_an_older_version_is_shown_without_its_load(recorded, cli):
    folder, _, _, motions = recorded
    file = folder / "trajectories.npz"
    with np.load(file) as data:
        columns = {k: v for k, v in data.items() if k not in ("attachment", "allowed")}
    np.savez(file, **columns)
    done = cli("trajectory", folder)
    assert done.status == 0
    assert len(rows(done.out)) == len(motions)
    assert "does not record what it holds" in done.out
    refused = cli("trajectory", folder, "--mp4", "a.mp4")
    assert refused.status == 2


def test_a_motion_that_takes_ages_is_not_sampled(cli, here):
    Trajectory("arm", np.array([0.0, 1e6]), np.zeros((1, 1, 7))).save(here / "x.npz")
    done = cli("trajectory", "x.npz", "--csv", "x.csv")
    assert done.status == 2
    assert "too long to sample" in done.err
    assert not (here / "x.csv").exists()


@pytest.mark.slow
def test_the_film_shows_the_motion(recorded, cli, here):
    imageio = pytest.importorskip("imageio.v2")
    folder, _, _, motions = recorded
    done = cli("trajectory", folder, "--motion", 3, "--mp4", "a.mp4", "--no-torques")
    assert done.status == 0, done.err
    with imageio.get_reader(here / "a.mp4") as film:
        seconds = film.get_meta_data()["duration"]
        frames = [frame for k, frame in enumerate(film) if k in (0, 15)]
    assert seconds == pytest.approx(motions[3].trajectory.duration + 1.0, abs=0.2)
    assert np.abs(frames[0].astype(int) - frames[1]).max() > 40, "something moves"
    assert [p.name for p in here.iterdir()] == ["a.mp4"]
