"""The command line: ``galley``, ``python -m galley`` and ``python engine.py``.

One file per command: its work, ``command(options) -> int``, takes a dataclass that declares the
options (``domain.options``), and ``EPILOG`` ends the help; or a folder with one file per
subcommand and their table (``COMMANDS``, ``EPILOG``). Only the called command is imported, and
heavy libraries only when it runs.

- ``common/``: parsers, options that several share, the terminal, sweeps

The planar systems, learning and studies bring their own commands (``galley.planar.commands``).
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import signal
import sys
import textwrap
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import Any, NoReturn

from galley import __version__
from galley.domain.errors import BadInput, did_you_mean

DONE, NOT_ACHIEVED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130

_EXIT_CODES = """exit status:
  0    done; what the command judges holds
  1    well-formed input, but not achieved, or what is judged fails; stderr says why
  2    malformed input or usage; stderr lists every fault as file:line: what
  130  interrupted; finished results are kept"""

_EXAMPLES = """examples:
  galley                                the kitchen task, from PDDL to video
  galley run --seed 3 --no-video        another seed, no film
  galley run --problem my_task.pddl     another task in the same kitchen
  galley verify run runs/NAME           judge a stored run again
  galley plan --problem my_task.pddl    task planning only, for any PDDL task
  galley new kitchen my_kitchen         a scene, domain and task to start from
  galley new robot my_arm.urdf          a robot file for your own arm
  galley COMMAND --help                 options and examples of a command"""


# Each command in a sentence, in the order of the help; a heading stands before some.
_HEADINGS = {"compare": "studies", "touch": "planar systems", "push": "learning"}
_COMMANDS = {
    "run": "Solve and execute a task: plan, motions, physics, film, report (the default command).",
    "plan": "Plan any PDDL task in symbols alone, or say why there is no plan.",
    "verify": "Verify a plan, or a stored run from its executed states and the scene alone.",
    "new": "Write a commented scene, domain and task of your own, or a robot file from a URDF.",
    "scene": "Check a scene file and draw it with labels.",
    "robot": "Check a robot file, say what is known of the robot, and show it in the browser.",
    "trajectory": "Show a run's trajectories with limits and torques; export or film them.",
    "replay": "Write a stored run as a page to turn and play in the browser.",
    "report": "Make the page of a stored run again, report.html.",
    "completion": "Print a script by which a shell completes commands, options and files.",
    "compare": "Compare RRT, shortcut, QP, smooth and time-optimal trajectories on one query.",
    "scenarios": "Run the scenario suite or your own; print expected and actual outcomes.",
    "disturb": "Measure success rates under physics with noise and faults.",
    "touch": "Push an object with a finger in one dimension: events, felt force, figure and film.",
    "contact": "Lift, tilt and push bodies in the plane, with gradients through contact.",
    "reach": "Sample, draw and learn where a robot can stand to reach a target.",
    "push": "Push a body over a table to a goal: collect, learn, film, or push by mouse.",
    "demos": "Collect runs as demonstrations that learners read; show and export them.",
}
# Where the commands of a room beside the kitchen are.
_ROOMS = {
    **dict.fromkeys(("compare", "scenarios", "disturb"), "galley.studies.commands"),
    **dict.fromkeys(("touch", "contact", "reach"), "galley.planar.commands"),
    **dict.fromkeys(("push", "demos"), "galley.learning.commands"),
}


class _Help(argparse.HelpFormatter):
    """Fills paragraphs to the terminal's width; an indented line begins on a line of its own."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        lines = re.sub(r"(?m)^(\S.*)\n(?=\S)", r"\1 ", text).splitlines()
        return "\n".join(_wrapped(line, width) for line in lines)


def _wrapped(line: str, width: int) -> str:
    """A line, continued in its second column, or below its first where that leaves no room."""
    column = len(re.sub(r"^( *(?:\S.*?  +)?).*", r"\1", line))
    if len(line) > width < column + 26:
        return f"{line[:column].rstrip()}\n{_wrapped(' ' * 8 + line[column:], width)}"
    return textwrap.fill(line, width, subsequent_indent=" " * column, break_on_hyphens=False)


class _Parser(argparse.ArgumentParser):
    """Suggests the command or the value that may have been meant; a fault is one line."""

    def __init__(self, **how: Any) -> None:
        super().__init__(formatter_class=_Help, **how)

    def error(self, message: str) -> NoReturn:
        self.exit(BAD_INPUT, f"{self.prog}: error: {message} (see {self.prog} --help)\n")

    def format_help(self) -> str:
        text = super().format_help()
        for name, heading in _HEADINGS.items() if self.prog == "galley" else ():
            text = text.replace(f"\n    {name} ", f"\n\n  {heading}:\n    {name} ")
        return text

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            error.message += did_you_mean(str(value), [str(each) for each in action.choices or ()])
            raise


def parser(*words: str, whole: bool = False) -> argparse.ArgumentParser:
    """The parser of the command line; only the command that ``words`` begin with gets its options.

    Args:
        words: a command; a command and its subcommand; or the whole command line.
        whole: give all commands their options.
    """
    top = _Parser(
        prog="galley",
        description="Task-and-motion planning for a robot arm in a kitchen.",
        epilog=f"{_EXAMPLES}\n\n{_EXIT_CODES}",
    )
    top.add_argument("--version", action="version", version=f"galley {__version__}")
    _add_commands(top, __name__, _COMMANDS, words, whole)
    return top


def _add_commands(
    p: argparse.ArgumentParser,
    package: str,
    commands: Mapping[str, str],
    words: Sequence[str],
    whole: bool,
) -> None:
    """Add the commands of a package, the first of ``words`` with its options or subcommands."""
    group = p.add_subparsers(metavar="COMMAND", required=True)
    for name, text in commands.items():
        each = group.add_parser(name, help=text, description=text)
        if name not in words[:1] and not whole:
            continue
        room = _ROOMS.get(name, package) if package == __name__ else package
        module = import_module(f"{room}.{name}")
        each.epilog = f"{module.EPILOG}\n\n{_EXIT_CODES}".strip()
        each.set_defaults(parser=each)
        if hasattr(module, "COMMANDS"):
            _add_commands(each, module.__name__, module.COMMANDS, words[1:], whole)
        else:
            from galley.cli.common.options import add_options, options_of

            add_options(each, options_of(module.command))
            each.set_defaults(command=module.command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; returns the exit status."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    # ``galley --seed 3`` is short for ``galley run --seed 3``.
    if not arguments or (
        arguments[0].startswith("-") and arguments[0] not in ("-h", "--help", "--version")
    ):
        arguments = ["run", *arguments]
    if not _open_streams():
        _say("can't go on: standard output is closed; redirect it to a file or to /dev/null")
        return NOT_ACHIEVED
    status = DONE
    try:
        try:
            status = _run(arguments)
        finally:  # after --help, too
            sys.stdout.flush()
    except BrokenPipeError:  # the reader of our output has closed it (head, a pager)
        pass
    except OSError as error:  # a full disk, a deleted folder
        place = f"{error.filename}: " if error.filename else ""
        if not place and isinstance(error, FileNotFoundError):  # os.getcwd
            place = "the working folder: "
        notes = "".join(f"; {note}" for note in getattr(error, "__notes__", ()))
        _say(f"can't go on: {place}{error.strerror or error}{notes}")
        return NOT_ACHIEVED
    finally:
        _leave_streams()
    return status


def _run(arguments: list[str]) -> int:
    """Read the command line and run its command."""
    read, unknown = parser(*arguments).parse_known_args(arguments)
    if unknown:
        known = re.findall(r"--[a-z][a-z-]*", read.parser.format_help())
        hint = did_you_mean(unknown[0], known)
        read.parser.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
    from galley.cli.common.options import options_of, read_options

    signal.signal(signal.SIGTERM, signal.default_int_handler)
    command: Callable[[Any], int] = read.command
    try:
        return command(read_options(options_of(command), read))
    except BadInput as error:
        _say(str(error))
        return BAD_INPUT
    except argparse.ArgumentTypeError as error:  # conflicting options
        _say(f"{read.parser.prog}: error: {error}")
        return BAD_INPUT
    except KeyboardInterrupt:
        keep = ("run", "compare", "scenarios", "disturb", "reach", "demos", "push")
        _say("interrupted" + ("; what was finished is kept" if arguments[0] in keep else ""))
        return INTERRUPTED


def _open_streams() -> bool:
    """Open to null what is closed of stdin, stdout and stderr; returns whether stdout was open.

    Else the next file to be opened would get the descriptor, and whatever is printed there.
    """
    was_open = sys.stdout is not None
    for name in ("stdin", "stdout", "stderr"):  # the lowest free descriptor is taken first
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w"))  # noqa: SIM115
    return was_open


def _say(text: str) -> None:
    """Print to stderr, if it has a reader."""
    with contextlib.suppress(OSError):
        print(text, file=sys.stderr)


def _leave_streams() -> None:
    """Redirect a closed stdout or stderr to null, so that the process's last flush can't fail."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
