"""``galley new kitchen``: a folder to start from, that runs as it is."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from galley.domain.options import argument

SCHEMA = "scene.schema.json"  # the first line of the template names it

EPILOG = "The schema by which an editor completes the scene is beside them (docs/scene.md)."


@dataclass(frozen=True, kw_only=True)
class Options:
    """Of ``galley new kitchen``."""

    folder: Path = argument("Write the files here: it is new, or empty.", "FOLDER")


def command(options: Options) -> int:
    """Write the folder and say what to do next."""
    from galley.domain.files import atomic_folder
    from galley.domain.scene.schema import schema_text
    from galley.domain.shipped import TEMPLATES

    folder = options.folder
    with atomic_folder(folder) as partial:
        for path in sorted((TEMPLATES / "kitchen").iterdir()):
            (partial / path.name).write_bytes(path.read_bytes())
        (partial / SCHEMA).write_text(schema_text())
    print(f"""{folder}: kitchen.yaml, domain.pddl, task.pddl. It runs as it is; next:
  cd {shlex.quote(str(folder))}
  galley scene --scene kitchen.yaml --domain domain.pddl --problem task.pddl
  galley run --scene kitchen.yaml --domain domain.pddl --problem task.pddl
Then change sizes, items and the goal: the comments say how.""")
    return 0
