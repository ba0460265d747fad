"""The command line: ``galley``, ``python -m galley`` and ``python engine.py``.

Each command is a file. Its function ``command(options) -> int`` takes a dataclass that declares the
options (``domain.options``), and its text ``EPILOG`` ends the help. A command with subcommands is a
folder with one file per subcommand and their table (``COMMANDS``, ``EPILOG``). Only the command
that was called is imported, and heavy libraries only when it runs.

- ``common/``: parsers, shared options, terminal output, sweeps

The planar systems, learning and the studies have their own commands (``galley.planar.commands``).
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
  0    success: every check passed
  1    the input is valid, but the task or a check failed; stderr says why
  2    invalid input or usage; stderr lists every error as file:line: message
  130  interrupted; completed results are kept"""

_EXAMPLES = """examples:
  galley                                the kitchen task, from PDDL to video
  galley run --seed 3 --no-video        another seed, no film
  galley run --problem my_task.pddl     another task in the same kitchen
  galley verify run runs/NAME           verify a stored run again
  galley plan --problem my_task.pddl    task planning only, for any PDDL task
  galley new kitchen my_kitchen         a scene, domain and task to start from
  galley new robot my_arm.urdf          a robot file for your own arm
  galley COMMAND --help                 options and examples of a command"""


# One sentence per command, in the order of the help, and the headings before some commands.
_HEADINGS = {"compare": "studies", "touch": "planar systems", "push": "learning"}
_COMMANDS = {
    "run": "Plan and execute a task, then film it and write a report (the default command).",
    "plan": "Solve any PDDL task symbolically, or explain why it has no plan.",
    "verify": "Verify a plan, or a stored run from nothing but its states and the scene.",
    "new": "Create a commented scene, domain and task, or a robot file from a URDF.",
    "scene": "Check a scene file and draw it with labels.",
    "robot": "Check a robot file, summarize the robot, and show it in the browser.",
    "trajectory": "Show a run's trajectories with limits and torques; export or film them.",
    "replay": "Write a 3D replay of a stored run as a web page.",
    "report": "Write the report page of a stored run again (report.html).",
    "completion": "Print a shell script that completes commands, options and file names.",
    "compare": "Compare RRT, shortcut, QP, smooth and time-optimal trajectories on one query.",
    "scenarios": "Run the scenario suite or your own; print expected and actual outcomes.",
    "disturb": "Measure success rates in physics simulation, with noise and faults.",
    "touch": "Push an object with a finger in one dimension: events, sensor force, figure, film.",
    "contact": "Lift, tilt and push bodies in the plane, with gradients through contact.",
    "reach": "Sample, draw and learn the base poses from which a robot reaches a target.",
    "push": "Push a body over a table to a goal: collect data, train, film, or use the mouse.",
    "demos": "Collect runs as demonstrations for learning; show and export them.",
}
# The packages of the commands that are not in this folder.
_PACKAGES = {
    **dict.fromkeys(("compare", "scenarios", "disturb"), "galley.studies.commands"),
    **dict.fromkeys(("touch", "contact", "reach"), "galley.planar.commands"),
    **dict.fromkeys(("push", "demos"), "galley.learning.commands"),
}


class _Help(argparse.HelpFormatter):
    """Fills paragraphs to the terminal's width; an indented line stays a line of its own."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        lines = re.sub(r"(?m)^(\S.*)\n(?=\S)", r"\1 ", text).splitlines()
        return "\n".join(_wrapped(line, width) for line in lines)


def _wrapped(line: str, width: int) -> str:
    """Wrap a line: it goes on in its second column, or below the first if that leaves no room."""
    column = len(re.sub(r"^( *(?:\S.*?  +)?).*", r"\1", line))
    if len(line) > width < column + 26:
        return f"{line[:column].rstrip()}\n{_wrapped(' ' * 8 + line[column:], width)}"
    return textwrap.fill(line, width, subsequent_indent=" " * column, break_on_hyphens=False)


class _Parser(argparse.ArgumentParser):
    """A parser whose errors take one line and suggest the command or value that was meant."""

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
            error.message += did_you_mean(str(value), list(map(str, action.choices or ())))
            raise


def parser(*words: str, whole: bool = False) -> argparse.ArgumentParser:
    """The parser of the command line, in which only the command of ``words`` has its options.

    Args:
        words: a command; a command and its subcommand; or the whole command line.
        whole: whether all commands get their options, which imports every command's module.
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
        child = group.add_parser(name, help=text, description=text)
        if name not in words[:1] and not whole:
            continue
        home = _PACKAGES.get(name, package) if package == __name__ else package
        module = import_module(f"{home}.{name}")
        child.epilog = f"{module.EPILOG}\n\n{_EXIT_CODES}".strip()
        child.set_defaults(parser=child)
        if hasattr(module, "COMMANDS"):
            _add_commands(child, module.__name__, module.COMMANDS, words[1:], whole)
        else:
            from galley.cli.common.options import add_options, options_of

            add_options(child, options_of(module.command))
            child.set_defaults(command=module.command)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return the exit status.

    Args:
        arguments: the words after ``galley``; None: those of this process.
    """
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    # ``galley --seed 3`` is short for ``galley run --seed 3``.
    if not arguments or (
        arguments[0].startswith("-") and arguments[0] not in ("-h", "--help", "--version")
    ):
        arguments = ["run", *arguments]
    if not _open_streams():
        _say("cannot continue: standard output is closed; redirect it to a file or to /dev/null")
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
        _say(f"cannot continue: {place}{error.strerror or error}{notes}")
        return NOT_ACHIEVED
    finally:
        _leave_streams()
    return status


def _run(arguments: list[str]) -> int:
    """Parse the command line, run its command and report its errors in one line each."""
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
        keeping = ("run", "compare", "scenarios", "disturb", "reach", "demos", "push")
        _say("interrupted" + ("; completed results are kept" if arguments[0] in keeping else ""))
        return INTERRUPTED


def _open_streams() -> bool:
    """Open those of stdin, stdout and stderr that are closed to null; True if stdout was open.

    Otherwise the next file to be opened would get the free descriptor, and with it all that is
    printed.
    """
    was_open = sys.stdout is not None
    for name in ("stdin", "stdout", "stderr"):  # open() takes the lowest free descriptor
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
