"""gym-pusht in an environment of its own, that of ``bench/outside/run.py pusht``."""

from __future__ import annotations

import subprocess
from pathlib import Path

from galley.bench.outside.run import environment

PEER = "gym-pusht 0.1.8"


def ask(code: str) -> str:
    """What the peer prints."""
    command = [environment("pusht", Path("runs/outside").resolve()), "-c", code]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout
