"""One run at a time writes to a folder; what is in it is never taken for another run's."""

import contextlib
import signal
import subprocess
import sys

import pytest

from galley.domain.errors import BadInput
from galley.results.run_folder import (
    EARLIER,
    UNFINISHED,
    check_destination,
    claimed,
    folder_digests,
    run_folder,
)


def names(folder):
    return sorted(p.name for p in folder.iterdir())


def written(path, *files):
    """A run that ended in ``path``."""
    check_destination(path, "run")
    with run_folder(path, "run") as folder:
        for name in ("report.json", *files):
            (folder / name).write_text(name)
    return folder


def cut_short(path, error, *files):
    """A run that wrote some files to ``path`` when ``error`` came."""

    def work():
        with run_folder(path, "run") as folder:
            for name in files:
                (folder / name).write_text("new")
            raise error

    with pytest.raises(type(error)) as caught:
        work()
    return caught.value


def test_a_mark_stands_there_until_the_end(tmp_path):
    with run_folder(tmp_path / "deep" / "run", "run") as folder:
        assert UNFINISHED in names(folder)
        (folder / "report.json").write_text("{}")
    assert names(tmp_path / "deep") == ["run"]
    assert names(folder) == ["report.json"]


def test_an_older_run_is_put_away_at_once_and_replaced_as_a_whole(tmp_path):
    written(tmp_path / "run", "first")
    with run_folder(tmp_path / "run", "run") as folder:
        assert names(folder) == [UNFINISHED, EARLIER]
        assert names(folder / EARLIER) == ["first", "report.json"]
    written(tmp_path / "run", "second")
    assert names(tmp_path) == ["run"]
    assert names(tmp_path / "run") == ["report.json", "second"]


def test_an_interrupt_leaves_whole_files_only(tmp_path):
    written(tmp_path / "run", "older")
    files = ("plan.txt", "states.partial", ".trajectories.npz.partial", ".a.partial.mp4")
    cut_short(tmp_path / "run", KeyboardInterrupt(), *files)
    assert names(tmp_path) == ["run"]
    assert names(tmp_path / "run") == ["plan.txt"]


def test_a_fault_leaves_the_evidence_and_the_mark(tmp_path):
    written(tmp_path / "run", "older")
    cut_short(tmp_path / "run", ZeroDivisionError(), "report.json")
    assert names(tmp_path / "run") == [UNFINISHED, EARLIER, "report.json"]
    assert names(tmp_path / "run" / EARLIER) == ["older", "report.json"]
    cut_short(tmp_path / "run", BadInput.one("file", "is wrong"), "other")
    assert names(tmp_path / "run") == ["older", "report.json"], "the last run that ended"


@pytest.mark.parametrize(
    ("error", "files"),
    [(BadInput.one("file", "is wrong"), ["report.json"]), (ZeroDivisionError(), [])],
)
def test_a_run_of_which_nothing_is_kept_changes_nothing(tmp_path, error, files):
    cut_short(tmp_path / "deep" / "run", error, *files)
    assert names(tmp_path) == []
    written(tmp_path / "run", "older")
    cut_short(tmp_path / "run", error, *files)
    assert names(tmp_path / "run") == ["older", "report.json"]
    assert (tmp_path / "run" / "report.json").read_text() == "report.json"


def test_a_full_disk_is_told_with_the_folder(tmp_path):
    error = cut_short(tmp_path / "run", OSError(28, "No space left on device"), "plan.txt")
    assert error.__notes__ == [f"completed results are in {tmp_path}/run"]


HOLDS = """\
import sys
from pathlib import Path
from galley.results.run_folder import run_folder
with run_folder(Path(sys.argv[1]), "run") as folder:
    (folder / "report.json").write_text("new")
    print("holds", flush=True)
    sys.stdin.read()
"""


@contextlib.contextmanager
def held(path):
    """Another process that has the folder."""
    command = [sys.executable, "-c", HOLDS, str(path)]
    with subprocess.Popen(command, stdin=-1, stdout=-1, text=True) as process:
        assert process.stdout.readline() == "holds\n"
        yield process
        process.kill()


def test_a_second_run_is_refused_while_the_first_lives_and_not_after_it_was_killed(tmp_path):
    path = tmp_path / "run"
    written(path, "older")
    with held(path) as process:
        (tmp_path / "link").symlink_to("run")
        for name in (path, tmp_path / "link"):
            check_destination(name, "run")
            with pytest.raises(BadInput, match=rf"{process.pid}\) is writing here: .*--out"):
                cut_short(name, AssertionError("it was let in"))
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert names(path) == [UNFINISHED, EARLIER, "report.json"]
    written(path, "newer")
    assert names(path) == ["newer", "report.json"]


def test_a_sweep_has_its_folder_for_itself_and_keeps_what_lies_there(tmp_path):
    for _ in range(2):
        with claimed(tmp_path / "s", "sweep", "sweep.json") as folder:
            (folder / "journal").touch()
            with pytest.raises(BadInput, match="writing here"), claimed(folder, "s", "sweep.json"):
                pass
    assert names(folder) == ["journal"]
    (folder / UNFINISHED).write_text("sweep.json: killed\n")
    check_destination(folder, "sweep", "sweep.json")
    with pytest.raises(BadInput, match="no run"):
        check_destination(folder, "run")


def test_links_stay_and_nothing_is_put_away_through_one(tmp_path):
    (tmp_path / "target").mkdir()
    (tmp_path / "link").symlink_to("target")
    written(tmp_path / "link")
    assert names(tmp_path / "target") == ["report.json"]
    assert (tmp_path / "link").is_symlink()
    written(tmp_path / "run")
    (tmp_path / "run" / EARLIER).symlink_to(tmp_path / "target")
    cut_short(tmp_path / "run", BadInput.one("file", "is wrong"), "other")
    written(tmp_path / "run")
    assert names(tmp_path / "run") == names(tmp_path / "target") == ["report.json"]


def test_a_link_to_nowhere_is_refused_and_an_empty_folder_is_not(tmp_path):
    (tmp_path / "link").symlink_to("nowhere")
    with pytest.raises(BadInput, match="is a file"):
        check_destination(tmp_path / "link", "run")
    (tmp_path / "run").mkdir()
    check_destination(tmp_path / "run", "run")
    assert list((tmp_path / "run").iterdir()) == [], "looking must leave nothing behind"


def test_names_do_not_collide_within_a_second(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("time.strftime", lambda form: "now")
    with contextlib.ExitStack() as stack:
        for _ in range(3):
            check_destination(None, "task")
            (stack.enter_context(run_folder(None, "task")) / "report.json").touch()
    assert names(tmp_path / "runs") == ["task-now", "task-now-2", "task-now-3"]


def test_digests_are_of_what_the_run_wrote(tmp_path):
    folder = written(tmp_path / "run", "a")
    (folder / "robot").mkdir()
    (folder / "robot" / "b").write_bytes(b"")
    empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert list(folder_digests(folder)) == ["a", "robot/b"]
    assert folder_digests(folder)["robot/b"] == empty
