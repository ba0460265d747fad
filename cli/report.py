"""``galley report``: writes the report page of a stored run again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from galley.cli.common.arguments import check_output
from galley.cli.common.shared import scene_option
from galley.domain.options import argument, option

EPILOG = """The page is one file and needs no network; docs/report.md describes it.

examples:
  galley report runs/task-20260101-120000    writes report.html into the folder
  galley report runs/mine --no-replay --out small.html    3 MB, without the replay"""


@dataclass(frozen=True, kw_only=True)
class ReportOptions:
    """Options of ``galley report``."""

    run: Path = argument("Folder of a run.", "RUN")
    out: Path | None = option(None, "Page to write. Default: RUN/report.html.")
    scene: Path | None = scene_option("the run's scene")
    replay: bool = option(True, "Include the 3D replay, nearly half of the page's size.")


def command(options: ReportOptions) -> int:
    """Write the page and print its path; the exit status is 0 for a run that failed, too."""
    from galley.cli.common.progress import Printer
    from galley.domain.errors import BadInput
    from galley.results.page.page import write_page
    from galley.results.run_folder import PAGE, REPORT, UNFINISHED

    run = options.run
    out = options.out or run / PAGE
    if not run.is_dir():
        raise BadInput.one(run, f"is not the folder of a run: it has no {REPORT}")
    if options.out is None and (run / UNFINISHED).exists():
        what = f"the run has not ended, or was cut short (see {UNFINISHED}): use --out FILE"
        raise BadInput.one(run, what)
    check_output(out, ".html", ".htm")
    with Printer() as printer:
        printer.stage(f"reading {run}")
        made = write_page(run, out, options.scene, replay=options.replay)
    printer.console.print(f"open {made} ({made.stat().st_size / 1e6:.1f} MB)")
    return 0
