"""``galley reach field``: draw where the base can stand to grasp an item."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from galley.cli.common.arguments import Count, Positive, check_output
from galley.cli.common.shared import scene_option
from galley.domain.errors import BadInput, did_you_mean
from galley.domain.options import argument, more, option
from galley.domain.shipped import KITCHEN

if TYPE_CHECKING:
    from galley.domain.frames import Array
    from galley.domain.scene.model import Scene
    from galley.domain.state import State
    from galley.robots.model import RobotModel
    from galley.skills.base_placement.field import Field

EPILOG = """Colour is the share of headings from which the arm, its foot standing there, reaches
at least one grasp of the item, while the base with its folded arm hits nothing.

examples:
  galley reach field sugar_box --out field.png
  galley reach field mug --scene my_kitchen.yaml --grid 121 --half 1.2"""

_HEADINGS = 24


@dataclass(frozen=True, kw_only=True)
class ReachFieldOptions:
    """Options of ``galley reach field``."""

    item: str = argument("Grasp this item of the scene.", "ITEM")
    scene: Path | None = scene_option()
    out: Path | None = option(None, "Draw this picture. Default: ITEM.png.", "PNG")
    grid: Count = more(61, "Look at N x N places.")
    half: Positive = more(1.5, "Look this far from the item in x and y, in m.", "M")


def command(options: ReachFieldOptions) -> int:
    """Compute the field, print its figures, draw it."""
    import numpy as np

    from galley.cli.common.progress import Printer
    from galley.domain.frames import transform
    from galley.domain.scene.reader import load_scene
    from galley.domain.state import initial_state
    from galley.planar.reach.field_picture import draw_field
    from galley.robots.catalog import robot_of
    from galley.skills.base_placement.field import reachability_field, square
    from galley.skills.manipulation.grasps import grasps_at

    file = options.scene or KITCHEN / "kitchen.yaml"
    path = options.out or Path(f"{options.item}.png")
    check_output(path, ".png")
    if options.grid < 2:
        raise BadInput.one(file, f"--grid needs at least 2 places, got {options.grid}")
    scene = load_scene(file)
    names = [item.name for item in scene.items]
    if options.item not in names:
        hint = did_you_mean(options.item, names) or f"; there are {', '.join(names)}"
        raise BadInput.one(file, f"no item '{options.item}'{hint}")
    robot, item = robot_of(scene.robot), scene.item(options.item)
    state = initial_state(scene)
    grasps = grasps_at(scene, state, names.index(item.name), robot.gripper)
    X_TH = transform(None, -robot.p_HT)
    hands = np.array([item.X_WI @ grasp.X_IT @ X_TH for grasp in grasps])
    if not len(hands):
        raise BadInput.one(file, f"no grasp of '{item.name}' fits between the fingers")
    x, y = square(item.X_WI[:3, 3], options.half, options.grid)
    field = reachability_field(robot, hands, x, y)
    shares = _with_room(scene, state, robot, field)
    printer = Printer()
    printer.console.print(_sentence(item.name, len(hands), field, shares))
    draw_field(field, shares, scene, item.name, path)
    printer.console.print(f"picture: {path}")
    return 0


def _with_room(scene: Scene, state: State, robot: RobotModel, field: Field) -> Array:
    """Share of headings (n, m) that reach a grasp and where base and folded arm are free."""
    import numpy as np

    from galley.collision.scene_kernel import SceneKernel

    checker = SceneKernel(scene, robot).checker(state)
    base = robot.group("base")
    counts = np.zeros(field.gap.shape[:2])
    for heading in (np.arange(_HEADINGS) + 0.5) * (2.0 * np.pi / _HEADINGS) - np.pi:
        bases = field.bases(heading)
        good = field.reaches(heading) & ((bases >= base.lower) & (bases <= base.upper)).all(axis=-1)
        if good.any():
            good[good] = checker.free_many(robot.with_groups(state.q, base=bases[good]))
        counts += good
    return counts / _HEADINGS


def _sentence(name: str, hands: int, field: Field, shares: Array) -> str:
    reach = field.share()
    text = (
        f"{name}, {hands} grasps: in reach from {100.0 * reach.mean():.1f}% of all places and "
        f"headings, and with room for the base from {100.0 * shares.mean():.1f}%"
    )
    most = float(shares.max())
    if most <= 0.0:
        return f"{text}: nowhere on this grid"
    row, column = divmod(int(shares.argmax()), shares.shape[1])
    x, y = field.x[row], field.y[column]
    return f"{text}; most of all, {100.0 * most:.0f}%, with the foot at ({x:.2f}, {y:.2f})"
