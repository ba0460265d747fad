"""What docs/motion.md and docs/compiled.md show first does what they say."""

from __future__ import annotations

import importlib
import re
from pathlib import Path as File

import numpy as np
import pytest

from galley.compiled import jit
from galley.motion.path import Path
from galley.tests.collision.kernel.support import bullet, dense

DOCS = File(__file__).parents[2] / "docs"
FINGERS_CLOSED = np.zeros(2)
BULLETS_MARGIN = 0.0025  # m that Bullet may add around meshes


def blocks(page):
    return re.findall(r"^```python\n(.*?)^```", (DOCS / f"{page}.md").read_text(), re.S | re.M)


@pytest.fixture(scope="module")
def example():
    """The names that the first example of docs/motion.md leaves behind."""
    names = {}
    exec(compile(blocks("motion")[0], "docs/motion.md", "exec"), names)
    return names


def deepest(example, points):
    """The nearest pair that PyBullet finds on a polygon, and its distance (m)."""
    solids = {name: example[name] for name in ("table", "post", "lamp")}
    with bullet(example["world"].robot, solids) as engine:
        found = [
            (distance, names)
            for q in dense(points, 0.02)
            for names, distance in engine.distances(np.r_[q, FINGERS_CLOSED], 0.0).items()
        ]
    return min(found, default=(0.0, ()))


def test_the_example_gives_a_path_that_pybullet_finds_free(example):
    path = example["path"]
    assert isinstance(path, Path)
    np.testing.assert_array_equal(path.start, example["start"])
    np.testing.assert_array_equal(path.end, example["goal"])
    assert deepest(example, path.waypoints)[0] > -BULLETS_MARGIN
    assert example["world"].view("arm").unproven(path.waypoints, 0.0025) is None


def test_the_straight_way_of_the_example_hits_its_post(example):
    """Otherwise the example would need no planner, and the test above could not fail."""
    distance, names = deepest(example, np.array([example["start"], example["goal"]]))
    assert distance < -0.02
    assert "post" in names


def test_the_example_of_a_compiled_function_computes_lengths(tmp_path, monkeypatch):
    kernel, caller = blocks("compiled")[:2]
    (tmp_path / "norms_kernel.py").write_text(kernel)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(jit, "cache_folder", lambda: None)  # nothing of it stays
    importlib.invalidate_caches()
    names = {}
    exec(compile(caller, "docs/compiled.md", "exec"), names)
    points = np.random.default_rng(0).normal(size=(37, 3))
    np.testing.assert_allclose(names["lengths"](points), np.linalg.norm(points, axis=1), rtol=1e-6)
