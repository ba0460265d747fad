"""Progress output: a line per step, and on a terminal a bar for long steps."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.text import Text

from galley.cli.common.tables import PlainTable
from galley.domain.action_text import plural
from galley.domain.errors import BadInput
from galley.domain.listener import Listener

if TYPE_CHECKING:
    from galley.results.report import Report

_FILE_WIDTH = 140  # columns
_QUIET_STEP = 0.1  # fraction of a long step between two lines, if stdout is no terminal


class _Console(Console):
    """A console that goes silent when the reader of its output ends (head, a pager)."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _console() -> Console:
    """A console that prints strings literally, as names may hold brackets; Text is styled."""
    console = _Console(highlight=False, soft_wrap=True, markup=False, emoji=False)
    # A file or pipe has no width unless COLUMNS sets one; a wide one keeps tables whole.
    if not console.is_terminal and "COLUMNS" not in os.environ:
        console.width = _FILE_WIDTH
    return console


class Printer(Listener):
    """Prints stages, plans, refinements and the motions; as a context it removes its bar."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or _console()
        self._began = time.perf_counter()
        self._action = 0.0
        self._plans = 0
        self._learned: set[str] = set()
        self._bar: Progress | None = None
        self._shown = 0.0
        self._what = ""

    def stage(self, text: str) -> None:
        """Print the name of a stage after the elapsed time."""
        self.close()
        self.console.print(Text.assemble((self._clock(), "dim"), " ", (text, "bold")))

    def skeleton(self, actions: tuple[str, ...]) -> None:
        """Print a plan's number and its actions, one numbered line each."""
        self._plans += 1
        self.console.print(f"        plan {self._plans}, {plural(len(actions), 'action')}:")
        for k, action in enumerate(actions, 1):
            self.console.print(f"        {k:2d}  {action}")

    def learned(self, text: str) -> None:
        """Print a learned constraint, but only once: a recovery may learn it again."""
        if text in self._learned:
            return
        self._learned.add(text)
        self.console.print(Text.assemble(("        learned ", "yellow"), text))

    def action(self, index: int, total: int, text: str, event: str) -> None:
        """Print an action when its refinement ends, with its time, or why it failed."""
        if event == "start":
            self._action = time.perf_counter()
            return
        spent = time.perf_counter() - self._action
        how = f"{spent:.2f} s"
        if event != "done":
            how += f", failed: {event}"
        self.console.print(f"        {index + 1:2d}/{total}  {text}  ({how})")

    def motions(self, report: Report) -> None:
        """Print why actions were added that clear the way, and the table of motions."""
        self.close()
        for index, why in report.search.reasons if report.search else ():
            self.console.print(f"        why {report.plan[index]}: {why}")
        if report.motions:
            self.console.print(_motion_table(report))

    def goal(self, facts: Sequence[Any]) -> None:
        """Print for each goal fact of a verdict whether it holds, and why."""
        for fact in facts:
            mark = ("holds", "green") if fact.holds else ("does not hold", "red")
            self.console.print(Text.assemble(f"{fact.fact}  ", mark, f": {fact.why}"))

    def fraction(self, text: str, done: float, note: str = "") -> None:
        """Update the bar and its note; without a terminal, print a line at every tenth."""
        if text != self._what:
            self.close()
            self._what, self._shown = text, 0.0
        if self.console.is_terminal:
            if self._bar is None:
                self._bar = Progress(
                    TextColumn("        {task.description}", markup=False),
                    BarColumn(),
                    TaskProgressColumn(),
                    TimeRemainingColumn(),
                    TextColumn("{task.fields[note]}", markup=False),
                    console=self.console,
                    transient=True,
                )
                self._bar.start()
                self._bar.add_task(text, total=1.0, note=note)
            self._bar.update(self._bar.task_ids[0], completed=done, note=note)
        elif done - self._shown >= _QUIET_STEP - 1e-9 and done < 1.0:
            self._shown = done
            self.console.print(f"{self._clock()}   {text} {100 * done:3.0f}%  {note}".rstrip())

    def film(self, make: Callable[..., Any], *arguments: Any, **more: Any) -> Any:
        """Call ``make(*arguments, progress=..., **more)``, which writes a film, and show a bar.

        Returns:
            The result of ``make``, or True if that is falsy; None if the film failed, with the
            reason on stderr.

        Raises:
            BadInput: ``make`` raised it.
        """
        self.stage("filming")
        try:
            with self:
                more["progress"] = lambda done, total: self.fraction("filming", done / total)
                return make(*arguments, **more) or True
        except BadInput:
            raise
        except (RuntimeError, ValueError) as error:
            print(f"no film: {error}", file=sys.stderr)
            return None

    def close(self) -> None:
        """Remove the bar, if there is one."""
        self._what = ""
        if self._bar is not None:
            self._bar.stop()
            self._bar = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _clock(self) -> str:
        return f"{time.perf_counter() - self._began:6.1f} s"


def _motion_table(report: Report) -> PlainTable:
    """The table of motions: phase, planner, planning time, path lengths, duration, clearance."""
    figures = (">plan ms", ">RRT", ">shortcut", ">optimised", ">s", ">clear mm")
    spare = ("RRT", "shortcut", "plan ms", "optimised", "planner")
    table = PlainTable("action", "phase", "planner", *figures, spare=spare)
    last = -1
    for motion in report.motions:
        record = motion.record
        first = motion.action_index != last
        last = motion.action_index
        free = record.planner.startswith("rrt")
        kept = record.length_optimized is None and record.optimizer != "none"
        table.add_row(
            report.plan[last].strip("()") if first else "",
            motion.phase,
            record.planner,
            f"{record.planning_ms:.0f}",
            _figure(record.length_rrt) if free else "",
            _figure(record.length_shortcut),
            "kept" if kept else _figure(record.length_optimized),
            f"{motion.trajectory.duration:.2f}",
            "" if record.min_clearance_m is None else _millimetres(record.min_clearance_m),
        )
    return table


def _figure(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _millimetres(value: float) -> str:
    return ">50" if value >= 0.05 else f"{1e3 * value:.0f}"
