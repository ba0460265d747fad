"""Where to stand: the generator, datasets, base placement, fields and the learned model.

    python bench/reachability.py [--quick] [--json FILE] [--only a]

Sections: a, samples of the planar arm against a loop over samples; b, rows to parquet; l, the
learned p(Q | H); p, a valid base for each grasp of the sugar box, against PyBullet; f, the
reachability field; s, whole tasks with the ring's stances and with scored ones.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import Any

import reachability_dataset as dataset
import reachability_placement as placement
import reachability_planar as planar
import reachability_stances as stances
from planning_runs import note
from planning_sections import Section, Target, conclude


def learned(quick: bool) -> Section:
    """Late, since it needs the extra ``learn``."""
    import reachability_learned

    return reachability_learned.learned(quick)


# Letter: what measures it, given whether to be quick.
STEPS: dict[str, Callable[[bool], Section]] = {
    "a": planar.generator,
    "b": dataset.writer,
    "l": learned,
    "p": placement.placement,
    "f": placement.field,
    "s": stances.stances,
}


def main() -> int:
    sections = "".join(STEPS)
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few samples and repeats")
    parser.add_argument("--json", type=Path, help="where to put the raw figures")
    parser.add_argument("--only", default=sections, help=f"sections, letters of '{sections}'")
    arguments = parser.parse_args()
    if not arguments.only or set(arguments.only) - set(sections):
        parser.error(f"sections are letters of '{sections}', got '{arguments.only}'")
    began = perf_counter()
    machine = {"Python": platform.python_version(), "cores": str(os.cpu_count())}
    machine["load before"] = f"{os.getloadavg()[0]:.1f}"
    print(", ".join(f"{k} {v}" for k, v in machine.items()), "\n", flush=True)
    raw: dict[str, Any] = {"machine": machine}
    targets: list[Target] = []
    for letter, step in STEPS.items():
        if letter in arguments.only:
            raw[letter], more = step(arguments.quick)
            targets += more
    note(f"done after {perf_counter() - began:.0f} s\n")
    conclude(raw, targets, arguments.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
