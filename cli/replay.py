"""``galley replay``: a stored run as a page that turns and plays."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from galley.cli.common.arguments import count
from galley.domain.errors import BadInput

EPILOG = """examples:
  galley replay runs/task-20260101-120000               writes replay.html into the run's folder
  galley replay runs/mine --open                        and opens it in the browser
  galley replay states.npz --scene my_kitchen.yaml --out mine.html

The page opens from a file, without network: drag to turn, scroll to zoom, space to play. It shows
robot and scene, the hand's path, and contacts as arrows while they last."""


def add_arguments(p: argparse.ArgumentParser) -> None:
    """Add the options of ``galley replay``."""
    p.add_argument("run", type=Path, metavar="RUN", help="a run's folder, or a states.npz")
    p.add_argument("--scene", type=Path, help="scene file (default: the run's own)")
    p.add_argument(
        "--out", type=Path, metavar="HTML", help="the page (default: replay.html beside the states)"
    )
    p.add_argument(
        "--fps", type=count, default=15, help="poses a second that are looked at (default 15)"
    )
    p.add_argument("--open", action="store_true", help="open the page in the browser")


def command(arguments: argparse.Namespace) -> int:
    """Write the page, say where it is."""
    from galley.cli.common.progress import Printer
    from galley.domain.files import check_writable
    from galley.results.stored import read_run

    stored = read_run(arguments.run, arguments.scene)
    log = stored.executed
    for change in (*stored.changes, *stored.mixed()):
        print(f"warning: {change}", file=sys.stderr)
    path: Path = arguments.out or stored.folder / "replay.html"
    if path.suffix.lower() not in (".html", ".htm"):
        raise BadInput.one(path, "the replay is a page: --out must end in .html")
    check_writable(path)
    from galley.viz.replay import Replay, replay_html

    printer = Printer()
    printer.stage("making the replay")
    page = replay_html(log, stored.scene, stored.robot, fps=arguments.fps)
    Replay(page).save(path)
    printer.console.print(f"replay: {path} ({len(page) / 1e6:.1f} MB)")
    if arguments.open:
        import webbrowser

        webbrowser.open(path.resolve().as_uri())
    return 0
