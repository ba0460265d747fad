"""A small study for tests: ``python -m galley.tests.sweeps.squares FOLDER`` finds squares."""

import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from galley.cli.common.progress import Printer
from galley.cli.common.shared import Sweep
from galley.cli.common.study import NamedJob, Study


@dataclass(frozen=True)
class Job:
    """To be squared. ``runs``: a file that gets a line a run. ``deadly``: while a file is there."""

    number: int
    runs: Path
    deadly: Path | None = None
    seconds: float = 0.0


@dataclass(frozen=True)
class Square:
    square: int
    pair: tuple[int, int]


def square(job):
    with open(job.runs, "a") as stream:
        stream.write(f"{job.number}\n")
    time.sleep(job.seconds)
    if job.deadly is not None and job.deadly.exists():
        os._exit(7)
    if job.number == 3:
        raise ValueError("three is odd")
    return Square(job.number**2, (job.number, job.number))


class Squares(Study):
    JOURNAL = "squares.jsonl"

    def lost_record(self, job, lost):
        return {"lost": lost.why}

    def announcement(self, runs, workers):
        return f"{runs} squares"

    def result_line(self, job, result):
        return Text(f"{job.number}: {self.record(job, result)}")

    def table(self):
        table = Table("number", "square")
        for job, result in self.results():
            table.add_row(str(job.number), str(self.record(job, result)))
        return table

    def as_json(self):
        told = {job.number: self.record(job, result) for job, result in self.results()}
        return {"finished": self.finished, "squares": told}

    def status(self):
        return 0 if self.finished else 1


def squares(folder, jobs, workers=1, settings="of old", out=sys.stdout):
    """The study, ready to ``run``."""
    console = Console(file=out, width=300)
    folder.mkdir(exist_ok=True)
    return Squares(
        printer=Printer(console),
        function=square,
        result_type=Square,
        jobs=[NamedJob(job, str(job.number), settings) for job in jobs],
        folder=folder,
        summaries=[folder / "squares.json"],
        sweep=Sweep(jobs=workers),
    )


if __name__ == "__main__":
    home = Path(sys.argv[1])
    squares(home, [Job(k, home.parent / "runs", seconds=0.1 * k) for k in range(8)]).run()
