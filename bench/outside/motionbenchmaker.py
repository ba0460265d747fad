"""MotionBenchMaker's motion problems for a UR5 and a Panda, from the files that VAMP carries.

A row is a problem: a robot, one of the sets, its number. Galley plans with the robot's URDF from
those files, by ``arm_from_urdf`` and ``plan``, to the goal's configuration. Pinocchio and HPP-FCL
judge, with the meshes of the URDF and the pairs that its SRDF leaves out: every 0.02 rad of the
way, and both ends before it, for not all of the problems are valid.
"""

from __future__ import annotations

import subprocess
import sys
import tarfile
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

KEYS = ("robot", "set", "problem")
VERSIONS = "VAMP's resources f6de6a7, pin 2.7.0, hpp-fcl 2.4.4"
_GITHUB = "https://github.com/KavrakiLab/vamp"
_COMMIT = "f6de6a72e0725ba08e0829f0a34261a3f465aed7"
TOOLS = {"ur5": "ee_link", "panda": "panda_hand"}
PROBLEMS, QUICK = 100, 5  # of a set
FINE = 0.02  # rad between judged configurations
MARGIN = 0.002  # m; some of the problems have ends that are nearer than 5 mm

Ask = Callable[..., Any]
Row = dict[str, Any]


def prepare(python: Path, folder: Path) -> None:
    """Robots and problems into ``folder``."""
    del python
    for command in (
        ("clone", "-q", "--no-checkout", _GITHUB, folder),
        ("-C", folder, "checkout", "-q", _COMMIT, "--", "resources/ur5", "resources/panda"),
    ):
        subprocess.run(["git", *map(str, command)], check=True)


# ----------------------------------------------------------------------------- in Galley's process


@cache
def _robot(urdf: str, tool: str) -> Any:
    from galley.robots.urdf_arm import arm_from_urdf

    return arm_from_urdf(urdf, tool_link=tool)


def answer(request: Row) -> Row:
    """A path from ``start`` to ``goal`` among ``solids``, or why none; with processor time."""
    from time import thread_time

    from galley.motion import CollisionWorld, box, cylinder, plan, sphere
    from galley.motion import Path as Way

    robot, things = _robot(request["urdf"], request["tool"]), {}
    for k, (kind, size, at, R) in enumerate(request["solids"]):
        if kind == "box":
            things[f"{kind}{k}"] = box(size, at, R)
        elif kind == "cylinder":
            things[f"{kind}{k}"] = cylinder(size[1], size[0], at, R)
        else:
            things[f"{kind}{k}"] = sphere(size[0], at)
    world = CollisionWorld(robot, things, margin=MARGIN)
    plan(world, request["start"], request["start"])  # tables and compiled code are made
    began = thread_time()
    found = plan(world, request["start"], request["goal"], seed=0)
    took = thread_time() - began
    if isinstance(found, Way):
        return {"seconds": took, "way": found.waypoints.tolist(), "length": found.length}
    return {"seconds": took, "why": str(found)}


def tell(rows: list[Row]) -> Iterator[str]:
    """The table: a line for each set."""
    heads = (f"{robot}: solved | ms, median | 95th percentile | " for robot in sorted(TOOLS))
    yield f"| set | {''.join(heads)}failures |"
    yield "|---|" + "---:|" * 3 * len(TOOLS) + "---|"
    for name in sorted({row["set"] for row in rows}):
        valid = [row for row in rows if row["set"] == name and row.get("valid")]
        cells = ""
        for mine in ([row for row in valid if row["robot"] == robot] for robot in sorted(TOOLS)):
            times = sorted(1e3 * row["seconds"] for row in mine if row["free"]) or [0.0]
            cells += f"{sum(row['free'] for row in mine)}/{len(mine)} | {median(times):.2f} "
            cells += f"| {times[int(0.95 * (len(times) - 1))]:.2f} | "
        whys = "; ".join(sorted({row["why"].split(":")[0] for row in valid if not row["free"]}))
        yield f"| {name} | {cells}{whys} |"


# ------------------------------------------------------------------------------ in their process


def _resources(robot: str) -> Path:
    return Path(sys.prefix).parent / "source" / "resources" / robot


@cache
def _problems(robot: str) -> dict[tuple[str, int], Row]:
    """Scene and request of each problem, texts of MoveIt's YAML."""
    found: dict[tuple[str, int], Row] = {}
    with tarfile.open(_resources(robot) / "problems.tar.bz2", "r:bz2") as tar:
        for member in filter(tarfile.TarInfo.isfile, tar.getmembers()):
            _, name, file = member.name.split("/")
            kind, number = file[: -len("0001.yaml")], int(file[-9:-5])
            if kind in ("scene", "request") and number <= PROBLEMS:
                text = tar.extractfile(member)
                assert text is not None
                found.setdefault((name.removesuffix(f"_{robot}"), number), {})[kind] = text.read()
    return found


def wanted(ask: Ask, quick: bool) -> list[tuple[str, str, int]]:
    """Robots, sets and numbers."""
    del ask
    most = QUICK if quick else PROBLEMS
    return [(r, *key) for r in TOOLS for key in sorted(_problems(r)) if key[1] <= most]


def row(ask: Ask, robot: str, name: str, problem: int) -> Row:
    """One problem, planned and judged."""
    import numpy as np
    import yaml

    texts = _problems(robot)[name, problem]
    scene, request = (yaml.load(texts[k], yaml.CSafeLoader) for k in ("scene", "request"))
    judge = _Judge(robot)
    judge.stand(solids := _solids(scene))
    given = request["start_state"]["joint_state"]
    start = dict(zip(given["name"], given["position"], strict=True))
    ends = request["goal_constraints"][0]["joint_constraints"]
    goal = {each["joint_name"]: each["position"] for each in ends}
    q = [np.array([each[joint] for joint in judge.joints]) for each in (start, goal)]
    if not all(map(judge.free, q)):
        return {"valid": False, "free": False, "why": "an end collides"}
    urdf = str(_resources(robot) / f"{robot}.urdf")
    plain = [(kind, size, X[:3, 3].tolist(), X[:3, :3].tolist()) for kind, size, X in solids]
    found = ask(urdf=urdf, tool=TOOLS[robot], solids=plain, start=q[0].tolist(), goal=q[1].tolist())
    way, free, why = np.array(found.pop("way", [])), False, found.get("why", "")
    if len(way):
        steps = [
            a + (b - a) * t
            for a, b in pairwise(way)
            for t in np.linspace(0.0, 1.0, 2 + int(np.abs(b - a).max() / FINE))
        ]
        free = all(map(judge.free, steps))
        why = "" if free else "the way collides"
    return found | {"valid": True, "free": free, "why": why}


def _solids(scene: Any) -> list[tuple[str, list[float], Any]]:
    """Kind, dimensions and pose (4, 4) of each primitive."""
    found = []
    for thing in scene["world"]["collision_objects"]:
        base = _pose(thing["pose"]) if "pose" in thing else _pose(None)
        for shape, at in zip(thing["primitives"], thing["primitive_poses"], strict=True):
            found.append((shape["type"], shape["dimensions"], base @ _pose(at)))
    return found


def _pose(at: Any) -> Any:
    import numpy as np
    import pinocchio as pin

    if at is None:
        return np.eye(4)
    return pin.XYZQUATToSE3(np.array([*at["position"], *at["orientation"]])).homogeneous


class _Judge:
    """Pinocchio with a robot and the solids of a problem."""

    def __init__(self, robot: str) -> None:
        import pinocchio as pin

        self._pin, folder = pin, _resources(robot)
        urdf = str(folder / f"{robot}.urdf")
        self._model = pin.buildModelFromUrdf(urdf)
        self._shapes = pin.buildGeomFromUrdf(
            self._model, urdf, pin.GeometryType.COLLISION, package_dirs=[str(folder)]
        )
        self._shapes.addAllCollisionPairs()
        pin.removeCollisionPairs(self._model, self._shapes, str(folder / f"{robot}.srdf"))
        self._data = self._model.createData()
        self.joints = [n for n in self._model.names if "finger" not in n and n != "universe"]

    def stand(self, solids: list[tuple[str, list[float], Any]]) -> None:
        """Put the solids up."""
        import hppfcl

        pin, robot = self._pin, range(self._shapes.ngeoms)
        for k, (kind, size, X) in enumerate(solids):
            if kind == "box":
                shape = hppfcl.Box(*size)
            elif kind == "cylinder":
                shape = hppfcl.Cylinder(size[1], size[0])
            else:
                shape = hppfcl.Sphere(size[0])
            at = pin.SE3(X)
            solid = pin.GeometryObject(f"solid{k}", 0, 0, shape, at)
            index = self._shapes.addGeometryObject(solid)
            for link in robot:
                if self._shapes.geometryObjects[link].parentJoint > 0:  # the foot stands as it is
                    self._shapes.addCollisionPair(pin.CollisionPair(link, index))

    def free(self, arm: Any) -> bool:
        """Whether the robot touches nothing with its arm at (k,), its fingers closed."""
        import numpy as np

        q = np.zeros(self._model.nq)
        q[: len(arm)] = arm
        pin, seen = self._pin, self._pin.GeometryData(self._shapes)
        return not pin.computeCollisions(self._model, self._data, self._shapes, seen, q, True)
