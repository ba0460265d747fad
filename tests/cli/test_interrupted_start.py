"""Ctrl-C while a command is imported: one line and status 130."""

import random
import signal
import subprocess
import sys
import time

import pytest

import galley.engine
from galley.domain.shipped import KITCHEN

PLAN = ["plan", str(KITCHEN / "kitchen.pddl"), str(KITCHEN / "task.pddl")]
ENTRY = "import sys; from galley.__main__ import main; sys.exit(main())"  # the console script's
STARTS = {
    "galley": ["-c", ENTRY],
    "python -m galley": ["-m", "galley"],
    "python engine.py": [galley.engine.__file__],
}


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("command", ["plan", "run"])
def test_a_start_is_interrupted_in_one_line(start, command, tmp_path):
    """From the first import of galley on: before that, Python itself starts."""
    arguments = PLAN if command == "plan" else ["run", "--execute", "none", "--no-video"]
    rng = random.Random(f"{start} {command}")
    statuses = set()
    for _ in range(6):
        process = subprocess.Popen(
            [sys.executable, "-X", "importtime", *STARTS[start], *arguments],
            cwd=tmp_path,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        for line in process.stderr:
            if line.endswith("| galley.__main__\n") or "argparse" in line:
                break
        time.sleep(rng.uniform(0.0, 0.1 if command == "plan" else 1.0))
        process.send_signal(signal.SIGINT)
        said = [each for each in process.stderr if not each.startswith("import time:")]
        status = process.wait(60)
        statuses.add(status)
        assert status in (0, 130), (status, said)
        if status == 130:
            (line,) = said
            assert line.startswith("interrupted")
    assert 130 in statuses
