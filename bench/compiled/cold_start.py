"""Cost of a first start: compiling each entry, compiling everything, and loading it later.

    python bench/compiled/cold_start.py [--entries]

Uses a cache folder of its own, so nothing is compiled beforehand.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time

from rich.console import Console
from rich.table import Table

from galley import engine
from galley.compiled.build import RENDERER, entries
from galley.compiled.jit import compile_now

PARTS = (*engine.COMPILED, RENDERER)  # of a run with its film
_COMPILE = f"from galley.compiled.build import ensure; ensure(*{PARTS})"
_LOAD = f"""
import time
from galley.compiled.build import entries
from galley.compiled.jit import compile_now
began = time.perf_counter()
for part in {PARTS}:
    for each in entries(part):
        compile_now(each)
print(time.perf_counter() - began)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", action="store_true", help="stop after the entries' table")
    arguments = parser.parse_args()
    console = Console()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NUMBA_CACHE_DIR"] = folder
        console.print(entry_times())
    if arguments.entries:
        return
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"NUMBA_CACHE_DIR": folder}
        spent, seconds = processor(), time.perf_counter()
        subprocess.run([sys.executable, "-c", _COMPILE], env=environment, check=True)
        seconds = time.perf_counter() - seconds
        console.print(f"all at once: {seconds:.1f} s, processor {processor() - spent:.1f} s")
        command = [sys.executable, "-c", _LOAD]
        loaded = subprocess.run(command, env=environment, check=True, capture_output=True)
        console.print(f"later: {float(loaded.stdout):.2f} s")


def entry_times() -> Table:
    """Compiles one entry after the other, here; seconds of the processor."""
    table = Table("entry", "s", title="compiling", box=None)
    total = 0.0
    for part in PARTS:
        for entry in entries(part):
            began = time.process_time()
            compile_now(entry)
            spent = time.process_time() - began
            total += spent
            table.add_row(f"{entry.py_func.__module__}.{entry.py_func.__name__}", f"{spent:.1f}")
    table.add_row("all", f"{total:.1f}")
    return table


def processor() -> float:
    """Processor seconds of the processes that have ended, below this one."""
    found = os.times()
    return found.children_user + found.children_system


if __name__ == "__main__":
    main()
