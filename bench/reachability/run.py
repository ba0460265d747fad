"""Where to stand: the generator, datasets, base placement, fields and the learned model.

    python bench/reachability/run.py [--quick] [--json FILE] [--only a]

Sections: a, samples of the planar arm against a loop over samples; b, rows to parquet; l, the
learned p(Q | H); p, a valid base for each grasp of the sugar box, against PyBullet; f, the
reachability field.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from galley.bench.reachability import dataset, placement, planar
from galley.bench.report import Section, run_sections


def learned(quick: bool) -> Section:
    """Late, since it needs the extra ``planar``."""
    from galley.bench.reachability.learned import learned

    return learned(quick)


# Letter: what measures it, given whether to be quick.
STEPS: dict[str, Callable[[bool], Section]] = {
    "a": planar.generator,
    "b": dataset.writer,
    "l": learned,
    "p": placement.placement,
    "f": placement.field,
}


if __name__ == "__main__":
    sys.exit(run_sections(__doc__, STEPS))
