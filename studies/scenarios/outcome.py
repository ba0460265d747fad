"""Runs a scenario through the engine and judges the outcome."""

from __future__ import annotations

import hashlib
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from galley.domain.errors import BadInput
from galley.domain.log import Log
from galley.domain.scene.model import Binding, Scene
from galley.results.run_folder import STATES
from galley.robots.catalog import robot_of
from galley.stages import Options
from galley.studies.scenarios.scenario import Scenario, judge_report


@dataclass(frozen=True)
class ScenarioJob:
    """A run of a scenario.

    Attributes:
        scenario: the task and its expected outcome.
        seed: of every random stream.
        folder: for the run's files; None for a temporary one.
        picture: draw the final state beside ``folder``, as its name and ``.png``.
        options: further ``stages.Options`` by name, such as ``optimize``; kinematic
            execution by default.
    """

    scenario: Scenario
    seed: int = 0
    folder: Path | None = None
    picture: bool = False
    options: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class ScenarioResult:
    """The outcome of a run. Plain data: can be pickled and written as JSON.

    Attributes:
        scenario, seed: of the run.
        expected: the expected outcome in words.
        status: the status in the report, or ``bad-input``.
        kind, message, objects: of the failure; empty on success.
        plan: the actions, in order.
        right: whether this is the expected outcome.
        wrong: the differences from the expected outcome, one sentence each; empty if right.
        skeletons: number of symbolic plans tried.
        motion_s: total duration of the motions.
        fingerprint: digest of all executed states; empty if nothing was executed.
        planning_s: time to plan the task and the motions, s.
        wall_s: wall time of the whole run, s.
    """

    scenario: str
    seed: int
    expected: str
    status: str
    kind: str = ""
    message: str = ""
    objects: tuple[str, ...] = ()
    plan: tuple[str, ...] = ()
    right: bool = False
    wrong: tuple[str, ...] = ()
    skeletons: int = 0
    motion_s: float = 0.0
    fingerprint: str = ""
    planning_s: float = 0.0
    wall_s: float = 0.0


def run_scenario(job: ScenarioJob) -> ScenarioResult:
    """Run a scenario through the engine and judge the outcome.

    Bad input is an outcome too, with the faults as its message, so that a sweep goes on.
    """
    from galley.engine import record_run

    scenario, expect = job.scenario, job.scenario.expect
    identity: dict[str, Any] = {
        "scenario": scenario.name,
        "seed": job.seed,
        "expected": str(expect),
    }
    began = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="galley-scenario-") as parent:
        folder = job.folder or Path(parent) / "run"
        try:
            run = record_run(_options(job, folder))
        except BadInput as error:
            return ScenarioResult(
                **identity,
                status="bad-input",
                kind="bad-input",
                message=str(error),
                wrong=(f"bad-input instead of {expect.status}",),
                wall_s=time.perf_counter() - began,
            )
        fingerprint = _fingerprint(folder / STATES)
        if job.picture:
            from galley.viz.render.scene_picture import draw_end

            robot = robot_of(run.task.scene.robot)
            draw_end(run.task.scene, robot, folder / STATES, folder.with_suffix(".png"))
    data = run.report.as_json()
    failure, timing = data["failure"] or {}, data["timing_s"]
    wrong = judge_report(expect, data, _aliases(run.task.scene))
    planning_s = float(timing["task"] + timing["motion"])
    return ScenarioResult(
        **identity,
        status=data["status"],
        kind=failure.get("kind", ""),
        message=failure.get("message", ""),
        objects=tuple(failure.get("objects", ())),
        plan=tuple(data["plan"]),
        right=not wrong,
        wrong=wrong,
        skeletons=int(data["plans_tried"]),
        motion_s=float(sum(motion["duration_s"] for motion in data["motions"])),
        fingerprint=fingerprint,
        planning_s=planning_s,
        wall_s=time.perf_counter() - began,
    )


def _options(job: ScenarioJob, folder: Path) -> Options:
    """The options of a run: kinematic and without a film, unless the job says otherwise."""
    scenario = job.scenario
    more: dict[str, Any] = {"execute": "kinematic", "video": False} | dict(job.options)
    return Options(
        scene=scenario.scene,
        domain=scenario.domain,
        problem=scenario.problem,
        skills=scenario.skills,
        seed=job.seed,
        out=folder,
        **more,
    )


def _aliases(scene: Scene) -> Mapping[str, frozenset[str]]:
    """For each name of an object all its names: in PDDL, in the scene, of its region and body."""
    aliases: dict[str, frozenset[str]] = {}
    for binding in scene.bindings:
        names = _names(scene, binding)
        for name in names:
            aliases[name] = aliases.get(name, frozenset()) | names
    return aliases


def _names(scene: Scene, binding: Binding) -> frozenset[str]:
    """The names under which a failure may mention the object of a binding."""
    names = {binding.object}
    if binding.kind == "item":
        names.add(binding.target)
    if binding.region is not None:
        names |= {binding.region, scene.region(binding.region).body}
    return frozenset(names)


def _fingerprint(path: Path) -> str:
    """A digest (16 hexadecimal digits) of a log's states; empty if there is no log."""
    if not path.is_file():
        return ""
    log = Log.load(path)
    digest = hashlib.sha256()
    for rows in (log.time, log.q, log.scene_q, log.items, log.held):
        digest.update(rows.tobytes())
    return digest.hexdigest()[:16]
