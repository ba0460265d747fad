"""The command line: ``galley``, ``python -m galley`` and ``python engine.py``.

A file a command, which holds its options (``add_arguments``, ``EPILOG``) and what it does
(``command``). Only the one that is called is imported, and what is heavy only when it runs.

- ``arguments``: numbers as types, options that many commands have; ``progress``: the terminal
- ``study``: what the commands that sweep share
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from types import FrameType
from typing import NoReturn

from galley import __version__
from galley.domain.errors import BadInput

DONE, NOT_ACHIEVED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130

_EXIT_CODES = """exit status:
  0    done and validated
  1    well-formed but not achieved; the reason is on stderr and in the report
  2    malformed input or usage, as file:line: what for each fault; nothing is written
  130  interrupted; what was finished is kept"""

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


# What each module does, in the order of the help.
_COMMANDS = {
    "run": "solve a task end to end: plan, motions, execution, video, report (the default command)",
    "plan": "task planning only: print a plan for any PDDL task, or say why there is none",
    "validate": "check a plan; name the first action that fails, and why",
    "scene": "check a scene file and write a labelled picture of it",
    "compare": "RRT, shortcut, shortest (QP), smooth and time-optimal trajectories on the same "
    "query",
    "trajectory": "a run's trajectories: a table with limits and torques, export for a real arm, "
    "a film",
    "scenarios": "run the scenario suite or your own scenarios, and print what was expected and "
    "what came",
    "check": "judge a stored run again, from its executed states and the scene alone",
    "disturb": "how often the task succeeds under physics when friction, masses, poses or eyes are "
    "off",
}


def parser(command: str = "") -> argparse.ArgumentParser:
    """The whole command line's parser; with options for ``command`` only, if that is one."""
    top = argparse.ArgumentParser(
        prog="galley",
        description="Task-and-motion planning for a mobile Franka Panda in a kitchen.",
        epilog=f"{_EXAMPLES}\n\n{_EXIT_CODES}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=f"galley {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND")
    for name, text in _COMMANDS.items():
        p = commands.add_parser(
            name,
            help=text,
            description=text[0].upper() + text[1:] + ".",
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        if name == command:
            module = import_module(f"galley.cli.{name}")
            p.epilog = f"{module.EPILOG}\n\n{_EXIT_CODES}".strip()
            module.add_arguments(p)
            p.set_defaults(function=module.command)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit status."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    # ``galley --seed 3`` is ``galley run --seed 3``: the default command takes its options bare.
    if not arguments or (
        arguments[0].startswith("-") and arguments[0] not in ("-h", "--help", "--version")
    ):
        arguments = ["run", *arguments]
    options = parser(arguments[0]).parse_args(arguments)
    signal.signal(signal.SIGTERM, _interrupt)
    command: Callable[[argparse.Namespace], int] = options.function
    try:
        status = command(options)
        sys.stdout.flush()
        return status
    except BadInput as error:
        print(error, file=sys.stderr)
        return BAD_INPUT
    except argparse.ArgumentTypeError as error:  # options that don't go together
        print(f"galley {options.command}: error: {error}", file=sys.stderr)
        return BAD_INPUT
    except BrokenPipeError:  # the reader of our output has left (head, a pager)
        _leave_stdout()
        return DONE
    except OSError as error:  # a full disk, a folder that has gone
        place = f"{error.filename}: " if error.filename else ""
        notes = "".join(f"; {note}" for note in getattr(error, "__notes__", ()))
        print(f"can't go on: {place}{error.strerror or error}{notes}", file=sys.stderr)
        _leave_stdout()
        return NOT_ACHIEVED
    except KeyboardInterrupt:
        kept = (
            "; what was finished is kept"
            if options.command in ("run", "compare", "scenarios", "disturb")
            else ""
        )
        print(f"interrupted{kept}", file=sys.stderr)
        return INTERRUPTED


def _leave_stdout() -> None:
    """If stdout takes no more, let the end of the process not fail over what is left for it."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _interrupt(number: int, frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt
