"""Copies of what a run was made from, in its folder: what reads the run again needs no other file.

The user's skills are code, and are not copied: the report has their digests.
"""

from __future__ import annotations

import os
from pathlib import Path

from galley.domain.files import read_bytes, write_atomically
from galley.domain.scene.standalone import standalone

INPUTS = "inputs"
SCENE, DOMAIN, PROBLEM = "scene.yaml", "domain.pddl", "problem.pddl"
NO_SCENE = "holds no copy of its scene: an older version wrote it; name one: --scene"


def keep_inputs(folder: Path | str, scene: str, domain: str, problem: str) -> None:
    """Copy the files of a task into a run's folder.

    A pipe is left out: it was read to its end.

    Raises:
        BadInput, OSError: a file can't be read any more, or its copy can't be written.
    """
    files = ((DOMAIN, domain), (PROBLEM, problem))
    copies = {name: read_bytes(file) for name, file in files if os.path.isfile(file)}
    if os.path.isfile(scene):
        text, others = standalone(scene)
        copies |= others | {SCENE: text.encode()}
    kept = Path(folder) / INPUTS
    kept.mkdir()
    for name, data in copies.items():
        write_atomically(kept / name, data)


def kept_input(folder: Path | str, name: str) -> Path | None:
    """The copy of a file that a run was made from; None where there is none."""
    path = Path(folder) / INPUTS / name
    return path if path.is_file() else None
