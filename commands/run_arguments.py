"""The options of ``galley run``, and those that it shares with other commands."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from galley.commands.arguments import AddParser, count, frame_rate, height, index, positive, seed

EPILOG = """results, in --out:
  report.json       what happened and why (docs/report.md)
  plan.txt          the symbolic plan, an action a line
  trajectories.npz  every motion's trajectory
  states.npz        every executed state, with contacts and forces
  simulation.mp4    the film
  robot/            with --execute files: a file for each motion (docs/disturbances.md)

examples:
  galley run --noise moderate --seed 4      friction, masses and poses are not as the scene says
  galley run --fault topple:spam            the can is knocked over before it is grasped
  galley run --execute kinematic            no physics: what is planned is what happens"""


def motion_options(p: argparse.ArgumentParser) -> None:
    """Options of every command that makes motions and films them."""
    p.add_argument("--seed", type=seed, default=0, help="of every random stream (default 0)")
    p.add_argument("--out", type=Path, help="folder for the results (default: a new one in runs/)")
    p.add_argument(
        "--video",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="film what was executed (default: yes)",
    )
    p.add_argument(
        "--height",
        type=height,
        default=720,
        help="of the film in pixels, 16:9 (default 720)",
    )
    p.add_argument("--fps", type=frame_rate, default=20, help="pictures a second (default 20)")
    p.add_argument(
        "--speed",
        type=positive,
        default=1.0,
        help="of the film; other than real time is marked in the picture (default 1)",
    )


def run_parser(
    commands: argparse._SubParsersAction[argparse.ArgumentParser], add: AddParser
) -> None:
    """Register ``galley run``; ``add`` makes the parser (``cli._add``)."""
    p = add(
        commands,
        "run",
        "solve a task end to end: plan, motions, execution, video, report (the default command)",
        run,
        EPILOG,
    )
    p.add_argument("--scene", type=Path, help="scene file, YAML (default: Galley's kitchen)")
    p.add_argument("--domain", type=Path, help="PDDL domain (default: the kitchen's)")
    p.add_argument("--problem", type=Path, help="PDDL problem (default: sugar and spam)")
    p.add_argument(
        "--skills", type=Path, help="Python file with skills of your own for the domain's actions"
    )
    p.add_argument(
        "--planner",
        choices=("rrt-connect", "rrt", "anytime"),
        help="for free arm motions: RRT-Connect, the seed's RRT, or RRT-Connect that goes on "
        "searching for shorter paths (default rrt-connect; with --checker pybullet rrt, for the "
        "base too)",
    )
    p.add_argument(
        "--checker",
        choices=("kernel", "pybullet"),
        default="kernel",
        help="what looks for collisions while planning: the compiled kernel, or PyBullet, many "
        "times slower, with the seed's RRT in Python (default kernel)",
    )
    p.add_argument(
        "--arrival",
        choices=("box", "l1"),
        default="box",
        help="how the seed's RRT measures that it arrived: a box, or the L1 norm (default box)",
    )
    p.add_argument(
        "--optimize",
        choices=("smooth", "time-optimal", "shortest", "none"),
        default="smooth",
        help="trajectories of free motions: splines within all limits, proven to keep their "
        "distance; the planned path, corners rounded, as fast as possible; the seed's QP on the "
        "arm's paths; or the path with a stop at each corner (default smooth)",
    )
    p.add_argument(
        "--execute",
        choices=("physics", "kinematic", "files", "none"),
        default="physics",
        help="under PyBullet's dynamics, looking after each motion and planning anew where the "
        "world is not as planned; or joint states set over time, quick and without forces; or that "
        "and files for a real arm, in OUT/robot; or stop after planning (default physics)",
    )
    p.add_argument(
        "--noise",
        metavar="HOW",
        help="perturb the world that physics runs in, and what is seen of it, from the seed: low, "
        "moderate, high, or some of friction=SHARE,mass=SHARE,position=M,turn=RAD,observation=M,"
        "observation_turn=RAD (default: none)",
    )
    p.add_argument(
        "--fault",
        metavar="FAULT",
        help="let something go wrong on purpose: nudge:ITEM, topple:ITEM, slippery:ITEM, "
        "stuck:DRAWER, stuck-for-good:DRAWER or push-base; several with commas between "
        "(docs/disturbances.md)",
    )
    p.add_argument(
        "--recoveries",
        type=index,
        metavar="N",
        help="how often a run may plan anew before it gives up (default 8)",
    )
    p.add_argument("--node-limit", type=count, help="states the task planner may expand")
    motion_options(p)


def run(options: argparse.Namespace) -> int:
    """``galley run``."""
    from galley.commands.run import run_command

    implied = "rrt" if options.checker == "pybullet" else "rrt-connect"
    options.planner = options.planner or implied
    if options.checker == "pybullet" and options.planner != implied:
        print(
            f"galley run: error: --planner {options.planner} needs --checker kernel; "
            "in PyBullet the seed's RRT plans: --planner rrt",
            file=sys.stderr,
        )
        return 2
    if options.execute != "physics" and (options.noise or options.fault):
        given = "--noise" if options.noise else "--fault"
        print(f"galley run: error: {given} needs --execute physics", file=sys.stderr)
        return 2
    return run_command(options)
