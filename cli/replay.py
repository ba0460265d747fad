"""``galley replay``: a stored run as a page that turns and plays."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from galley.cli.common.arguments import Count, check_output
from galley.cli.common.progress import Printer
from galley.cli.common.shared import scene_option
from galley.domain.options import argument, more, option

EPILOG = """examples:
  galley replay runs/mine --view    and opens it in the browser
  galley replay states.npz --scene my_kitchen.yaml --out mine.html

The page opens from a file, without network: drag to turn, scroll to zoom, space to play."""


@dataclass(frozen=True, kw_only=True)
class Options:
    """Of ``galley replay``."""

    run: Path = argument("Read this run: its folder, or a states.npz.", "RUN")
    scene: Path | None = scene_option("the run's own")
    out: Path | None = option(None, "Write this page. Default: replay.html beside the states.")
    fps: Count = more(15, "Show this many poses a second.")
    view: bool = option(False, "Open the page in the browser.")


def command(options: Options) -> int:
    """Write the page, say where it is."""
    from galley.results.stored import read_run

    stored = read_run(options.run, options.scene)
    log = stored.executed
    for change in (*stored.changes, *stored.mixed()):
        print(f"warning: {change}", file=sys.stderr)
    path = options.out or stored.folder / "replay.html"
    check_output(path, ".html", ".htm")
    from galley.viz.replay import Replay, replay_html

    printer = Printer()
    printer.stage("making the replay")
    page = replay_html(log, stored.scene, stored.robot, fps=options.fps)
    Replay(page).save(path)
    printer.console.print(f"replay: {path} ({len(page) / 1e6:.1f} MB)")
    if options.view:
        import webbrowser

        webbrowser.open(path.resolve().as_uri())
    return 0
