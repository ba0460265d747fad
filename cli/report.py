"""``galley report``: makes the page of a stored run again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from galley.cli.common.arguments import check_output
from galley.cli.common.shared import scene_option
from galley.domain.options import argument, option

EPILOG = """The page needs no other file and no network; docs/report.md says what it shows.

examples:
  galley report runs/task-20260101-120000    writes report.html into the folder
  galley report runs/mine --no-replay --out small.html    3 MB, without the replay"""


@dataclass(frozen=True, kw_only=True)
class Options:
    """Of ``galley report``."""

    run: Path = argument("Read this run: its folder.", "RUN")
    out: Path | None = option(None, "Write this page. Default: RUN/report.html.")
    scene: Path | None = scene_option("the run's own")
    replay: bool = option(True, "Put the 3D replay into it, nearly half of its size.")


def command(options: Options) -> int:
    """Write the page and say where it is; 0 also for a run that failed."""
    from galley.cli.common.progress import Printer
    from galley.domain.errors import BadInput
    from galley.results.page.page import write_page
    from galley.results.run_folder import PAGE, REPORT, UNFINISHED

    run = options.run
    out = options.out or run / PAGE
    if not run.is_dir():
        raise BadInput.one(run, f"is no run's folder: it has no {REPORT}")
    if options.out is None and (run / UNFINISHED).exists():
        what = f"its run has not ended, or was cut short (see {UNFINISHED}): write elsewhere, --out"
        raise BadInput.one(run, what)
    check_output(out, ".html", ".htm")
    with Printer() as printer:
        printer.stage(f"reading {run}")
        made = write_page(run, out, options.scene, replay=options.replay)
    printer.console.print(f"open {made} ({made.stat().st_size / 1e6:.1f} MB)")
    return 0
