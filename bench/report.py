"""What all benchmarks say and take: progress, tables, targets, and the common options."""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import get_context
from pathlib import Path
from time import perf_counter
from typing import Any


@dataclass(frozen=True)
class Target:
    """A figure that is wanted, and the one that was measured (None: could not be).

    Attributes:
        what: in words.
        wanted: in words.
        figure: what was measured.
        met: None where it could not be measured.
    """

    what: str
    wanted: str
    figure: float | None
    met: bool | None

    @classmethod
    def at_least(cls, what: str, bound: float, figure: float | None, unit: str = "x") -> Target:
        """The figure must not be below ``bound``."""
        met = None if figure is None else figure >= bound
        return cls(what, f">= {bound:g}{unit}", figure, met)

    @classmethod
    def at_most(cls, what: str, bound: float, figure: float | None, unit: str) -> Target:
        """The figure must not be above ``bound``."""
        met = None if figure is None else figure <= bound
        return cls(what, f"<= {bound:g}{unit}", figure, met)


Section = tuple[Any, list[Target]]


def note(text: str) -> None:
    """Progress, on stderr."""
    print(f"\r\033[K{text}" if sys.stderr.isatty() else text, end="", file=sys.stderr, flush=True)
    if not sys.stderr.isatty():
        print(file=sys.stderr)


def resumed(
    store: Path,
    keys: Sequence[str],
    work: Callable[..., dict],
    wanted: Sequence[tuple],
    jobs: int,
    fresh: bool = False,
) -> list[dict]:
    """Rows of runs in processes, each a line of ``store`` as it comes; what is there is kept.

    Args:
        keys: of a row, that are the arguments of its run. work: makes one.
        wanted: arguments of all. fresh: whether each gets a process of its own.
    """
    store.parent.mkdir(parents=True, exist_ok=True)
    lines = store.read_text().splitlines() if store.exists() else []
    known = {tuple(row[key] for key in keys): row for row in map(json.loads, lines)}
    missing = [each for each in wanted if each not in known]
    pool = ProcessPoolExecutor(
        jobs, mp_context=get_context("spawn"), max_tasks_per_child=1 if fresh else None
    )
    with pool:
        running = {pool.submit(work, *each): each for each in missing}
        try:
            for count, done in enumerate(as_completed(running), 1):
                known[running[done]] = row = done.result()
                with store.open("a") as out:
                    out.write(json.dumps(row) + "\n")
                words = " ".join(str(each) for each in running[done] if each is not None)
                told = row.get("why") or row.get("status", "good")
                note(f"{count}/{len(missing)} {words} {told}")
        except BaseException:  # a fault, or the user's: what has not begun shall not
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [known[each] for each in wanted]


def installed(*packages: str) -> dict[str, str]:
    """The versions of those packages that this interpreter has."""
    found = {}
    for package in packages:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def shown(value: Any, digits: int = 3) -> str:
    """A figure for a table."""
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.{digits}g}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def table(headers: list[str], rows: list[list[str]]) -> None:
    """Prints a table in Markdown, aligned: the first column left, the others right."""
    widths = [max(len(row[i]) for row in [headers, *rows]) for i in range(len(headers))]

    def line(cells: list[str]) -> str:
        padded = [
            cell.ljust(w) if i == 0 else cell.rjust(w)
            for i, (cell, w) in enumerate(zip(cells, widths, strict=True))
        ]
        return f"| {' | '.join(padded)} |"

    marks = ["-" * w if i == 0 else "-" * (w - 1) + ":" for i, w in enumerate(widths)]
    print(line(headers), line(marks), *map(line, rows), "", sep="\n", flush=True)


def conclude(raw: dict[str, Any], targets: list[Target], file: Path | None) -> None:
    """Print what was wanted and measured, and write all figures as JSON, if there is a file."""
    verdicts = {True: "met", False: "NOT met", None: "not measured"}
    if targets:
        table(
            ["target", "wanted", "measured", ""],
            [[t.what, t.wanted, shown(t.figure, 4), verdicts[t.met]] for t in targets],
        )
    raw["targets"] = [vars(each) for each in targets]
    if file:
        file.write_text(json.dumps(raw, indent=1) + "\n")


def command_line(about: str | None, sections: str, quick: str) -> argparse.ArgumentParser:
    """A benchmark's options: ``--only`` some of its sections, ``--quick``, ``--json`` a file.

    Args:
        about: the script's docstring. sections: their letters. quick: what is left out then.
    """

    def letters(text: str) -> str:
        if not text or set(text) - set(sections):
            raise argparse.ArgumentTypeError(f"they are letters of '{sections}', got '{text}'")
        return text

    parser = argparse.ArgumentParser(description=(about or "").splitlines()[0])
    parser.add_argument("--quick", action="store_true", help=quick)
    parser.add_argument("--json", type=Path, help="where to put the raw figures")
    parser.add_argument(
        "--only", type=letters, default=sections, help=f"sections, letters of '{sections}'"
    )
    return parser


def measure(
    arguments: argparse.Namespace,
    steps: Mapping[str, Callable[[], Section]],
    versions: Mapping[str, str] | None = None,
    **more: Any,
) -> int:
    """Measure the wanted sections and conclude; 1 where one broke off, which stops no other.

    Args:
        arguments: of ``command_line``. steps: by letter, what measures. versions: of the peers.
        more: what else goes into the file.
    """
    began = perf_counter()
    machine = {"Python": platform.python_version(), "cores": str(os.cpu_count())}
    machine |= {**(versions or {}), "load before": f"{os.getloadavg()[0]:.1f}"}
    print(", ".join(f"{k} {v}" for k, v in machine.items()), "\n", flush=True)
    raw: dict[str, Any] = {"machine": machine, **more}
    targets: list[Target] = []
    broken = 0
    for letter, step in steps.items():
        if letter in arguments.only:
            try:
                raw[letter], wanted = step()
                targets += wanted
            except (RuntimeError, OSError) as error:
                print(f"section {letter} broke off: {error}\n", flush=True)
                broken += 1
    note(f"done after {perf_counter() - began:.0f} s, load {os.getloadavg()[0]:.1f}\n")
    conclude(raw, targets, arguments.json)
    return 1 if broken else 0


def run_sections(about: str | None, steps: Mapping[str, Callable[[bool], Section]]) -> int:
    """The whole command line of a benchmark whose steps only ask whether to be quick."""
    arguments = command_line(about, "".join(steps), "few samples and repeats").parse_args()
    return measure(arguments, {k: partial(step, arguments.quick) for k, step in steps.items()})
