"""A sweep that was stopped goes on; what it prints and keeps doesn't depend on the workers."""

import io
import json
import os
import signal
import subprocess
import sys
import time

import pytest

from galley.domain.errors import BadInput
from galley.sweeps import Journal, digest
from galley.tests.sweeps.squares import Job, squares


@pytest.fixture(autouse=True)
def compiled(monkeypatch):
    """Nothing is compiled for squares."""
    monkeypatch.setattr("galley.compiled.build.ensure", lambda *parts, listener: 0.0)


def ran(folder):
    """Numbers that were squared, in order of their beginning."""
    return [int(line) for line in (folder / "runs").read_text().split()]


def table(text):
    return text[text.index("number") :]


# -- the file -------------------------------------------------------------------------------------


def test_what_was_added_is_read_for_the_same_settings_only(tmp_path):
    journal = Journal(tmp_path / "a.jsonl")
    assert journal.empty
    journal.add("one", "old", {"x": 1.5})
    journal.add("two", "old", {"x": [1, [2, 3]]})
    journal.add("one", "new", {"x": 2})
    journal.add("one", "old", {"x": 0.1 + 0.2})
    assert journal.read({"one": "old", "two": "new", "three": "old"}) == {"one": {"x": 0.1 + 0.2}}
    assert journal.read({"two": "old"}) == {"two": {"x": (1, (2, 3))}}
    journal.clear()
    assert journal.empty
    assert journal.read({"one": "old"}) == {}


@pytest.mark.parametrize("half", ['{"job": "two", "settings": "s", "x": 1', '{"job": "tw', "\xff"])
def test_a_half_written_line_does_not_count_nor_spoil_the_next(tmp_path, half):
    journal = Journal(tmp_path / "a.jsonl")
    journal.add("one", "s", {"x": 1})
    with open(journal.path, "a", encoding="latin-1") as stream:
        stream.write("\n" + half)
    assert journal.read({"one": "s", "two": "s"}) == {"one": {"x": 1}}
    journal.add("two", "s", {"x": 2})
    assert journal.read({"one": "s", "two": "s"}) == {"one": {"x": 1}, "two": {"x": 2}}


def test_a_digest_follows_contents_and_settings(tmp_path):
    a, b = tmp_path / "a", tmp_path / "b"
    a.write_text("1")
    b.write_text("2")
    first = digest([a, b], ("smooth", 1.0))
    assert digest([b, a], ("smooth", 1.0)) == first
    assert digest([a, b], ("none", 1.0)) != first
    b.write_text("3")
    assert digest([a, b], ("smooth", 1.0)) != first
    with pytest.raises(BadInput, match="no such file"):
        digest([tmp_path / "c"])


# -- the sweep ------------------------------------------------------------------------------------


def test_table_and_summary_are_the_same_for_one_and_three_workers(tmp_path):
    told = {}
    for workers in (1, 3):
        jobs = [Job(k, tmp_path / "runs", seconds=0.02 * (6 - k)) for k in range(6)]
        out = io.StringIO()
        assert squares(tmp_path / str(workers), jobs, workers, out=out).run() == 0
        told[workers] = (
            table(out.getvalue()),
            (tmp_path / str(workers) / "squares.json").read_bytes(),
        )
    assert told[1] == told[3]
    assert "ValueError: three is odd" in told[1][0]


def test_a_sweep_that_was_killed_goes_on_where_it_was(tmp_path):
    home = tmp_path / "out"
    command = [sys.executable, "-m", "galley.tests.sweeps.squares", str(home)]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True) as process:
        journal, deadline = home / "squares.jsonl", time.monotonic() + 60.0
        while time.monotonic() < deadline and not (
            journal.exists() and journal.read_bytes().count(b"\n") >= 3
        ):
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGKILL)
    done = [json.loads(line)["job"] for line in journal.read_text().splitlines()]
    assert 3 <= len(done) < 8
    assert not json.loads((home / "squares.json").read_text())["finished"]
    before, out = ran(tmp_path), io.StringIO()

    jobs = [Job(k, tmp_path / "runs") for k in range(8)]
    assert squares(home, jobs, out=out).run() == 0
    good = [name for name in done if name != "3"]  # what was lost is tried again
    assert f"resuming: {len(good)} of 8 runs were completed" in out.getvalue()
    again = ran(tmp_path)[len(before) :]
    assert again == [k for k in range(8) if str(k) not in good]

    whole = io.StringIO()
    squares(tmp_path / "whole", jobs, out=whole).run()
    assert table(out.getvalue()) == table(whole.getvalue())
    summaries = [(folder / "squares.json").read_bytes() for folder in (home, tmp_path / "whole")]
    assert summaries[0] == summaries[1]


def test_a_killed_worker_costs_its_own_job_and_only_that_is_done_again(tmp_path):
    deadly, home = tmp_path / "deadly", tmp_path / "out"
    deadly.touch()
    jobs = [Job(k, tmp_path / "runs", deadly if k == 4 else None) for k in range(6) if k != 3]
    squares(home, jobs, 2).run()
    summary = json.loads((home / "squares.json").read_text())
    assert summary["squares"]["4"] == {"lost": "its worker process died"}
    assert sorted(k for k, v in summary["squares"].items() if "square" in v) == list("0125")
    before = ran(tmp_path)
    deadly.unlink()
    squares(home, jobs, 2).run()
    assert ran(tmp_path)[len(before) :] == [4]


def test_other_settings_and_a_finished_sweep_begin_anew(tmp_path):
    home = tmp_path / "out"
    jobs = [Job(k, tmp_path / "runs") for k in range(3)]
    squares(home, jobs).run()
    squares(home, jobs).run()
    assert ran(tmp_path) == [0, 1, 2, 0, 1, 2]
    assert len((home / "squares.jsonl").read_text().splitlines()) == 3
    out = io.StringIO()
    more = [*jobs, Job(7, tmp_path / "runs")]
    squares(home, more, settings="new", out=out).run()
    assert "have other settings: starting over" in out.getvalue()
    assert ran(tmp_path)[6:] == [0, 1, 2, 7]
