"""What belongs to which of the two jobs, the gate and ``pytest --slow``.

A property test looks at 50 examples at most in the gate, and at all of its own in the other; of a
test with many long cases the gate runs the first.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import settings

QUICK = 50


def load_profile(thorough: bool) -> None:
    """Make Hypothesis quick or thorough; where CI is set its examples are the same each time."""
    settings.register_profile("quick", settings.default, max_examples=QUICK, deadline=None)
    settings.register_profile("thorough", settings.default, deadline=None)
    settings.load_profile("thorough" if thorough else "quick")


def examples(full: int) -> int:
    """``full`` in the thorough job, and at most 50 otherwise: for ``max_examples``."""
    return full if settings.get_current_profile_name() == "thorough" else min(full, QUICK)


def quick_first(count: int, values: Iterable[Any]) -> list[Any]:
    """Values of one parameter: the first ``count`` belong to the gate, the others to ``--slow``."""
    listed = list(values)
    return listed[:count] + [pytest.param(v, marks=pytest.mark.slow) for v in listed[count:]]
