"""``galley report``: makes the page of a stored run again."""

from __future__ import annotations

import argparse
from pathlib import Path

EPILOG = """what it shows:
  The verdict and why, the plan with the times of each action, recoveries and learned constraints, a
  replay in 3D, each motion's joints against their limits, and for a refusal its certificate. The
  page needs no other file and no network. It is made from report.json, states.npz and the
  trajectories in the run's folder; docs/report.md has the details.

examples:
  galley report runs/task-20260101-120000                   writes report.html into the folder
  galley report runs/mine --out page.html                   writes it elsewhere
  galley report runs/mine --no-replay --out small.html      without the replay, about 3 MB
  galley report runs/mine --scene moved/kitchen.yaml        the scene file is elsewhere now"""


def add_arguments(p: argparse.ArgumentParser) -> None:
    """Add the options of ``galley report``."""
    p.add_argument("run", type=Path, metavar="RUN", help="a run's folder")
    p.add_argument(
        "--out", type=Path, metavar="FILE", help="of the page (default: RUN/report.html)"
    )
    p.add_argument("--scene", type=Path, metavar="FILE", help="scene (default: the run's own)")
    p.add_argument(
        "--replay",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="put the 3D replay into it, most of its size (default: yes)",
    )


def command(arguments: argparse.Namespace) -> int:
    """Write the page and say where it is; 0 also for a run that failed."""
    from galley.cli.common.progress import Printer
    from galley.domain.errors import BadInput
    from galley.domain.files import check_writable
    from galley.results.page.page import write_page
    from galley.results.run_folder import PAGE, REPORT, UNFINISHED

    run: Path = arguments.run
    out: Path = arguments.out or run / PAGE
    if out.suffix.lower() not in (".html", ".htm"):
        raise BadInput.one(out, "--out writes a file that ends in .html")
    if not run.is_dir():
        raise BadInput.one(run, f"is no run's folder: it has no {REPORT}")
    if arguments.out is None and (run / UNFINISHED).exists():
        what = f"its run has not ended, or was cut short (see {UNFINISHED}): write elsewhere, --out"
        raise BadInput.one(run, what)
    check_writable(out)
    printer = Printer()
    printer.stage(f"reading {run}")
    try:
        made = write_page(run, out, arguments.scene, replay=arguments.replay)
    finally:
        printer.close()
    printer.console.print(f"open {made} ({made.stat().st_size / 1e6:.1f} MB)")
    return 0
