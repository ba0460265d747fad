"""Motions on disk come back as they were; other files are refused."""

import numpy as np
import pytest

from galley.domain.errors import BadInput
from galley.motion.motion import Motion
from galley.motion.path import Path
from galley.motion.store import STORE_VERSION, load_trajectories, save_trajectories
from galley.motion.timing import rest_to_rest


@pytest.fixture
def motions(robot):
    rng = np.random.default_rng(0)
    made = []
    for k, (group, size) in enumerate((("base", 3), ("arm", 7), ("fingers", 2))):
        path = Path(group, 0.02 * rng.random((3 + k, size)))
        made.append(Motion(k, f"phase {k}", group, path, rest_to_rest(path, robot.group(group))))
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
    "kind", ["missing", "empty", "text", "zip", "cut", "npy", "other", "column"]
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
        case "other":
            np.savez(file, a=np.zeros(3))
        case "column":
            with np.load(tmp_path / "good.npz") as data:
                columns = {name: values for name, values in data.items() if name != "1_breaks"}
            np.savez(file, **columns)
    with pytest.raises(BadInput) as caught:
        load_trajectories(file)
    assert caught.value.errors[0].file == str(file)
