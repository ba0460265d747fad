"""Cost of a first start: compiling each function, compiling everything, and loading it later.

    python bench/compiled/cold_start.py [--functions]

Uses a cache folder of its own, so nothing is compiled beforehand.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest.mock import patch

from rich.console import Console
from rich.table import Table

from galley.compiled import build
from galley.compiled.jit import compile_now

_LOAD = """
import time
began = time.perf_counter()
import galley.engine
imported = time.perf_counter()
from galley.compiled.build import PARTS, steps
from galley.compiled.jit import compile_now
for part in PARTS:
    for _, each in steps(part):
        compile_now(each)
print(imported - began, time.perf_counter() - imported)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--functions", action="store_true", help="stop after the functions' table")
    arguments = parser.parse_args()
    console = Console()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NUMBA_CACHE_DIR"] = folder
        console.print(functions())
    if arguments.functions:
        return
    with tempfile.TemporaryDirectory() as folder:
        environment = os.environ | {"NUMBA_CACHE_DIR": folder}
        code = "from galley.compiled.build import PARTS, ensure; ensure(*PARTS)"
        spent, seconds = processor(), time.perf_counter()
        subprocess.run([sys.executable, "-c", code], env=environment, check=True)
        seconds = time.perf_counter() - seconds
        console.print(f"all at once: {seconds:.1f} s, processor {processor() - spent:.1f} s")
        loaded = subprocess.run(
            [sys.executable, "-c", _LOAD], env=environment, check=True, capture_output=True
        )
        imports, loading = map(float, loaded.stdout.split())
        console.print(f"later: imports {imports:.2f} s, compiled code {loading:.2f} s")


def functions() -> Table:
    """Compiles one entry after the other, here; processor time and what it took."""
    from numba.core import event

    table = Table(title="compiling", box=None)
    for name in ("function", "s", "LLVM s", "functions", "versions", "most versions"):
        table.add_column(name, justify="left" if name in ("function", "most versions") else "right")
    with event.install_recorder("numba:compile"):
        pass  # imports of Numba's, which would count for the first function
    totals = [0.0, 0.0]
    for part in build.PARTS:
        for name, entry in build.steps(part):
            seen: Counter[str] = Counter()
            with event.install_recorder("numba:compile") as compiled, timed_llvm() as llvm:
                began = time.process_time()
                compile_now(entry)
                spent = time.process_time() - began
            for _, each in compiled.buffer:
                if each.is_start:
                    seen[each.data["dispatcher"].py_func.__name__] += 1
            most = ", ".join(f"{who} {n}" for who, n in seen.most_common(3) if n > 1)
            totals = [totals[0] + spent, totals[1] + llvm[0]]
            row = (f"{spent:.1f}", f"{llvm[0]:.1f}", str(len(seen)), str(seen.total()), most)
            table.add_row(name, *row)
    table.add_row("all", f"{totals[0]:.1f}", f"{totals[1]:.1f}")
    return table


@contextmanager
def timed_llvm() -> Iterator[list[float]]:
    """``with timed_llvm() as spent:`` processor seconds in LLVM meanwhile, as ``spent[0]``."""
    from numba.core.codegen import CPUCodeLibrary

    spent = [0.0]

    def timed(step: Any) -> Any:
        def run(*arguments: Any) -> Any:
            began = time.process_time()
            try:
                return step(*arguments)
            finally:
                spent[0] += time.process_time() - began

        return run

    steps = ("add_ir_module", "_optimize_final_module", "_finalize_final_module")
    with ExitStack() as stack:
        for name in steps:
            step = timed(getattr(CPUCodeLibrary, name))
            stack.enter_context(patch.object(CPUCodeLibrary, name, step))
        yield spent


def processor() -> float:
    """Processor seconds of the processes that have ended, below this one."""
    found = os.times()
    return found.children_user + found.children_system


if __name__ == "__main__":
    main()
