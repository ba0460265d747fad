"""``galley demos view``: one episode as a film, as curves, and as a table."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from galley.cli.common.arguments import height, out_option, positive
from galley.cli.common.progress import Printer
from galley.learning.commands.collecting import (
    array_table,
    chosen_episodes,
    episode_option,
    open_demonstrations,
)

if TYPE_CHECKING:
    from galley.learning.demonstrations import Collection, Episode

CURVES, FILM = "curves.png", "episode.mp4"

EPILOG = f"""DIR is what a collect wrote, an export as parquet, or any replay buffer (zarr).

results, in --out:
  {CURVES}   every array over time, but pictures
  {FILM}  the episode's pictures; without any, a kitchen run is drawn from its states

examples:
  galley demos view demos                   the first episode
  galley demos view demos --episode 3 --speed 4
  galley demos view demos --scene mine.yaml   of runs in another scene, without pictures"""


def add_arguments(p: argparse.ArgumentParser) -> None:
    """Add the options of ``galley demos view``."""
    p.add_argument("folder", type=Path, metavar="DIR", help="of demonstrations")
    episode_option(p, 0)
    p.add_argument(
        "--scene",
        type=Path,
        metavar="FILE",
        help="of a kitchen run without pictures (default: Galley's kitchen)",
    )
    p.add_argument(
        "--height",
        type=height,
        default=480,
        metavar="PIXELS",
        help="height of the film (default 480)",
    )
    p.add_argument("--speed", type=positive, default=1.0, metavar="X", help="(default 1)")
    out_option(p)


def command(arguments: argparse.Namespace) -> int:
    """Print the tables, draw and film."""
    found, collection = open_demonstrations(arguments.folder)
    (which,) = chosen_episodes(arguments, found)
    from galley.cli.common.study import results_folder
    from galley.learning.demonstrations.pictures import draw_curves, film_pictures

    printer = Printer()
    episode = found[which]
    _print_facts(printer, episode)
    printer.console.print(array_table(found.select([which]), collection))
    images: dict[str, Iterable[Any]]
    images = {n: a for n, a in episode.arrays.items() if a.ndim == 4 and a.dtype == "uint8"}
    marks = _marks(episode)
    meanings: Mapping[str, str] = {} if collection is None else collection.arrays
    ending = {True: "succeeded", False: "failed", None: "not judged"}[episode.success]
    title = f"{arguments.folder.name}, episode {which}: {ending}"
    with results_folder(arguments.out, "episode", CURVES) as folder:
        rest = {name: each for name, each in episode.arrays.items() if name not in images}
        draw_curves(rest, meanings, episode.times, marks, title, folder / CURVES)
        printer.stage(f"curves: {folder / CURVES}")
        images = images or _drawn(episode, collection, arguments)
        if not images:
            printer.stage("no film: it has no pictures, and no states of a run in the scene")
            return 0
        texts = [""] * len(episode)
        for name, words in marks.items():
            texts = [words[int(k)] for k in episode.observations[name][:, 0]]
        try:
            film_pictures(
                images,
                episode.times,
                texts,
                folder / FILM,
                arguments.height,
                arguments.speed,
                lambda done, total: printer.fraction("filming", done / total),
            )
        except RuntimeError as error:
            print(f"no film: {error}", file=sys.stderr)
            return 1
        finally:
            printer.close()
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


def _marks(episode: Episode) -> dict[str, list[str]]:
    """The texts of the metadata that an observation of the same name counts."""
    found = {}
    for name, each in episode.observations.items():
        words = episode.metadata.get(name)
        if (
            each.shape[1:] == (1,)
            and each.dtype.kind in "iu"
            and isinstance(words, list)
            and each.min() >= 0
            and each.max() < len(words)
        ):
            found[name] = [str(word) for word in words]
    return found


def _drawn(
    episode: Episode, collection: Collection | None, arguments: argparse.Namespace
) -> dict[str, Iterable[Any]]:
    """Pictures of a kitchen run, drawn from its states; none if they are of something else."""
    from galley.domain.scene.reader import load_scene
    from galley.learning.collection.kitchen import states_of
    from galley.robots.catalog import robot_of
    from galley.viz.film.pictures import pictures

    scene = load_scene(arguments.scene or "kitchen.yaml")
    robot = robot_of(scene.robot)
    states = states_of(episode, scene, robot)
    if states is None or collection is None or collection.settings.get("scene") != scene.name:
        return {}
    size = arguments.height // 2 * 2
    return {name: pictures(name, size, scene, robot, states) for name in ("front", "hand")}
