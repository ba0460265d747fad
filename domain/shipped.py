"""Files that come with Galley: the kitchen and its tasks, the scenario suite."""

from __future__ import annotations

from pathlib import Path

KITCHEN = Path(__file__).parent / "kitchen"
SCENARIOS = Path(__file__).parent / "scenarios"


def kitchen_file(given: Path | None, default: str) -> Path:
    """The file named; one of the kitchen's by its bare name, where there is none here.

    Args:
        given: as the user named it, or None.
        default: name of the kitchen's file to take then.
    """
    if given is None:
        return KITCHEN / default
    ours = KITCHEN / given
    return ours if given.name == str(given) and not given.exists() and ours.exists() else given
