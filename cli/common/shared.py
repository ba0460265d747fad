"""Options that several commands share."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from galley.cli.common.arguments import Count, FrameRate, Height, Positive, Seed
from galley.domain.options import more, option
from galley.domain.shipped import companions, shipped_file
from galley.stages import CHOICES, Options

if TYPE_CHECKING:
    from galley.domain.pddl.model import Domain, Problem


def run_option(name: str, about: str, **how: Any) -> Any:
    """An option that ``stages.Options`` has: with its choices, and its default unless ``how``."""
    if name in CHOICES:
        how["choices"] = CHOICES[name]
    return option(how.pop("default", getattr(Options, name)), about, **how)


def seed_option(default: int = 0) -> Any:
    """The random seed."""
    return option(default, "Set the random seed.")


def out_option() -> Any:
    """The results' folder."""
    return option(None, "Write into this folder. Default: a new one in runs/.", "FOLDER")


def optimize_option(about: str = ", as galley run does") -> Any:
    """The trajectory optimizer; ``about``: its description in the help."""
    return run_option("optimize", f"Make the trajectories of free motions{about}.", more=True)


def video_option() -> Any:
    """Whether to film."""
    return option(True, "Film the execution.")


def json_option(what: str) -> Any:
    """Where the figures go as data; what is printed stays the same."""
    return option(None, f"Also write {what} as JSON into this file.")


def scene_option(default: str = "Galley's kitchen") -> Any:
    """The scene."""
    return option(None, f"Take this scene, YAML. Default: {default}.")


@dataclass(frozen=True, kw_only=True)
class TaskSymbols:
    """A task in symbols."""

    domain: Path | None = option(
        None, "Take this PDDL domain. Default: the shipped one that the problem names."
    )
    problem: Path | None = option(None, "Take this PDDL problem. Default: the kitchen's.")
    skills: Path | None = option(None, "Add this Python file's skills, for your own actions.")

    def read(self) -> tuple[Domain, Problem]:
        """Domain and problem; with skills, every action has one.

        Raises:
            BadInput: as ``domain.pddl.reader.read_task``; or an action has none.
        """
        from galley.domain.pddl.reader import read_task

        problem_file = self.problem or Options.problem
        named = companions(problem_file).get("domain", Options.domain)
        domain, problem = read_task(self.domain or named, problem_file)
        if self.skills is not None:
            from galley.skills import skill_set
            from galley.skills.own import load_skills
            from galley.tamp.binding import check_skills

            own = load_skills(self.skills, [action.name for action in domain.actions])
            check_skills(domain, skill_set(own))
        return domain, problem


@dataclass(frozen=True, kw_only=True)
class TaskFiles(TaskSymbols):
    """A task in symbols and in metres."""

    scene: Path | None = scene_option("that of the problem's name, or the kitchen")
    robot: Path | None = option(None, "Put this robot in place of the scene's.")

    def paths(self) -> dict[str, Any]:
        """The files that are given, found by bare names too, and those that the problem is for."""
        given = {name: shipped_file(path) for name, path in vars(self).items() if path is not None}
        return companions(given["problem"]) | given if "problem" in given else given


@dataclass(frozen=True, kw_only=True)
class FilmSize:
    """A film's height (pixels) and frame rate (Hz)."""

    height: Height = more(720, "Set the film's height.")
    fps: FrameRate = more(20, "Set the film's frame rate.")


@dataclass(frozen=True, kw_only=True)
class Animation(FilmSize):
    """A film that may be an animated GIF.

    Raises:
        argparse.ArgumentTypeError: a GIF can't have the frame rate.
    """

    gif: bool = more(False, "Film as an animated GIF instead of an mp4.")

    def __post_init__(self) -> None:
        if self.gif and (self.fps > 50 or 100 % self.fps):
            what = "a GIF's frames last whole hundredths of a second: 1, 2, 4, 5, 10, 20, 25 or 50"
            raise argparse.ArgumentTypeError(f"argument --fps: {what}")

    @property
    def suffix(self) -> str:
        """Of the file."""
        return ".gif" if self.gif else ".mp4"


@dataclass(frozen=True, kw_only=True)
class Motion(FilmSize):
    """Of commands that make motions and film them."""

    video: bool = video_option()
    speed: Positive = more(1.0, "Speed the film up or down; it states a speed other than 1.", "X")
    seed: Seed = seed_option()
    out: Path | None = out_option()


@dataclass(frozen=True, kw_only=True)
class Seeds:
    """Which seeds to run."""

    seeds: Count = option(1, "Run this many seeds, once each.")
    seed: Seed = option(0, "Set the first random seed.", "N")

    @property
    def all(self) -> range:
        """The seeds."""
        return range(self.seed, self.seed + self.seeds)


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """How a sweep runs."""

    jobs: Count | None = option(None, "Run this many at a time. Default: one per core.")
    engine: Literal["process", "ray"] = more("process", "Run in local processes or on Ray.")
