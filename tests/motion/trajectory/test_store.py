"""Motions on disk come back as they were; other files are refused."""

import zipfile

import numpy as np
import pytest

from galley.domain.errors import BadInput
from galley.motion.motion import Attachment, Motion
from galley.motion.path import Path
from galley.motion.trajectory.archive import STORE_VERSION
from galley.motion.trajectory.store import load_motions, save_trajectories
from galley.motion.trajectory.timing import rest_to_rest
from galley.motion.trajectory.trajectory import Trajectory
from galley.tests.motion.trajectory.readers import load_trajectories


@pytest.fixture
def motions(robot):
    rng = np.random.default_rng(0)
    made = []
    for k, (group, size) in enumerate((("base", 3), ("arm", 7), ("fingers", 2))):
        path = Path(group, 0.02 * rng.random((3 + k, size)))
        held = (Attachment("item", "mug"),) if k else ()
        led = (Attachment("joint", "drawer slide"),) if k == 2 else ()
        allowed = frozenset({("finger", "mug"), ("mug", "table")}) if k else frozenset()
        timed = rest_to_rest(path, robot.group(group))
        made.append(Motion(k, f"phase {k}", group, path, timed, held + led, allowed))
    return tuple(made)


def test_saved_trajectories_come_back_bit_for_bit(motions, tmp_path):
    file = tmp_path / "trajectories.npz"
    save_trajectories(file, motions)
    loaded = load_trajectories(file)
    assert [t.group for t in loaded] == ["base", "arm", "fingers"]
    for motion, trajectory in zip(motions, loaded, strict=True):
        np.testing.assert_array_equal(trajectory.breaks, motion.trajectory.breaks)
        np.testing.assert_array_equal(trajectory.coefficients, motion.trajectory.coefficients)
    with np.load(file, allow_pickle=False) as data:
        assert data["phase"].tolist() == ["phase 0", "phase 1", "phase 2"]
        assert data["action_index"].tolist() == [0, 1, 2]
        np.testing.assert_array_equal(data["1_waypoints"], motions[1].path.waypoints)
    assert [p.name for p in tmp_path.iterdir()] == [file.name], "nothing half-written is left"


def test_saved_motions_come_back_with_what_moves_along(motions, tmp_path):
    save_trajectories(tmp_path / "t.npz", motions)
    loaded = load_motions(tmp_path / "t.npz")
    for motion, back in zip(motions, loaded, strict=True):
        assert (back.action_index, back.phase, back.group) == (
            motion.action_index,
            motion.phase,
            motion.group,
        )
        assert back.attachments == motion.attachments
        assert back.allowed == motion.allowed
        np.testing.assert_array_equal(back.path.waypoints, motion.path.waypoints)
        np.testing.assert_array_equal(back.trajectory.coefficients, motion.trajectory.coefficients)


def without(source, target, version, *names):
    """A copy of an archive as an earlier version would have written it."""
    with np.load(source) as data:
        columns = {name: values for name, values in data.items() if name not in names}
    columns["store_version"] = np.array(version)
    np.savez(target, **columns)


def test_trajectories_of_version_1_are_still_read(motions, tmp_path):
    save_trajectories(tmp_path / "new.npz", motions)
    without(tmp_path / "new.npz", tmp_path / "old.npz", 1, "attachment", "allowed")
    old, new = (load_trajectories(tmp_path / f"{name}.npz") for name in ("old", "new"))
    for a, b in zip(old, new, strict=True):
        np.testing.assert_array_equal(a.coefficients, b.coefficients)
    with pytest.raises(BadInput, match="older version"):
        load_motions(tmp_path / "old.npz")


def test_one_form_for_one_and_for_many(motions, tmp_path):
    motions[1].trajectory.save(tmp_path / "one.npz")
    (alone,) = load_trajectories(tmp_path / "one.npz")
    np.testing.assert_array_equal(alone.coefficients, motions[1].trajectory.coefficients)
    with pytest.raises(BadInput, match="without the motion"):
        load_motions(tmp_path / "one.npz")
    save_trajectories(tmp_path / "many.npz", motions[:1])
    assert Trajectory.load(tmp_path / "many.npz").group == "base"


@pytest.mark.parametrize("name", ["attachment", "allowed", "0_waypoints", "action_index"])
def test_motions_with_a_column_missing_are_bad_input(name, motions, tmp_path):
    save_trajectories(tmp_path / "good.npz", motions)
    without(tmp_path / "good.npz", tmp_path / "bad.npz", STORE_VERSION, name)
    with pytest.raises(BadInput, match="holds no motions"):
        load_motions(tmp_path / "bad.npz")


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("action_index", np.array([0.0, np.inf, 2.0])),
        ("action_index", np.array([[0, 1, 2]])),
        ("action_index", np.array([0, 1])),
        ("phase", np.array([["a", "b"]] * 3)),
        ("phase", np.array(["a", "b"])),
        ("phase", np.zeros(3)),
        *(("attachment", np.array([[k, "item", "mug"]])) for k in ("-1", "7", "x")),
        ("attachment", np.array([["0", "it"]])),
        ("allowed", np.array([["-1", "a", "b"]])),
        ("allowed", np.array([["3", "a", "b"]])),
        ("attachment", np.array(["0", "item", "mug"])),
        ("0_waypoints", np.full((3, 3), 1j)),
        ("0_waypoints", np.full((3, 3), np.nan)),
        ("0_waypoints", np.zeros(3)),
    ],
)
def test_columns_of_another_kind_are_bad_input(name, values, motions, tmp_path):
    save_trajectories(tmp_path / "good.npz", motions)
    with np.load(tmp_path / "good.npz") as data:
        np.savez(tmp_path / "bad.npz", **(dict(data) | {name: values}))
    with pytest.raises(BadInput, match="holds no motions") as caught:
        load_motions(tmp_path / "bad.npz")
    assert len(str(caught.value).splitlines()) == 1


def test_no_motions_are_an_empty_store(tmp_path):
    save_trajectories(tmp_path / "none.npz", ())
    assert load_trajectories(tmp_path / "none.npz") == ()


def test_another_version_is_refused(motions, tmp_path):
    save_trajectories(tmp_path / "a.npz", motions)
    with np.load(tmp_path / "a.npz") as data:
        columns = dict(data)
    columns["store_version"] = np.array(STORE_VERSION + 1)
    np.savez(tmp_path / "b.npz", **columns)
    with pytest.raises(BadInput, match=f"version {STORE_VERSION + 1}"):
        load_trajectories(tmp_path / "b.npz")


@pytest.mark.parametrize(
    "kind", ["missing", "empty", "text", "zip", "cut", "npy", "other", "column", "header"]
)
def test_what_holds_no_trajectories_is_bad_input(kind, motions, tmp_path):
    file = tmp_path / "file.npz"
    save_trajectories(tmp_path / "good.npz", motions)
    good = (tmp_path / "good.npz").read_bytes()
    match kind:
        case "empty":
            file.write_bytes(b"")
        case "text":
            file.write_text("hello")
        case "zip":
            file.write_bytes(b"PK\x03\x04" + bytes(60))
        case "cut":
            file.write_bytes(good[: len(good) // 2])
        case "npy":
            with open(file, "wb") as stream:
                np.save(stream, np.zeros(3))
        case "header":  # of an array inside: numpy gives up in a way of its own
            with zipfile.ZipFile(tmp_path / "good.npz") as old, zipfile.ZipFile(file, "w") as new:
                for name in old.namelist():
                    data = old.read(name)
                    new.writestr(name, data.replace(b"}", b"(") if name == "group.npy" else data)
        case "other":
            np.savez(file, a=np.zeros(3))
        case "column":
            with np.load(tmp_path / "good.npz") as data:
                columns = {name: values for name, values in data.items() if name != "1_breaks"}
            np.savez(file, **columns)
    with pytest.raises(BadInput) as caught:
        load_trajectories(file)
    assert caught.value.errors[0].file == str(file)
