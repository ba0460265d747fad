"""What lies in ``--out``: of one run alone, told when it is incomplete, whatever ended the run."""

import json
import os
import subprocess
import sys

import pytest

from galley.results.run_folder import UNFINISHED
from galley.tests.command_line import ROOT, environment, python
from galley.tests.effort import quick_first

LIMITED = """\
import resource, sys
name = sys.argv.pop(1)
def full(event, arguments):
    if event == "open" and name in str(arguments[0]):
        resource.setrlimit(resource.RLIMIT_FSIZE, (10, resource.RLIM_INFINITY))
sys.addaudithook(full)
from galley.cli import main
sys.exit(main())
"""


@pytest.fixture
def errand(problem):
    """Options of a run that takes a second: its goal holds already."""
    return (
        "--problem",
        problem("(on sugar burner)"),
        "--no-video",
        "--no-html",
        "--execute",
        "kinematic",
    )


def test_files_of_two_runs_in_one_folder_are_noticed(cli, here, errand):
    for name in ("a", "b"):
        done = cli("run", *errand, "--seed", 0 if name == "a" else 1, "--out", here / name)
        assert done.status == 0, done.err
    report = json.loads((here / "a" / "report.json").read_text())
    own = {name for name in report["files"] if not name.startswith("inputs/")}
    assert own == {"plan.txt", "trajectories.npz", "states.npz"}
    assert cli("verify", "run", here / "a").status == 0
    (here / "a" / "plan.txt").write_text("(of another run)\n")
    done = cli("verify", "run", here / "a")
    assert done.status == 1
    assert done.faults == [
        f"failed: plan.txt is not the file that {here}/a/report.json describes: it was changed, or "
        "comes from another run"
    ]
    cli("verify", "run", here / "a", "--json", here / "verdict.json")
    assert json.loads((here / "verdict.json").read_text())["changed_files"]
    (here / "b" / "plan.txt").unlink()
    assert cli("verify", "run", here / "b").status == 0, "what was thrown away does not mislead"


@pytest.mark.slow
def test_after_a_kill_no_older_report_passes_for_the_run(cli, here, errand):
    out = here / "run"
    assert cli("run", *errand, "--out", out).status == 0
    command = [sys.executable, "-u", str(ROOT / "engine.py"), *map(str, errand)]
    command += ["--seed", "7", "--out", str(out)]
    with subprocess.Popen(command, stdout=-1, text=True, env=environment()) as process:
        for line in process.stdout:
            if line.rstrip().endswith("task and motion planning"):
                break
        done = cli("run", *errand, "--out", out)
        assert done.status == 2
        assert done.err.startswith(f"{out}: a run that began at ")
        assert "choose another --out" in done.err
        process.kill()
    assert UNFINISHED in os.listdir(out)
    report = json.loads((out / "report.json").read_text())
    assert (report["status"], report["seed"]) == ("unfinished", 7)
    for words in (("verify", "run"), ("trajectory",)):
        done = cli(*words, out)
        assert done.status == 2
        assert "has not ended, or was cut short" in done.err
    assert cli("run", *errand, "--out", out).status == 0
    names = {"plan.txt", "report.json", "states.npz", "trajectories.npz", "inputs"}
    assert set(os.listdir(out)) == names
    assert os.listdir(here) == ["run"]


@pytest.mark.parametrize("name", quick_first(1, ["report.json", "UNFINISHED", "states.npz"]))
def test_a_full_disk_is_told_with_the_folder(here, errand, name):
    """A limit on the size of files, from one of them on, stands for a disk that is full."""
    words = [name, "run", *errand, "--out", here / "run"]
    done = python("-c", LIMITED, *words, env=environment())
    assert done.status == 1
    assert done.err.startswith("cannot continue: ")
    assert f"{here}/run" in done.err
    assert "file too large" in done.err.lower()
    assert done.err.count("\n") == 1
    assert not (here / "run").exists() or UNFINISHED in os.listdir(here / "run")
