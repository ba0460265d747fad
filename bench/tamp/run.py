"""Task and motion planning: planning time, refusals, growth.

    python bench/tamp/run.py [--quick] [--json FILE] [--figure [FILE]] [--only abcde]

Sections: a, the default task; b, refusals that need no search; c, three items packed, compared with
PDDLStream; d, growth with items, blockers and scene size, with a figure; e, kitchens in which
little room is left, compared with exhaustive search.
All is measured in one process, one task after the other, after two warm-up runs, and leaves out
reading files and building the world. How many runs succeed is counted by ``galley scenarios``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

from galley.bench.report import Section, command_line, measure
from galley.bench.tamp import sections

FIGURE = Path(__file__).resolve().parents[2] / "docs" / "tamp_growth.png"


def main() -> int:
    parser = command_line(__doc__, "abcde", "few seeds, sizes and scenarios")
    parser.add_argument("--figure", type=Path, nargs="?", const=FIGURE, help="draw section d")
    arguments = parser.parse_args()
    quick = arguments.quick
    steps: dict[str, Callable[[], Section]] = {
        "a": lambda: sections.default_task(2 if quick else 20),
        "b": lambda: sections.refusals(1 if quick else 10, quick),
        "c": lambda: sections.packing(3 if quick else 20),
        "d": lambda: sections.growth(1 if quick else 3, quick, arguments.figure),
        "e": lambda: sections.brute_force(quick),
    }
    return measure(arguments, steps)


if __name__ == "__main__":
    sys.exit(main())
