"""Which links of the mobile Panda are never checked against each other, and why not.

Every other pair is checked. The table was derived with PyBullet by
``bench/derive_self_collisions.py``, over the real joint limits; docs/robots.md says how. Within a
pair the names are in alphabetical order.
"""

from __future__ import annotations

NEIGHBOURS: tuple[tuple[str, str], ...] = (
    ("chassis", "column"),
    ("column", "panda_link0"),
    ("panda_hand", "panda_leftfinger"),
    ("panda_hand", "panda_link7"),
    ("panda_hand", "panda_rightfinger"),
    ("panda_link0", "panda_link1"),
    ("panda_link1", "panda_link2"),
    ("panda_link2", "panda_link3"),
    ("panda_link3", "panda_link4"),
    ("panda_link4", "panda_link5"),
    ("panda_link5", "panda_link6"),
    ("panda_link6", "panda_link7"),
)
"""Joined by a joint: their shapes overlap at the joint, by up to 52 mm, in all configurations."""

MEET_BY_DESIGN: tuple[tuple[str, str], ...] = (("panda_leftfinger", "panda_rightfinger"),)
"""The fingertips touch when the gripper closes on nothing."""

NEVER_TOUCH: tuple[tuple[str, str], ...] = (
    ("chassis", "panda_link0"),  # 368
    ("chassis", "panda_link1"),  # 509
    ("chassis", "panda_link2"),  # 610
    ("chassis", "panda_link3"),  # 487
    ("chassis", "panda_link4"),  # 394
    ("column", "panda_link1"),  # 140
    ("column", "panda_link2"),  # 242
    ("column", "panda_link3"),  # 146
    ("column", "panda_link4"),  # 34
    ("panda_hand", "panda_link3"),  # 95
    ("panda_hand", "panda_link4"),  # 84
    ("panda_hand", "panda_link6"),  # 28
    ("panda_leftfinger", "panda_link3"),  # 44
    ("panda_leftfinger", "panda_link4"),  # 39
    ("panda_leftfinger", "panda_link6"),  # 112
    ("panda_leftfinger", "panda_link7"),  # 57
    ("panda_link0", "panda_link2"),  # 122
    ("panda_link0", "panda_link3"),  # 153
    ("panda_link0", "panda_link4"),  # 33
    ("panda_link1", "panda_link3"),  # 124
    ("panda_link1", "panda_link4"),  # 136
    ("panda_link2", "panda_link4"),  # 46
    ("panda_link3", "panda_link5"),  # 49
    ("panda_link3", "panda_link6"),  # 156
    ("panda_link3", "panda_link7"),  # 174
    ("panda_link3", "panda_rightfinger"),  # 44
    ("panda_link4", "panda_link6"),  # 134
    ("panda_link4", "panda_link7"),  # 150
    ("panda_link4", "panda_rightfinger"),  # 38
    ("panda_link6", "panda_rightfinger"),  # 112
    ("panda_link7", "panda_rightfinger"),  # 57
)
"""Proved to stay more than 10 mm apart, by branch and bound over the joints between them.

Behind each pair the least distance, in mm, at any configuration that was looked at.
"""

ALLOWED_SELF_COLLISIONS: frozenset[tuple[str, str]] = frozenset(
    NEIGHBOURS + MEET_BY_DESIGN + NEVER_TOUCH
)
"""The 44 pairs out of 78 that no world checks."""
