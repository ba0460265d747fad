"""``galley contact run``: simulate a scene of your own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from galley.domain.options import argument
from galley.planar.commands.contact.options import Results, results_group, session

EPILOG = """A scene is YAML, and docs/contact.md has all keys. contact_scene.yaml, slope.yaml and
pusher.yaml come with Galley.

examples:
  galley contact run scene.yaml --no-video --npz --out states"""


@dataclass(frozen=True, kw_only=True)
class ContactRunOptions:
    """Options of ``galley contact run``."""

    scene: Path = argument("Simulate this scene, YAML; see below.", "SCENE")
    results: Results = results_group()


def command(options: ContactRunOptions) -> int:
    """Read the scene, simulate, and write the results; exit status 1 if a step fails."""
    with session(options.results, options.scene.stem) as work:
        from galley.planar.contact.scene import load_setup

        setup = load_setup(options.scene)
        title = f"galley contact run: {options.scene.name}"
        return work.finish(setup, title, {"scene": str(options.scene)})
