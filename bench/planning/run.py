"""Task planning compared with pyperplan and Fast Downward.

    pip install pyperplan==2.1 up-fast-downward==1.0.0
    python bench/planning/run.py [--quick] [--json FILE] [--peers PYTHON] [--only abc]

Ratios are more telling than seconds: all planners run on one machine in the same minutes, each run
in its own process. Times of searches exclude imports (a tiny task is solved first), reading and
grounding; ours includes all preparation after grounding. "Whole" is the process from its start. A
missing peer is named in its column; with ``--peers`` they may be in another environment. Pyperplan
has no negative conditions: in its kitchen a drive may end where it began, which changes no state.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from galley.bench.planning import sections
from galley.bench.planning.runs import Bench
from galley.bench.report import Section, command_line, measure


def main() -> int:
    parser = command_line(__doc__, "abcde", "small tasks, few repeats")
    parser.add_argument("--peers", default=sys.executable, help="the interpreter with the peers")
    arguments = parser.parse_args()
    quick = arguments.quick
    with tempfile.TemporaryDirectory(prefix="galley-bench-") as name:
        bench = Bench.start(
            arguments.peers, Path(name), seconds=3.0 if quick else 20.0, repeats=1 if quick else 5
        )
        steps: dict[str, Callable[[], Section]] = {
            "a": lambda: sections.breadth_first(bench, quick),
            "b": lambda: sections.memory(bench, quick),
            "c": lambda: sections.whole_process(bench, quick),
            "d": lambda: sections.satisficing(bench, quick),
            "e": lambda: sections.top_k(bench, quick),
        }
        versions = {k: v for k, v in bench.installed.items() if k != "driver"}
        return measure(arguments, steps, versions)


if __name__ == "__main__":
    sys.exit(main())
