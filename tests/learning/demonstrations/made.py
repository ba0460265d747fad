"""Episodes and collections that the tests of demonstrations share."""

from __future__ import annotations

import resource
import signal
import time
from contextlib import contextmanager

import numpy as np

from galley.learning.demonstrations import Collection, Episode

COLLECTION = Collection(
    "Push a T onto its place",
    {"task": "push-t", "speed": 0.5},
    licence="CC0-1.0",
    description="Made by a test.",
    arrays={"state": "pusher x, y; block x, y (m), angle (rad), world frame"},
)


def episode(seed, length=None, image=True):
    """As of Push-T, with other numbers for every seed."""
    rng = np.random.default_rng(seed)
    T = int(rng.integers(3, 40)) if length is None else length
    observations = {
        "state": rng.normal(size=(T, 5)),
        "keypoint": rng.normal(size=(T, 9, 2)).astype(np.float32),
        "n_contacts": rng.integers(0, 3, size=(T, 1)),
        "touching": rng.random((T, 2)) > 0.5,
    }
    if image:
        observations["img"] = rng.integers(0, 256, size=(T, 16, 12, 3)).astype(np.uint8)
    return Episode(
        observations,
        rng.normal(size=(T, 2)),
        np.arange(T) / 10 + 0.3,
        success=seed % 3 != 0,
        seed=seed,
        metadata={"task": f"task {seed % 2}", "demonstrator": "scripted", "n": seed},
    )


def run_seed(seed):
    """What a demonstrator would do."""
    return episode(seed)


def run_slowly(seed):
    """So that a kill finds it at work."""
    time.sleep(0.01)
    return episode(seed, length=400)


def raise_at_three(seed):
    """A demonstrator that fails."""
    if seed == 3:
        raise RuntimeError("no plan for seed 3")
    return episode(seed)


@contextmanager
def full_disk(free):
    """No file grows beyond so many bytes, as on a disk that is full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (free, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)


def assert_same(a, b, exactly=True):
    """The two episodes are equal; floats as float32 where not exactly."""
    assert a.info == b.info if exactly else a.info.length == b.info.length
    assert set(a.arrays) == set(b.arrays)
    np.testing.assert_array_equal(a.times, b.times)
    for name, array in a.arrays.items():
        other = b.arrays[name]
        if not exactly and array.dtype == np.float64:
            array = array.astype(np.float32)
        assert other.dtype == array.dtype, name
        np.testing.assert_array_equal(other, array, err_msg=name)
