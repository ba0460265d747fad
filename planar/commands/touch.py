"""``galley touch``: a finger and an object in one dimension, and what the finger feels."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from galley.cli.common.arguments import (
    check_gif,
    film_options,
    gif_option,
    out_option,
    positive,
    sample_rate,
)
from galley.cli.common.tables import PlainTable
from galley.domain.errors import BadInput

if TYPE_CHECKING:
    from galley.planar.finger import Finger, Trace

_DURATION = 10.0  # s
_MOST_ROWS = 40  # events in the table

EPILOG = """examples:
  galley touch wall                            coast, bounce off the object, come back and push it
  galley touch push                            press it without moving it, then push it
  galley touch --force profile.csv             a force over time, for the default finger
  galley touch --force policy.py --object-mass 3 --until 20
  galley touch --keyboard                      push by hand, with the arrow keys

A profile is CSV: a time (s) and a force (N) a line, in order; linear in between, and a jump where
two lines have the same time. A policy is Python: policy(sense) returns the force (N) of the next
control step from sense.time, sense.position, sense.velocity and sense.sensor, in s, m, m/s and N:

  def policy(sense):                           # seek the object, then lean on it with 0.4 N
      return 0.4 if sense.sensor else 0.2 - 0.5 * sense.velocity

The object stays if its static friction bears the push, and in an impact as on a wall, finger mass
(1 + restitution) closing speed / contact time, push and impact together; otherwise it moves off.
Each impact is judged by itself. The results: touch.png, touch.mp4 or .gif, samples and events. The
exit status is 1 if a policy fails; the run until then is written."""


def add_arguments(p: argparse.ArgumentParser) -> None:
    """Add the options of ``galley touch``."""
    p.add_argument("example", nargs="?", choices=("wall", "push"), help="one of the examples")
    p.add_argument(
        "--force",
        type=Path,
        metavar="FILE",
        help="what pushes the finger: a .csv or .py, see below",
    )
    p.add_argument("--keyboard", action="store_true", help="push by hand, in a window")
    p.add_argument(
        "--until",
        type=positive,
        metavar="S",
        help=f"end, in s (default {_DURATION:g}, or the example's; 600 with --keyboard)",
    )
    p.add_argument(
        "--period", type=positive, metavar="S", help="control step of a policy, in s (default 0.02)"
    )
    out_option(p)
    world = p.add_argument_group("finger and object (defaults: the example's)")
    from galley.domain.parameters import parameters
    from galley.planar.finger.model import Finger

    for each in parameters(Finger):
        quantity = each.metadata["quantity"]
        world.add_argument(
            f"--{each.name.replace('_', '-')}",
            type=_quantity(each.name, quantity),
            metavar=quantity.unit.upper() if quantity.unit != "1" else "RATIO",
            help=f"{each.metadata['about']} (default {each.default:g})",
        )
    for name, default in (("finger", "0 1"), ("object", "0.02 0")):
        world.add_argument(
            f"--{name}-drag",
            nargs=2,
            type=float,
            metavar=("LINEAR", "QUADRATIC"),
            help=f"drag of the {name}: N s/m and N s^2/m^2 (default {default})",
        )
    results = p.add_argument_group("film and samples")
    film_options(results, 540, 25)
    gif_option(results)
    results.add_argument("--parquet", action="store_true", help="samples as parquet instead of CSV")
    results.add_argument(
        "--rate", type=sample_rate, default=1000.0, metavar="HZ", help="of samples (default 1000)"
    )


def command(arguments: argparse.Namespace) -> int:
    """Simulate, print the events, write the results; 1 if the run ended early."""
    from galley.cli.common.progress import Printer
    from galley.planar.finger.examples import EXAMPLES
    from galley.results.run_folder import run_folder

    _check(arguments)
    finger, duration, force = _task(arguments)
    name, about = arguments.example, ""
    if arguments.keyboard or arguments.force:
        name = "keyboard" if arguments.keyboard else arguments.force.stem
    else:
        about = f": {EXAMPLES[name].about}"
    printer = Printer()
    with run_folder(arguments.out, f"touch-{name}", "events.csv") as folder:
        trace = _run(arguments, finger, force, duration)
        printer.console.print(_table(trace))
        _write(arguments, trace, folder, f"galley touch {name}{about}", printer)
    printer.console.print(f"results: {folder}")
    if trace.fault:
        print(f"ended at {trace.end:g} s: {trace.fault}", file=sys.stderr)
    return 1 if trace.fault else 0


def _check(arguments: argparse.Namespace) -> None:
    if not (arguments.example or arguments.force or arguments.keyboard):
        raise argparse.ArgumentTypeError("say what pushes: wall, push, --force or --keyboard")
    if arguments.force and arguments.keyboard:
        raise argparse.ArgumentTypeError("argument --keyboard: not with --force")
    if arguments.period and (not arguments.force or arguments.force.suffix != ".py"):
        raise argparse.ArgumentTypeError("argument --period: belongs to --force with a policy")
    check_gif(arguments)
    for option, module in (("--parquet", "pyarrow"), ("--keyboard", "pygame")):
        if getattr(arguments, option[2:]) and find_spec(module) is None:
            what = f"argument {option}: needs {module}: pip install 'galley-tamp[planar]'"
            raise argparse.ArgumentTypeError(what)


def _task(arguments: argparse.Namespace) -> tuple[Finger, float, Any]:
    """The finger, until when (s), and what pushes it."""
    from galley.domain.parameters import parameters
    from galley.planar.finger import Drag, Finger
    from galley.planar.finger.examples import EXAMPLES

    example = EXAMPLES.get(arguments.example)
    changes = {each.name: getattr(arguments, each.name) for each in parameters(Finger)}
    try:
        for name in ("finger_drag", "object_drag"):
            law = getattr(arguments, name)
            changes[name] = None if law is None else Drag(*law)
        chosen = {name: value for name, value in changes.items() if value is not None}
        finger = replace(example.finger if example else Finger(), **chosen)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    duration = arguments.until or (example.t_end if example else _DURATION)
    force = example.force if example else None
    if arguments.force:
        force = _force_of(arguments.force, arguments.period)
    return finger, duration, force


def _run(arguments: argparse.Namespace, finger: Finger, force: Any, duration: float) -> Trace:
    from galley.planar.finger import simulate

    if arguments.keyboard:
        from galley.planar.finger.window import drive

        try:
            return drive(finger, longest=arguments.until or 600.0)
        except RuntimeError as error:  # no display
            raise argparse.ArgumentTypeError(f"argument --keyboard: {error}") from None
    try:
        return simulate(finger, force, duration)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _force_of(path: Path, period: float | None) -> Any:
    """The profile of a CSV file or the policy of a Python file.

    Raises:
        BadInput: it is neither, or malformed.
    """
    from galley.planar.finger import Policy

    if path.suffix == ".csv":
        return _profile(path)
    if path.suffix != ".py":
        raise BadInput.one(path, "must be a profile, .csv, or a policy, .py")
    from galley.skills.own import load_module

    act = getattr(load_module(path)[0], "policy", None)
    if not callable(act):
        raise BadInput.one(path, "defines no function policy(sense)")
    return Policy(act) if period is None else Policy(act, period)


def _profile(path: Path) -> Any:
    from galley.domain.files import read_text
    from galley.planar.finger import Profile

    pairs: list[tuple[float, ...]] = []
    for line, text in enumerate(read_text(path).splitlines(), 1):
        cells = [cell.strip().strip('"') for cell in text.split(",")]
        if not any(cells) or (line == 1 and len(cells) == 2 and not any(map(_is_number, cells))):
            continue  # empty, or a header
        try:
            time, force = (float(cell) for cell in cells)
        except ValueError:
            raise BadInput.one(path, "expected a time and a force", line) from None
        pairs.append((time, force))
        try:
            Profile.of(pairs[-3:])
        except ValueError as error:
            what = str(error).partition(": ")[2]
            raise BadInput.one(path, what, line) from None
    if not pairs:
        raise BadInput.one(path, "is empty, expected a time and a force a line")
    return Profile.of(pairs)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _table(trace: Trace) -> PlainTable:
    table = PlainTable(spare=("impulse N s", "at m"))
    table.add_column("time s", right=True)
    table.add_column("event")
    for name in ("at m", "closing m/s", "impulse N s"):
        table.add_column(name, right=True)
    for event in trace.events[:_MOST_ROWS]:
        speed = f"{event.closing_speed:.4f}" if event.closing_speed else ""
        impulse = f"{event.impulse:.4g}" if event.impulse else ""
        table.add_row(f"{event.time:.4f}", event.kind, f"{event.position:.4f}", speed, impulse)
    if len(trace.events) > _MOST_ROWS:
        table.add_row("", f"... {len(trace.events) - _MOST_ROWS} more in events.csv")
    return table


def _write(
    arguments: argparse.Namespace, trace: Trace, folder: Path, title: str, printer: Any
) -> None:
    from galley.planar.finger.pictures import draw_touch, film_touch

    trace.write_events(folder / "events.csv")
    suffix = "parquet" if arguments.parquet else "csv"
    trace.write(folder / f"samples.{suffix}", arguments.rate)
    if trace.end == 0.0:
        return  # nothing to be seen
    draw_touch(trace, folder / "touch.png", title)
    if not arguments.video:
        return
    printer.stage("filming")
    path = folder / ("touch.gif" if arguments.gif else "touch.mp4")
    try:
        film_touch(
            trace,
            path,
            arguments.fps,
            arguments.height,
            lambda done, total: printer.fraction("filming", done / total),
        )
    except RuntimeError as error:
        print(f"no film: {error}", file=sys.stderr)
    finally:
        printer.close()


def _quantity(name: str, quantity: Any) -> Any:
    def checked(text: str) -> float:
        try:
            return float(quantity.checked(name, text))
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error).partition(": ")[2]) from None

    return checked
