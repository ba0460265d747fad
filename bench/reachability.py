"""Where to stand: the generator, datasets, base placement, fields and the learned model.

    python bench/reachability.py [--quick] [--json FILE] [--only a]

Sections: a, samples of the planar arm against a loop over samples; b, rows to parquet; l, the
learned p(Q | H); p, a valid base for each grasp of the sugar box, against PyBullet; f, the
reachability field; s, whole tasks with the ring's stances and with scored ones.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import reachability_dataset as dataset
import reachability_placement as placement
import reachability_planar as planar
import reachability_stances as stances
from planning_sections import Section, run_sections


def learned(quick: bool) -> Section:
    """Late, since it needs the extra ``planar``."""
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


if __name__ == "__main__":
    sys.exit(run_sections(__doc__, STEPS))
