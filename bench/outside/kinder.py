"""KinDER's kinematic tasks in PyBullet, Transport3D and KinematicShelf3D, in its own environments.

A row is an episode. Its object-centric state becomes a scene and a problem in PDDL: TidyBot's base
with the Gen3, from the URDF that KinDER loads, cubes as items, the hollow box as an item of five
boxes with grasps at its rim. Galley plans, and the configurations of its way, at most 0.2 apart in
every coordinate, are KinDER's actions; its ``terminated`` is success, its steps the reward.

Rules of KinDER's that Galley's scene takes over: what is set down must be within 5 mm of a surface
but not touch it, so surfaces are 2 mm higher; the episode ends only when the hand is 0.2 m away, so
the robot folds its arm. Where KinDER is laxer (its base collides with nothing, and only the ends of
steps are checked) Galley keeps its own rules.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

KEYS = ("task", "seed")
VERSIONS = "kindergarden 0.2.5"
TASKS = (
    *(f"Transport3D-o{n}" for n in (1, 2)),
    *(f"KinematicShelf3D-o{n}" for n in (1, 2, 3, 5, 10)),
)
ON_A_LAYER = 4  # cubes on a layer of the shelf, before the next one gets some
THEIRS = {  # success, steps, CPU s of kinder-baselines 3a2310f's bilevel planner, run once here
    "Transport3D-o1": ("2 of 2", "830 to 843", "8.8 to 10.3"),
    "Transport3D-o2": ("4 of 4", "1,224 to 1,262", "9.3 to 14.6"),
    "KinematicShelf3D-o1": ("2 of 2", "209 to 211", "1.9 to 2.1"),
    "KinematicShelf3D-o3": ("2 of 2", "804 to 854", "9.8 to 11.6"),
}
STEP = 0.2  # at most, of every coordinate
FINE = 0.02  # of every coordinate, between configurations of which steps are chosen
GAP = 0.002  # m between what is set down and its surface
RIM = 0.006  # m below the box's rim, where it is held

Ask = Callable[..., Any]
Row = dict[str, Any]

# ----------------------------------------------------------------------------- in Galley's process


def answer(request: Row) -> Row:
    """KinDER's actions for an episode: base and arm (n, 10), and the gripper's command."""
    import numpy as np

    import galley
    from galley.robots.catalog import robot_of

    cpu = time.process_time()
    files = _write(Path(_folder().name), request)
    try:
        task = galley.load(domain="kitchen.pddl", **files)
    except galley.BadInput as error:  # the start collides, say
        return {"why": str(error), "plan_cpu_s": time.process_time() - cpu}
    found = galley.solve(task, seed=request["seed"], optimize="none")
    if not isinstance(found, galley.Solution):
        return {"why": str(found), "plan_cpu_s": time.process_time() - cpu}
    robot, q = robot_of(task.scene.robot), task.start.q.copy()
    ways, held = [[q[:10].copy()]], False  # a new way where the gripper opens or closes
    for motion in found.motions:
        if held != any(each.kind == "item" for each in motion.attachments):
            held = not held
            ways.append([q[:10].copy()])
        for waypoint in motion.path.resampled(FINE).waypoints:
            q[robot.slice(motion.path.group)] = waypoint
            ways[-1].append(q[:10].copy())
    actions = []
    for k, way in enumerate(ways):
        rows = _strides(np.array(way)) or [0]
        actions += [[*way[row].tolist(), 0.0] for row in rows]
        if k < len(ways) - 1:
            actions[-1][-1] = 1.0 if k % 2 else -1.0
    return {
        "plan_cpu_s": time.process_time() - cpu,
        "actions": actions,
        "plan": len(found.plan),
        "why": "",
    }


@cache
def _folder() -> TemporaryDirectory[str]:
    """One for all episodes: the robot in it is read once."""
    return TemporaryDirectory()


def _strides(q: Any) -> list[int]:
    """Rows of a way (n, k), each at most STEP from the one before, up to the last."""
    import numpy as np

    at, found = 0, []
    while at < len(q) - 1:
        apart = np.abs(q[at + 1 :] - q[at]).max(axis=1)
        at += 1 + int(np.flatnonzero(apart <= STEP - 1e-6)[-1])
        found.append(at)
    return found


def _write(folder: Path, request: Row) -> dict[str, Path]:
    """Scene, robot, grasps and problem as files of Galley."""
    import numpy as np

    robot = {
        "galley_robot": 1,
        "name": "tidybot",
        "urdf": request["urdf"],
        "arm": [f"joint_{k}" for k in range(1, 8)],
        "folded": request["arm"],
        "convex_parts": 1,  # as PyBullet has it
        "base": {
            "holonomic": {
                "size": [0.548, 0.508, 0.365],  # as tidybot_base.urdf has it
                "ground_gap": 0.03,
                "p_BA": [0.1199, 0.0, 0.3948],
            }
        },
        "gripper": {
            "joints": {
                name: [sign * 0.8, 0.0]
                for name, sign in (
                    ("finger_joint", 1),
                    ("right_outer_knuckle_joint", 1),
                    ("left_inner_knuckle_joint", 1),
                    ("right_inner_knuckle_joint", 1),
                    ("left_inner_finger_joint", -1),
                    ("right_inner_finger_joint", -1),
                )
            },
            "fingers": ["left_inner_finger_pad", "right_inner_finger_pad"],
            "opens_fully": True,
        },
    }
    Path(folder, "robot.yaml").write_text(json.dumps(robot))
    bodies = {
        name: {"shapes": [{"extents": np.transpose(box).tolist()} for box in boxes]}
        for name, boxes in request["bodies"].items()
    }
    scene: Row = {
        "galley_scene": 1,
        "name": "kinder",
        "robot": {"file": "robot.yaml", "start": {"base": request["base"]}},
        "bodies": bodies,
        "regions": {},
        "stances": {
            "around": {"x": [-2.5, 3.5], "y": [-2.5, 3.5]},
            "away": {"x": [-1.5, -0.5], "y": [-1.0, 1.0]},  # from table and shelf
        },
        "items": {},
        "objects": {"h1": {"hand": "hand"}, "away": {"stance": "away", "region": "floor"}},
    }
    for name, (body, low, high) in request["surfaces"].items():
        ranges = {"x": [low[0], high[0]], "y": [low[1], high[1]], "z": high[2]}
        scene["regions"][name] = {"body": body, "surface": [ranges]}
        scene["objects"][name] = {"stance": "around", "region": name}
    init, goal = ["(near floor)", "(empty h1)"], []
    for name, item in request["items"].items():
        x, y, _ = item["xyz"]
        scene["items"][name] = {
            "mass": 0.1,
            "shapes": item["shapes"],
            "pose": {"on": "floor", "xy": [x, y], "yaw": 0.0},
        }
        if "grasps" in item:
            scene["items"][name]["grasps"] = item["grasps"]
        scene["objects"][name] = {"item": name}
        init.append(f"(on {name} floor)")
        full = len(goal) // ON_A_LAYER if request["goal"] == "layer" else ""
        goal.append(f"(on {name} {request['goal']}{full})")
    if request["goal"] == "table":
        goal.append("(near away)")
    files = {"scene": Path(folder, "task.yaml"), "problem": Path(folder, "task.pddl")}
    files["scene"].write_text(json.dumps(scene))
    files["problem"].write_text(
        f"""(define (problem kinder) (:domain kitchen)
        (:objects {" ".join(request["surfaces"])} away - furniture
          {" ".join(request["items"])} - objective h1 - hand)
        (:init {" ".join(init)}) (:goal (and {" ".join(goal)})))"""
    )
    return files


def tell(rows: list[Row]) -> Iterator[str]:
    """The table, a line for each task."""
    yield (
        "| task | success | steps, median | planning CPU s, median (most) | failures "
        "| bilevel planner: success | steps | CPU s |"
    )
    yield "|---|---:|---:|---:|---|---:|---:|---:|"
    for task in TASKS:
        mine = [row for row in rows if row["task"] == task]
        good = [row for row in mine if row["success"]]
        if not mine:
            continue
        whys = "; ".join(sorted({row["why"].split(" (")[0] for row in mine if not row["success"]}))
        steps, times = ([row[key] for row in good] or [0] for key in ("steps", "plan_cpu_s"))
        yield (
            f"| {task} | {len(good)}/{len(mine)} | {median(steps):.0f} "
            f"| {median(times):.1f} ({max(times):.1f}) | {whys} "
            f"| {' | '.join(THEIRS.get(task, '---'))} |"
        )


# ------------------------------------------------------------------------------ in their process


def wanted(ask: Ask, quick: bool) -> list[tuple[str, int]]:
    """Tasks, and seeds."""
    del ask
    return [(task, seed) for seed in range(2 if quick else 50) for task in TASKS]


def row(ask: Ask, task: str, seed: int) -> Row:
    """One episode, planned by Galley and run by KinDER."""
    import numpy as np

    env = _environment(task)
    state = env.observation_space.devectorize(env.reset(seed=seed)[0])
    found = ask(**_request(state), seed=seed)
    actions = np.array(found.pop("actions", []))
    at = _configuration(state)
    done, reverted, steps = False, 0, 0
    for wanted in actions:
        steps += 1
        change = wanted[:10] - at
        change[2] = (change[2] + np.pi) % (2.0 * np.pi) - np.pi
        action = np.array([*change, wanted[10]], dtype=np.float32)
        observation, _, done, _, _ = env.step(action)
        state = env.observation_space.devectorize(observation)
        at = _configuration(state)
        off = np.abs(np.append(at[:2] - wanted[:2], at[3:] - wanted[3:10])).max()
        if off > 1e-3:
            reverted += 1
        if done or reverted > 3:
            break
    why = found["why"] or ("" if done else f"not done; {reverted} steps reverted")
    return found | {"success": bool(done), "steps": steps, "why": why}


@cache
def _environment(task: str) -> Any:
    import kinder

    kinder.register_all_environments()
    return kinder.make(f"kinder/{task}-v0", realistic_bg=False)


def _configuration(state: Any) -> Any:
    import numpy as np

    robot = state.get_object_from_name("robot")
    names = ("pos_base_x", "pos_base_y", "pos_base_rot", *(f"joint_{k}" for k in range(1, 8)))
    return np.array([state.get(robot, name) for name in names])


def _request(state: Any) -> Row:
    """The episode's state, as Galley's half needs it."""
    import numpy as np
    from kinder.envs.kinematic3d.transport3d import Transport3DEnvConfig
    from pybullet_helpers.utils import get_assets_path

    q = _configuration(state)
    bodies = {"floor": [[[-4, -4, -0.05], [4, 4, 0.0]]]}
    surfaces = {"floor": ("floor", [-3, -3, 0], [3, 3, 0.0])}
    items, goal = {}, ""
    for thing in state:
        name = thing.name
        if name == "robot":
            continue
        if name == "shelf":
            goal = "layer"
            bodies[name], layers = _shelf(state, thing)
            surfaces |= {f"layer{k}": ("shelf", *box) for k, box in enumerate(layers)}
            continue
        at, half = (
            np.array([state.get(thing, f"{part}_{axis}") for axis in "xyz"])
            for part in ("pose", "half_extent")
        )
        if name == "table":
            goal = name
            box = [(at - half).tolist(), (at + half + [0, 0, GAP]).tolist()]
            bodies[name], surfaces[name] = [box], (name, *box)
        elif name.startswith("box"):
            items[name] = _box(half, Transport3DEnvConfig.box_wall_thickness) | {"xyz": at.tolist()}
        else:
            items[name] = {"xyz": at.tolist(), "shapes": [{"box": (2 * half).tolist()}]}
    folder = get_assets_path() / "urdf" / "kortex_description"
    return {
        "urdf": str(folder / "gen3_7dof.urdf"),
        "base": q[:3].tolist(),
        "arm": q[3:].tolist(),
        "bodies": bodies,
        "surfaces": surfaces,
        "items": items,
        "goal": goal,
    }


def _box(half: Any, wall: float) -> Row:
    """The hollow box: shapes, and grasps at the middle and the quarters of its four walls."""
    import numpy as np

    x, y, z = half.tolist()
    shapes = [{"box": [2 * x, 2 * y, wall], "xyz": [0, 0, -z + wall / 2]}]
    grasps = []
    for sign in (-1, 1):
        shapes.append({"box": [wall, 2 * y, 2 * z], "xyz": [sign * (x - wall / 2), 0, 0]})
        shapes.append({"box": [2 * x, wall, 2 * z], "xyz": [0, sign * (y - wall / 2), 0]})
        for part in (-0.5, 0.0, 0.5):
            for turn in (0.0, np.pi):
                at = [sign * (x - wall / 2), part * y, z - RIM]
                side = {"width": wall, "rpy": [np.pi, 0.0, np.pi / 2 + turn]}
                grasps.append({"name": f"x{len(grasps)}", "xyz": at, **side})
                at = [part * x, sign * (y - wall / 2), z - RIM]
                side = {"width": wall, "rpy": [np.pi, 0.0, turn]}
                grasps.append({"name": f"y{len(grasps)}", "xyz": at, **side})
    return {"shapes": shapes, "grasps": grasps}


def _shelf(state: Any, thing: Any) -> tuple[Any, Any]:
    """The boxes of the shelf, and those of them that count: its layers GAP higher."""
    import numpy as np
    from kinder.envs.kinematic3d.shelf3d import Shelf3DEnvConfig

    config = Shelf3DEnvConfig
    at = np.array([state.get(thing, f"pose_{axis}") for axis in "xyz"])
    w, d, h, s = (
        getattr(config, f"shelf_{each}") for each in ("width", "depth", "height", "support_width")
    )
    boxes = []
    for layer in range(config.shelf_num_layers):
        p = at + np.array([0, 0, layer * (config.shelf_spacing + h)])
        half = np.array([w, d, h]) / 2
        boxes.append([(p - half).tolist(), (p + half + [0, 0, GAP]).tolist()])
    tall = (config.shelf_num_layers - 1) * config.shelf_spacing + config.shelf_num_layers * h
    for sign in (-1, 1):
        p = at + np.array([sign * (w + s) / 2, 0, tall / 2 - h / 2])
        half = np.array([s, d, tall]) / 2
        boxes.append([(p - half).tolist(), (p + half).tolist()])
    return boxes, boxes[1 : config.shelf_num_layers]
