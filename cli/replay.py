"""``galley replay``: writes a 3D replay of a stored run as a web page."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from galley.cli.common.arguments import Count, check_output
from galley.cli.common.progress import Printer
from galley.cli.common.shared import scene_option
from galley.domain.options import argument, more, option

EPILOG = """examples:
  galley replay runs/mine --view    write it and open it in the browser
  galley replay states.npz --scene my_kitchen.yaml --out mine.html

The page is one file and needs no network: drag to rotate, scroll to zoom, space to play."""


@dataclass(frozen=True, kw_only=True)
class ReplayOptions:
    """Options of ``galley replay``."""

    run: Path = argument("Folder of a run, or its states.npz.", "RUN")
    scene: Path | None = scene_option("the run's scene")
    out: Path | None = option(None, "Page to write. Default: replay.html beside the states.")
    fps: Count = more(15, "Poses per second of motion.")
    view: bool = option(False, "Open the page in the browser.")


def command(options: ReplayOptions) -> int:
    """Write the page and print its path and size."""
    from galley.results.stored_run import read_run

    stored = read_run(options.run, options.scene)
    log = stored.executed
    for change in (*stored.changes, *stored.mixed()):
        print(f"warning: {change}", file=sys.stderr)
    path = options.out or stored.folder / "replay.html"
    check_output(path, ".html", ".htm")
    from galley.viz.replay import ReplayPage, replay_html

    printer = Printer()
    printer.stage("writing the replay")
    page = replay_html(log, stored.scene, stored.robot, fps=options.fps)
    ReplayPage(page).save(path)
    printer.console.print(f"replay: {path} ({len(page) / 1e6:.1f} MB)")
    if options.view:
        import webbrowser

        webbrowser.open(path.resolve().as_uri())
    return 0
