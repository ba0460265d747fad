"""Motions on disk come back as they were; other files are refused."""

import numpy as np
import pytest

from galley.domain.errors import BadInput
from galley.motion.motion import Attachment, Motion
from galley.motion.path import Path
from galley.motion.trajectory.store import load_motions, save_trajectories
from galley.motion.trajectory.timing import rest_to_rest
from galley.motion.trajectory.trajectory import Trajectory, read_trajectories


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


def rewritten(source, target, changes):
    """A copy of a file with some columns changed; without those that are None."""
    with np.load(source) as data:
        columns = dict(data) | changes
    np.savez(target, **{name: values for name, values in columns.items() if values is not None})
    return target


def assert_same(loaded, motions):
    assert len(loaded) == len(motions)
    for motion, back in zip(motions, loaded, strict=True):
        for field in ("action_index", "phase", "group", "attachments", "allowed"):
            assert getattr(back, field) == getattr(motion, field)
        np.testing.assert_array_equal(back.path.waypoints, motion.path.waypoints)
        np.testing.assert_array_equal(back.trajectory.breaks, motion.trajectory.breaks)
        np.testing.assert_array_equal(back.trajectory.coefficients, motion.trajectory.coefficients)


def test_saved_motions_come_back_bit_for_bit_with_what_moves_along(motions, tmp_path):
    file = tmp_path / "trajectories.npz"
    save_trajectories(file, motions)
    assert_same(load_motions(file), motions)
    assert [p.name for p in tmp_path.iterdir()] == [file.name], "nothing half-written is left"
    save_trajectories(file, ())
    assert load_motions(file) == ()


def test_a_trajectory_alone_has_the_form_of_many(motions, tmp_path):
    motions[1].trajectory.save(tmp_path / "one.npz")
    ((alone,), _) = read_trajectories(tmp_path / "one.npz")
    np.testing.assert_array_equal(alone.coefficients, motions[1].trajectory.coefficients)
    with pytest.raises(BadInput, match="without the motion"):
        load_motions(tmp_path / "one.npz")
    save_trajectories(tmp_path / "many.npz", motions[:1])
    assert Trajectory.load(tmp_path / "many.npz").group == "base"


@pytest.mark.parametrize(
    ("name", "values"),
    [
        *((name, None) for name in ("allowed", "0_waypoints", "action_index")),
        ("action_index", np.array([0.0, np.inf, 2.0])),
        ("action_index", np.array([0, 1])),
        ("phase", np.array([["a", "b"]] * 3)),
        ("phase", np.zeros(3)),
        *(("attachment", np.array([[k, "item", "mug"]])) for k in ("-1", "7", "x")),
        ("attachment", np.array(["0", "item", "mug"])),
        ("allowed", np.array([["3", "a", "b"]])),
        ("0_waypoints", np.full((3, 3), 1j)),
        ("0_waypoints", np.full((3, 3), np.nan)),
    ],
)
def test_columns_missing_or_of_another_kind_are_bad_input(name, values, motions, tmp_path):
    save_trajectories(tmp_path / "good.npz", motions)
    file = rewritten(tmp_path / "good.npz", tmp_path / "bad.npz", {name: values})
    with pytest.raises(BadInput, match="holds no motions") as caught:
        load_motions(file)
    assert len(str(caught.value).splitlines()) == 1
