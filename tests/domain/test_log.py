"""Logs are saved and loaded unchanged; other files are refused."""

from dataclasses import fields, replace

import numpy as np
import pytest

from galley.domain.errors import BadInput
from galley.domain.log import LOG_VERSION, Log


@pytest.fixture
def log():
    rng = np.random.default_rng(0)
    return Log(
        time=np.arange(5) / 10,
        q=rng.normal(size=(5, 12)),
        velocity=rng.normal(size=(5, 12)),
        command=rng.normal(size=(5, 12)),
        torque=np.full((5, 12), np.nan),
        scene_q=rng.normal(size=(5, 2)),
        items=rng.normal(size=(5, 1, 7)),
        held=np.array([-1, -1, 0, 0, -1]),
        motion=np.array([0, 0, 1, 1, 1]),
        motions=np.array(["pick a | close", "place a | open"]),
        declared=np.array([["0", "a", "b"], ["1", "a", "c"], ["1", "b", "c"], ["10", "x", "y"]]),
        guards=np.array([np.nan, 5.0]),
        ends=np.array(["grip, 12 N", ""]),
        names=np.array(["finger", "b", "a"]),
        contact_step=np.array([2]),
        contact_pair=np.array([[2, 0]]),
        contact_distance=np.array([-0.001]),
        contact_force=np.array([np.nan]),
        mode="kinematic",
        period=0.1,
        duration=0.4,
    )


def test_a_saved_log_comes_back_the_same(log, tmp_path):
    log.save(tmp_path / "states.npz")
    loaded = Log.load(tmp_path / "states.npz")
    for field in fields(Log):
        np.testing.assert_array_equal(getattr(loaded, field.name), getattr(log, field.name))
    assert [p.name for p in tmp_path.iterdir()] == ["states.npz"], "nothing half-written is left"
    with pytest.raises(ValueError, match="read-only"):
        loaded.q[0, 0] = 1.0
    assert (type(loaded.mode), type(loaded.period), type(loaded.duration)) == (str, float, float)


def test_a_log_without_contacts_and_declarations_comes_back(log, tmp_path):
    empty = replace(
        log,
        declared=np.empty((0, 3), dtype=np.str_),
        contact_step=np.empty(0, dtype=np.int64),
        contact_pair=np.empty((0, 2), dtype=np.int64),
        names=np.empty(0, dtype=np.str_),
        contact_distance=np.empty(0),
        contact_force=np.empty(0),
    )
    empty.save(tmp_path / "states.npz")
    loaded = Log.load(tmp_path / "states.npz")
    assert loaded.declared.shape == (0, 3)
    assert loaded.contact_pair.shape == (0, 2)


def test_a_contact_names_the_two_that_touch(log):
    assert log.touching(0) == ("a", "finger")


def test_another_version_is_refused_by_number(log, tmp_path):
    log.save(tmp_path / "a.npz")
    with np.load(tmp_path / "a.npz") as data:
        columns = dict(data)
    columns["log_version"] = np.array(LOG_VERSION + 1)
    np.savez(tmp_path / "b.npz", **columns)
    with pytest.raises(BadInput, match=f"version {LOG_VERSION + 1}"):
        Log.load(tmp_path / "b.npz")
