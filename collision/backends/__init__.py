"""A scene and a robot in PyBullet and Drake.

- ``urdf``: the scene as URDF, which both load
- ``pybullet_world``: states and contacts in PyBullet; ``bullet`` imports it silently
- ``drake_world``: the same in Drake
- ``numeric_ik``: inverse kinematics of any arm
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator


@contextlib.contextmanager
def quiet_drake() -> Iterator[None]:
    """Silences Drake's warnings on loading: no joint friction, no materials, Meshcat's address."""
    logger = logging.getLogger("drake")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)
