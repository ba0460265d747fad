"""The planners of the motion benchmark: their interface, and which are installed.

    pip install pybullet-planning==0.6.1 ompl==2.0.1 roboplan==0.7.0

Every planner gets the same scene: the robot's URDF with the query's base pose, boxes and cylinders,
the held item on the hand, the same ignored pairs of links, and no margin. Setting up the scene does
not count as its time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Protocol

from galley.bench.motion.queries import Query
from galley.bench.report import installed
from galley.domain.frames import Array
from galley.domain.scene.model import Scene
from galley.robots.model import RobotModel

PACKAGES = ("pybullet-planning", "ompl", "roboplan", "ssik", "eaik", "vamp-planner")
BIRRT, BIRRT_RAW = "pybullet-planning birrt", "pybullet-planning birrt, raw"
OMPL_BULLET, OMPL_OURS = "OMPL RRT-Connect on PyBullet", "OMPL RRT-Connect on our checker"
ROBOPLAN = "roboplan RRT-Connect, raw"


@dataclass(frozen=True)
class Answer:
    """What a planner said.

    Attributes:
        path: waypoints (n, 7), None where it gave up.
        seconds: wall time of the search alone.
    """

    path: Array | None
    seconds: float


class Planner(Protocol):
    """A planner in a scene."""

    name: str

    def prepare(self, query: Query) -> None:
        """Bring the planner's world into the query's state; this is not timed."""
        ...

    def plan(self, query: Query, seed: int, limit: float) -> Answer:
        """Plan for the query that was prepared last, for at most about ``limit`` seconds."""
        ...

    def close(self) -> None:
        """Let go of what it holds."""
        ...


def planners(
    scene: Scene, robot: RobotModel, with_ours: bool = True, without: Sequence[str] = ()
) -> tuple[list[Planner], list[str]]:
    """All planners whose packages are installed, and a sentence for each package that isn't.

    Args:
        with_ours: also those of Galley. without: packages not to ask.
    """
    makers: list[tuple[str, str, Callable[[], list[Planner]]]] = [
        # First, since this library speaks to PyBullet's first client only.
        ("pybullet_planning", "pybullet-planning", lambda: _bullet(scene, robot)),
        ("ompl", "ompl", lambda: _ompl(scene, robot, with_ours)),
        ("roboplan.rrt", "roboplan", lambda: _roboplan(scene, robot)),
    ]
    found: list[Planner] = []
    missing = []
    for module, package, make in makers:
        if package in without:
            continue
        try:
            import_module(module)
        except ImportError:
            missing.append(f"{package} is not installed")
            continue
        found += make()
    if "vamp-planner" not in installed(*PACKAGES):
        missing.append("vamp-planner is not installed (it has no wheels)")
    else:
        missing.append("vamp-planner is installed, but this benchmark has no adapter for it")
    if with_ours:
        from galley.bench.motion.peers import ours

        found += ours.planners(scene, robot)
    return found, missing


def _bullet(scene: Scene, robot: RobotModel) -> list[Planner]:
    from galley.bench.motion.peers.bullet import Birrt, BulletScene

    shared = BulletScene(scene, robot)
    return [Birrt(BIRRT, shared, smooth=True), Birrt(BIRRT_RAW, shared, smooth=False)]


def _ompl(scene: Scene, robot: RobotModel, with_ours: bool) -> list[Planner]:
    from galley.bench.motion.peers.ompl import Ompl, bullet_checker

    found: list[Planner] = [Ompl(OMPL_BULLET, robot, bullet_checker(scene, robot))]
    if with_ours:
        from galley.bench.motion.peers.ours import kernel_checker

        found.append(Ompl(OMPL_OURS, robot, kernel_checker(scene, robot)))
    return found


def _roboplan(scene: Scene, robot: RobotModel) -> list[Planner]:
    from galley.bench.motion.peers.roboplan import Roboplan

    return [Roboplan(ROBOPLAN, scene, robot)]
