"""The methods of the optimization benchmark, and which are installed.

    pip install toppra==0.6.10 ruckig==0.19.4

All start from the same proven path and get the same limits. ``prepare`` sets up the world, untimed;
everything else is timed, building a program or a spline included.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from time import perf_counter
from typing import Any, Protocol

import numpy as np

from galley.bench.optimization.queries import Case
from galley.bench.report import installed
from galley.domain.failure import Failure
from galley.domain.frames import Array
from galley.domain.scene.model import Scene
from galley.motion.path import Path
from galley.motion.trajectory.timing import rest_to_rest
from galley.motion.trajectory.trajectory import Trajectory
from galley.optimization.shortest import shortest
from galley.robots.model import JointGroup, RobotModel

_SHORTEST = 1e-9  # s, breaks nearer than this are one
PACKAGES = ("drake", "toppra", "ruckig")
SMOOTH, TIMED = "galley, smooth", "galley, time-optimal"
SEED = "the baseline QP, rest to rest"
PATH = "shortcut path, rest to rest"
KTO_12, KTO_25 = "Drake KTO, 12 samples", "Drake KTO, 25 samples"
TOPPRA, TOPPRA_DENSE = "toppra, through waypoints", "toppra, along the path"
RUCKIG, RUCKIG_MIN = "ruckig, stop at waypoints", "ruckig, start to goal"
_ALONG = 0.1  # rad between the points of a path through which a spline shall follow it

Made = Callable[[], Trajectory]


@dataclass(frozen=True)
class Answer:
    """What a method said.

    Attributes:
        trajectory: None where it gave up.
        seconds: wall time.
        method: which method made it, where one may hand over to another.
        note: why there is no trajectory, or why another method made it.
    """

    trajectory: Trajectory | None
    seconds: float
    method: str
    note: str = ""


class Method(Protocol):
    """A way from a path to a trajectory.

    Attributes:
        name: for tables. ours: Galley's own, timed three times. groups: what it can move.
    """

    name: str
    ours: bool
    groups: tuple[str, ...]

    def prepare(self, case: Case) -> None:
        """Bring its world into the query's state; this is not timed."""
        ...

    def solve(self, case: Case) -> Answer:
        """A trajectory for the case that was prepared last."""
        ...


@dataclass(frozen=True)
class Simple:
    """A method that is one function of a path and its group's limits.

    It gives a Failure, or what makes the result a ``Trajectory``, which is not timed.
    """

    name: str
    run: Callable[[Path, JointGroup], Made | Failure]
    robot: RobotModel
    ours: bool = False
    groups: tuple[str, ...] = ("arm", "base")

    def prepare(self, case: Case) -> None:
        """See ``Method``."""

    def solve(self, case: Case) -> Answer:
        """See ``Method``."""
        group = self.robot.group(case.group)
        began = perf_counter()
        try:
            found = self.run(case.path, group)
        except Exception as error:  # whatever a library throws: it gave up
            return Answer(None, perf_counter() - began, self.name, f"{type(error).__name__}")
        seconds = perf_counter() - began
        if isinstance(found, Failure):
            return Answer(None, seconds, self.name, found.message)
        return Answer(found(), seconds, self.name)


@dataclass(frozen=True)
class Ours:
    """A method of Galley, which also takes the world."""

    name: str
    run: Callable[..., Any]
    robot: RobotModel
    ours: bool = True
    groups: tuple[str, ...] = ("arm", "base")

    def prepare(self, case: Case) -> None:
        """See ``Method``."""

    def solve(self, case: Case) -> Answer:
        """See ``Method``."""
        group = self.robot.group(case.group)
        began = perf_counter()
        found = self.run(case.view, case.path, group)
        seconds = perf_counter() - began
        if isinstance(found, Failure):
            return Answer(None, seconds, self.name, found.message)
        return Answer(found.trajectory, seconds, f"galley, {found.method}", found.note)


def methods(
    scene: Scene, robot: RobotModel, only_ours: bool = False
) -> tuple[list[Method], list[str]]:
    """All methods there are, and a sentence for each that is missing."""
    found, missing = _ours(robot)
    if only_ours:
        return found, missing
    from galley.bench.optimization.drake_kto import DrakeKto

    found += [
        DrakeKto(KTO_12, scene, robot, 12),
        DrakeKto(KTO_25, scene, robot, 25),
        Simple(SEED, _seed, robot),
        Simple(PATH, _kept, robot),
    ]
    for package, makers in (
        ("toppra", ((TOPPRA, _through), (TOPPRA_DENSE, _along))),
        ("ruckig", ((RUCKIG, _stopping), (RUCKIG_MIN, _direct))),
    ):
        if package in installed(*PACKAGES):
            found += [Simple(name, run, robot) for name, run in makers]
        else:
            missing.append(f"{package} is not installed")
    return found, missing


def _ours(robot: RobotModel) -> tuple[list[Method], list[str]]:
    found: list[Method] = []
    missing = []
    for name, module, function in (
        (SMOOTH, "smooth", "smooth"),
        (TIMED, "time_optimal", "time_optimal"),
    ):
        try:
            run = getattr(import_module(f"galley.optimization.{module}"), function)
        except ImportError as error:
            missing.append(f"{name}: {error}")
            continue
        found.append(Ours(name, run, robot))
    return found, missing


def _seed(path: Path, group: JointGroup) -> Made | Failure:
    found = shortest(path)
    return found if isinstance(found, Failure) else _kept(found, group)


def _kept(path: Path, group: JointGroup) -> Made:
    trajectory = rest_to_rest(path, group)
    return lambda: trajectory


# -- toppra -------------------------------------------------------------------------------------


def _through(path: Path, group: JointGroup) -> Made:
    """A cubic spline through the waypoints, as in toppra's examples."""
    return _toppra(path, group)


def _along(path: Path, group: JointGroup) -> Made:
    """A cubic spline through points 0.1 rad apart: it stays near the path."""
    return _toppra(path.resampled(_ALONG), group)


def _toppra(path: Path, group: JointGroup) -> Made:
    import toppra
    from toppra import algorithm
    from toppra.constraint import JointAccelerationConstraint, JointVelocityConstraint

    points = path.waypoints
    along = np.append(0.0, np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1)))
    curve = toppra.SplineInterpolator(along, points)
    limits = [
        JointVelocityConstraint(np.stack([-group.velocity, group.velocity], axis=1)),
        JointAccelerationConstraint(np.stack([-group.acceleration, group.acceleration], axis=1)),
    ]
    # Of its two ways to a time law this one keeps to the curve.
    problem = algorithm.TOPPRA(limits, curve, parametrizer="ParametrizeConstAccel")
    timed = problem.compute_trajectory()
    if timed is None:
        raise RuntimeError("no timing found")
    s, v = problem.problem_data.gridpoints, problem.problem_data.sd_vec
    return lambda: piecewise(timed, _changes(along, s, v), 6, path.group)


def _changes(along: Array, s: Array, v: Array) -> Array:
    """Times at which the polynomials change.

    Between grid points ``s`` (n,), passed at speeds ``v``, s(t) is quadratic; between waypoints
    ``along`` (m,), q(s) is cubic.
    """
    t = np.append(0.0, np.cumsum(2.0 * np.diff(s) / (v[:-1] + v[1:])))
    i = np.clip(np.searchsorted(s, along, side="right") - 1, 0, len(s) - 2)
    slope = (v[i + 1] ** 2 - v[i] ** 2) / (s[i + 1] - s[i])  # of v^2 along s
    ahead = along - s[i]
    sooner = v[i] + np.sqrt(np.maximum(v[i] ** 2 + slope * ahead, 0.0))
    crossing = t[i] + np.divide(2.0 * ahead, sooner, out=np.zeros_like(ahead), where=sooner > 0.0)
    return np.append(t, crossing[1:-1])


# -- ruckig -------------------------------------------------------------------------------------


def _stopping(path: Path, group: JointGroup) -> Made:
    """At rest at every waypoint, straight in between where its phase synchronisation can.

    Passing through waypoints needs its paid edition or its cloud service.
    """
    stops = itertools.pairwise(path.waypoints)
    parts = [_ruckig(a, b, group, straight=True) for a, b in stops]
    return lambda: chained([_cubic(part, path.group) for part in parts])


def _direct(path: Path, group: JointGroup) -> Made:
    """From start to goal, whatever is in between: the least time that the limits allow."""
    found = _ruckig(path.start, path.end, group, straight=False)
    return lambda: _cubic(found, path.group)


def ruckig_minimum(path: Path, group: JointGroup) -> float | None:
    """The duration (s) of ``_direct``; None where ruckig is not installed."""
    if "ruckig" not in installed(*PACKAGES):
        return None
    return float(_ruckig(path.start, path.end, group, straight=False).duration)


def _ruckig(start: Array, end: Array, group: JointGroup, straight: bool) -> Any:
    import ruckig

    asked = ruckig.InputParameter(group.size)
    asked.current_position, asked.target_position = list(start), list(end)
    asked.max_velocity, asked.max_acceleration = list(group.velocity), list(group.acceleration)
    asked.max_jerk = list(group.jerk)
    if straight:
        asked.synchronization = ruckig.Synchronization.Phase
    found = ruckig.Trajectory(group.size)
    result = ruckig.Ruckig(group.size).calculate(asked, found)
    if result not in (ruckig.Result.Working, ruckig.Result.Finished):
        raise RuntimeError(str(result))
    return found


def _cubic(found: Any, name: str) -> Trajectory:
    """ruckig's trajectory, whose jerk is constant in pieces."""
    changes = [np.cumsum(profile.t) for profile in found.profiles[0]]
    breaks = np.append(np.concatenate(changes), [0.0, found.duration])
    breaks = breaks[breaks <= found.duration]

    def position(times: Array) -> Array:
        return np.array([found.at_time(float(t))[0] for t in times])

    return piecewise(position, breaks, 3, name)


def piecewise(
    position: Callable[[Array], Array], breaks: Array, degree: int, group: str = "arm"
) -> Trajectory:
    """The trajectory that is a polynomial of ``degree`` between each two of the breaks.

    Args:
        position: from times (m,) to positions (m, k).
        breaks: (n + 1,) seconds, from 0, at least all the places where the polynomial changes.
    """
    breaks = np.unique(np.asarray(breaks, dtype=np.float64))
    keep = np.append(np.diff(breaks) > _SHORTEST, True)
    keep[0], breaks[0] = True, 0.0
    breaks = breaks[keep]
    # Chebyshev points of the first kind: none of them on a break, where two pieces meet.
    u = 0.5 - 0.5 * np.cos((np.arange(degree + 1) + 0.5) * np.pi / (degree + 1))
    spans = np.diff(breaks)
    values = position((breaks[:-1, None] + spans[:, None] * u).ravel())
    values = np.asarray(values).reshape(len(spans), degree + 1, -1)
    coefficients = np.linalg.solve(np.vander(u, increasing=True), values)
    powers = np.arange(degree + 1)
    return Trajectory(group, breaks, coefficients / (spans[:, None] ** powers)[:, :, None])


def chained(parts: list[Trajectory]) -> Trajectory:
    """One after the other."""
    degree = max(part.coefficients.shape[1] for part in parts)
    padded = [
        np.pad(part.coefficients, ((0, 0), (0, degree - part.coefficients.shape[1]), (0, 0)))
        for part in parts
    ]
    breaks = [np.zeros(1)]
    for part in parts:
        breaks.append(breaks[-1][-1] + part.breaks[1:])
    return Trajectory(parts[0].group, np.concatenate(breaks), np.concatenate(padded))
