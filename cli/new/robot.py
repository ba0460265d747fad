"""``galley new robot``: writes a commented robot file from a URDF."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from pathlib import Path
from typing import TYPE_CHECKING

from galley.cli.common.arguments import check_output
from galley.domain.errors import BadInput, InputError
from galley.domain.options import argument, option

if TYPE_CHECKING:
    from galley.domain.frames import Array
    from galley.domain.scene.robot_file import RobotFile
    from galley.robots.model import JointGroup

EPILOG = """examples:
  galley new robot my_arm.urdf    writes NAME.yaml
  galley new robot package://my_arm/arm.urdf --out robot.yaml    in a ROS package
  galley new robot two_arms.urdf --from torso --to left_hand     one arm of several

The file has the arm's joints, the fingers' closed and open positions, limits, and dimensions of the
gripper measured on its meshes. Guesses are marked; 'galley robot FILE' shows the result."""

# Positions in a joint's range that are tried to fold the arm, as fractions.
_SHARES = [0.02, 0.17, 0.33, 0.5, 0.67, 0.83, 0.98]


@dataclass(frozen=True, kw_only=True)
class NewRobotOptions:
    """Options of ``galley new robot``."""

    urdf: str = argument("URDF of the robot: a file, or package://NAME/PATH.", "URDF")
    out: Path | None = option(None, "Robot file to write. Default: NAME.yaml, by the robot's name.")
    start: str = option("", "First link of the arm. Default: the root.", "LINK", flag="--from")
    end: str = option("", "Last link of the arm. Default: the branch.", "LINK", flag="--to")


def command(options: NewRobotOptions) -> int:
    """Draft the file from the URDF, fold the arm, write it and print the next step."""
    import numpy as np
    from jinja2 import StrictUndefined, Template

    from galley.cli.common.progress import Printer
    from galley.domain.files import write_atomically
    from galley.domain.frames import rpy
    from galley.robots.draft import draft_of
    from galley.robots.files import find_package_file

    printer, folder = Printer(), Path() if options.out is None else options.out.parent
    printer.stage("reading the URDF")
    source, path = folder.absolute() / "robot.yaml", Path()
    urdf = options.urdf if "://" in options.urdf else os.path.relpath(options.urdf, folder)
    try:
        path = find_package_file(options.urdf, Path("here").absolute())
        draft = draft_of(path, urdf, source, options.start, options.end)
    except (ValueError, FileNotFoundError) as error:
        if isinstance(error, BadInput):
            raise
        said = [line.removeprefix(f"{path}: ") for line in str(error).split("\n")]
        raise BadInput([InputError(options.urdf, None, None, line) for line in said]) from error
    name = re.sub(r"\W+", "_", draft.file.name)
    out = options.out or Path(f"{name}.yaml")
    if out.exists():
        raise BadInput.one(out, "exists already: choose another name with --out, or remove it")
    check_output(out, ".yaml", ".yml")
    file, arm, free = replace(draft.file, source=str(out.absolute()), name=name), None, False
    if draft.found:
        printer.stage("folding the arm")
        try:
            arm, folded, free = _folded(file)
        except BadInput as bad:  # faults of the URDF, so that there is no robot
            said = [each.what.removeprefix(f"{path}: ") for each in bad.errors]
            raise BadInput([InputError(options.urdf, None, None, line) for line in said]) from bad
        file = replace(file, folded=tuple(folded))
    text = Path(__file__).with_name("robot.yaml.jinja").read_text(encoding="utf-8")
    template = Template(text, undefined=StrictUndefined, trim_blocks=True)
    X = np.eye(4) if draft.found is None else draft.found.X_RT
    more = {"file": file, "arm": arm, "free": free, "stated": dict(file.limits), "row": _row}
    pose = {"xyz": X[:3, 3], "angles": rpy(X[:3, :3])}
    write_atomically(out, template.render(vars(draft) | more | pose) + "\n")
    print(f"{out}: {len(file.arm)} arm joints, {len(file.gripper.joints)} finger joints")
    do = "Check the guesses in it" if draft.found else "Complete its section gripper"
    print(f"{do}, then: galley robot {shlex.quote(str(out))}")
    return 0


def _folded(file: RobotFile) -> tuple[JointGroup, Array, bool]:
    """The arm, its most compact collision-free configuration (n,), and whether there is one.

    The candidates have two joints moved from zero, or from the middle of the ranges. Compact means
    that the farthest link origin is close to the first one. If all candidates collide, the last
    one tried is returned.
    """
    import numpy as np

    from galley.collision.backends.pybullet_world import PyBulletWorld
    from galley.collision.scene_check import deep_pairs
    from galley.domain.scene.reader import load_scene
    from galley.domain.shipped import ALONE
    from galley.robots.assembly import described_robot
    from galley.robots.urdf_reader import read_tree

    scene = load_scene(ALONE)
    robot = described_robot(file, file.base(scene.robot.base, (0.0, 0.0, 0.0)))
    arm, tree = robot.group("arm"), read_tree(robot.urdf, robot.joints)
    low, high = (np.clip(limit, -np.pi, np.pi) for limit in arm.turn)
    grid = low + np.multiply.outer(_SHARES, high - low)
    Q, reach = [], []
    for rest in (np.clip(0.0, grid[0], grid[-1]), grid[len(grid) // 2]):
        for i, j in combinations(range(arm.size), 2):
            for a, b in product(grid[:, i], grid[:, j]):
                moved = rest.copy()
                moved[[i, j]] = a, b
                opened = [wide for _, _, wide in file.gripper.joints]
                Q.append(np.array([0.0, 0.0, 0.0, *np.round(moved, 3), *opened]))
                points = tree.poses(Q[-1])[4:, :3, 3]
                reach.append(np.linalg.norm(points - points[0], axis=1).max())
    with PyBulletWorld(scene, robot) as world:
        for k in np.argsort(np.round(reach, 3), kind="stable"):
            world.set_robot(Q[k])
            if free := not deep_pairs(world):
                break
    return arm, Q[k][robot.slice("arm")], free


def _row(values: Sequence[float]) -> str:
    return "[" + ", ".join(f"{value + 0.0:.6g}" for value in values) + "]"
