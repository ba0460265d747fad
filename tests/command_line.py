"""The command line as a user calls it, in this process or in one of its own."""

import contextlib
import io
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

import galley
from galley.cli import main
from galley.domain.shipped import KITCHEN

ROOT = Path(galley.__file__).parent

# CI runs the slow tests with the lowest priority beside the others, where a second takes ten.
HANGS_S = 1800


class Done(NamedTuple):
    """What a command left on the terminal."""

    status: int
    out: str
    err: str

    @property
    def faults(self):
        """Lines on stderr."""
        return self.err.splitlines()


def _status(arguments):
    """The exit status of the console entry point, in this process."""
    handler = signal.getsignal(signal.SIGTERM)
    try:
        return main([str(a) for a in arguments])
    except SystemExit as end:  # argparse ends the process on a usage error
        return end.code
    finally:
        signal.signal(signal.SIGTERM, handler)


def command(*arguments, cwd="."):
    """``command("run", "--seed", 3, cwd=folder)``: a command in this process, for any fixture.

    Unlike ``cli`` it needs no fixture, so that those of a module or a session can call it.
    """
    out, err = io.StringIO(), io.StringIO()
    streams = contextlib.redirect_stdout(out), contextlib.redirect_stderr(err)
    with pytest.MonkeyPatch.context() as patch, contextlib.chdir(cwd), streams[0], streams[1]:
        patch.delenv("COLUMNS", raising=False)  # tables are as wide as in a file
        status = _status(arguments)
    return Done(status, out.getvalue(), err.getvalue())


@pytest.fixture
def cli(capfd, monkeypatch):
    """``cli("plan", domain, problem)``: a command in this process; hears its children too."""
    monkeypatch.delenv("COLUMNS", raising=False)

    def run(*arguments):
        capfd.readouterr()
        return Done(_status(arguments), *capfd.readouterr())

    return run


def environment(**more):
    """The present one without what could hide a fault of the installation."""
    found = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHASHSEED")}
    return found | more


def python(*arguments, timeout=HANGS_S, **more):
    """What Python does with these arguments in a process of its own."""
    words = [sys.executable, *map(str, arguments)]
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, timeout=timeout, **more
    )
    return Done(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="session")
def engine():
    """``engine("--no-video")``: ``python engine.py`` in a process of its own."""

    def run(*arguments, cwd=None, **variables):
        env = environment(**variables)
        return python(ROOT / "engine.py", *arguments, cwd=cwd, env=env)

    return run


@pytest.fixture
def here(tmp_path, monkeypatch):
    """An empty folder that is the present one; nothing may be left in it by a failing command."""
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def variant(tmp_path):
    """``variant((old, new), ...)``: the shipped scene with each text replaced; its file."""
    folder = tmp_path / "variant"
    shutil.copytree(KITCHEN / "textures", folder / "textures")

    def write(*changes):
        text = (KITCHEN / "kitchen.yaml").read_text()
        for old, new in changes:
            assert text.count(old) == 1, f"{old!r} stands there {text.count(old)} times"
            text = text.replace(old, new)
        file = folder / "scene.yaml"
        file.write_text(text)
        return file

    return write


@pytest.fixture
def problem(tmp_path):
    """``problem(goal)``: a problem in the shipped kitchen; its file."""

    def write(goal, objects="", init="(on sugar burner) (on spam burner)"):
        file = tmp_path / "problem.pddl"
        file.write_text(
            "(define (problem made-here)\n"
            "  (:domain kitchen)\n"
            "  (:objects countertop burner drawer center - furniture\n"
            f"    sugar spam - objective h1 - hand {objects})\n"
            f"  (:init (near center) (empty h1) {init})\n"
            f"  (:goal {goal}))\n"
        )
        return file

    return write


def line_of(file, text):
    """Number of the one line of a file that contains ``text``."""
    found = [k for k, line in enumerate(file.read_text().splitlines(), 1) if text in line]
    assert len(found) == 1, (text, found)
    return found[0]


@pytest.fixture(name="line_of")
def line_of_fixture():
    return line_of
