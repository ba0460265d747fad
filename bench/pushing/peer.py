"""gym-pusht in an environment of its own. gym-pusht 0.1.8 needs pymunk before 7."""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

PEER = "gym-pusht==0.1.8"
FOLDER = Path("runs/gym-pusht")


def peer() -> Path:
    """The Python of the peer's environment; made if it is not there."""
    python = FOLDER / "bin" / "python"
    if not (FOLDER / "made").exists():
        print(f"installing {PEER} in {FOLDER}", file=sys.stderr)
        venv.create(FOLDER, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "-q", PEER, "pymunk<7"], check=True)
        (FOLDER / "made").touch()
    return python


def ask(code: str) -> str:
    """What the peer prints."""
    command = [peer(), "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
