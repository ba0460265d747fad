"""Time to film a stored run, compared with the run's duration.

    python bench/viz/film.py RUN [--height 720] [--fps 20] [--workers 1 2]

RUN is a run folder with ``states.npz``, of a run in the kitchen unless ``--scene`` names another
scene file. Each film is made once, after an uncounted warm-up film. Besides wall time it prints
processor time, of this process and its children, divided by the number of cores: the time
on an idle machine. ``of run`` is the ratio to the run's duration.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from galley.domain.log import Log
from galley.domain.scene.reader import load_scene
from galley.domain.shipped import KITCHEN
from galley.robots.panda.models import mobile_panda
from galley.viz.film.video import FilmOptions, film


@dataclass(frozen=True)
class Row:
    """One film.

    Attributes:
        film_s, run_s: how long film and run last.
        wall_s, processor_s: what filming took; processor time is the sum over all processes.
        cores: that the processor time is divided by.
        megabytes: of the file.
    """

    workers: int
    film_s: float
    run_s: float
    wall_s: float
    processor_s: float
    cores: int
    megabytes: float

    def line(self) -> str:
        """As a row of the table."""
        free = self.processor_s / self.cores
        return (
            f"{self.workers:7d} {self.wall_s:7.1f} {self.processor_s:7.1f}"
            f" {self.film_s / self.wall_s:12.2f} {self.film_s / self.processor_s:12.2f}"
            f" {self.wall_s / self.run_s:12.2f} {free / self.run_s:12.2f} {self.megabytes:5.1f}"
        )


def processor() -> float:
    """Seconds of processor time of this process and of those that it waited for."""
    total = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        used = resource.getrusage(who)
        total += used.ru_utime + used.ru_stime
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("run", type=Path)
    parser.add_argument("--scene", type=Path, default=KITCHEN / "kitchen.yaml")
    parser.add_argument("--height", type=int, default=720)
    parser.add_argument("--fps", type=float, default=20.0)
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2])
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    log, scene = Log.load(arguments.run / "states.npz"), load_scene(arguments.scene)
    robot = mobile_panda(scene.robot.base)
    size = {"width": arguments.height * 16 // 9 // 2 * 2, "height": arguments.height // 2 * 2}
    cores = len(os.sched_getaffinity(0))
    print(f"a {log.mode} run of {log.duration:.1f} s, {arguments.height}p, {arguments.fps:g} fps")
    print("workers  wall s   cpu s  film s/wall   film s/cpu  wall of run  cpu of run    MB")
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "film.mp4"
        speed = max(log.duration, 1e-3)  # all of the run in a second
        film(log, scene, robot, path, FilmOptions(fps=4, hold=0, speed=speed, **size))
        for workers in arguments.workers:
            used, began = processor(), time.monotonic()
            options = FilmOptions(fps=arguments.fps, workers=workers, **size)
            info = film(log, scene, robot, path, options)
            wall, spent = time.monotonic() - began, processor() - used
            megabytes = path.stat().st_size / 1e6
            row = Row(workers, info.duration_s, log.duration, wall, spent, min(cores, 2), megabytes)
            print(row.line(), flush=True)
            rows.append(asdict(row))
    load = np.round(os.getloadavg(), 1).tolist()
    print(f"load of the machine over the last 1, 5 and 15 minutes: {load}; cores {cores}")
    if arguments.json:
        arguments.json.write_text(json.dumps({"rows": rows, "load": load}, indent=1) + "\n")


if __name__ == "__main__":
    main()
