"""``galley demos show``: show one episode as a film, as curves and as a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from galley.cli.common.arguments import Height, Positive
from galley.cli.common.progress import Printer
from galley.cli.common.shared import out_option
from galley.domain.options import more
from galley.learning.collection.recording import SYMBOLIC_ACTION
from galley.learning.commands.collecting import OneEpisode, array_table, open_demonstrations

if TYPE_CHECKING:
    from galley.learning.demonstrations import Episode

CURVES, FILM = "curves.png", "episode.mp4"

EPILOG = """DIR is what a collect wrote, or any replay buffer (zarr).

examples:
  galley demos show demos --episode 3 --speed 4"""


@dataclass(frozen=True, kw_only=True)
class DemosShowOptions(OneEpisode):
    """Options of ``galley demos show``."""

    height: Height = more(480, "Set the film's height.")
    speed: Positive = more(1.0, "Speed the film up or down.", "X")
    out: Path | None = out_option()


def command(options: DemosShowOptions) -> int:
    """Print the tables, draw the curves, and film the pictures; exit status 1 without a film."""
    episodes, collection = open_demonstrations(options.folder)
    (index,) = options.chosen(episodes)
    from galley.cli.common.study import results_folder
    from galley.learning.demonstrations.pictures import draw_curves, film_pictures

    printer = Printer()
    episode = episodes[index]
    _print_facts(printer, episode)
    printer.console.print(array_table(episodes.select([index]), collection))
    images = {n: a for n, a in episode.arrays.items() if a.ndim == 4 and a.dtype == "uint8"}
    meanings: Mapping[str, str] = {} if collection is None else collection.arrays
    ending = {True: "succeeded", False: "failed", None: "not judged"}[episode.success]
    title = f"{options.folder.name}, episode {index}: {ending}"
    with results_folder(options.out, "episode", CURVES) as folder:
        rest = {name: array for name, array in episode.arrays.items() if name not in images}
        draw_curves(rest, meanings, episode.times, title, folder / CURVES)
        printer.stage(f"curves: {folder / CURVES}")
        if not images:
            printer.stage("no film: the episode has no pictures")
            return 0
        texts = [""] * len(episode)
        words = episode.metadata.get(SYMBOLIC_ACTION)
        if words and SYMBOLIC_ACTION in episode.observations:
            texts = [words[int(k)] for k in episode.observations[SYMBOLIC_ACTION][:, 0]]
        style = (folder / FILM, options.height, options.speed)
        if not printer.film(film_pictures, images, episode.times, texts, *style):
            return 1
        printer.stage(f"film: {folder / FILM}")
    return 0


def _print_facts(printer: Printer, episode: Episode) -> None:
    info = episode.info
    ending = {True: "success", False: "failure", None: "not judged"}[info.success]
    seed = "no seed" if info.seed is None else f"seed {info.seed}"
    printer.console.print(f"{seed}: {ending}, {info.length} steps in {info.duration:.2f} s")
    for key, value in info.metadata.items():
        words = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
        printer.console.print(f"  {key}: {words}")
