"""``galley compare``: runs several planners and optimizers on the same queries."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from galley.cli.common.arguments import Positive, count, usage
from galley.cli.common.options import given
from galley.cli.common.progress import Printer
from galley.cli.common.shared import MotionOptions, scene_option
from galley.cli.common.tables import PlainTable
from galley.domain.options import group, more, option

if TYPE_CHECKING:
    from galley.studies.comparison.measures import Measurements
    from galley.studies.comparison.methods import Attempt
    from galley.studies.comparison.summary import QueryResult

_STOPS = "The RRTs, shortcut and shortest stop at every corner. Solve times exclude compilation."
_COLUMNS = {"rrt": "RRT", "rrt-pybullet": "RRT in\nPyBullet", "time-optimal": "time-\noptimal"}
_VERDICTS = {None: "no path", True: "free", False: "COLLIDES"}


EPILOG = """methods:
  rrt, rrt-pybullet  the baseline RRT, compiled and inside PyBullet
  shortcut           the RRT's path, shortened
  shortest           the baseline quadratic program (QP), which ignores obstacles
  smooth             a collision-free spline within all limits, as galley run uses
  time-optimal       the shortened path with rounded corners, as fast as the limits allow

queries:
  seed      turn-around: the hand moves --distance along x, past the arm's base (default)
  random N  N random queries at the scene's furniture; in every third the hand holds an item
  FILE      your own queries, YAML or JSON (docs/comparison.md)

examples:
  galley compare --query random 20 --no-video    medians and success rates of 20 queries

results, in --out:
  compare.json                             all figures
  compare.png                              joints, velocities, hand path, clearance
  trajectory_rrt.npy, _qp.npy, _opt.npy    waypoints, one per row: rrt, shortest, smooth
  rrt.mp4, qp.mp4, opt.mp4                 films of these three, from the same viewpoint
  side_by_side.mp4                         rrt and smooth side by side, synchronized

The exit status is 1 if the smooth trajectory of any query is missing, collides or exceeds a
limit; the other methods may fail."""


@dataclass(frozen=True, kw_only=True)
class CompareOptions:
    """Options of ``galley compare``."""

    query: tuple[str, ...] = option(
        ("seed",), "Query or queries, see below. Default: seed.", ("QUERY", "N")
    )
    scene: Path | None = scene_option()
    distance: Positive | None = more(
        None, "With --query seed, least motion of the hand along world x, in m. Default: 0.6.", "M"
    )
    motion: MotionOptions = group(MotionOptions())


def _query(words: tuple[str, ...]) -> tuple[str, int]:
    """The kind or file of ``--query``, and the number of queries."""
    if words[0] == "random":
        if len(words) != 2:
            raise argparse.ArgumentTypeError("random needs a number of queries: --query random 20")
        return words[0], count(words[1])
    if len(words) != 1:
        raise argparse.ArgumentTypeError("must be seed, random N, or one file")
    return words[0], 1


def command(options: CompareOptions) -> int:
    """Run the comparison, print the tables, write figures and films.

    The exit status is 1 if a smooth trajectory is not as it should be.
    """
    with usage("--query"):
        kind, number = _query(options.query)
    if options.distance is not None and kind != "seed":
        raise argparse.ArgumentTypeError("argument --distance: needs --query seed")
    from galley.domain.failure import Failure
    from galley.studies.comparison.runner import ComparisonOptions, run

    chosen = given(options, ComparisonOptions) | {"query": kind, "count": number}
    with _Listener() as listener:
        outcome = run(ComparisonOptions(**chosen), listener)
    if isinstance(outcome, Failure):
        print(f"{outcome.kind.value}: {outcome}", file=sys.stderr)
        return 1
    listener.console.print(f"results: {outcome.folder}")
    for fault in outcome.faults:
        print(f"not as expected: {fault}", file=sys.stderr)
    return 1 if outcome.faults else 0


class _Listener(Printer):
    """Prints progress and the tables of results."""

    def results(self, results: tuple[QueryResult, ...], summaries: list[dict[str, Any]]) -> None:
        """Print the table of one query, or of the medians over several queries."""
        self.close()
        if len(results) == 1:
            self.console.print(_one(results[0]))
            for line in _remarks(results[0]):
                self.console.print(line)
        elif results:
            self.console.print(_many(summaries))
            self.console.print(
                f"{len(results)} queries. Each figure is the median over the successes; the line "
                "below has the 95th percentile (for clearance, the 5th)."
            )
        self.console.print(_STOPS)


def _table(methods: Iterable[str]) -> PlainTable:
    """A table with one column per method."""
    names = [f">{_COLUMNS.get(method, method)}" for method in methods]
    return PlainTable("", *names, gap=1, spare=[_COLUMNS["rrt-pybullet"], "shortcut"])


def _one(result: QueryResult) -> PlainTable:
    """The table of one query: a row per figure, a column per method."""
    from galley.studies.comparison.measures import CLEARANCE_CAP
    from galley.studies.comparison.summary import FIGURES, figures

    table = _table(attempt.method for attempt, _ in result.rows)
    rows = [None if m is None else figures(a, m) for a, m in result.rows]
    for name, (title, scale, digits) in FIGURES.items():
        cells = []
        for row in rows:
            # Clearance is measured up to a cap only.
            capped = row and name == "min_clearance_m" and row[name] >= CLEARANCE_CAP
            cells.append(">" * bool(capped) + _figure(scale * row[name] if row else None, digits))
        table.add_row(title, *cells)
    verdicts = (None if m is None else m.verdict.free for _, m in result.rows)
    table.add_row("collision", *(_VERDICTS[verdict] for verdict in verdicts))
    return table


def _remarks(result: QueryResult) -> Iterable[str]:
    """The lines below the table: collisions, fallbacks, and why a method failed."""
    from galley.studies.comparison.methods import TITLES

    for attempt, measured in result.rows:
        lines = [attempt.reason] if measured is None else _facts(attempt, measured)
        yield from (f"{TITLES[attempt.method]}: {line}" for line in lines)


def _facts(attempt: Attempt, measured: Measurements) -> Iterable[str]:
    """Remarks that the figures don't show: another method's path, collisions, exceeded limits."""
    verdict = measured.verdict
    by = "" if attempt.by == attempt.method else f"made by {attempt.by}"
    if by or attempt.note:
        yield ": ".join(part for part in (by, attempt.note) if part)
    for hit in verdict.hits:
        engine = "PyBullet" if hit.engine == "pybullet" else "the kernel"
        yield (
            f"{hit.pair[0]} and {hit.pair[1]} collide after {hit.time:.2f} s, "
            f"{1e3 * hit.depth:.1f} mm deep, according to {engine}"
        )
    if verdict.free and not verdict.proven:
        yield "no collision was found, but freedom from collision is not proven"
    if not measured.within_limits:
        yield f"exceeds the limits by a factor of {max(measured.peaks):.4f}"


def _many(summaries: list[dict[str, Any]]) -> PlainTable:
    """The table of several queries: counts, then for each figure the median and the bad end."""
    from galley.studies.comparison.summary import FIGURES, tail

    table = _table(s["method"] for s in summaries)
    for title, key in (
        ("found", "found"),
        ("free of collision", "free"),
        ("within limits", "within_limits"),
        ("success: all 3", "good"),
        ("by itself", "by_itself"),
    ):
        shares = ((s[key], s["queries"]) for s in summaries)
        table.add_row(title, *(f"{n} ({100 * n / queries:.0f}%)" for n, queries in shares))
    for name, (title, scale, digits) in FIGURES.items():
        for label, key in ((title, "median"), (f"{int(tail(name)[1:]):>10} %", tail(name))):
            values = [scale * s[name][key] if name in s else None for s in summaries]
            table.add_row(label, *(_figure(value, digits) for value in values))
    return table


def _figure(value: float | None, digits: int) -> str:
    """The text of a table's cell; a dash if there is no value."""
    return "-" if value is None else f"{value:.{digits}f}"
