"""How many examples a property test looks at: at most 50, or all of its own with ``--slow``."""

from __future__ import annotations

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
