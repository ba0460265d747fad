"""Reads the folder of a run: its report, the executed states, and the planned motions."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np

from galley.domain.errors import BadInput, InputError
from galley.domain.files import read_bytes
from galley.domain.log import Log
from galley.domain.pddl.formula import Fact
from galley.domain.pddl.reader import read_domain, read_problem
from galley.domain.scene.model import Scene
from galley.domain.scene.reader import load_scene
from galley.domain.shipped import KITCHEN
from galley.domain.state import State, initial_state
from galley.motion.motion import Motion
from galley.motion.path import Path as JointPath
from galley.motion.sequence import states_along
from galley.motion.trajectory.store import has_motions, load_motions
from galley.motion.trajectory.trajectory import Trajectory, read_trajectories
from galley.planning import validate_actions
from galley.results.run_folder import (
    DOMAIN,
    NO_SCENE,
    PROBLEM,
    REPORT,
    SCENE,
    STATES,
    STORE,
    UNFINISHED,
    input_copy,
    trajectory_file,
)
from galley.results.schema import read_report
from galley.robots.catalog import robot_of
from galley.robots.model import RobotModel
from galley.validation import Goal
from galley.validation.log_format import check_format

_FACT = re.compile(r"\(([^()]+)\)")


@dataclass(frozen=True)
class StoredRun:
    """A run's folder, or one of its files; the parts are read when they are first used.

    Attributes:
        file: the file that was given, or the one in the given folder.
        part: what that file is: ``STATES``, ``STORE`` or ``REPORT``.
        report: ``report.json``; empty for a single file.
        scene: the scene of the run.
        robot: the robot of the run.
    """

    file: Path
    part: str
    report: Mapping[str, Any]
    scene: Scene
    robot: RobotModel

    @property
    def folder(self) -> Path:
        """The folder of ``file``, which is the run's unless the file stands alone."""
        return self.file.parent

    def _at(self, part: str) -> Path:
        return self.file if part == self.part else self.folder / part

    @cached_property
    def log(self) -> Log | None:
        """The executed states, or None if nothing was executed.

        Raises:
            BadInput: the log is malformed, or does not fit the scene; with every bad column.
        """
        file = self._at(STATES)
        log = Log.load(file) if file.is_file() else None
        if log is None or not (len(log.time) or len(log.q)):
            return None  # the run was cut short before the first state
        wrong = check_format(self.scene, self.robot, log)
        if wrong:
            raise BadInput([InputError(str(file), None, None, each.what) for each in wrong])
        return log

    @property
    def executed(self) -> Log:
        """The executed states.

        Raises:
            BadInput: nothing was executed; or as for ``log``.
        """
        if self.log is None:
            raise BadInput.one(self.file, "holds no state: nothing was executed")
        return self.log

    @cached_property
    def motions(self) -> tuple[tuple[Motion, ...], ...]:
        """The motions of the plan, then of each recovery; empty where there are none.

        Raises:
            BadInput: they are malformed, or belong to another robot.
        """
        numbers, files = count(1), [self._at(STORE)]
        for recovery in self.report["execution"]["recoveries"] if self.report else ():
            found = recovery["motions"]
            files.append(self.folder / (trajectory_file(next(numbers)) if found else ""))
        return tuple(self._motions(file) if file.is_file() else () for file in files)

    def _motions(self, file: Path) -> tuple[Motion, ...]:
        trajectories, columns = read_trajectories(file)
        alone = not has_motions(columns)
        motions = tuple(map(_alone, trajectories)) if alone else load_motions(file)
        for k, motion in enumerate(motions):
            try:
                size = self.robot.acting(motion.hand).group(motion.group).size
            except KeyError as error:
                raise BadInput.one(file, f"motion {k}: {error.args[0]}") from None
            found = motion.trajectory.coefficients.shape[2]
            if found != size:
                what = f"motion {k} has {found} joints, '{motion.group}' has {size}"
                raise BadInput.one(file, what)
        return motions

    @cached_property
    def planned(self) -> tuple[Motion, ...]:
        """The motions of the plan, or the trajectories of a file without a run.

        Raises:
            BadInput: there are none, or they are from another run; or as for ``motions``.
        """
        if not self.motions[0]:
            raise BadInput.one(self._at(STORE), "holds no motion: the goal held already")
        for what in self.mixed(STORE):
            raise BadInput.one(self._at(STORE), what)
        return self.motions[0]

    @cached_property
    def complete(self) -> bool:
        """Whether the file of motions records their actions and what the hand holds."""
        return has_motions(read_trajectories(self._at(STORE))[1])

    @property
    def lines(self) -> tuple[str, ...]:
        """Action and phase of each planned motion, ``(pick a b h1) | approach``, or empty texts."""
        plan = dict(enumerate(self.report.get("plan", ())))
        texts = (f"{plan.get(m.action_index, '')} | {m.phase}" for m in self.planned)
        return tuple(texts) if self.complete else ("",) * len(self.planned)

    @cached_property
    def states(self) -> tuple[State, ...]:
        """The state at the start of each planned motion, with the held item if that is recorded.

        Raises:
            BadInput: the motions do not fit the scene.
        """
        start = initial_state(self.scene)
        if not self.complete:
            at = [{m.group: m.trajectory.start} for m in self.planned]
            return tuple(start.with_robot(self.robot.with_groups(start.q, **a)[0]) for a in at)
        try:
            return states_along(self.scene, self.robot, self.planned, start)
        except ValueError as error:
            raise BadInput.one(self._at(STORE), str(error)) from None

    def goal(
        self,
        domain_file: Path | str | None = None,
        problem_file: Path | str | None = None,
        judges: Iterable[Callable[..., tuple[bool, str] | None]] = (),
    ) -> Goal | None:
        """The run's goal, or the goal in other files; None where no problem is known.

        Args:
            domain_file, problem_file: files to use; None: those of the run.
            judges: ``judge`` of the user's skills. Facts without geometric meaning for which no
                judge answers are decided by the symbolic state.

        Raises:
            BadInput: a file is malformed, does not fit the scene, or only one is known.
        """
        from galley.tamp.binding import bind  # late: it loads the skills

        domain_file, problem_file = (
            given or (input_copy(self.folder, name) if self.report else None)
            for given, name in ((domain_file, DOMAIN), (problem_file, PROBLEM))
        )
        if domain_file is None and problem_file is None:
            return None
        if domain_file is None or problem_file is None:
            given, missing = ("domain", "problem")[:: 1 if domain_file else -1]
            what = f"a goal needs both files: --{given} is given, add --{missing}"
            raise BadInput.one(self.file, what)
        domain = read_domain(domain_file)
        problem = read_problem(problem_file, domain)
        bind(self.scene, domain, problem)
        of_run = tuple(partial(judge, self.scene, self.executed) for judge in judges)
        if not self.report:  # the symbols of the start
            start = validate_actions(domain, problem, ()).states[-1]
            return Goal(domain, problem, start, of_run)
        facts = set()
        for line in self.report["execution"]["facts"]:
            found = _FACT.fullmatch(line)
            words = found.group(1).split() if found else ()
            if not words:
                what = "'execution.facts' must be a list of texts such as \"(on sugar burner)\""
                raise BadInput.one(self.folder / REPORT, what)
            facts.add(Fact(words[0], tuple(words[1:])))
        return Goal(domain, problem, frozenset(facts), of_run)

    @property
    def changes(self) -> tuple[str, ...]:
        """A sentence for each of the user's skill files that has changed since the run.

        They are the only input files of which the run has no copy.
        """
        found = []
        for name, digest in self.report.get("skills", {}).items():
            if not os.path.isfile(name):
                found.append(f"{name} is no longer there")
            elif not _has_digest(name, digest):
                found.append(f"{name} has changed since the run")
        return tuple(found)

    def mixed(self, *only: str) -> tuple[str, ...]:
        """A sentence for each file of the folder that differs from the one in its report.

        Args:
            only: names of files to check; none: all. Missing files are no fault.
        """
        path, why = self.folder / REPORT, "it was changed, or comes from another run"
        return tuple(
            f"{name} is not the file that {path} describes: {why}"
            for name, digest in self.report.get("files", {}).items()
            if (not only or name in only)
            and os.path.isfile(self.folder / name)
            and not _has_digest(self.folder / name, digest)
        )


def read_run(
    path: Path | str, scene_file: Path | str | None = None, part: str = STATES
) -> StoredRun:
    """Read a run's folder, or one of its files.

    The report is read if ``path`` is the folder, or the file ``part`` in it. Beside a file of
    another name, a report would not be about that file.

    Args:
        path: the folder or the file.
        scene_file: used instead of the run's scene.
        part: the file that is needed: ``STATES``, ``STORE`` or ``REPORT``. Of a run that has not
            ended only the report can be read. A ``STORE`` alone is taken to be the kitchen's.

    Raises:
        BadInput: a file is missing or malformed, or the files don't fit together.
    """
    path = Path(path)
    file = path / part if os.path.isdir(path) else path
    folder, own = file.parent, file.name == part
    if own and part != REPORT and os.path.exists(folder / UNFINISHED):
        what = f"the run has not ended, or was cut short (see {UNFINISHED}): files may be missing"
        raise BadInput.one(folder, what)
    if not os.path.exists(file):
        what = (
            "no such file" if file == path else f"holds no {part}: no run, or one that ended before"
        )
        raise BadInput.one(path, what)
    report = read_report(folder / REPORT) if own and os.path.exists(folder / REPORT) else {}
    alone = KITCHEN / "kitchen.yaml" if part == STORE else None
    scene_path = scene_file or (input_copy(folder, SCENE) if report else alone)
    if scene_path is None:
        raise BadInput.one(path, NO_SCENE)
    scene = load_scene(scene_path)
    return StoredRun(file, part, report, scene, robot_of(scene.robot))


def _has_digest(file: Path | str, digest: str) -> bool:
    return hashlib.sha256(read_bytes(file)).hexdigest() == digest


def _alone(trajectory: Trajectory) -> Motion:
    """A motion made of a trajectory of which nothing else is known."""
    path = JointPath(trajectory.group, np.array([trajectory.start, trajectory.end]))
    return Motion(0, "", trajectory.group, path, trajectory)
