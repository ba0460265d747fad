"""``galley compare``: the RRT's trajectory and the optimised one, side by side in figures."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from rich.table import Table

from galley.commands.progress import Printer
from galley.compare import Solution, record, save_waypoints, seed_query, solve
from galley.domain.failure import Failure
from galley.domain.log import Log
from galley.domain.scene_file import load_scene
from galley.engine import KITCHEN
from galley.motion.trajectory import limit_ratios
from galley.report import versions
from galley.robots.mobile_panda import mobile_panda
from galley.run_folder import RunFolder, check_destination, new_name
from galley.skills import Settings, Workbench
from galley.viz.video import film, viewpoint
from galley.viz.view import Camera
from galley.worlds.pybullet_world import PyBulletWorld
from galley.worlds.scene_check import check_start

FIGURES = "compare.json"
_TITLES = {
    "rrt": "RRT, as planned",
    "shortcut": "RRT, shortcut",
    "opt": "Optimised: the seed's QP",
}
_KEPT = ("rrt", "opt")  # whose waypoints and films are written


def compare_command(arguments: argparse.Namespace) -> int:
    """Solve, print the table, write the trajectories and films."""
    path = arguments.out or new_name("compare")
    check_destination(path, FIGURES)
    scene = load_scene(arguments.scene or KITCHEN / "kitchen.yaml")
    printer = Printer()
    with PyBulletWorld(scene, mobile_panda(scene.robot.base)) as world:
        check_start(world)
        bench = Workbench(scene, world.robot, world, Settings(seed=arguments.seed))
        printer.stage("looking for a collision-free goal")
        query = seed_query(bench, arguments.distance)
        if isinstance(query, Failure):
            return _refuse(query)
        printer.stage(f"RRT to the hand's goal {query.distance:.2f} m along x")
        found = solve(bench, query)
        if isinstance(found, Failure):
            return _refuse(found)
        printer.console.print(_table(bench, found))
        with RunFolder(path) as folder:
            kept = tuple(s for s in found if s.name in _KEPT)
            for solution in kept:
                save_waypoints(folder.partial, solution)
            figures = {
                "schema_version": 1,
                "scene": scene.source,
                "seed": arguments.seed,
                "distance_m": query.distance,
                "solutions": [_figures(bench, s) for s in found],
                "versions": versions(),
            }
            (folder.partial / FIGURES).write_text(json.dumps(figures, indent=1) + "\n")
            try:
                if arguments.video:
                    # Both films from one place, so that they can be compared by eye.
                    logs = [record(bench, query, solution) for solution in kept]
                    camera = viewpoint(logs[0], scene, world.robot)
                    for solution, log in zip(kept, logs, strict=True):
                        _film(arguments, printer, bench, solution, log, camera, folder)
            finally:
                printer.close()
    printer.console.print(f"results: {path}")
    return 0


def _film(
    arguments: argparse.Namespace,
    printer: Printer,
    bench: Workbench,
    solution: Solution,
    log: Log,
    camera: Camera,
    folder: RunFolder,
) -> None:
    printer.stage(f"filming {solution.name}.mp4")
    verdict = "free of collision" if solution.hit is None else f"COLLIDES: {_pair(solution)}"
    film(
        log,
        bench.scene,
        bench.robot,
        folder.partial / f"{solution.name}.mp4",
        fps=arguments.fps,
        width=arguments.height * 16 // 9 // 2 * 2,
        height=arguments.height // 2 * 2,
        speed=arguments.speed,
        camera=camera,
        title=f"{_TITLES[solution.name]}, {verdict}",
        progress=lambda done, total: printer.fraction("filming", done / total),
    )


def _refuse(failure: Failure) -> int:
    print(f"{failure.kind.value}: {failure}", file=sys.stderr)
    return 1


def _figures(bench: Workbench, solution: Solution) -> dict[str, Any]:
    motion = solution.motion
    velocity, acceleration, jerk = limit_ratios(motion.trajectory, bench.robot.group("arm"))
    return {
        "name": solution.name,
        "waypoints": len(motion.path),
        "length_rad": motion.path.length,
        "hand_length_m": solution.hand_length,
        "duration_s": motion.trajectory.duration,
        "velocity_ratio": velocity,
        "acceleration_ratio": acceleration,
        "jerk_ratio": jerk,
        "free": solution.hit is None,
        "collision": list(solution.pair) if solution.pair else None,
        "solve_s": solution.seconds,
    }


def _table(bench: Workbench, found: tuple[Solution, ...]) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("trajectory", no_wrap=True)
    for name in ("waypoints", "length rad", "hand m", "seconds", "solve ms"):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("collision", no_wrap=True)
    for solution in found:
        figures = _figures(bench, solution)
        table.add_row(
            _TITLES[solution.name],
            str(figures["waypoints"]),
            f"{figures['length_rad']:.2f}",
            f"{figures['hand_length_m']:.2f}",
            f"{figures['duration_s']:.2f}",
            f"{1e3 * figures['solve_s']:.1f}",
            "free" if solution.hit is None else f"COLLIDES: {_pair(solution)}",
        )
    return table


def _pair(solution: Solution) -> str:
    return " and ".join(solution.pair or ())
