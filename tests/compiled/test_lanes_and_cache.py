"""The vector type against numpy, and where compiled code is kept."""

import numpy as np
import pytest

from galley.compiled import jit
from galley.tests.command_line import python


@pytest.fixture(scope="module")
def operations():
    """One compiled function that runs every operation of ``lanes`` on two vectors."""
    from numba import njit

    from galley.compiled.lanes import (
        absolute,
        lane_indices,
        load,
        lowest_set_bit,
        maximum,
        minimum,
        nearest_integer,
        negative_mask,
        reduce_max,
        reduce_min,
        splat,
        square_root,
        store,
    )

    @njit
    def run(x, y, scalar, out, numbers):
        a, b = load(x, 0), load(y, 0)
        store(out, 0, a + b)
        store(out, 16, a - b)
        store(out, 32, a * b)
        store(out, 48, absolute(a))
        store(out, 64, square_root(absolute(a)))
        store(out, 80, nearest_integer(a))
        store(out, 96, maximum(a, b))
        store(out, 112, minimum(a, b))
        store(out, 128, splat(scalar) + lane_indices())
        numbers[0] = reduce_min(a)
        numbers[1] = reduce_max(a)
        bits = negative_mask(a)
        numbers[2] = bits
        numbers[3] = lowest_set_bit(bits) if bits != 0 else -1

    return run


@pytest.mark.parametrize("seed", range(20))
def test_sixteen_numbers_at_once_are_what_numpy_makes_of_them(operations, seed):
    rng = np.random.default_rng(seed)
    x, y = rng.normal(0.0, 10.0 ** rng.integers(-3, 4), (2, 16)).astype(np.float32)
    out, numbers = np.zeros(144, dtype=np.float32), np.zeros(4)
    operations(x, y, np.float32(3.5), out, numbers)
    rows = out.reshape(9, 16)
    expected = [x + y, x - y, x * y, np.abs(x), np.sqrt(np.abs(x)), np.rint(x)]
    expected += [np.maximum(x, y), np.minimum(x, y), np.float32(3.5) + np.arange(16)]
    for found, wanted in zip(rows, expected, strict=True):
        np.testing.assert_allclose(found, wanted, rtol=3e-7, atol=1e-30)
    below = np.flatnonzero(x < 0.0)
    assert numbers[0] == x.min()
    assert numbers[1] == x.max()
    assert numbers[2] == sum(1 << int(k) for k in below)
    assert numbers[3] == (below[0] if len(below) else -1)


@pytest.fixture
def folder(monkeypatch, tmp_path):
    """A cache folder of its own."""
    jit.cache_folder.cache_clear()
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    yield tmp_path
    jit.cache_folder.cache_clear()


def test_compiled_code_lies_in_a_folder_of_the_version_of_its_sources(folder):
    found = jit.cache_folder()
    assert found == folder / f"galley-{jit.digest()}"
    assert found.is_dir()


def test_compiled_code_is_kept_where_one_may_write(monkeypatch, tmp_path):
    version = f"galley-{jit.digest()}"
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    jit.cache_folder.cache_clear()
    assert jit.cache_folder() == tmp_path / "galley" / "numba" / version
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "own"))
    jit.cache_folder.cache_clear()
    assert jit.cache_folder() == tmp_path / "own" / version
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "file" / "below"))
    jit.cache_folder.cache_clear()
    assert jit.cache_folder() is None
    jit.cache_folder.cache_clear()


def test_versions_not_used_for_longest_are_removed(folder):
    import os

    for k in range(7):
        old = folder / f"galley-{k:012d}"
        old.mkdir()
        os.utime(old, (k, k))
    jit.cache_folder()
    left = sorted(path.name for path in folder.glob("galley-*"))
    assert f"galley-{jit.digest()}" in left
    assert left[0] == f"galley-{3:012d}"  # the latest four, and ours
    assert len(left) == 5


def test_versions_used_today_are_all_kept_as_others_may_be_writing_there(folder):
    for k in range(7):
        (folder / f"galley-{k:012d}").mkdir()
    jit.cache_folder()
    assert len(list(folder.glob("galley-*"))) == 8


def test_a_source_that_moved_is_an_error_not_a_stale_cache(monkeypatch):
    monkeypatch.setattr(jit, "_FROZEN", ("robots/gone.py",))
    with pytest.raises(FileNotFoundError, match="gone"):
        jit.digest.__wrapped__()


def test_constants_that_kernels_import_are_in_the_digest():
    import ast

    listed = set(jit.sources())
    missing = []
    for path in listed:
        if path.stem == "scene_kernel":  # calls kernels, is none
            continue
        for node in ast.parse(path.read_text()).body:
            if not isinstance(node, ast.ImportFrom) or not node.module.startswith("galley."):
                continue
            file = jit._ROOT.joinpath(*node.module.split(".")[1:]).with_suffix(".py")
            constants = [each.name for each in node.names if each.name.isupper()]
            if constants and file not in listed:
                missing.append(f"{path.name}: {node.module} {constants}")
    assert not missing, missing


def test_what_another_python_or_processor_compiled_counts_as_missing(folder, monkeypatch):
    from galley.compiled import build

    mine, other = build._runs_on(), "cpython-399-numba-9.0-abacus"
    monkeypatch.setattr(build, "_runs_on", lambda: other)
    build._stamp(jit.cache_folder(), build.TIMING).touch()
    assert build.missing(build.TIMING, build.KERNEL) == [build.KERNEL]
    monkeypatch.setattr(build, "_runs_on", lambda: mine)
    assert build.missing(build.TIMING) == [build.TIMING]


RUN = """\
import sys
from galley import engine
from galley.cli import main
from galley.compiled.build import entries
from galley.compiled.jit import compile_now

assert main(sys.argv[1:]) == 0
for part in engine.COMPILED:
    for function in entries(part):
        compile_now(function)
        if len(getattr(function, "overloads", ())) > 1:
            print("compiled for other types, too:", function.py_func)
"""


@pytest.mark.slow
def test_a_run_needs_nothing_that_was_not_compiled_before_planning(tmp_path):
    """A kernel that is called with an array of another layout would be compiled then and there."""
    options = ["--execute", "none", "--no-video", "--no-html", "--out", tmp_path / "run"]
    done = python("-c", RUN, "run", *options)
    assert done.status == 0, done.err
    assert "too:" not in done.out
