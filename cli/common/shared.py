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
    """An option of ``stages.Options``, with its choices, and its default unless ``how`` has one."""
    if name in CHOICES:
        how["choices"] = CHOICES[name]
    return option(how.pop("default", getattr(Options, name)), about, **how)


def seed_option(default: int = 0) -> Any:
    """The option ``--seed``."""
    return option(default, "Random seed.")


def out_option() -> Any:
    """The option ``--out`` of commands that write a folder of results."""
    return option(None, "Results folder. Default: a new one in runs/.", "FOLDER")


def optimize_option(about: str = ", as in galley run") -> Any:
    """The option ``--optimize``, the trajectory optimizer; ``about`` ends its help."""
    return run_option("optimize", f"Trajectory optimizer of free motions{about}.", more=True)


def video_option() -> Any:
    """The option ``--video``, ``--no-video``."""
    return option(True, "Film the execution.")


def json_option(what: str) -> Any:
    """The option ``--json``, a file for the figures; what is printed stays the same."""
    return option(None, f"Also write {what} to this JSON file.")


def scene_option(default: str = "the shipped kitchen") -> Any:
    """The option ``--scene``; ``default``: what is used without it, for the help."""
    return option(None, f"Scene file (YAML). Default: {default}.")


@dataclass(frozen=True, kw_only=True)
class SymbolicTask:
    """The options that name a symbolic task: domain, problem and skills."""

    domain: Path | None = option(
        None, "PDDL domain file. Default: the shipped domain that the problem names."
    )
    problem: Path | None = option(None, "PDDL problem file. Default: the kitchen task.")
    skills: Path | None = option(None, "Python file with skills for your own actions.")

    def read(self) -> tuple[Domain, Problem]:
        """Read domain and problem; with skills given, check that every action has a skill.

        Raises:
            BadInput: as ``domain.pddl.reader.read_task``; or an action has no skill.
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
class TaskFiles(SymbolicTask):
    """The options that name a task with its geometry: those above, scene and robot."""

    scene: Path | None = scene_option("the scene named like the problem, or the kitchen")
    robot: Path | None = option(None, "Robot file (YAML) that replaces the scene's robot.")

    def paths(self) -> dict[str, Any]:
        """The files given, with shipped ones found by bare names, and the problem's companions."""
        given = {name: shipped_file(path) for name, path in vars(self).items() if path is not None}
        return companions(given["problem"]) | given if "problem" in given else given


@dataclass(frozen=True, kw_only=True)
class FilmSize:
    """The options of a film's size: height (pixels) and frame rate (Hz)."""

    height: Height = more(720, "Height of the film in pixels.")
    fps: FrameRate = more(20, "Frame rate of the film in Hz.")


@dataclass(frozen=True, kw_only=True)
class Animation(FilmSize):
    """The options of a film that may be an animated GIF.

    Raises:
        argparse.ArgumentTypeError: a GIF can't have this frame rate.
    """

    gif: bool = more(False, "Write an animated GIF instead of an MP4.")

    def __post_init__(self) -> None:
        if self.gif and (self.fps > 50 or 100 % self.fps):
            what = "a GIF frame lasts whole hundredths of a second: 1, 2, 4, 5, 10, 20, 25 or 50"
            raise argparse.ArgumentTypeError(f"argument --fps: {what}")

    @property
    def suffix(self) -> str:
        """The suffix of the film's file, ``.gif`` or ``.mp4``."""
        return ".gif" if self.gif else ".mp4"


@dataclass(frozen=True, kw_only=True)
class MotionOptions(FilmSize):
    """The options of commands that plan motions and film them."""

    video: bool = video_option()
    speed: Positive = more(1.0, "Playback speed, marked in the film if not 1.", "X")
    seed: Seed = seed_option()
    out: Path | None = out_option()


@dataclass(frozen=True, kw_only=True)
class Seeds:
    """The options that choose the seeds: the first one, and how many."""

    seeds: Count = option(1, "Number of seeds, each of which is run once.")
    seed: Seed = option(0, "First random seed.", "N")

    @property
    def all(self) -> range:
        """All seeds, in order."""
        return range(self.seed, self.seed + self.seeds)


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """The options of a sweep: how many jobs run at a time, and where."""

    jobs: Count | None = option(None, "Number of jobs that run at a time. Default: one per core.")
    engine: Literal["process", "ray"] = more("process", "Run in local processes or on Ray.")
