"""Shared by the commands that collect, export and summarise demonstrations or evaluate policies.

A collecting command has a function from a seed to its ``Episode``, and the ``Collection``.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from galley.cli.common.arguments import Index, need, plural
from galley.cli.common.shared import Sweep, out_option
from galley.cli.common.tables import PlainTable
from galley.domain.errors import BadInput
from galley.domain.options import argument, group, more, option

if TYPE_CHECKING:
    from galley.cli.common.progress import Printer
    from galley.learning.demonstrations import Collection, Demonstrations, Episode
    from galley.learning.evaluation import PolicyEvaluation

Format = Literal["zarr", "lerobot"]
FILES_EPILOG = """The files depend on options and seeds alone, not on --jobs. The same command
again goes on where a stopped one was; more seeds append. A folder with episodes of other options is
refused. docs/demonstrations.md has the files and formats."""


@dataclass(frozen=True, kw_only=True)
class Collecting:
    """Options of a command that collects episodes, except for their number."""

    format: Format | None = option(
        None,
        "Besides the episodes, write a folder that learners read: zarr (diffusion_policy's replay "
        "buffer) or lerobot (v3.0).",
    )
    licence: str = more("CC-BY-4.0", "State this licence on the dataset card.", "SPDX")
    sweep: Sweep = group(Sweep())
    out: Path | None = out_option()

    def licensed(self, collection: Collection) -> Collection:
        """The collection with the licence of the options.

        Raises:
            BadInput: the licence is malformed.
        """
        try:
            return replace(collection, licence=self.licence)
        except ValueError as error:
            raise BadInput.one("--licence", str(error)) from None


@dataclass(frozen=True, kw_only=True)
class EpisodeFolder:
    """Options for a folder of episodes, and perhaps one of them."""

    folder: Path = argument("Read this folder of demonstrations.", "DIR")
    episode: Index | None = option(None, "Take only episode K in the order of seeds, from 0.", "K")

    def chosen(self, episodes: Demonstrations) -> Sequence[int]:
        """The indices of the chosen episodes.

        Raises:
            BadInput: there are no episodes, or too few.
        """
        if not len(episodes):
            raise BadInput.one(self.folder, "has no episodes")
        if self.episode is None:
            return range(len(episodes))
        if self.episode >= len(episodes):
            text = f"has {plural(len(episodes), 'episode')}: --episode is 0 to {len(episodes) - 1}"
            raise BadInput.one(self.folder, text)
        return [self.episode]


@dataclass(frozen=True, kw_only=True)
class OneEpisode(EpisodeFolder):
    """Options for a folder of episodes and one of them, by default the first."""

    episode: Index = option(0, "Take episode K in the order of seeds, from 0.", "K")


@contextmanager
def collecting_into(options: Collecting, collection: Collection) -> Iterator[Path]:
    """The folder of the options, opened for a collection and claimed by this command.

    Raises:
        BadInput: it has another collection, can't be made, or another command writes to it.
    """
    from galley.learning.demonstrations import open_folder
    from galley.learning.shards import INFO
    from galley.results.run_folder import check_destination, claimed, new_names

    out = options.out or next(new_names("demonstrations"))
    check_destination(out, "", INFO)
    out.parent.mkdir(parents=True, exist_ok=True)
    open_folder(out, collection)
    with claimed(out, "", INFO):
        yield out


def conclude(out: Path, collection: Collection, options: Collecting, printer: Printer) -> None:
    """Export the episodes of a folder, if the options say so, and print their counts."""
    from galley.learning.demonstrations import read_folder

    episodes = read_folder(out)
    if options.format is not None and len(episodes):
        printer.stage(f"exporting to {out / options.format}")
        shutil.rmtree(out / options.format, ignore_errors=True)  # an export of fewer episodes
        export(episodes, collection, options.format, out / options.format)
    printer.stage(f"{counts(episodes)}: {out}")


def collect_command(
    run: Callable[[int], Episode],
    seeds: Sequence[int],
    collection: Collection,
    options: Collecting,
    printer: Printer,
) -> int:
    """Collect the episodes of seeds, export them, and print the results.

    Args:
        run, seeds, collection: see ``demonstrations.collect``.
        options: format, licence and workers.
        printer: for the progress.

    Returns:
        The exit status: 0 if there is an episode of each seed.
    """
    from galley.learning.demonstrations import NoEpisode, collect

    def show(done: int, total: int, successes: int) -> None:
        printer.fraction("collecting", done / total, f"{done}/{total}, {successes} succeeded")

    with collecting_into(options, collection) as out:
        printer.fraction("collecting", 0.0, f"0/{len(seeds)}")
        with printer:
            sweep = options.sweep
            lost = collect(run, seeds, collection, out, sweep.jobs, sweep.engine, progress=show)
        conclude(out, collection, options, printer)
    for seed, job in lost.items():
        reason = job.why.removeprefix(f"{NoEpisode.__name__}: ")
        print(f"no episode of seed {seed}: {reason}", file=sys.stderr)
    return 1 if lost else 0


def counts(demonstrations: Demonstrations) -> str:
    """The numbers of episodes, of successes and failures, and of steps, as text."""
    infos = demonstrations.infos
    good, bad = (sum(info.success is end for info in infos) for end in (True, False))
    steps = plural(sum(info.length for info in infos), "step")
    return f"{plural(len(infos), 'episode')}, {good} succeeded, {bad} failed, {steps}"


def open_demonstrations(folder: Path) -> tuple[Demonstrations, Collection | None]:
    """The episodes of a folder, and its collection; None for a replay buffer.

    Raises:
        BadInput: the folder is neither a collected one nor a replay buffer.
    """
    need("learn", "pyarrow", "zarr")
    from galley.learning.demonstrations import read_collection, read_folder, read_replay_buffer

    if (folder / "meta" / "info.json").is_file():
        raise BadInput.one(folder, "is a LeRobot dataset, which is only written; read its source")
    if (folder / ".zgroup").is_file() or (folder / "zarr.json").is_file():
        return read_replay_buffer(folder), None
    return read_folder(folder), read_collection(folder)


def export(
    demonstrations: Demonstrations, collection: Collection, kind: Format, folder: Path
) -> None:
    """Write all episodes in a ``Format``.

    Raises:
        BadInput: the episodes can't be exported, or ``folder`` exists already.
    """
    from galley.learning.demonstrations import write_lerobot, write_replay_buffer

    write = write_lerobot if kind == "lerobot" else write_replay_buffer
    try:
        write(demonstrations, folder, collection)
    except BadInput:
        raise
    except ValueError as error:  # no episodes, other arrays, no constant rate
        raise BadInput.one(folder, f"can't be exported: {error}") from None


def array_table(episodes: Demonstrations, collection: Collection | None) -> PlainTable:
    """A table with a row for each array: dtype, shape, range, mean, deviation and meaning.

    Raises:
        BadInput: there are no episodes, or their arrays differ.
    """
    from galley.learning.demonstrations import summarize
    from galley.learning.demonstrations.selection import alike

    try:
        layout = episodes[0].layout if len(episodes) else {}
        moments = summarize(alike(episodes))
    except BadInput:
        raise
    except ValueError as error:
        raise BadInput.one("demonstrations", str(error)) from None
    names = ("array", "dtype", "a step", ">least", ">most", ">mean", ">deviation", "~is")
    table = PlainTable(*names, spare=("dtype", "deviation", "mean"))
    for name, (dtype, shape) in layout.items():
        of = moments[name]
        # Over all components; the deviation is about the mean of each.
        numbers = (of.low.min(), of.high.max(), of.mean.mean(), (of.std**2).mean() ** 0.5)
        meaning = "" if collection is None else collection.arrays.get(name, "")
        row = (name, dtype, " x ".join(map(str, shape)), *(f"{x:.4g}" for x in numbers))
        table.add_row(*row, meaning)
    return table


def evaluation_table(
    found: Mapping[str, PolicyEvaluation], printer: Printer, what: str = "coverage"
) -> int:
    """Print a row for each policy, and the reasons for lost episodes.

    Args:
        found: evaluations by name of the policy.
        printer: prints the table.
        what: name of the coverage of an outcome.

    Returns:
        The exit status: 1 if episodes were lost.
    """
    names = ("success", "95 %", "steps", what, "largest", "latency ms", "95th")
    table = PlainTable("", *(f">{name}" for name in names))
    for name, evaluation in found.items():
        record = evaluation.record()
        low, high = record["interval"]
        steps, latency = record["steps"], record["latency_ms"]
        table.add_row(
            name,
            f"{evaluation.successes}/{record['episodes']}",
            f"{100 * low:.0f} to {100 * high:.0f} %",
            "-" if steps is None else f"{steps:.0f}",
            f"{100 * record['coverage']:.1f} %",
            f"{100 * record['largest_coverage']:.1f} %",
            f"{latency:.1f}" if latency else "-",
            f"{record['latency_95_ms']:.1f}" if latency else "-",
        )
    printer.console.print(table)
    printer.console.print(f"steps: of successes; {what}: at the end, and the largest, in the mean")
    lost = {seed: job.why for result in found.values() for seed, job in result.lost.items()}
    for seed, reason in lost.items():
        printer.console.print(f"no episode of seed {seed}: {reason}")
    return 1 if lost else 0
