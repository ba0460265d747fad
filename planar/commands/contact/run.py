"""``galley contact run``: a scene of one's own."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from galley.domain.options import argument
from galley.planar.commands.contact.options import Results, results_group, session

EPILOG = """A scene is YAML:

  galley_contact: 1
  h: 0.01                          # s, of a step
  duration: 1.5                    # s
  bodies:
    ground: {shape: {half_plane: [0, 1, 0]}}             # normal, offset
    disc:
      shape: {circle: 0.2}
      mass: 0.5
      pose: [0, 0.3, 0]                                  # m, m, rad
      force: [[0, [0, 0, 0]], [1, [2, 0, 0]]]            # time, N, N, N m

docs/contact.md has all keys.

examples:
  galley contact run scene.yaml --no-video --npz --out states"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """Of ``galley contact run``."""

    scene: Path = argument("the scene, YAML, see below", "SCENE")
    results: Results = results_group()


def command(options: Options) -> int:
    """Read, simulate, write; 1 if a step doesn't converge."""
    with session(options.results, options.scene.stem) as work:
        from galley.planar.contact.scene import load_setup

        setup = load_setup(options.scene)
        title = f"galley contact run: {options.scene.name}"
        return work.finish(setup, title, {"scene": str(options.scene)})
