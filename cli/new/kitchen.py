"""``galley new kitchen``: writes a scene, a domain and a task to start from."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from galley.domain.options import argument

SCHEMA = "scene.schema.json"  # the first line of the template names it

EPILOG = "The folder also has the schema with which editors complete the scene (docs/scene.md)."


@dataclass(frozen=True, kw_only=True)
class NewKitchenOptions:
    """Options of ``galley new kitchen``."""

    folder: Path = argument("Folder for the files, new or empty.", "FOLDER")


def command(options: NewKitchenOptions) -> int:
    """Write the folder and print the next steps."""
    from galley.domain.files import atomic_folder
    from galley.domain.scene.schema import schema_text
    from galley.domain.shipped import TEMPLATES

    folder = options.folder
    with atomic_folder(folder) as partial:
        for path in sorted((TEMPLATES / "kitchen").iterdir()):
            (partial / path.name).write_bytes(path.read_bytes())
        (partial / SCHEMA).write_text(schema_text())
    print(f"""{folder}: kitchen.yaml, domain.pddl, task.pddl. Try them:
  cd {shlex.quote(str(folder))}
  galley scene --scene kitchen.yaml --domain domain.pddl --problem task.pddl
  galley run --scene kitchen.yaml --domain domain.pddl --problem task.pddl
Then change sizes, items and the goal as the comments explain.""")
    return 0
