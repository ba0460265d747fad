"""``galley scene``: checks a scene, lists its objects, draws it with labels."""

from __future__ import annotations

import contextlib
import logging
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from galley.cli.common.arguments import check_output, plural
from galley.cli.common.shared import TaskFiles
from galley.cli.common.tables import PlainTable
from galley.domain.options import group, option
from galley.stages import Options as RunOptions

if TYPE_CHECKING:
    from galley.domain.scene.model import Binding, Item, Scene
    from galley.robots.model import RobotModel

EPILOG = """examples:
  galley scene --scene my_kitchen.yaml    check it, draw my_kitchen.png
  galley scene --scene my_kitchen.yaml --view    inspect it in the browser
  galley scene --scene my_kitchen.yaml --domain domain.pddl --problem problem.pddl
  galley scene --schema > scene.schema.json    for editors (docs/scene.md#in-an-editor)

A scene passes if it is well-formed and free of collision at the start. With --domain, --problem or
--skills, the task must fit the scene, too."""


@dataclass(frozen=True, kw_only=True)
class SceneOptions:
    """Options of ``galley scene``."""

    task: TaskFiles = group(TaskFiles())
    schema: bool = option(False, "Only print the JSON Schema of scene files, for editors.")
    out: Path | None = option(None, "Picture to write (.png). Default: the scene's name.", "PNG")
    picture: bool = option(True, "Draw the scene.")
    view: bool = option(
        False,
        "Also show the scene in the browser until Ctrl-C, at an address that only this machine can "
        "open.",
    )


def command(options: SceneOptions) -> int:
    """Check the scene, and the task if one is given; print the objects and draw the picture."""
    if options.schema:
        from galley.domain.scene.schema import schema_text

        print(schema_text(), end="")
        return 0
    from galley.cli.common.progress import Printer
    from galley.robots.catalog import robot_of

    scene = _checked(options.task)
    robot = robot_of(scene.robot)
    printer = Printer()
    printer.console.print(
        f"{scene.source}: well-formed and free of collision at the start. {len(scene.bodies)} "
        f"bodies, {plural(len(scene.joints), 'joint')}, {plural(len(scene.items), 'item')}"
    )
    printer.console.print(_objects(scene, robot))
    if options.picture:
        from galley.viz.render.scene_picture import draw_scene

        path = options.out or Path(f"{Path(scene.source).stem}.png")
        check_output(path, ".png")
        logging.getLogger("galley").setLevel(logging.ERROR)
        printer.stage("drawing")
        draw_scene(scene, robot, path)
        printer.console.print(f"picture: {path}")
    if options.view:
        from galley.viz.replay.bodies import Bodies, open_meshcat

        meshcat = open_meshcat()
        Bodies(meshcat, scene, robot).show_start(scene)
        print(f"in the browser: {meshcat.web_url()} (Ctrl-C to stop)", flush=True)
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()
    return 0


def _checked(task: TaskFiles) -> Scene:
    """Read the scene and check its start for collisions; check that it fits the task, if given."""
    if task != TaskFiles(scene=task.scene, robot=task.robot):
        from galley.engine import load

        return load(**task.paths()).scene
    from galley.collision.backends.pybullet_world import PyBulletWorld
    from galley.collision.scene_check import check_start
    from galley.domain.scene.reader import load_scene
    from galley.robots.catalog import robot_of

    scene = load_scene(task.scene or RunOptions.scene, task.robot)
    with PyBulletWorld(scene, robot_of(scene.robot)) as world:
        check_start(world)
    return scene


def _objects(scene: Scene, robot: RobotModel) -> PlainTable:
    table = PlainTable("PDDL object", "is a", "in the scene", "~details")
    for binding in scene.bindings:
        table.add_row(binding.object, binding.kind, binding.target, _details(scene, robot, binding))
    return table


def _grasps(scene: Scene, robot: RobotModel, item: Item) -> str:
    """The number of grasps of an item in its starting pose, by direction of approach."""
    from galley.domain.state import initial_state
    from galley.skills.manipulation.grasps import grasps_at, leaning_grasps

    state, index = initial_state(scene), scene.item_index[item.name]
    standard = grasps_at(scene, state, index, robot.gripper)
    steep = [-float(item.X_WI[2, :3] @ grasp.X_IT[:3, 2]) for grasp in standard]
    above, side = sum(s > 0.9 for s in steep), sum(abs(s) < 0.1 for s in steep)
    leaning = len(leaning_grasps(scene, state, index, robot.gripper)) + len(steep) - above - side
    return f"grasps: {above} from above, {side} from the side, {leaning} leaning"


def _details(scene: Scene, robot: RobotModel, binding: Binding) -> str:
    if binding.kind == "item":
        item = scene.item(binding.target)
        x, y, z = item.X_WI[:3, 3]
        size = " x ".join(f"{v:.3f}" for v in item.size)
        placed = f"{size} m, {item.mass:.3f} kg, at ({x:.3f}, {y:.3f}, {z:.3f})"
        return f"{placed}; {_grasps(scene, robot, item)}"
    if binding.kind == "hand":
        return ""
    parts = [f"region {binding.region}"] if binding.region else []
    if binding.handle:
        parts.append(f"handle {binding.handle}, opened {binding.opening:.2f} m")
    if binding.staging:
        parts.append(f"things in the way are put down on {binding.staging}")
    return ", ".join(parts)
