"""Compiling in children under a lock: who compiles, who waits, and what a kill leaves."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest

from galley.compiled.jit import digest
from galley.tests.command_line import HANGS_S

pytestmark = pytest.mark.slow  # each compiles for half a minute

# Compiles what forward and inverse kinematics need, and prints numbers that come of it.
_SCRIPT = """
import hashlib
import numpy as np
from numba.core import event
from galley.robots.panda.kinematics import inverse_batch, link_frames

with event.install_recorder("numba:compile") as seen:
    q = np.array([0.3, -0.4, 0.2, -1.9, 0.1, 1.7, 0.6])
    found = inverse_batch(link_frames(q)[8], np.linspace(0.2, 1.0, 9)).q
print("compiled here", len(seen.buffer))
print("numbers", len(found), hashlib.sha256(found.tobytes()).hexdigest())
"""


def started(folder, script=_SCRIPT):
    return subprocess.Popen(
        [sys.executable, "-c", script],
        env=os.environ | {"NUMBA_CACHE_DIR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(process):
    """What it printed (out, said), both as lines."""
    out, said = process.communicate(timeout=HANGS_S)
    assert process.returncode == 0, said
    return out.splitlines(), said.splitlines()


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """A folder, and what each of two processes printed that began with it empty."""
    folder = tmp_path_factory.mktemp("cache")
    first = started(folder)
    second = started(folder)
    return folder, [ended(first), ended(second)]


def test_of_two_processes_one_compiles_and_the_other_waits(compiled):
    _, runs = compiled
    waited = [any("waiting for another process" in line for line in said) for _, said in runs]
    assert sorted(waited) == [False, True]
    said = next(said for (_, said), other in zip(runs, waited, strict=True) if not other)
    assert "once per installation" in said[0]
    assert said[1:] == ["compiling: 0%", "compiling: 33%", "compiling: 67%"]


def test_the_process_that_works_loads_what_a_child_compiled(compiled):
    folder, runs = compiled
    later = ended(started(folder))
    assert later[1] == []  # nothing to say
    assert [out for out, _ in runs] == [later[0], later[0]], "the first run's numbers, bit for bit"
    assert later[0][0] == "compiled here 0"
    assert int(later[0][1].split()[1]) > 10


def test_a_kill_while_it_compiles_leaves_nothing_in_the_way(tmp_path, compiled):
    _, runs = compiled
    killed = started(tmp_path)
    for line in killed.stderr:
        if line.startswith("compiling: 33%"):
            break
    killed.send_signal(signal.SIGKILL)
    killed.communicate(timeout=HANGS_S)
    out, _ = ended(started(tmp_path))
    assert out == runs[0][0]


def test_where_nothing_can_be_written_it_compiles_in_memory_and_says_so(tmp_path):
    (tmp_path / "file").write_text("")
    out, said = ended(started(tmp_path / "file" / "below"))
    assert f"can't write to {tmp_path / 'file' / 'below'}" in said[0]
    assert "in memory" in said[0]
    assert all(line.startswith("compiling: ") for line in said[1:])
    assert int(out[0].split()[-1]) > 0


def test_a_child_that_fails_is_made_up_for(tmp_path):
    broken = "from galley.compiled import build; build._CHILD = 'raise MemoryError(1)'"
    out, said = ended(started(tmp_path, broken + _SCRIPT))
    assert "a child process failed: compiling in this process" in said
    assert int(out[0].split()[-1]) > 0


def test_something_in_the_lock_s_place_is_made_up_for(tmp_path):
    (tmp_path / f"galley-{digest()}" / "lock").mkdir(parents=True)
    out, said = ended(started(tmp_path))
    assert any("lock" in line and "compiling in this process" in line for line in said)
    assert int(out[0].split()[-1]) > 0
