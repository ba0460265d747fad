"""guided-tamp-benchmark's shelf and tunnel: objects to where a demonstration left them.

A row is a task: demonstration, robot, robot pose. Its planner is a subclass of the benchmark's
``BasePlanner`` that asks Galley; the benchmark runs it, and its ``path_is_successful`` judges.

Objects become items with their convex hulls, the benchmark's handles their listed grasps, the
supports' contact surfaces regions 1 mm above (where the demonstrations have objects stand), the
goal poses exact places. Galley plans pick and place in PDDL; the way is that of its kinematic
execution, then home. In the tunnel an object is set down where the demonstration did so; the walls
beside it stop objects only, and the robot's links may touch them. Two rules are the benchmark's
own: a grasp is exact to 1e-3, with fingers that touch nothing, so they stay open; a thing at rest
has the exact pose of the demonstration.
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any

KEYS = ("task", "demonstration", "robot", "pose")
VERSIONS = "guided-tamp-benchmark 0.1.0, pin 2.7.0, hpp-fcl 2.4.4"
SECONDS = 60  # of a planner for a task, as published
DELTA = 0.001  # of the way, between judged configurations
TOLERATED = 2  # objects; with more, the judge takes what is carried for what stands
FINE = 0.0008  # m and rad, that what is carried then moves between judged configurations, at most
AROUND = 0.35  # m, of an object's corners from the hand
COARSE = 0.05  # rad of a joint
OPEN = 0.04  # m of each finger
GAP = 0.001  # m between what stands and its support, as in the demonstrations
NEARLY = 0.005  # m, of a pose that is meant to be the goal
TASKS = ("shelf", "tunnel")
ROBOTS = ("panda", "ur5")

Ask = Callable[..., Any]
Row = dict[str, Any]

# ----------------------------------------------------------------------------- in Galley's process


def answer(request: Row) -> Row:
    """A way for a task: configurations of the arm, and what is held; or why there is none.

    In the tunnel first to where the demonstration sets the object down, then from there.

    A pedestal of negative height, of a robot on a shelf, stops some links and lets others through:
    it stands in the way if there is a way around it.
    """
    found = _answer(request)
    sound = [each for each in request["boxes"] if not each["inverted"]]
    if "q" in found or len(sound) == len(request["boxes"]):
        return found
    around = found["cpu_s"]
    found = _answer(request | {"boxes": sound})
    return found | {"cpu_s": around + found["cpu_s"]}


def _answer(request: Row) -> Row:
    import numpy as np

    cpu, q, held, actions = time.process_time(), [], [], 0
    arm = slice(3, 3 + len(request["robot"]["initial"]))
    while True:
        aims = [each["via"][0] if each["via"] else each["goal"] for each in request["items"]]
        found = _solved(request, aims)
        if isinstance(found, str):
            return {"why": found, "cpu_s": time.process_time() - cpu}
        task, log, count = found
        q, held, actions = [*q, log.q[:, arm]], [*held, *log.held.tolist()], actions + count
        if not any(each["via"] for each in request["items"]):
            break
        items = [
            each | {"start": aim, "via": each["via"][1:]}
            for each, aim in zip(request["items"], aims, strict=True)
        ]
        request = request | {"items": items, "q": log.q[-1, arm].tolist()}
    back = _home(task, request, log)
    if isinstance(back, str):
        return {"why": f"home: {back}", "cpu_s": time.process_time() - cpu}
    return {
        "cpu_s": time.process_time() - cpu,
        "actions": actions,
        "q": np.vstack([*q, back]).tolist(),
        "held": [*held, *[-1] * len(back)],
    }


def _solved(request: Row, aims: list[Any]) -> tuple[Any, Any, int] | str:
    """A task of Galley, its log and how many actions bring the objects to the aims; or why not."""
    import galley

    with TemporaryDirectory() as name:
        _write(Path(name), request, aims)
        files = {"scene": Path(name, "task.yaml"), "problem": Path(name, "task.pddl")}
        try:
            task = galley.load(domain="kitchen.pddl", **files)
        except galley.BadInput as error:
            return str(error)
        found = galley.solve(task, seed=request["seed"])
        if not isinstance(found, galley.Solution):
            return str(found)
        return task, galley.execute(found, executor="kinematic").log, len(found.plan)


def _home(task: Any, request: Row, log: Any) -> Any:
    """Configurations (n, k) from the end of the log to the start's, or why there are none."""
    import numpy as np

    from galley.domain.frames import rotation_from_quaternion
    from galley.motion import CollisionWorld, box, convex, plan
    from galley.motion import Path as Way
    from galley.robots.catalog import robot_of

    robot, end = robot_of(task.scene.robot), log.items[-1]
    things: Row = {}
    for each in request["boxes"]:
        X = np.array(each["pose"])
        if not each["for_objects"]:
            things.setdefault(each["body"], []).append(box(each["size"], X[:3, 3], X[:3, :3]))
    for k, item in enumerate(task.scene.items):
        R = rotation_from_quaternion(end[k, 3:])
        things[item.name] = convex(_hull(request["items"][k])[0], end[k, :3], R)
    arm = robot.slice("arm")
    world = CollisionWorld(robot, things, q=log.q[-1])
    found = plan(world, log.q[-1, arm], request["robot"]["initial"], seed=request["seed"])
    return found.resampled(0.02).waypoints if isinstance(found, Way) else str(found)


def _hull(item: Row) -> tuple[Any, Any]:
    """Corners (n, 3) of an object's hull in Galley's frame of it, and that frame's pose (4, 4).

    The middle of the bounding box, with z straight up at the start.
    """
    import numpy as np
    import trimesh

    from galley.domain.frames import transform

    up = np.array(item["start"])[2, :3]
    x = np.eye(3)[(int(np.abs(up).argmax()) + 1) % 3]
    y = np.cross(up, x) / np.linalg.norm(np.cross(up, x))
    R = np.column_stack([np.cross(y, up), y, up])
    points = 1e-3 * trimesh.load(item["mesh"], force="mesh").convex_hull.vertices @ R  # from mm
    middle = (points.min(axis=0) + points.max(axis=0)) / 2.0
    return points - middle, transform(R, R @ middle)


def _write(folder: Path, request: Row, aims: list[Any]) -> None:
    """Files of Galley by which the objects come to their aims: scene, problem, robot, meshes."""
    import numpy as np
    import trimesh

    from galley.domain.frames import inverse, rpy, transform
    from galley.domain.scene.reader import load_scene
    from galley.robots.catalog import robot_of

    def pose(X: Any) -> Row:
        return {"xyz": X[:3, 3].tolist(), "rpy": rpy(X[:3, :3]).tolist()}

    given = request["robot"]
    robot = {
        "galley_robot": 1,
        "name": given["name"],
        "urdf": given["urdf"],
        "arm": given["arm"],
        "folded": given["initial"],
        "base": {"fixed": pose(np.array(given["pose"]))},
        "gripper": {
            "joints": {f"panda_finger_joint{k}": [0.0, OPEN] for k in (1, 2)},
            "fingers": ["panda_leftfinger", "panda_rightfinger"],
        },
    }
    Path(folder, "robot.yaml").write_text(json.dumps(robot))
    bodies: Row = {}
    for each in request["boxes"]:
        shape = {"box": each["size"], **pose(np.array(each["pose"]))}
        bodies.setdefault(each["body"], {"shapes": []})["shapes"].append(shape)
    scene: Row = {
        "galley_scene": 1,
        "name": "shelf",
        "robot": {"file": "robot.yaml", "start": {"base": [0, 0, 0], "arm": request["q"]}},
        "bodies": bodies,
        "stances": {"here": {"x": [-0.1, 0.1], "y": [-0.1, 0.1]}},
        "regions": {},
        "items": {},
        "objects": {"h1": {"hand": "panda_hand"}},
    }
    for name, body, corners in request["surfaces"]:
        low, high = np.min(corners, axis=0), np.max(corners, axis=0)
        ranges = {"x": [low[0], high[0]], "y": [low[1], high[1]], "z": high[2] + GAP}
        scene["regions"][name] = {"body": body, "surface": [ranges]}
        scene["objects"][name] = {"stance": "here", "region": name}
    file = Path(folder, "task.yaml")
    file.write_text(json.dumps(scene))
    spec = load_scene(file).robot
    model, q = robot_of(spec), spec.q.copy()
    for name in {each["body"] for each in request["boxes"] if each["for_objects"]}:
        bodies[name]["may_touch"] = model.links
    q[model.slice("arm")] = given["initial"]
    X_PH = inverse(np.array(given["X_WP"])) @ model.kinematics.hand_pose(q)
    X_GT = inverse(np.array(given["X_PG"])) @ X_PH @ transform(None, model.p_HT)
    init, goal = ["(empty h1)"], []
    for k, item in enumerate(request["items"]):
        points, shift = _hull(item)
        trimesh.PointCloud(points).convex_hull.export(Path(folder, f"item{k}.stl"))
        grasps = []
        for handle, X_Ih in item["handles"]:
            X = inverse(shift) @ np.array(X_Ih) @ X_GT
            width = min(float(np.ptp(points @ X[:3, 1])), 2.0 * OPEN - 0.002)
            grasps.append({"name": handle, "width": width, **pose(X)})
        start, end = (np.array(each) @ shift for each in (item["start"], aims[k]))
        scene["items"][f"item{k}"] = {
            "mass": 0.3,
            "shapes": [{"mesh": f"item{k}.stl"}],
            "pose": pose(start),
            "grasps": grasps,
        }
        scene["objects"][f"item{k}"] = {"item": f"item{k}"}
        here, there = (_over(request["surfaces"], X, points) for X in (start, end))
        yaw = float(np.arctan2(end[1, 0], end[0, 0]))
        at = {"xy": end[:2, 3].tolist(), "yaw": yaw}
        scene["objects"][f"goal{k}"] = {"stance": "here", "region": there, "at": at}
        init.append(f"(on item{k} {here})")
        goal.append(f"(on item{k} goal{k})")
    file.write_text(json.dumps(scene))
    places = [name for name, thing in scene["objects"].items() if "region" in thing]
    items = [f"item{k}" for k in range(len(request["items"]))]
    near = " ".join(f"(near {place})" for place in places)
    Path(folder, "task.pddl").write_text(
        f"""(define (problem shelf) (:domain kitchen)
        (:objects {" ".join(places)} - furniture {" ".join(items)} - objective h1 - hand)
        (:init {near} {" ".join(init)}) (:goal (and {" ".join(goal)})))"""
    )


def _over(surfaces: list[Any], X_WI: Any, points: Any) -> str:
    """Of the surfaces that an item, with ``points`` in its frame, is over the nearest below."""
    import numpy as np

    bottom, p = (points @ X_WI[:3, :3].T)[:, 2].min() + X_WI[2, 3], X_WI[:2, 3]
    over = []
    for name, _, corners in surfaces:
        low, high = np.min(corners, axis=0), np.max(corners, axis=0)
        if (low[:2] <= p).all() and (p <= high[:2]).all():
            over.append((abs(bottom - high[2]), name))
    return str(min(over)[1])


def tell(rows: list[Row]) -> Iterator[str]:
    """The table: a line for each demonstration and robot."""
    yield "| task | robot | poses | solved | s, median | s, most | failures |"
    yield "|---|---|---:|---:|---:|---:|---|"
    for key in sorted({(row["task"], row["demonstration"], row["robot"]) for row in rows}):
        mine = [row for row in rows if (row["task"], row["demonstration"], row["robot"]) == key]
        clear = [row for row in mine if not row["collides"]]
        solved = [row for row in mine if row["solved"]]
        times = [row["time_s"] for row in solved]
        details = r"^(no .*? 0 tries .*?; |pick .*?: )|( in [\d,]+ tries| from every|, 5 mm from).*"
        failed = Counter(re.sub(details, "", row["why"]) for row in clear if row["why"])
        whys = "; ".join(f"{count}x {why}" for why, count in failed.items())
        took = f"{median(times):.1f} | {max(times):.1f}" if times else "- | -"
        yield (
            f"| {key[0]} {key[1]} | {key[2]} | {len(mine)} | {len(solved)}/{len(clear)} "
            f"| {took} | {whys} |"
        )


# ------------------------------------------------------------------------------ in their process


def wanted(ask: Ask, quick: bool) -> list[tuple[str, int, str, int]]:
    """Demonstrations, robots and their poses."""
    from guided_tamp_benchmark.tasks.demonstration import Demonstration

    del ask
    found = []
    for task in TASKS:
        for demonstration in sorted(Demonstration.get_demonstration_ids(task)):
            for robot in ROBOTS:
                count = Demonstration.get_number_of_robot_poses(task, demonstration, robot)
                poses = range(3 if quick else count)
                found += [(task, demonstration, robot, pose) for pose in poses]
    return found


def row(ask: Ask, task: str, demonstration: int, robot: str, pose: int) -> Row:
    """One task, run and judged by the benchmark."""
    from guided_tamp_benchmark.benchmark import Benchmark
    from guided_tamp_benchmark.core import BasePlanner, Configuration
    from guided_tamp_benchmark.models.robots import PandaRobot, UR5Robot
    from guided_tamp_benchmark.tasks import ShelfTask, TunnelTask

    model = {"panda": PandaRobot, "ur5": UR5Robot}[robot]()
    given = {"shelf": ShelfTask, "tunnel": TunnelTask}[task](demonstration, model, pose)
    ends = [given.demo.subgoal_objects_poses[:, k] for k in (0, -1)]
    initial = model.initial_configuration()
    where = [given._check_config_for_collision(Configuration(initial, each)) for each in ends]
    if any(where):
        ends_said = " and ".join(n for n, hit in zip(("start", "goal"), where, strict=True) if hit)
        return {"solved": False, "collides": True, "why": f"{ends_said} in collision"}
    said: Row = {}

    class Galley(BasePlanner):
        """Asks Galley."""

        name = "Galley"

        def __init__(self, task: Any, max_planning_time: float, random_seed: int) -> None:
            self.task, self.seed = task, random_seed

        def solve(self) -> bool:
            said.update(ask(**_described(self.task), seed=self.seed))
            return "q" in said

        def get_path(self) -> Any:
            said["path"] = _path(self.task, said)
            return said["path"]

    benchmark = Benchmark()
    benchmark.do_benchmark(given, Galley, [0], {}, DELTA, max_planning_time=SECONDS)
    result = benchmark.results["Galley"][task][demonstration][robot][given.demo.pose_id][0]
    found = {"collides": False, "solved": False, "why": said.get("why", "no path")}
    found["cpu_s"] = said.get("cpu_s")
    if result.is_solved:
        good, why = given.path_is_successful(said["path"], said["path"].delta)
        if good and result.computation_time > SECONDS:
            good, why = False, f"a way, but later than after {SECONDS} s"
        found |= {"solved": bool(good), "why": "" if good else why}
        found |= {"time_s": result.computation_time, "actions": said["actions"]}
        found |= {"grasps": int(result.number_of_grasps)}
    return found


def _described(task: Any) -> Row:
    """A task as plain data, frames: W the world, P the link ``panda_hand``, G its gripper."""
    import pinocchio as pin
    from guided_tamp_benchmark.models.utils import get_models_data_directory

    def matrix(values: list[float]) -> Any:  # x, y, z, and a quaternion w, x, y, z
        return pin.XYZQUATToSE3(values[:3] + values[4:] + [values[3]]).homogeneous

    robot, boxes, surfaces = task.robot, [], []
    for k, thing in enumerate(task.furniture):
        crossed = getattr(thing, "disabled_collision_links_for_robot", ())
        frames, shapes, _ = pin.buildModelsFromUrdf(
            thing.urdfFilename, package_dirs=str(get_models_data_directory())
        )
        for each in shapes.geometryObjects:
            size = [2.0 * float(v) for v in each.geometry.halfSide]
            box = {"body": f"{thing.name}{k}", "pose": each.placement.homogeneous.tolist()}
            box["for_objects"] = any(each.name.startswith(link) for link in crossed)
            box["body"] += "_for_objects" if box["for_objects"] else ""
            if 0.0 not in size:  # as it is for the pedestal of a robot on the floor
                boxes.append(box | {"size": list(map(abs, size)), "inverted": min(size) < 0.0})
        for name, contact in thing.get_contacts_info().items():
            X = frames.frames[frames.getFrameId(contact["link"])].placement
            for j, shape in enumerate(contact["shapes"]):
                corners = [X.act(point).tolist() for point in shape]
                surfaces.append([f"{name}{j}", f"{thing.name}{k}", corners])
    arm = [each for each in robot.get_actuated_joint_names() if "finger" not in each]
    (gripper,) = robot.get_grippers_info().values()
    items = []
    for k, thing in enumerate(task.objects):
        handles = [
            [name, matrix(handle["pose"]).tolist()]
            for name, handle in thing.get_handles_info().items()
            if handle["clearance"] <= gripper["clearance"]
        ]
        start, goal = (task.demo.subgoal_objects_poses[k, at].tolist() for at in (0, -1))
        mesh = get_models_data_directory() / "ycbv" / "meshes" / f"{thing.name}.obj"
        items.append({"mesh": str(mesh), "handles": handles, "start": start, "goal": goal})
        # Where a demonstration sets an object down on its way, through the tunnel.
        rests = task.demo.subgoal_objects_poses[k, 1:-1:2] if task.task_name == "tunnel" else ()
        items[-1]["via"] = [X.tolist() for X in rests]
    initial = robot.initial_configuration()
    return {
        "robot": {
            "name": robot.name,
            "urdf": robot.urdfFilename,
            "arm": arm,
            "initial": initial[: len(arm)],
            "pose": task.get_robot_pose().tolist(),
            "X_WP": _Hand(task)(initial[: len(arm)]).tolist(),
            "X_PG": matrix(gripper["pose"]).tolist(),
        },
        "boxes": boxes,
        "surfaces": surfaces,
        "items": items,
        "q": initial[: len(arm)],
    }


class _Hand:
    """The pose (4, 4) of ``panda_hand`` for a configuration of the arm."""

    def __init__(self, task: Any) -> None:
        import pinocchio as pin

        self._model = pin.buildModelFromUrdf(task.robot.urdfFilename)
        self._data, self._base = self._model.createData(), task.get_robot_pose()
        self._frame = self._model.getFrameId("panda_hand")

    def __call__(self, arm: Any) -> Any:
        import numpy as np
        import pinocchio as pin

        q = np.append(arm, [OPEN, OPEN])
        pin.framesForwardKinematics(self._model, self._data, q)
        return self._base @ self._data.oMf[self._frame].homogeneous


def _path(task: Any, found: Row) -> Any:
    """Galley's way as a path of the benchmark."""
    import numpy as np
    import pinocchio as pin
    from guided_tamp_benchmark.core import Configuration
    from guided_tamp_benchmark.core import Path as BenchmarkPath

    said, hand = _described(task), _Hand(task)
    X_PG = np.array(said["robot"]["X_PG"])
    q = np.array(found["q"])
    fingers = np.full(len(q), OPEN)
    opening = np.linspace(0.0, OPEN, 6)  # it starts and ends with closed fingers
    q = np.vstack([q[:1].repeat(6, axis=0), q, q[-1:].repeat(6, axis=0)])
    fingers = np.concatenate([opening, fingers, opening[::-1]])
    held = [*[-1] * 6, *found["held"], *[-1] * 6]
    starts, goals = (np.array([each[end] for each in said["items"]]) for end in ("start", "goal"))
    rest, handle = starts.copy(), np.eye(4)
    states = []
    for k, index in enumerate(held):
        before = held[k - 1] if k else -1
        if index >= 0 and before != index:  # by the handle that is nearest to the gripper
            X_GI = np.linalg.inv(hand(q[k]) @ X_PG) @ rest[index]
            near = [
                (np.linalg.norm(pin.log(pin.SE3(X_GI @ np.array(X_Ih)))), X_Ih)
                for _, X_Ih in said["items"][index]["handles"]
            ]
            handle = np.array(min(near, key=lambda each: each[0])[1])
        if before >= 0 and index != before:
            moved = hand(q[k]) @ X_PG @ np.linalg.inv(handle)
            at_goal = np.abs(moved - goals[before]).max() < NEARLY
            rest[before] = goals[before] if at_goal else moved
        states.append((index, handle, rest.copy()))

    X = np.array([hand(arm) for arm in q])
    turned = np.einsum("kii->k", X[:-1, :3, :3].swapaxes(1, 2) @ X[1:, :3, :3])
    angle = np.arccos(np.clip((turned - 1.0) / 2.0, -1.0, 1.0))
    # What is carried moves no more than the hand and, about it, its turn times its distance.
    way = np.linalg.norm(np.diff(X[:, :3, 3], axis=0), axis=1) + AROUND * angle
    steps = np.where(np.array(held[:-1]) >= 0, np.maximum(way, angle) / FINE, 0.0)
    steps = np.maximum(steps, np.abs(np.diff(q, axis=0)).max(axis=1) / COARSE) + 1e-3
    until = np.append(0.0, np.cumsum(steps))

    class GalleysPath(BenchmarkPath):
        """By linear interpolation between the samples of Galley's log; slower with an object."""

        delta = min(DELTA, 1.0 / float(until[-1])) if len(said["items"]) > TOLERATED else DELTA

        def interpolate(self, t: float) -> Any:
            gone = min(max(t, 0.0), 1.0) * until[-1]
            k = min(int(np.searchsorted(until, gone, side="right")) - 1, len(q) - 2)
            at = k + min(1.0, (gone - until[k]) / steps[k])
            arm, width = (each[k] + (at - k) * (each[k + 1] - each[k]) for each in (q, fingers))
            index, grasped, poses = states[k]
            if index >= 0:
                poses = poses.copy()
                poses[index] = hand(arm) @ X_PG @ np.linalg.inv(grasped)
            return Configuration(np.append(arm, [width, width]), poses)

    return GalleysPath()
