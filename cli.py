"""The command line: ``galley`` and ``python engine.py``. Heavy imports wait for their command."""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from types import FrameType
from typing import NoReturn

from galley import __version__
from galley.commands.arguments import count as _count
from galley.commands.arguments import index as _index
from galley.commands.arguments import positive as _positive
from galley.commands.arguments import sample_rate as _sample_rate
from galley.commands.check_arguments import check_parser
from galley.commands.disturb_arguments import disturb_parser
from galley.commands.run_arguments import motion_options, run_parser
from galley.commands.scenario_arguments import scenarios_parser
from galley.domain.errors import BadInput

DONE, NOT_ACHIEVED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130

_EXIT_CODES = """exit status:
  0    done and validated
  1    well-formed but not achieved; the reason is on stderr and in the report
  2    malformed input or usage, as file:line: what for each fault; nothing is written
  130  interrupted; what was finished is kept"""

# Those of galley.planning.search, which is not imported before it is needed.
SEARCHES = ("bfs", "astar", "gbfs", "fd-optimal", "fd-lama")

_EXAMPLES = """examples:
  galley                                  the kitchen task, from PDDL to video
  galley run --seed 3 --no-video          another seed, no film
  galley check runs/NAME                  judge a stored run again
  galley disturb --jobs 2                 how much noise and which faults runs stand
  galley run --problem my_task.pddl       another task in the same kitchen
  galley plan domain.pddl problem.pddl    task planning only, for any PDDL task
  galley scene my_kitchen.yaml            check a scene and draw it
  galley compare                          RRT against the optimised trajectories
  galley trajectory runs/NAME             a run's motions: limits, torques, export
  galley scenarios                        the scenario suite: what was expected, what came"""


def parser() -> argparse.ArgumentParser:
    """The whole command line's parser."""
    top = argparse.ArgumentParser(
        prog="galley",
        description="Task-and-motion planning for a mobile Franka Panda in a kitchen.",
        epilog=f"{_EXAMPLES}\n\n{_EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"galley {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND")
    run_parser(commands, _add)
    _plan_parser(commands)
    _validate_parser(commands)
    _scene_parser(commands)
    _compare_parser(commands)
    _trajectory_parser(commands)
    scenarios_parser(commands, _add)
    check_parser(commands, _add)
    disturb_parser(commands, _add)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    # ``galley --seed 3`` is ``galley run --seed 3``: the default command takes its options bare.
    if not arguments or (
        arguments[0].startswith("-") and arguments[0] not in ("-h", "--help", "--version")
    ):
        arguments = ["run", *arguments]
    options = parser().parse_args(arguments)
    signal.signal(signal.SIGTERM, _interrupt)
    command: Callable[[argparse.Namespace], int] = options.function
    try:
        status = command(options)
        sys.stdout.flush()
        return status
    except BadInput as error:
        print(error, file=sys.stderr)
        return BAD_INPUT
    except BrokenPipeError:  # the reader of our output has left (head, a pager)
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    except OSError as error:  # a full disk, a folder that has gone
        print(f"can't go on: {error}", file=sys.stderr)
        return NOT_ACHIEVED
    except KeyboardInterrupt:
        kept = (
            "; what was finished is kept"
            if options.command in ("run", "compare", "scenarios", "disturb")
            else ""
        )
        print(f"interrupted{kept}", file=sys.stderr)
        return INTERRUPTED


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


def _add(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    text: str,
    function: Callable[[argparse.Namespace], int],
    epilog: str = "",
) -> argparse.ArgumentParser:
    found = commands.add_parser(
        name,
        help=text,
        description=text[0].upper() + text[1:] + ".",
        epilog=f"{epilog}\n\n{_EXIT_CODES}".strip(),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    found.set_defaults(function=function)
    return found


def _plan_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    p = _add(
        commands,
        "plan",
        "task planning only: print a plan for any PDDL task, or say why there is none",
        plan,
        "searches:\n"
        "  bfs         breadth-first: fewest actions (default)\n"
        "  astar       A*: least cost\n"
        "  gbfs        greedy best-first with the FF heuristic: some plan, for large tasks\n"
        "  fd-optimal  Fast Downward, least cost        (pip install 'galley-tamp[fd]')\n"
        "  fd-lama     Fast Downward, LAMA's first plan (likewise)\n\n"
        "Read are STRIPS, types, constants, equality, negation, disjunction, quantifiers,\n"
        "conditional and universal effects, and action costs.",
    )
    p.add_argument("domain", type=Path, help="PDDL domain")
    p.add_argument("problem", type=Path, help="PDDL problem")
    p.add_argument("--search", choices=SEARCHES, help="how to search; see below (default bfs)")
    p.add_argument(
        "--top-k",
        type=_count,
        metavar="K",
        help="print the K cheapest plans instead, none of which visits a state twice",
    )
    p.add_argument("--json", action="store_true", help="print plan and figures as JSON")
    p.add_argument(
        "--node-limit", type=_count, metavar="N", help="give up after expanding N states"
    )
    p.add_argument(
        "--time-limit", type=_positive, metavar="S", help="give up after S seconds of search"
    )
    p.add_argument(
        "--memory-limit",
        type=_positive,
        metavar="MIB",
        help="give up when the process holds so much (default: 80%% of what is free)",
    )


def plan(options: argparse.Namespace) -> int:
    """``galley plan``."""
    if options.top_k is not None and options.search is not None:
        print("galley plan: --top-k has a search of its own; leave out --search", file=sys.stderr)
        return BAD_INPUT
    from galley.commands.planning import plan_command

    return plan_command(options)


def _validate_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    p = _add(commands, "validate", "check a plan; name the first action that fails, and why", check)
    p.add_argument("domain", type=Path, help="PDDL domain")
    p.add_argument("problem", type=Path, help="PDDL problem")
    p.add_argument("plan", type=Path, help="plan file, one action a line, ; for comments")
    p.add_argument("--pddlgym", action="store_true", help="also replay it in PDDLGym, step by step")


def check(options: argparse.Namespace) -> int:
    """``galley validate``."""
    from galley.commands.validate import validate_command

    return validate_command(options)


def _scene_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    p = _add(commands, "scene", "check a scene file and write a labelled picture of it", scene)
    p.add_argument("file", type=Path, help="scene file, YAML (docs/scene.md)")
    p.add_argument("domain", type=Path, nargs="?", help="also check that a task's objects ...")
    p.add_argument("problem", type=Path, nargs="?", help="... map to something in the scene")
    p.add_argument("--out", type=Path, help="picture to write (default: FILE's name with .png)")
    p.add_argument("--picture", action=argparse.BooleanOptionalAction, default=True, help="draw it")


def scene(options: argparse.Namespace) -> int:
    """``galley scene``."""
    from galley.commands.scene import scene_command

    return scene_command(options)


def _compare_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    p = _add(
        commands,
        "compare",
        "RRT, shortcut, shortest (QP), smooth and time-optimal trajectories on the same query",
        compare,
        "queries:\n"
        "  seed      the arm turns round: the hand --distance further along x (the default)\n"
        "  random N  N random queries at the scene's furniture, every third with an item held\n"
        "  FILE      your own, YAML or JSON (docs/comparison.md)\n\n"
        "results, in --out:\n"
        "  compare.json                             all figures\n"
        "  compare.png                              joints, velocities, hand path, clearance\n"
        "  distributions.png                        of many queries\n"
        "  trajectory_rrt.npy, _qp.npy, _opt.npy    waypoints (n, 7), rad: the RRT's, the seed's\n"
        "                                           quadratic program's, the smooth trajectory's\n"
        "  rrt.mp4, qp.mp4, opt.mp4                 films of them, from one viewpoint\n"
        "  side_by_side.mp4                         the RRT's and the smooth one on one clock",
    )
    p.add_argument(
        "--query",
        nargs="+",
        default=["seed"],
        metavar=("QUERY", "N"),
        help="what to compare on; see below (default: seed)",
    )
    p.add_argument("--scene", type=Path, help="scene file, YAML (default: Galley's kitchen)")
    p.add_argument(
        "--distance",
        type=_positive,
        help="m along world x from the hand's start to its goal, at least, for the seed's query "
        "(default 0.6)",
    )
    motion_options(p)


def _compared_query(words: list[str]) -> tuple[str, int]:
    """Kind or file of ``--query``, and how many.

    Raises:
        argparse.ArgumentTypeError: in a sentence.
    """
    if words[0] == "random":
        if len(words) != 2:
            raise argparse.ArgumentTypeError("random needs a number of queries: --query random 20")
        return words[0], _count(words[1])
    if len(words) != 1:
        raise argparse.ArgumentTypeError("seed, random N, or one file")
    return words[0], 1


def compare(options: argparse.Namespace) -> int:
    """``galley compare``."""
    fault = ""
    try:
        options.query = _compared_query(options.query)
    except argparse.ArgumentTypeError as error:
        fault = f"argument --query: {error}"
    if not fault and options.distance is not None and options.query[0] != "seed":
        fault = "argument --distance: belongs to --query seed"
    if fault:
        print(f"galley compare: error: {fault}", file=sys.stderr)
        return BAD_INPUT
    from galley.commands.compare import compare_command

    return compare_command(options)


def _trajectory_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    p = _add(
        commands,
        "trajectory",
        "a run's trajectories: a table with limits and torques, export for a real arm, a film",
        trajectory,
        "Exit status 1 also where a trajectory exceeds a limit of the robot.",
    )
    p.add_argument("run", type=Path, help="folder of a run, or a trajectory's .npz")
    p.add_argument("--motion", type=_index, metavar="K", help="only this one, numbered from 0")
    p.add_argument("--scene", type=Path, help="scene file (default: the run's own, or the kitchen)")
    p.add_argument("--csv", type=Path, metavar="FILE", help="write the motion as CSV, 1 kHz")
    p.add_argument("--ros", type=Path, metavar="FILE", help="... as a ROS JointTrajectory, JSON")
    p.add_argument("--rate", type=_sample_rate, metavar="HZ", help="of both (default 1000; 100)")
    p.add_argument("--replay", type=Path, metavar="FILE", help="film the motions, .mp4")
    p.add_argument("--torques", action=argparse.BooleanOptionalAction, default=True)
    p.add_argument(
        "--inertials",
        choices=("identified", "urdf"),
        help="the arm's masses: published identified figures, or the URDF's (default identified)",
    )


def trajectory(options: argparse.Namespace) -> int:
    """``galley trajectory``."""
    from galley.commands.trajectory import trajectory_command

    return trajectory_command(options)


if __name__ == "__main__":
    raise SystemExit(main())
