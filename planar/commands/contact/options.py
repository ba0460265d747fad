"""What the subcommands of ``galley contact`` share: options, running, writing the results."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from galley.cli.common.arguments import (
    check_gif,
    film_options,
    gif_option,
    multiple,
    need,
    out_option,
    positive,
)
from galley.cli.common.progress import Printer
from galley.domain.files import write_atomically

if TYPE_CHECKING:
    from galley.planar.contact import Failure
    from galley.planar.contact.record import PlanarRun
    from galley.planar.contact.setup import Setup

SUMMARY = "summary.json"
_FELT = 1e-9  # N: soft contacts reach through a gap, but no further than this


def result_options(p: argparse.ArgumentParser, speed: float = 1.0) -> None:
    """Add the options of folder, film and states; ``speed``: the film's default."""
    out_option(p)
    group = p.add_argument_group("film and states")
    film_options(group, 540, 25)
    gif_option(group)
    group.add_argument(
        "--speed",
        type=positive,
        default=speed,
        metavar="X",
        help=f"seconds of the run in a second of film (default {speed:g})",
    )
    group.add_argument("--npz", action="store_true", help="states as npz, contacts too, not CSV")


def shape_option(p: argparse.ArgumentParser, default: str) -> None:
    """Add the shape of the body."""
    shapes = ("circle", "hexagon", "rectangle")
    p.add_argument("--shape", choices=shapes, default=default, help=f"default {default}")


def friction_option(p: argparse.ArgumentParser, default: float) -> None:
    """Add the coefficient of friction."""
    p.add_argument(
        "--friction",
        type=multiple,
        default=default,
        metavar="MU",
        help=f"coefficient of friction (default {default:g})",
    )


@dataclass
class Session:
    """A run of a subcommand: where it prints and writes."""

    arguments: argparse.Namespace
    folder: Path
    printer: Printer

    def finish(self, setup: Setup, title: str, results: dict[str, Any], **more: Any) -> int:
        """Simulate, write everything, and say where; 1 if a step did not converge.

        Args:
            setup: what is simulated.
            title: of film and plot.
            results: for ``summary.json``.
            more: attributes of ``PlanarRun``, in place of its own.
        """
        self.printer.stage("simulating (compiled first)")
        from galley.planar.contact.setup import planar_run

        trajectory, gradient = setup.run("gradient" not in more)
        failure = trajectory.failure()
        run = planar_run(setup, trajectory, **({"gradient": gradient} | more))
        results |= {"duration_s": float(run.time[-1]), "converged": failure is None}
        if failure:
            results["failure"] = _words(failure, setup)
        touched = bool(abs(run.forces).max(initial=0.0) > _FELT)
        if not touched:
            results["touched"] = False
        self._write(run, title, results)
        self.printer.console.print(f"results: {self.folder}")
        if not touched and not failure:
            print("no two bodies touched in the whole run", file=sys.stderr)
        if failure:
            print(results["failure"], file=sys.stderr)
        return 1 if failure else 0

    def _write(self, run: PlanarRun, title: str, results: dict[str, Any]) -> None:
        from galley.planar.contact.pictures import draw_planar, film_planar

        arguments = self.arguments
        write_atomically(self.folder / SUMMARY, json.dumps(results, indent=1) + "\n")
        run.write(self.folder / ("states.npz" if arguments.npz else "states.csv"))
        if len(run.time) < 3:
            return  # nothing to be seen
        draw_planar(run, self.folder / "contact.png", title)
        if not arguments.video:
            return
        self.printer.stage("filming")
        path = self.folder / ("contact.gif" if arguments.gif else "contact.mp4")
        try:
            film_planar(
                run,
                path,
                title,
                arguments.fps,
                arguments.height,
                arguments.speed,
                lambda done, total: self.printer.fraction("filming", done / total),
            )
        except RuntimeError as error:
            print(f"no film: {error}", file=sys.stderr)
        finally:
            self.printer.close()


@contextmanager
def session(arguments: argparse.Namespace, name: str) -> Iterator[Session]:
    """The folder of a subcommand's results, once the options go together and JAX is there.

    Raises:
        argparse.ArgumentTypeError: they don't, or it isn't.
        BadInput: the folder can't be made.
    """
    check_gif(arguments)
    need("planar", "jax", "equinox")
    from galley.results.run_folder import run_folder

    with run_folder(arguments.out, f"contact-{name}", SUMMARY) as folder:
        yield Session(arguments, folder, Printer())


def _words(failure: Failure, setup: Setup) -> str:
    """A failed step: when, the state before it, what to try."""
    states = []
    for j in setup.world.free:
        pose, velocity = (", ".join(f"{x:.4g}" for x in each[j]) for each in failure[3:5])
        states.append(f"{setup.world.bodies[j].name} at ({pose}), velocity ({velocity})")
    return (
        f"step {failure.step} to {failure.time:.4g} s {failure.what}; "
        f"before it {'; '.join(states)}. {failure.remedy[0].upper()}{failure.remedy[1:]}. "
        "The run until then is written"
    )
