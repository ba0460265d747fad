"""The base class of commands that run a sweep: stores every result at once, and can resume."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Generic, TypeVar, cast

from rich.text import Text

from galley.cli.common.progress import Printer
from galley.cli.common.shared import Sweep
from galley.cli.common.tables import PlainTable
from galley.domain.files import write_atomically
from galley.sweeps import Journal, LostJob, available_cores, sweep

_LOST = "to_repeat"  # key of a journal line: the job has no result and runs again
_Job = TypeVar("_Job")
_Result = TypeVar("_Result")


@contextmanager
def results_folder(path: Path | None, stem: str, marker: str) -> Iterator[Path]:
    """The folder for a sweep's results; it may hold the results of an earlier call.

    Raises:
        BadInput: the folder can't be made, holds other files (and no file ``marker``), or another
            sweep writes into it.
    """
    from galley.results.run_folder import check_destination, claimed

    check_destination(path, stem, marker)
    with claimed(path, stem, marker) as folder:
        yield folder


@dataclass(frozen=True)
class NamedJob(Generic[_Job]):
    """A job of a study, with the name under which the journal keeps its result.

    Attributes:
        job: the argument of the study's function.
        name: unique in the study.
        settings: a digest of everything that the result depends on.
    """

    job: _Job
    name: str
    settings: str


@dataclass
class Study(ABC, Generic[_Job, _Result]):
    """The runs of one command, and their results so far.

    The final table and the summary do not depend on ``sweep``.

    Attributes:
        printer: prints progress and results.
        function: computes the result of a job.
        result_type: the type of results, a dataclass of plain data.
        jobs: all jobs, those with results included.
        folder: holds the journal.
        summaries: files to which the summary is written.
        sweep: how many jobs run at a time, and where.
    """

    JOURNAL: ClassVar[str]
    """Name of the file with one line per run."""

    printer: Printer
    function: Callable[[_Job], _Result]
    result_type: Callable[..., _Result]
    jobs: Sequence[NamedJob[_Job]]
    folder: Path
    summaries: Sequence[Path]
    sweep: Sweep
    _by_index: dict[int, _Result | LostJob] = field(default_factory=dict, init=False)

    # -- defined by each command ------------------------------------------------------------------

    @abstractmethod
    def lost_record(self, job: _Job, lost: LostJob) -> dict[str, Any]:
        """The entry of summary and journal for a job without a result."""

    @abstractmethod
    def announcement(self, runs: int, workers: int) -> str:
        """The line printed before the runs start."""

    @abstractmethod
    def result_line(self, job: _Job, result: _Result | LostJob) -> Text:
        """The line printed when a run has ended."""

    @abstractmethod
    def table(self) -> PlainTable:
        """The table of all results so far."""

    @abstractmethod
    def as_json(self) -> Mapping[str, Any]:
        """The summary as plain data."""

    @abstractmethod
    def status(self) -> int:
        """The exit status of the command, once all jobs have ended or were interrupted."""

    def conclude(self) -> None:
        """Hook that is called after the table is printed, for figures and final lines."""

    # -- shared by all -----------------------------------------------------------------------------

    @property
    def finished(self) -> bool:
        """Whether every job has ended."""
        return len(self._by_index) == len(self.jobs)

    def record(self, job: _Job, result: _Result | LostJob) -> dict[str, Any]:
        """The entry of summary and journal for a job."""
        if isinstance(result, LostJob):
            return self.lost_record(job, result)
        return asdict(cast(Any, result))

    def results(self) -> list[tuple[_Job, _Result | LostJob]]:
        """The jobs that have ended with their results, in the order of the jobs."""
        return [(self.jobs[index].job, self._by_index[index]) for index in sorted(self._by_index)]

    def run(self) -> int:
        """Run the jobs that have no result from an earlier call, and return the exit status."""
        self._journal = Journal(self.folder / self.JOURNAL)
        self._resume()
        try:
            self._sweep()
        finally:
            self._finish()
        return self.status()

    def _resume(self) -> None:
        """Load the results of an unfinished earlier call with the same settings."""
        stored = self._journal.read({job.name: job.settings for job in self.jobs})
        for index, job in enumerate(self.jobs):
            # A lost job has an entry, so that the journal is not empty, but runs again.
            if job.name in stored and not stored[job.name].pop(_LOST):
                self._by_index[index] = self.result_type(**stored[job.name])
        say, ended = self.printer.console.print, len(self._by_index)
        if ended and not self.finished:
            say(f"resuming: {ended} of {len(self.jobs)} runs were completed in {self.folder}")
            return
        if not ended and not self._journal.empty:
            say(f"the runs in {self.folder} have other settings: starting over")
        self._by_index.clear()
        self._journal.clear()

    def _compile(self) -> None:
        """Compile here once, so that the workers don't each do so in their first run."""
        from galley.compiled.build import ensure
        from galley.engine import COMPILED

        ensure(*COMPILED, listener=self.printer)

    def _sweep(self) -> None:
        indices = [index for index in range(len(self.jobs)) if index not in self._by_index]
        workers = min(self.sweep.jobs or available_cores(), max(1, len(indices)))
        self._compile()
        self.printer.stage(self.announcement(len(indices), workers))
        self._save()
        jobs = [self.jobs[index].job for index in indices]

        def add(k: int, result: _Result | LostJob) -> None:
            self._add(indices[k], result)

        sweep(self.function, jobs, workers, self.sweep.engine, add)

    def _add(self, index: int, result: _Result | LostJob) -> None:
        """Store a result, then print it: a result that was printed is never lost."""
        self._by_index[index] = result
        named = self.jobs[index]
        line = {_LOST: isinstance(result, LostJob), **self.record(named.job, result)}
        self._journal.add(named.name, named.settings, line)
        count = f"{len(self._by_index):4d}/{len(self.jobs)}  "
        self.printer.console.print(Text(count).append_text(self.result_line(named.job, result)))
        self._save()

    def _finish(self) -> None:
        """Print the table and write the summary, after an interruption too."""
        self.printer.close()
        if not self._by_index:
            return
        self.printer.console.print(self.table())
        self._save()
        self.conclude()

    def _save(self) -> None:
        text = json.dumps(self.as_json(), indent=1) + "\n"
        for path in self.summaries:
            write_atomically(path, text)
