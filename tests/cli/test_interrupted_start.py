"""Ctrl-C while a command is imported: one line and status 130."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

import galley.engine
from galley.tests.command_line import python

PLAN = ["plan"]
STARTS = {
    "galley": [str(Path(sys.executable).with_name("galley"))],
    "python -m galley": ["-m", "galley"],
    "python engine.py": [galley.engine.__file__],
}
# Ctrl-C in the import of a module, and code around it that swallows it.
AT_A_MOMENT = """
import signal, sys, time

class Finder:
    def find_spec(self, name, path, target=None):
        if name == "galley.planning":
            try:
                signal.raise_signal(signal.SIGINT)
            except BaseException:
                raise ImportError("what was raised here became another error")

def opened(event, arguments):
    if event == "open" and str(arguments[0]).endswith("task.pddl"):
        time.sleep(5.0)

sys.meta_path.insert(0, Finder())
sys.addaudithook(opened)
from galley.__main__ import main
sys.exit(main())
"""


@pytest.fixture(autouse=True)
def interruptible():
    """Where a shell has started the tests in the background, SIGINT is ignored in children too."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("start", STARTS)
def test_a_start_is_interrupted_in_one_line(start, tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-X", "importtime", *STARTS[start], *PLAN],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    for line in process.stderr:
        if "argparse" in line:  # the first import of the command line
            break
    process.send_signal(signal.SIGINT)
    said = [each for each in process.stderr if not each.startswith("import time:")]
    assert (process.wait(60), said) == (130, ["interrupted\n"])


def test_an_interruption_waits_for_the_end_of_an_import(tmp_path):
    done = python("-c", AT_A_MOMENT, *PLAN, cwd=tmp_path, timeout=60)
    assert (done.status, done.err) == (130, "interrupted\n")


INSIDE_NUMBA = """
import signal, sys, time
import galley.cli
from galley.__main__ import main

def run():
    try:
        exec("signal.raise_signal(signal.SIGINT); done.append(1)", {**names, "__name__": "numba.x"})
        time.sleep(30.0)
    except KeyboardInterrupt:
        print("kept", *done)
        return 130

done = []
names = {"signal": signal, "done": done}
galley.cli.main = run
sys.exit(main())
"""


def test_an_interruption_waits_until_numba_has_finished_what_a_report_still_needs():
    """Interrupted while it loads one, it loads no next one: 'generator raised StopIteration'."""
    code = f"exec({INSIDE_NUMBA!r}, {{'__name__': 'a_program'}})"
    assert python("-c", code, timeout=60) == (130, "kept 1\n", "")


def test_an_interruption_that_came_too_late_does_not_end_the_finished_process():
    code = (
        "import signal, sys\n"
        "import galley.__main__\n"
        "import galley.cli\n"
        "def run():\n"
        "    signal.setitimer(signal.ITIMER_REAL, 60.0)\n"
        "    return 0\n"
        "galley.cli.main = run\n"
        "print(galley.__main__.main(), *signal.getitimer(signal.ITIMER_REAL))"
    )
    assert python("-c", code, timeout=60) == (0, "0 0.0 0.0\n", "")
