"""Task planning compared with pyperplan, Fast Downward, PDDLGym and K*.

    pip install pyperplan==2.1 kstar-planner==1.6.0 up-fast-downward==1.0.0
    python bench/planning.py [--quick] [--json FILE] [--figure FILE] [--peers PYTHON] [--only abc]

Ratios are more telling than seconds: all planners run on one machine in the same minutes, each run
in its own process. Times of searches exclude imports (a tiny task is solved first), reading and
grounding; ours includes all preparation after grounding. "Whole" is the process from its start. A
missing peer is named in its column; with ``--peers`` they may be in another environment. Pyperplan
has no negative conditions: in its kitchen a drive may end where it began, which changes no state.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

import planning_sections as sections
from planning_growth import growth
from planning_runs import Bench, note

FIGURE = Path(__file__).resolve().parent.parent / "docs" / "planning_growth.png"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small tasks, few repeats")
    parser.add_argument("--json", type=Path, help="where to put the raw figures")
    parser.add_argument("--figure", type=Path, help=f"the curves; {FIGURE.name} in a full run")
    parser.add_argument("--peers", default=sys.executable, help="the interpreter with the peers")
    parser.add_argument("--only", default="abcdefg", help="sections, such as 'bd'")
    arguments = parser.parse_args()
    quick = arguments.quick
    figure = arguments.figure or (None if quick else FIGURE)
    raw: dict[str, Any] = {}
    targets: list[sections.Target] = []
    start = perf_counter()
    with tempfile.TemporaryDirectory(prefix="galley-bench-") as name:
        bench = Bench.start(
            arguments.peers, Path(name), seconds=3.0 if quick else 20.0, repeats=1 if quick else 5
        )
        raw["machine"] = machine(bench)
        print(", ".join(f"{k} {v}" for k, v in raw["machine"].items()), "\n", flush=True)
        steps = {
            "a": lambda: sections.breadth_first(bench, quick),
            "b": lambda: sections.expansions(bench, quick),
            "c": lambda: sections.memory(bench, quick),
            "d": lambda: sections.whole_process(bench, quick),
            "e": lambda: sections.satisficing(bench, quick),
            "f": lambda: sections.top_k(bench, quick),
            "g": lambda: growth(bench, figure),
        }
        broken = 0
        for letter, step in steps.items():
            if letter in arguments.only:
                try:
                    raw[letter], more = step()
                    targets += more
                except (RuntimeError, OSError) as error:  # the other sections still count
                    print(f"section {letter} broke off: {error}\n", flush=True)
                    broken += 1
    note(f"done after {perf_counter() - start:.0f} s\n")
    sections.conclude(raw, targets, arguments.json)
    return 1 if broken else 0


def machine(bench: Bench) -> dict[str, str]:
    """Where this was measured, and against which versions."""
    versions = {k: v for k, v in bench.installed.items() if k != "driver"}
    return {"Python": platform.python_version(), "cores": str(os.cpu_count()), **versions}


if __name__ == "__main__":
    sys.exit(main())
