"""Runs a comparison: queries, methods, figures and films into one folder; prints nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.collision.scene_check import check_start
from galley.collision.scene_kernel import SceneKernel
from galley.compiled.build import KERNEL, KINEMATICS, PLANNERS, REACH, TIMING, ensure
from galley.domain.failure import Failure
from galley.domain.files import atomic_file, write_atomically
from galley.domain.listener import Listener
from galley.domain.scene.reader import load_scene
from galley.domain.shipped import KITCHEN
from galley.results.report import versions
from galley.results.run_folder import check_destination, run_folder
from galley.robots.catalog import robot_of
from galley.studies.comparison.measures import measure
from galley.studies.comparison.methods import DEFAULT, FILES, Attempt, run_methods
from galley.studies.comparison.queries import DISTANCE, ArmQuery, random_queries, turnaround_query
from galley.studies.comparison.query_file import read_query, resolve_query
from galley.studies.comparison.summary import (
    SCHEMA_VERSION,
    QueryResult,
    default_method_fault,
    result_record,
    result_to_show,
    summarize,
)

MARKER = "compare.json"
_FINE = 0.01  # s between the waypoints of a smooth curve
SEED, RANDOM = "seed", "random"


@dataclass(frozen=True)
class ComparisonOptions:
    """The options of ``galley compare``.

    Attributes:
        query: ``seed`` (the turn-around query), ``random``, or the path of a query file.
        count: the number of random queries.
        scene: the scene file; None: the scene of the query file, else the shipped kitchen.
        distance: the distance that the hand moves along x in the turn-around query, m.
        seed: the seed of all random numbers.
        out: the folder for the results; None: a new folder.
        video: whether to make films.
        height: the height of the films, pixels.
        fps: pictures per second of film.
        speed: seconds of the run per second of film.
    """

    query: str = SEED
    count: int = 1
    scene: Path | None = None
    distance: float = DISTANCE
    seed: int = 0
    out: Path | None = None
    video: bool = True
    height: int = 720
    fps: int = 20
    speed: float = 1.0


@dataclass
class ComparisonResult:
    """Everything that a comparison found.

    Attributes:
        folder: the folder with the files, once it exists.
        results: a QueryResult for each query that could be made.
        faults: a sentence for each query that could not be made, or in which the default method
            collides, exceeds the limits or has no trajectory.
    """

    folder: Path = Path()
    results: list[QueryResult] = field(default_factory=list, repr=False)
    faults: list[str] = field(default_factory=list)


def run(
    options: ComparisonOptions, listener: Listener, *, write: bool = True
) -> ComparisonResult | Failure:
    """Run all methods on all queries.

    Args:
        options: the queries, and the folder and films to write.
        listener: receives the progress.
        write: whether to write figures, films and files into a folder.

    Returns:
        The result; a Failure, and no folder, if not a single query could be made. Other queries
        that could not be made are in its ``faults``.

    Raises:
        BadInput: a malformed scene or query file, or a scene that starts in collision.
        KeyboardInterrupt: the folder keeps what was finished.
    """
    if write:
        check_destination(options.out, "compare", MARKER)
    file = read_query(Path(options.query)) if options.query not in (SEED, RANDOM) else None
    scene = load_scene(
        options.scene or (file.scene if file and file.scene else KITCHEN / "kitchen.yaml")
    )
    with PyBulletWorld(scene, robot_of(scene.robot)) as world:
        check_start(world)
        ensure(KERNEL, PLANNERS, REACH, KINEMATICS, TIMING, listener=listener)
        kernel = SceneKernel(scene, world.robot)
        if file is not None:
            queries: Iterator[ArmQuery | Failure] = iter((resolve_query(file, kernel),))
        elif options.query == RANDOM:
            queries = random_queries(kernel, options.count, options.seed)
        else:
            queries = iter((turnaround_query(kernel, options.distance, options.seed),))
        outcome = ComparisonResult()
        for first in queries:
            if not isinstance(first, Failure):
                break
            outcome.faults.append(str(first))
        if isinstance(first, Failure):
            return first
        work = _Comparison(options, kernel, world, listener, outcome)
        if not write:
            work.solve(first, queries)
            return outcome
        with run_folder(options.out, "compare", MARKER) as outcome.folder:
            work.run(first, queries)
        return outcome


@dataclass
class _Comparison:
    """A comparison in progress: each stage writes its results into the folder."""

    options: ComparisonOptions
    kernel: SceneKernel
    world: PyBulletWorld
    listener: Listener
    outcome: ComparisonResult

    def run(self, first: ArmQuery, others: Iterator[ArmQuery | Failure]) -> None:
        """Run all stages; each writes its files before the next begins."""
        from galley.studies.comparison.pictures import draw_query

        folder, results = self.outcome.folder, self.outcome.results
        try:
            self.solve(first, others)
        finally:
            if results:
                self._write()
        self.listener.results(tuple(results), summarize(results))
        shown = result_to_show(results)
        for method, name in FILES.items():
            attempt = shown.solution(method)
            if attempt is not None:
                save_waypoints(folder / f"trajectory_{name}.npy", attempt)
        self.listener.stage("drawing compare.png")
        draw_query(folder / "compare.png", shown, self.world.robot)
        if self.options.video:
            self._film(shown)

    def solve(self, first: ArmQuery, others: Iterator[ArmQuery | Failure]) -> None:
        """Run all methods on all queries, into ``outcome``."""
        options, results = self.options, self.outcome.results
        self.listener.stage(f"solving: {first.about}")
        # An untimed run loads the compiled code.
        run_methods(self.kernel, self.world, first, options.seed, in_pybullet=0)
        skipped = len(self.outcome.faults)  # queries before the first that could be made
        for tried, query in enumerate(chain((first,), others), skipped + 1):
            if isinstance(query, Failure):
                self.outcome.faults.append(str(query))
            else:
                attempts = run_methods(self.kernel, self.world, query, options.seed)
                rows = tuple((a, measure(self.kernel, self.world, query, a)) for a in attempts)
                results.append(QueryResult(query, rows))
                fault = default_method_fault(results[-1])
                if fault:
                    self.outcome.faults.append(fault)
            if options.count > 1:
                self.listener.fraction("comparing", tried / options.count)

    def _write(self) -> None:
        """Write ``compare.json`` with the results so far."""
        options, results, world = self.options, self.outcome.results, self.world
        record: dict[str, Any] = {
            "schema_version": SCHEMA_VERSION,
            "scene": world.scene.source,
            "seed": options.seed,
            "query": options.query,
            "queries_asked": options.count if options.query == RANDOM else 1,
            "queries_done": len(results),
            "shown": result_to_show(results).query.name,
            "not_as_expected": self.outcome.faults,
            "summary": summarize(results),
            "queries": [result_record(result, world.scene, world.robot) for result in results],
            "versions": versions(),
        }
        if options.query == SEED:
            record["distance_m"] = options.distance
        write_atomically(self.outcome.folder / MARKER, json.dumps(record, indent=1) + "\n")

    def _film(self, shown: QueryResult) -> None:
        """Film one query, or say why there is no film."""
        from galley.studies.comparison.pictures import film_query

        if not all(shown.solution(method) for method in ("rrt", DEFAULT)):
            self.listener.stage("no film: the RRT or smooth has no trajectory")
            return
        self.listener.stage(
            f"filming {shown.query.name}: rrt.mp4, opt.mp4, side_by_side.mp4 and qp.mp4"
        )
        film_query(
            self.outcome.folder,
            self.world,
            shown,
            fps=self.options.fps,
            height=self.options.height,
            speed=self.options.speed,
            progress=lambda done, total: self.listener.fraction("filming", done / total),
        )


def save_waypoints(path: Path | str, attempt: Attempt) -> None:
    """Write an attempt's waypoints (n, k), rad or m; for a smooth curve, a point every 10 ms.

    Raises:
        BadInput: ``path`` can't be written.
    """
    points, trajectory = attempt.waypoints, attempt.trajectory
    if points is None:
        assert trajectory is not None
        count = max(1, int(np.ceil(trajectory.duration / _FINE - 1e-9)))
        points = trajectory(np.linspace(0.0, trajectory.duration, count + 1))
    with atomic_file(path) as partial, open(partial, "wb") as stream:
        np.save(stream, points, allow_pickle=False)
