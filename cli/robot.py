"""``galley robot``: checks a robot file, summarizes the robot, and shows it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from galley.cli.common.arguments import check_output
from galley.cli.common.tables import PlainTable
from galley.domain.errors import BadInput, InputError
from galley.domain.options import argument, option

if TYPE_CHECKING:
    from galley.domain.scene.model import Scene
    from galley.robots.model import RobotModel

EPILOG = """examples:
  galley robot robot.yaml                     check it, and move its joints in the browser
  galley robot robot.yaml --no-view           draw its visual and collision shapes instead

'galley new robot URDF' writes such a file. The check passes if the file and its URDF are valid, and
the folded robot is free of collision."""

# Keys of a scene, and the key of a robot file that states the same.
_KEYS = dict.fromkeys(("robot.start", "robot.start.arm"), "folded")


@dataclass(frozen=True, kw_only=True)
class RobotOptions:
    """Options of ``galley robot``."""

    file: Path = argument("Robot file (YAML), or the name of a shipped robot.")
    out: Path | None = option(None, "File to write, .html or .png. Default: the robot's name.")
    view: bool = option(True, "Open the page in the browser; without a display, draw a picture.")


def command(options: RobotOptions) -> int:
    """Check the file, print joints, grippers and kinematics, write the page or the picture."""
    from galley.collision.backends.pybullet_world import PyBulletWorld
    from galley.collision.scene_check import check_start
    from galley.domain.files import read_bytes, write_atomically
    from galley.domain.scene.reader import load_scene
    from galley.domain.shipped import ALONE, shipped_file
    from galley.robots.catalog import SHIPPED, robot_of

    given = None if str(options.file) in SHIPPED else shipped_file(options.file)
    if given is not None:
        read_bytes(given)  # one that is missing is reported by its own name
    scene = load_scene(ALONE, given)
    with _placed(scene):
        robot = robot_of(scene.robot)
        with PyBulletWorld(scene, robot) as world:
            check_start(world)
    from galley.cli.common.progress import Printer

    printer = Printer()
    printer.console.print(_joints(robot))
    for hand in robot.hands:
        gripper, moves, name = hand.gripper, hand.kinematics, f"{hand.hand} " if hand.hand else ""
        least = f"{1e3 * gripper.narrowest:.1f} to" if gripper.narrowest > 1e-3 else "at most"
        printer.console.print(
            f"{name}gripper: {' and '.join(hand.fingers)} open to {1e3 * gripper.opening:.1f} mm, "
            f"for items of {least} {1e3 * gripper.widest:.1f} mm"
        )
        how = getattr(moves, "solver", "a closed form")
        printer.console.print(f"{name}kinematics: by {how}; reach {moves.reach.to_hand:.3f} m")
    display = sys.platform in ("darwin", "win32") or "DISPLAY" in os.environ
    shown = options.view and display
    out = options.out or Path(f"{scene.robot.name}.{'html' if shown else 'png'}")
    check_output(out, ".html", ".png")
    printer.stage("drawing")
    if out.suffix.lower() == ".png":
        from galley.viz.render.scene_picture import draw_robot

        draw_robot(scene, robot, out)
    else:
        from galley.viz.replay.robot_page import robot_html

        write_atomically(out, robot_html(scene, robot))
        if shown:
            import webbrowser

            webbrowser.open(out.resolve().as_uri())
    printer.console.print(f"written: {out}")
    return 0


@contextmanager
def _placed(scene: Scene) -> Iterator[None]:
    """Point errors that the robot file causes to their line in that file."""
    try:
        yield
    except BadInput as bad:
        errors = []
        for error in bad.errors:
            key, _, what = error.what.partition(": ")
            if ".urdf" in error.what and f"robot.file.{key}" not in scene.places:
                own, what = scene.robot.file.gripper.urdf if scene.robot.file else "", error.what
                key = "gripper.urdf" if own and Path(own).name in what else "urdf"
            key = _KEYS.get(key, key)
            place = scene.places.get(f"robot.file.{key}")
            errors.append(InputError(*place, f"{key}: {what}") if place else error)
        raise BadInput(errors) from bad


def _joints(robot: RobotModel) -> PlainTable:
    """The limits of the joints of arm and fingers, one row per joint."""
    table = PlainTable("joint", ">from", ">to", ">speed", "unit")
    for group in robot.groups[1:]:
        rows = zip(group.joints, *group.turn, group.velocity, group.units, strict=True)
        for name, low, high, velocity, unit in rows:
            table.add_row(name, f"{low:.4g}", f"{high:.4g}", f"{velocity:.4g}", unit)
    return table
