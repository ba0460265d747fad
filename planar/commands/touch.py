"""``galley touch``: a finger and an object in one dimension, and what the finger feels."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, make_dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from galley.cli.common.arguments import Positive, SampleRate, need, usage
from galley.cli.common.options import given
from galley.cli.common.progress import Printer
from galley.cli.common.shared import Animation, out_option, video_option
from galley.cli.common.tables import PlainTable
from galley.domain.errors import BadInput
from galley.domain.options import argument, group, more, option
from galley.domain.parameters import Quantity, parameters
from galley.planar.finger.model import Drag, Finger

if TYPE_CHECKING:
    from galley.planar.finger import Trace

_DURATION = 10.0  # s
_MOST_ROWS = 40  # events in the table

EPILOG = """examples:
  galley touch wall                            coast, bounce off the object, come back and push it
  galley touch --force profile.csv             a force over time, for the default finger
  galley touch --force policy.py --object-mass 3 --until 20

A profile is CSV: a time (s) and a force (N) a line, in order; linear in between, and a jump where
two lines have the same time. A policy is Python: policy(sense) returns the force (N) of the next
control step from sense.time, sense.position, sense.velocity and sense.sensor, in s, m, m/s and N:

  def policy(sense):  # seek the object, then lean on it with 0.4 N
      return 0.4 if sense.sensor else 0.2 - 0.5 * sense.velocity"""


def _read(name: str, quantity: Quantity) -> Any:
    """A function that reads an option's text as a quantity."""

    def read(text: str) -> float:
        try:
            return quantity.checked(name, text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error).partition(": ")[2]) from None

    return read


def _world() -> Any:
    """Options for the parameters of ``Finger``; None if they aren't given."""
    options: list[tuple[str, Any, Any]] = []
    for field in parameters(Finger):
        quantity = field.metadata["quantity"]
        about = f"Set the {field.metadata['about']}. Default: {field.default:g}."
        unit = quantity.unit.upper() if quantity.unit != "1" else "RATIO"
        kind = Annotated[float, _read(field.name, quantity), unit] | None
        options.append((field.name, kind, option(None, about)))
    for name, default in (("finger", "0 1"), ("object", "0.02 0")):
        about = f"Set the drag of the {name}, N s/m and N s^2/m^2. Default: {default}."
        drag = option(None, about, ("LINEAR", "QUADRATIC"), type=float)
        options.append((f"{name}_drag", tuple[float, float] | None, drag))
    return make_dataclass("World", options, frozen=True)()


@dataclass(frozen=True, kw_only=True)
class Output(Animation):
    """Options of the film and the samples."""

    video: bool = video_option()
    rate: SampleRate = more(1000.0, "Sample at this rate.")


@dataclass(frozen=True, kw_only=True)
class TouchOptions:
    """Options of ``galley touch``.

    Raises:
        argparse.ArgumentTypeError: options exclude each other.
    """

    example: Literal["wall", "push"] | None = argument("Run one of the examples.", default=None)
    force: Path | None = option(None, "Push the finger by this .csv or .py, see below.")
    keyboard: bool = option(False, "Push by hand, with the arrow keys, in a window.")
    until: Positive | None = option(
        None, f"End then, in s. Default: {_DURATION:g}, or the example's; 600 with --keyboard.", "S"
    )
    period: Positive | None = more(None, "Set a policy's control step, in s. Default: 0.02.", "S")
    out: Path | None = out_option()
    world: Any = group(_world(), "finger and object (defaults: the example's)")
    output: Output = group(Output(height=540, fps=25), "film and samples")

    def __post_init__(self) -> None:
        if not (self.example or self.force or self.keyboard):
            raise argparse.ArgumentTypeError("say what pushes: wall, push, --force or --keyboard")
        if self.force and self.keyboard:
            raise argparse.ArgumentTypeError("argument --keyboard: not with --force")
        if self.period and (not self.force or self.force.suffix != ".py"):
            raise argparse.ArgumentTypeError("argument --period: belongs to --force with a policy")
        if self.keyboard:
            need("planar", "pygame")


def command(options: TouchOptions) -> int:
    """Simulate, print the events, write the results; 1 if the run ended early."""
    from galley.planar.finger.examples import EXAMPLES
    from galley.results.run_folder import run_folder

    finger, duration, force = _task(options)
    name, about = str(options.example), ""
    if options.keyboard or options.force:
        name = options.force.stem if options.force else "keyboard"
    else:
        about = f": {EXAMPLES[name].about}"
    printer = Printer()
    with run_folder(options.out, f"touch-{name}", "events.csv") as folder:
        trace = _run(options, finger, force, duration)
        printer.console.print(_table(trace))
        _write(options.output, trace, folder, f"galley touch {name}{about}", printer)
    printer.console.print(f"results: {folder}")
    if trace.fault:
        print(f"ended at {trace.end:g} s: {trace.fault}", file=sys.stderr)
    return 1 if trace.fault else 0


def _task(options: TouchOptions) -> tuple[Finger, float, Any]:
    """The finger, the duration of the run (s), and the force on the finger."""
    from galley.planar.finger.examples import EXAMPLES

    example = EXAMPLES.get(str(options.example))
    with usage():
        changes = given(options.world, Finger)
        for name in changes.keys() & {"finger_drag", "object_drag"}:
            changes[name] = Drag(*changes[name])
        finger = replace(example.finger if example else Finger(), **changes)
    duration = options.until or (example.t_end if example else _DURATION)
    force = example.force if example else None
    if options.force:
        force = _force_of(options.force, options.period)
    return finger, duration, force


def _run(options: TouchOptions, finger: Finger, force: Any, duration: float) -> Trace:
    from galley.planar.finger import simulate

    if options.keyboard:
        from galley.planar.finger.window import drive

        try:
            return drive(finger, longest=options.until or 600.0)
        except RuntimeError as error:  # no display
            raise argparse.ArgumentTypeError(f"argument --keyboard: {error}") from None
    with usage():
        return simulate(finger, force, duration)


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

    act = getattr(load_module(path), "policy", None)
    if not callable(act):
        raise BadInput.one(path, "defines no function policy(sense)")
    return Policy(act) if period is None else Policy(act, period)


def _profile(path: Path) -> Any:
    from galley.domain.files import read_pairs
    from galley.planar.finger import Profile

    expected = "a time and a force"
    pairs: list[tuple[float, float]] = []
    for line, time, force in read_pairs(path, expected):
        pairs.append((time, force))
        try:
            Profile.of(pairs[-3:])
        except ValueError as error:
            raise BadInput.one(path, str(error).partition(": ")[2], line) from None
    if not pairs:
        raise BadInput.one(path, f"is empty, expected {expected} a line")
    return Profile.of(pairs)


def _table(trace: Trace) -> PlainTable:
    names = (">time s", "event", ">at m", ">closing m/s", ">impulse N s")
    table = PlainTable(*names, spare=("impulse N s", "at m"))
    for event in trace.events[:_MOST_ROWS]:
        speed = f"{event.closing_speed:.4f}" if event.closing_speed else ""
        impulse = f"{event.impulse:.4g}" if event.impulse else ""
        table.add_row(f"{event.time:.4f}", event.kind, f"{event.position:.4f}", speed, impulse)
    if len(trace.events) > _MOST_ROWS:
        table.add_row("", f"... {len(trace.events) - _MOST_ROWS} more in events.csv")
    return table


def _write(output: Output, trace: Trace, folder: Path, title: str, printer: Printer) -> None:
    from galley.planar.finger.pictures import draw_touch, film_touch

    trace.write_events(folder / "events.csv")
    trace.write(folder / "samples.csv", output.rate)
    if trace.end == 0.0:
        return  # a run without duration has no figure and no film
    draw_touch(trace, folder / "touch.png", title)
    if output.video:
        path = folder / f"touch{output.suffix}"
        printer.film(film_touch, trace, path, output.fps, output.height)
