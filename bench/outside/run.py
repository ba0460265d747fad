"""Galley in benchmarks of others, judged by their own code.

    python bench/outside/run.py NAME [--quick] [--jobs 2] [--out FOLDER]

guided_tamp       guided-tamp-benchmark's shelf and tunnel, for a Panda and a UR5
kinder            KinDER's Transport3D and KinematicShelf3D, in its environments
motionbenchmaker  MotionBenchMaker's problems in VAMP's files, for a UR5 and a Panda
pddlstream        PDDLStream's examples `packed` and `kuka`, planned by both
planners          the examples of unified_planning and the domains of PDDLGym, beside Fast
                  Downward and pyperplan
pusht             gym-pusht's table and physics, beside published policies

Each NAME is a module beside this file. Its packages, pinned in NAME.txt, go into an environment of
its own under OUT/NAME; nothing of them enters Galley's. Every row of the table is a line of
OUT/NAME/rows.jsonl; what is listed there is not repeated. The full run writes its table into
docs/outside.md, ``--quick`` only prints one. A module has

in their environment    ``wanted(ask, quick)``, the keys of all rows, as ``KEYS`` names them;
                        ``row(ask, *key)``, which makes a row and judges. ``FRESH``: in a process
                        of its own. ``prepare(python, folder)`` fetches what no registry has
in Galley's             ``answer(request)``, to what the other half asks by ``ask(**request)``;
                        ``tell(rows)``, the lines of the table; ``VERSIONS`` of the others' code
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import shutil
import signal
import subprocess
import sys
import venv
from collections.abc import Callable, Iterable
from functools import cache, partial
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).resolve().parent
DOCS = HERE.parents[1] / "docs" / "outside.md"
NAMES = ("guided_tamp", "kinder", "motionbenchmaker", "pddlstream", "planners", "pusht")
MADE = "made"  # file in an environment with the pins it was made from


@cache
def adapter(name: str) -> ModuleType:
    """The module beside this file, under another name than the package that it joins."""
    spec = spec_from_file_location(f"galley_{name}", HERE / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class PeerEndedError(Exception):
    """Their process ended before it had an answer."""


class Theirs:
    """A process in their environment that calls the functions of an adapter."""

    def __init__(self, python: Path, name: str) -> None:
        self._log = python.parents[2] / "their.log"  # what their code prints
        command = [python, HERE / "run.py", name, "--theirs"]
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHONPATH", "NUMBA"))}
        pipe = subprocess.PIPE
        with self._log.open("a") as log:
            self._process = subprocess.Popen(
                command, stdin=pipe, stdout=pipe, stderr=log, text=True, env=kept
            )

    def call(self, answer: Callable[[dict], Any], function: str, *args: Any) -> Any:
        """What a function of their half returns; ``answer`` answers what it asks meanwhile.

        Raises:
            PeerEndedError: the process ended.
        """
        self._say([function, *args])
        assert self._process.stdout is not None
        while line := self._process.stdout.readline():
            kind, value = json.loads(line)
            if kind == "result":
                return value
            self._say(answer(value))
        ended = self._process.wait()
        raise PeerEndedError(f"their process ended with {ended}; {self._log} has its last words")

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()

    def _say(self, value: Any) -> None:
        assert self._process.stdin is not None
        print(json.dumps(value), file=self._process.stdin, flush=True)


def _serve(name: str) -> None:
    """Their half: calls what stdin names, and writes what it returns and asks to stdout."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what their code prints is no answer
    sys.path.remove(str(HERE))  # where a module may have the name of their package
    module = adapter(name)

    def say(kind: str, value: Any) -> None:
        print(json.dumps([kind, value]), file=out, flush=True)

    def ask(**request: Any) -> Any:
        say("ask", request)
        return json.loads(sys.stdin.readline())

    while line := sys.stdin.readline():
        function, *args = json.loads(line)
        say("result", getattr(module, function)(ask, *args))


def environment(name: str, out: Path) -> Path:
    """The interpreter of their environment, which is made if it is missing or its pins changed."""
    folder, pins = out / name / "env", (HERE / f"{name}.txt").read_text()
    python, made = folder / "bin" / "python", folder / MADE
    if not made.exists() or made.read_text() != pins:
        shutil.rmtree(folder, ignore_errors=True)
        print(f"making {folder} with {len(pins.split())} packages", file=sys.stderr, flush=True)
        venv.create(folder, with_pip=True)
        command = [python, "-m", "pip", "install", "-q", "--no-deps", "-r", HERE / f"{name}.txt"]
        subprocess.run(command, check=True)
        prepare = getattr(adapter(name), "prepare", None)
        if prepare is not None:  # what no registry has
            shutil.rmtree(out / name / "source", ignore_errors=True)
            (out / name / "source").mkdir()
            prepare(python, out / name / "source")
        made.write_text(pins)
    return python


_peer = cache(Theirs)  # of this process


def _row(python: Path, name: str, *key: Any) -> dict[str, Any]:
    module, fresh = adapter(name), getattr(adapter(name), "FRESH", False)
    theirs = (Theirs if fresh else _peer)(python, name)
    found = theirs.call(module.answer, "row", *key)
    if fresh:
        theirs.close()
    return dict(zip(module.KEYS, key, strict=True)) | found


def _write(name: str, lines: Iterable[str]) -> None:
    """Put lines between the marks of NAME in the page."""
    from galley.domain.files import write_atomically

    begin, end = (f"<!-- {name}: {mark} -->\n" for mark in ("begin", "end"))
    before, rest = DOCS.read_text().split(begin)
    text = begin + "\n".join(lines) + "\n" + end
    write_atomically(DOCS, before + text + rest.split(end)[1])


def _measured(name: str, quick: bool, jobs: int, out: Path) -> None:
    """Make the rows that are missing, and tell them all."""
    from galley.bench.report import resumed  # here: their environment has no Galley

    module, python = adapter(name), environment(name, out)
    first = Theirs(python, name)
    wanted = [tuple(each) for each in first.call(module.answer, "wanted", quick)]
    first.close()
    store, work = out / name / "rows.jsonl", partial(_row, python, name)
    lines = list(module.tell(resumed(store, module.KEYS, work, wanted, jobs)))
    machine = f"Python {platform.python_version()}, {os.cpu_count()} cores"
    command = f"python bench/outside/run.py {name}{' --quick' if quick else ''}"
    about = f"`{command}`, {datetime.date.today()}, {machine}"
    lines = [f"{about}; {module.VERSIONS}.", "", *lines]
    print(*lines, sep="\n")
    if not quick:
        _write(name, lines)


def main() -> int:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("name", choices=NAMES)
    parser.add_argument("--quick", action="store_true", help="few rows, and only print the table")
    parser.add_argument("--jobs", type=int, default=2, help="processes (default: 2)")
    parser.add_argument(
        "--out", type=Path, default=Path("runs/outside"), help="default: runs/outside"
    )
    parser.add_argument("--theirs", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.theirs:
        _serve(given.name)
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # which ends the other processes, too
    try:
        _measured(given.name, given.quick, given.jobs, given.out.resolve())
    except (PeerEndedError, subprocess.CalledProcessError) as error:
        print(f"{given.name}: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
