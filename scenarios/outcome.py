"""One run of a scenario, and its result."""

from __future__ import annotations

import hashlib
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from galley.domain.errors import BadInput
from galley.domain.listener import Listener
from galley.domain.log import Log
from galley.domain.scene.model import Binding, Scene
from galley.domain.scene.reader import load_scene
from galley.results.recorded_run import Options, record_run
from galley.results.stored import STATES
from galley.scenarios.scenario import Scenario, judge


@dataclass(frozen=True)
class Job:
    """A scenario to be run.

    Attributes:
        scenario: which. seed: of every random stream.
        folder: where the run's folder is kept, or None: it is thrown away.
        options: more of ``results.recorded_run.Options`` by name, such as ``optimize``; execution
            is kinematic unless they say otherwise.
    """

    scenario: Scenario
    seed: int = 0
    folder: Path | None = None
    options: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class ScenarioResult:
    """The result of a scenario run, as plain data: can be pickled and written as JSON.

    Attributes:
        scenario, seed: what was run. expected: in words.
        status: the report's, or ``bad-input``.
        kind, message, objects: of the failure; empty on success.
        plan: the actions, in order.
        right: whether this is the expected outcome. wrong: why not.
        goal_facts: each fact of the goal, whether it holds in the geometry, and why.
        skeletons: symbolic plans that were tried. refinements: of single actions.
        lessons: constraints that the search learned, in order.
        motion_s: duration of all motions together, as the robot would need.
        fingerprint: digest of every executed state; empty if nothing was executed.
        planning_s: seconds for task plan and motions. optimization_s: for their trajectories.
        wall_s: for the whole run, reading included.
        late: a failure that took longer than the scenario's ``within_s``.
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
    goal_facts: tuple[tuple[str, bool, str], ...] = ()
    skeletons: int = 0
    refinements: int = 0
    lessons: tuple[str, ...] = ()
    motion_s: float = 0.0
    fingerprint: str = ""
    planning_s: float = 0.0
    optimization_s: float = 0.0
    wall_s: float = 0.0
    late: bool = False


class _SearchListener(Listener):
    """Records what a search tried and learned."""

    def __init__(self) -> None:
        self.skeletons = 0
        self.lessons: list[str] = []

    def skeleton(self, actions: tuple[str, ...]) -> None:
        self.skeletons += 1

    def learned(self, text: str) -> None:
        self.lessons.append(text)


def outcome_of(job: Job) -> ScenarioResult:
    """Run one scenario and judge its result.

    Bad input is a result, too, with the faults as its message, so that a sweep goes on.
    """
    scenario, expect = job.scenario, job.scenario.expect
    known: dict[str, Any] = {"scenario": scenario.name, "seed": job.seed, "expected": str(expect)}
    began, listener = time.perf_counter(), _SearchListener()
    with tempfile.TemporaryDirectory(prefix="galley-scenario-") as above:
        folder = job.folder or Path(above) / "run"
        try:
            report = record_run(_options(job, folder), listener).report
            scene = load_scene(scenario.scene)
        except BadInput as error:
            return ScenarioResult(
                **known,
                status="bad-input",
                kind="bad-input",
                message=str(error),
                wrong=(f"bad-input instead of {expect.status}",),
                wall_s=time.perf_counter() - began,
            )
        fingerprint = _fingerprint(folder / STATES)
    written = report.as_json()
    failure, timing = written["failure"] or {}, written["timing_s"]
    wrong = judge(expect, written, _aliases(scene))
    planning_s = float(timing["task"] + timing["motion"])
    judged = report.validation.goal_facts if report.validation is not None else ()
    limit = expect.within_s
    return ScenarioResult(
        **known,
        status=written["status"],
        kind=failure.get("kind", ""),
        message=failure.get("message", ""),
        objects=tuple(failure.get("objects", ())),
        plan=tuple(written["plan"]),
        right=not wrong,
        wrong=wrong,
        goal_facts=tuple((f.fact, f.holds, f.why) for f in judged),
        skeletons=listener.skeletons,
        refinements=int(written["refinements"]),
        lessons=tuple(listener.lessons),
        motion_s=float(sum(motion["duration_s"] for motion in written["motions"])),
        fingerprint=fingerprint,
        planning_s=planning_s,
        optimization_s=float(timing["optimization"]),
        wall_s=time.perf_counter() - began,
        late=limit is not None and written["status"] != "success" and planning_s > limit,
    )


def _options(job: Job, folder: Path) -> Options:
    scenario = job.scenario
    more: dict[str, Any] = {"execute": "kinematic"} | dict(job.options)
    if scenario.skills is not None:
        more["skills"] = scenario.skills
    return Options(
        scene=scenario.scene,
        domain=scenario.domain,
        problem=scenario.problem,
        seed=job.seed,
        out=folder,
        video=False,
        **more,
    )


def _aliases(scene: Scene) -> Mapping[str, frozenset[str]]:
    """All names of a thing: in PDDL, in the scene, of its drawer's parts."""
    found: dict[str, frozenset[str]] = {}
    for binding in scene.bindings:
        names = _names(scene, binding)
        for name in names:
            found[name] = found.get(name, frozenset()) | names
    return found


def _names(scene: Scene, binding: Binding) -> frozenset[str]:
    names = {binding.object}
    if binding.kind == "item":
        names.add(binding.target)
    if binding.region is not None:
        names |= {binding.region, scene.region(binding.region).body}
    return frozenset(names)


def _fingerprint(path: Path) -> str:
    """A digest of a log's states; empty if there is no log."""
    if not path.is_file():
        return ""
    log = Log.load(path)
    found = hashlib.sha256()
    for rows in (log.time, log.q, log.scene_q, log.items, log.held):
        found.update(rows.tobytes())
    return found.hexdigest()[:16]
