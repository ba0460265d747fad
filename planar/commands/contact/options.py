"""What the subcommands of ``galley contact`` share: options, running, writing the results."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from galley.cli.common.arguments import Positive, need
from galley.cli.common.progress import Printer
from galley.cli.common.shared import Animation, out_option, video_option
from galley.domain.files import write_atomically
from galley.domain.options import group, more

if TYPE_CHECKING:
    from galley.planar.contact import StepFailure
    from galley.planar.contact.record import PlanarRun
    from galley.planar.contact.setup import Setup

SUMMARY = "summary.json"


@dataclass(frozen=True, kw_only=True)
class ContactFilm(Animation):
    """Options of the film and the states."""

    video: bool = video_option()
    speed: Positive = more(1.0, "Speed the film up or down.", "X")
    npz: bool = more(False, "Write the states as npz, contacts too, not as CSV.")


@dataclass(frozen=True, kw_only=True)
class Results:
    """Options of the results: the folder, and what is written to it."""

    out: Path | None = out_option()
    film: ContactFilm = group(ContactFilm(height=540, fps=25), "film and states")


def results_group(speed: float = 1.0) -> Any:
    """The group of options of the results; ``speed``: default of the film."""
    return group(Results(film=ContactFilm(height=540, fps=25, speed=speed)))


@dataclass
class Session:
    """A run of a subcommand, with its printer and its folder of results."""

    options: Results
    folder: Path
    printer: Printer

    def finish(self, setup: Setup, title: str, results: dict[str, Any]) -> int:
        """Simulate, write the results, and print their folder; returns 1 if a step failed, else 0.

        Args:
            setup: the world and its controls.
            title: of film and plot.
            results: written to ``summary.json``.
        """
        self.printer.stage("compiling, half a minute or so, then simulating")
        from galley.planar.contact.setup import planar_run

        trajectory, gradient = setup.run()
        failure = trajectory.failure()
        run = planar_run(setup, trajectory, gradient)
        results |= {"duration_s": float(run.time[-1]), "converged": failure is None}
        if failure:
            results["failure"] = _words(failure, setup)
        self._write(run, title, results)
        self.printer.console.print(f"results: {self.folder}")
        if failure:
            print(results["failure"], file=sys.stderr)
        return 1 if failure else 0

    def _write(self, run: PlanarRun, title: str, results: dict[str, Any]) -> None:
        from galley.planar.contact.pictures import draw_planar, film_planar

        film = self.options.film
        write_atomically(self.folder / SUMMARY, json.dumps(results, indent=1) + "\n")
        run.write(self.folder / ("states.npz" if film.npz else "states.csv"))
        if len(run.time) < 3:
            return  # too short for pictures
        draw_planar(run, self.folder / "contact.png", title)
        if film.video:
            path = self.folder / f"contact{film.suffix}"
            style = (title, film.fps, film.height, film.speed)
            self.printer.film(film_planar, run, path, *style)


@contextmanager
def session(options: Results, name: str) -> Iterator[Session]:
    """The session of a subcommand, with the folder of its results.

    Raises:
        argparse.ArgumentTypeError: JAX is missing.
        BadInput: the folder can't be made.
    """
    need("planar", "jax", "equinox")
    from galley.results.run_folder import run_folder

    with run_folder(options.out, f"contact-{name}", SUMMARY) as folder:
        yield Session(options, folder, Printer())


def _words(failure: StepFailure, setup: Setup) -> str:
    """A failed step in words: its time, the state before it, and what to try."""
    states = []
    for j in setup.world.free:
        pose, velocity = (", ".join(f"{x:.4g}" for x in rows[j]) for rows in failure[3:5])
        states.append(f"{setup.world.bodies[j].name} at ({pose}), velocity ({velocity})")
    return (
        f"step {failure.step} to {failure.time:.4g} s {failure.what}; "
        f"before it {'; '.join(states)}. {failure.remedy[0].upper()}{failure.remedy[1:]}. "
        "The run until then is written"
    )
