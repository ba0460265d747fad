"""The run folder appears whole or not at all, and nothing else is harmed."""

import pytest

from galley.domain.errors import BadInput
from galley.results.run_folder import RunFolder, check_destination, new_name


def names(folder):
    return sorted(p.name for p in folder.iterdir())


def test_the_folder_appears_at_the_end(tmp_path):
    with RunFolder(tmp_path / "deep" / "run") as folder:
        (folder.partial / "report.json").write_text("{}")
        assert names(tmp_path / "deep") == [".run.partial"]
    assert names(tmp_path / "deep") == ["run"]
    assert names(tmp_path / "deep" / "run") == ["report.json"]


def test_an_older_run_is_replaced_as_a_whole(tmp_path):
    for name in ("first", "second"):
        check_destination(tmp_path / "run")
        with RunFolder(tmp_path / "run") as folder:
            (folder.partial / "report.json").write_text("{}")
            (folder.partial / name).touch()
    assert names(tmp_path) == ["run"]
    assert names(tmp_path / "run") == ["report.json", "second"]


def test_what_a_killed_run_left_is_swept(tmp_path):
    (tmp_path / ".run.partial").mkdir()
    (tmp_path / ".run.partial" / "old").touch()
    with RunFolder(tmp_path / "run") as folder:
        (folder.partial / "new").touch()
    assert names(tmp_path / "run") == ["new"]


def test_an_interrupt_publishes_without_half_written_files(tmp_path):
    def work():
        with RunFolder(tmp_path / "run") as folder:
            (folder.partial / "plan.txt").touch()
            (folder.partial / "states.partial").touch()
            (folder.partial / ".trajectories.npz.partial").touch()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        work()
    assert names(tmp_path) == ["run"]
    assert names(tmp_path / "run") == ["plan.txt"]


@pytest.mark.parametrize("wrote", [True, False])
def test_a_fault_publishes_nothing(tmp_path, wrote):
    def work():
        with RunFolder(tmp_path / "run") as folder:
            if wrote:
                (folder.partial / "evidence").touch()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        work()
    assert names(tmp_path) == ([".run.partial"] if wrote else [])


def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "target").mkdir()
    (tmp_path / "link").symlink_to("target")
    check_destination(tmp_path / "link")
    with RunFolder(tmp_path / "link") as folder:
        (folder.partial / "report.json").touch()
    assert names(tmp_path) == ["link", "target"]
    assert (tmp_path / "link").is_symlink()
    assert names(tmp_path / "target") == ["report.json"]


def test_a_link_to_nowhere_is_refused(tmp_path):
    (tmp_path / "link").symlink_to("nowhere")
    with pytest.raises(BadInput, match="is a file"):
        check_destination(tmp_path / "link")


def test_an_empty_folder_may_be_used(tmp_path):
    (tmp_path / "run").mkdir()
    check_destination(tmp_path / "run")
    assert list((tmp_path / "run").iterdir()) == [], "looking must leave nothing behind"


def test_names_do_not_collide(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("time.strftime", lambda form: "now")
    seen = []
    for _ in range(3):
        seen.append(str(new_name("task")))
        (tmp_path / seen[-1]).mkdir(parents=True)
    assert seen == ["runs/task-now", "runs/task-now-2", "runs/task-now-3"]
