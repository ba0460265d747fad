"""Task planning compared with pyperplan, Fast Downward, PDDLGym and K*.

    pip install pyperplan==2.1 kstar-planner==1.6.0 up-fast-downward==1.0.0
    python bench/planning/run.py [--quick] [--json FILE] [--figure FILE] [--peers PYTHON]
                                 [--only abc]

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

FIGURE = Path(__file__).resolve().parents[2] / "docs" / "planning_growth.png"


def main() -> int:
    parser = command_line(__doc__, "abcdefg", "small tasks, few repeats")
    parser.add_argument("--figure", type=Path, help=f"the curves; {FIGURE.name} in a full run")
    parser.add_argument("--peers", default=sys.executable, help="the interpreter with the peers")
    arguments = parser.parse_args()
    quick = arguments.quick
    figure = arguments.figure or (None if quick else FIGURE)
    with tempfile.TemporaryDirectory(prefix="galley-bench-") as name:
        bench = Bench.start(
            arguments.peers, Path(name), seconds=3.0 if quick else 20.0, repeats=1 if quick else 5
        )
        steps: dict[str, Callable[[], Section]] = {
            "a": lambda: sections.breadth_first(bench, quick),
            "b": lambda: sections.expansions(bench, quick),
            "c": lambda: sections.memory(bench, quick),
            "d": lambda: sections.whole_process(bench, quick),
            "e": lambda: sections.satisficing(bench, quick),
            "f": lambda: sections.top_k(bench, quick),
            "g": lambda: sections.growth(bench, figure),
        }
        versions = {k: v for k, v in bench.installed.items() if k != "driver"}
        return measure(arguments, steps, versions)


if __name__ == "__main__":
    sys.exit(main())
