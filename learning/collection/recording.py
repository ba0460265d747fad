"""Options of recording a run of the kitchen as an episode; imports nothing heavy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from galley.domain.errors import BadInput
from galley.domain.options import more, option

SIZES = (96, 480)  # pixels, least and greatest side of pictures
LOG_RATE = 120  # Hz, of a run's log
SYMBOLIC_ACTION = "symbolic_action"
"""Name of the observation with an action's index, and of the metadata with their texts."""


@dataclass(frozen=True)
class Recording:
    """Which observations and actions of a run an episode has.

    Attributes:
        rate: steps a second; it must divide the log's 120 samples a second.
        cameras: names of ``viz.film.pictures.CAMERAS``.
        size: side of their pictures, pixels.
        actions: ``joints``, or ``hand`` for the pose of the grasp frame in the base instead.

    Raises:
        BadInput: an unknown camera or kind of actions, or a bad size or rate.
    """

    rate: int = more(20, "Keep this many steps a second; it must divide 120.", "HZ")
    cameras: tuple[str, ...] = option(
        (),
        "Add pictures: front, the room; top, from above; hand, beside the palm. Default: none.",
        "NAME",
    )
    size: int = option(SIZES[0], "Set the pictures' width and height, 96 to 480.", "PIXELS")
    actions: Literal["joints", "hand"] = option(
        "joints", "Command the arm's joints, or the hand: the pose of the grasp frame in the base."
    )

    def __post_init__(self) -> None:
        if self.actions not in ("joints", "hand"):
            raise BadInput.one("actions", f"'{self.actions}' is neither joints nor hand")
        if self.rate < 1 or LOG_RATE % self.rate:
            rates = ", ".join(str(r) for r in range(1, LOG_RATE + 1) if LOG_RATE % r == 0)
            reason = f"{self.rate} does not divide the {LOG_RATE} samples a second: {rates} do"
            raise BadInput.one("rate", reason)
        for name in self.cameras:
            from galley.viz.film.pictures import CAMERAS

            if name not in CAMERAS or self.cameras.count(name) > 1:
                reason = f"'{name}' is not one of {', '.join(CAMERAS)}, each of them once"
                raise BadInput.one("cameras", reason)
        check_size("size", self.size)


def check_size(name: str, size: int) -> None:
    """Refuse a side of pictures (pixels) that is out of its bounds.

    Raises:
        BadInput: it is out of bounds; the message begins with ``name``.
    """
    if not SIZES[0] <= size <= SIZES[1]:
        reason = f"{size}: a picture has {SIZES[0]} to {SIZES[1]} pixels a side"
        raise BadInput.one(name, reason)
