"""What commands that sweep share: each run told and kept as it ends, a stopped sweep goes on."""

from __future__ import annotations

import json
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar, cast

from rich.live import Live
from rich.table import Table
from rich.text import Text

from galley.cli.progress import Printer
from galley.domain.files import write_whole
from galley.sweeps import Journal, Lost, MissingRay, cores, sweep

_LOST = "to_repeat"  # key of a line in the journal: it is no result
_Job = TypeVar("_Job")
_Result = TypeVar("_Result")


@contextmanager
def results_folder(path: Path | None, stem: str, marker: str) -> Iterator[Path]:
    """A folder for a sweep's results; an earlier sweep may have left its own there.

    Raises:
        BadInput: it can't be made, holds something else (no file ``marker``), or another sweep
            writes there.
    """
    from galley.results.run_folder import check_destination, claimed

    check_destination(path, stem, marker)
    with claimed(path, stem, marker) as folder:
        yield folder


@dataclass
class Study(ABC, Generic[_Job, _Result]):
    """The runs of one command, and what is known of them so far.

    What it prints at the end and its summary don't depend on workers and engine.

    Attributes:
        command: its name, for messages. printer: tells.
        function: a job's result, an ``outcome``, which is a dataclass of plain data.
        jobs: all of them.
        names: of each job, unique. settings: of each, a digest of what its result depends on.
        folder: of the journal. summaries: files that get the summary.
        jobs_at_a_time: None for one a core. engine: ``process`` or ``ray``.
        found: results by the job's index; it grows as they end.
    """

    JOURNAL: ClassVar[str]
    """Name of the file with a line a run."""

    LIVE: ClassVar[bool] = False
    """Whether a terminal shows the table while it grows."""

    command: str
    printer: Printer
    function: Callable[[_Job], _Result]
    outcome: Callable[..., _Result]
    jobs: Sequence[_Job]
    names: Sequence[str]
    settings: Sequence[str]
    folder: Path
    summaries: Sequence[Path]
    jobs_at_a_time: int | None
    engine: str
    found: dict[int, _Result | Lost] = field(default_factory=dict)
    live: Live | None = None

    # -- what a command says of its runs ---------------------------------------------------------

    @abstractmethod
    def lost(self, job: _Job, result: Lost) -> dict[str, Any]:
        """What summary and journal have of a job without a result."""

    @abstractmethod
    def about(self, runs: int, workers: int) -> str:
        """A sentence on what is about to be run."""

    @abstractmethod
    def line(self, job: _Job, result: _Result | Lost) -> Text:
        """How a run ended."""

    @abstractmethod
    def table(self) -> Table:
        """All that have ended."""

    @abstractmethod
    def as_json(self) -> Mapping[str, Any]:
        """The summary."""

    @abstractmethod
    def status(self) -> int:
        """The command's exit status."""

    def ended(self, job: _Job, result: _Result | Lost, anew: bool = True) -> None:
        """More to be done when a run has ended; not ``anew``: in an earlier call."""

    def conclude(self) -> None:
        """More to be told and written below the table."""

    # -- what is the same for all ----------------------------------------------------------------

    @property
    def finished(self) -> bool:
        """Whether every job has ended."""
        return len(self.found) == len(self.jobs)

    def plain(self, job: _Job, result: _Result | Lost) -> dict[str, Any]:
        """What summary and journal have of a job."""
        return self.lost(job, result) if isinstance(result, Lost) else asdict(cast(Any, result))

    def results(self) -> list[tuple[_Job, _Result | Lost]]:
        """Those that have ended, in the order of the jobs."""
        return [(self.jobs[index], self.found[index]) for index in sorted(self.found)]

    def run(self) -> int:
        """Run what has not ended in an earlier call, tell and keep it; the exit status."""
        self.journal = Journal(self.folder / self.JOURNAL)
        self._resume()
        try:
            self._sweep()
        except MissingRay as error:
            print(f"galley {self.command}: error: {error}", file=sys.stderr)
            return 2
        finally:
            self._tell()
        return self.status()

    def _resume(self) -> None:
        """Take over what an earlier call with the same settings left unfinished."""
        known = self.journal.read(dict(zip(self.names, self.settings, strict=True)))
        for index, name in enumerate(self.names):
            if name in known and not known[name].pop(_LOST):
                self.found[index] = self.outcome(**known[name])
        say = self.printer.console.print
        if self.found and not self.finished:
            say(f"going on: {len(self.found)} of {len(self.jobs)} runs had ended in {self.folder}")
            for job, result in self.results():
                self.ended(job, result, anew=False)
            return
        if not self.found and not self.journal.empty:
            say(f"the runs in {self.folder} had other settings: starting anew")
        self.found.clear()
        self.journal.clear()

    def _sweep(self) -> None:
        from galley.compiled.build import ensure
        from galley.engine import COMPILED

        todo = [index for index in range(len(self.jobs)) if index not in self.found]
        workers = min(self.jobs_at_a_time or cores(), max(1, len(todo)))
        ensure(*COMPILED, say=self.printer.stage)  # once, and not in each worker's first run
        self.printer.stage(self.about(len(todo), workers))
        self._save()
        jobs = [self.jobs[index] for index in todo]

        def heard(index: int, result: _Result | Lost) -> None:
            self._heard(todo[index], result)

        console = self.printer.console
        if not (self.LIVE and console.is_terminal):
            sweep(self.function, jobs, workers, self.engine, heard)
            return
        with Live(self.table(), console=console, transient=True) as self.live:
            sweep(self.function, jobs, workers, self.engine, heard)

    def _heard(self, index: int, result: _Result | Lost) -> None:
        """One more run has ended: keep it first of all, then tell."""
        self.found[index] = result
        job = self.jobs[index]
        line = {_LOST: isinstance(result, Lost), **self.plain(job, result)}
        self.journal.add(self.names[index], self.settings[index], line)
        count = f"{len(self.found):4d}/{len(self.jobs)}  "
        self.printer.console.print(Text(count).append_text(self.line(job, result)))
        self.ended(job, result)
        self._save()
        if self.live is not None:
            self.live.update(self.table())

    def _tell(self) -> None:
        """Print the table, write the summary: of what there is, if interrupted."""
        self.printer.close()
        if not self.found:
            return
        self.printer.console.print(self.table())
        self._save()
        self.conclude()

    def _save(self) -> None:
        text = json.dumps(self.as_json(), indent=1) + "\n"
        for path in self.summaries:
            write_whole(path, text)
