"""Checks trajectories of any method; shares no code with an optimizer.

Limits are checked by divided differences of positions 1 ms apart, which also catch jumps, and by
the exact peaks of every polynomial piece; collisions by the compiled kernel's exact distances every
0.005 rad, and by Drake and PyBullet every 0.02 rad.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.polynomial import polynomial

from galley.bench.motion.verdicts import Engines, allowed, deepest
from galley.bench.optimization.queries import Case
from galley.collision.checker import ContactPair
from galley.collision.scene_kernel import SceneKernel
from galley.domain.frames import Array
from galley.domain.scene.model import Scene
from galley.motion.trajectory.trajectory import Trajectory
from galley.robots.model import JointGroup, RobotModel

DENSE, FINE = 0.005, 0.02  # rad (base: also m) between states: the kernel's, the engines'
TOLERANCE = 1e-3  # of every limit
_MS = 1e-3  # s
_SAME = 1e-5  # rad, m: how far a trajectory may end from where it should
_ROUNDING = 2e-5  # m, of float32 positions
_ORDERS = ("velocity", "acceleration", "jerk")


@dataclass(frozen=True)
class Verdict:
    """What is to be said about a trajectory.

    Attributes:
        kernel, drake, bullet: the deepest contact in each, or None.
        ends: rad or m, farthest that a joint is from the query's start or goal.
        rest: largest velocity and acceleration at the ends, as ratios to their limits.
        position: how far out of the middle of its range a joint gets, in half ranges.
        velocity, acceleration, jerk: peaks as ratios to the limits.
        joints: which joint (from 0) has each of the four peaks, position first.
        length: of the curve in joint space. duration: s.
        clearance: m, least distance of what moves to what stands still, at most 0.3.
    """

    kernel: ContactPair | None
    drake: ContactPair | None
    bullet: ContactPair | None
    ends: float
    rest: tuple[float, float]
    position: float
    velocity: float
    acceleration: float
    jerk: float
    joints: tuple[int, int, int, int]
    length: float
    duration: float
    clearance: float

    @property
    def free(self) -> bool:
        """Whether nobody sees a collision."""
        return self.kernel is None and self.drake is None and self.bullet is None

    @property
    def within(self) -> bool:
        """Whether it keeps all limits, begins and ends where it should, and rests there."""
        peaks = (self.position, self.velocity, self.acceleration, self.jerk)
        return self.ends <= _SAME and max(self.rest) <= TOLERANCE and max(peaks) <= 1.0 + TOLERANCE

    @property
    def passed(self) -> bool:
        """Whether nothing speaks against it."""
        return self.free and self.within

    def objections(self) -> Iterator[str]:
        """What speaks against it, with pairs and joints."""
        for name, hit in (
            ("kernel", self.kernel),
            ("Drake", self.drake),
            ("PyBullet", self.bullet),
        ):
            if hit is not None:
                yield f"{name}: {hit.a} in {hit.b} by {-1e3 * hit.distance:.1f} mm"
        peaks = zip(("position", *_ORDERS), self.joints, strict=True)
        for what, joint in peaks:
            if getattr(self, what) > 1.0 + TOLERANCE:
                yield f"{what} {getattr(self, what):.4g} of joint {joint + 1}'s limit"
        if max(self.rest) > TOLERANCE:
            v, a = self.rest
            yield f"ends at {v:.2g} of the velocity limit, {a:.2g} of the acceleration limit"
        if self.ends > _SAME:
            yield f"ends {self.ends:.2g} away from the query's"


class TrajectoryJudge:
    """The kernel and both engines, with the kitchen in them."""

    def __init__(self, scene: Scene, robot: RobotModel) -> None:
        self.scene = scene
        self.robot = robot
        self.kernel = SceneKernel(scene, robot)  # its own: nobody else's views and switches
        self.engines = Engines(scene, robot)

    def __call__(self, case: Case, trajectory: Trajectory) -> Verdict:
        """The verdict on a trajectory that answers a case."""
        group, query = self.robot.group(case.group), case.query
        times = np.linspace(0.0, trajectory.duration, _steps(trajectory) + 1)
        q = trajectory(times)
        ends = np.abs([q[0] - query.start, q[-1] - query.goal]).max()
        middle, half = 0.5 * (group.upper + group.lower), 0.5 * (group.upper - group.lower)
        out = _peaks(trajectory, 0, middle) / half
        peaks = [out, *_derivative_peaks(trajectory, q, group)]
        dense = spread(trajectory, DENSE)
        kernel, clearance = self._in_kernel(case, dense)
        rows = self._rows(case, spread(trajectory, FINE))
        touching = allowed(self.scene, self.robot, query)
        return Verdict(
            kernel,
            deepest(self.engines.in_drake(query.state, touching), rows),
            deepest(self.engines.in_bullet(query.state, touching), rows),
            float(ends),
            _at_rest(trajectory, group),
            *(float(peak.max()) for peak in peaks),
            joints=tuple(int(peak.argmax()) for peak in peaks),
            length=float(np.linalg.norm(np.diff(dense, axis=0), axis=1).sum()),
            duration=trajectory.duration,
            clearance=clearance,
        )

    def close(self) -> None:
        """Let go of the engines."""
        self.engines.close()

    def _rows(self, case: Case, states: Array) -> Array:
        rows = np.tile(case.query.state.q, (len(states), 1))
        rows[:, self.robot.slice(case.group)] = states
        return rows

    def _in_kernel(self, case: Case, states: Array) -> tuple[ContactPair | None, float]:
        """The deepest overlap of hulls, and the least distance to what stands still."""
        view = self.kernel.view(case.query.state, case.group, margin=0.0)
        clearance = float(view.clearances(states, 0.3).min())
        # Distances of 0 to 2 mm between links also make a state not free: they are no contact.
        hit = states[~view.free_many(states)]
        return deepest(lambda q: view.contacts(q, within=0.0), hit, _ROUNDING), clearance


def spread(trajectory: Trajectory, step: float) -> Array:
    """States (n, k) on the curve, no joint moving more than ``step`` between two of them."""
    # Times far closer than asked for, then one every time that this much has been travelled.
    count = _steps(trajectory)
    coarse = trajectory(np.linspace(0.0, trajectory.duration, count + 1))
    reach = float(np.abs(np.diff(coarse, axis=0)).max())
    count *= max(1, int(np.ceil(4.0 * reach / step)))
    times = np.linspace(0.0, trajectory.duration, count + 1)
    moved = np.abs(np.diff(trajectory(times), axis=0)).max(axis=1)
    travel = np.append(0.0, np.cumsum(moved))
    marks = np.linspace(0.0, travel[-1], max(2, int(np.ceil(travel[-1] / step)) + 1))
    return np.asarray(trajectory(np.interp(marks, travel, times)))


def _steps(trajectory: Trajectory) -> int:
    return max(4, int(np.ceil(trajectory.duration / _MS)))


def _at_rest(trajectory: Trajectory, group: JointGroup) -> tuple[float, float]:
    """Largest velocity and acceleration at the two ends, as ratios to the limits."""
    found = []
    for order, limit in ((1, group.velocity), (2, group.acceleration)):
        first, last = trajectory.coefficients[0], trajectory.coefficients[-1]
        span = trajectory.breaks[-1] - trajectory.breaks[-2]
        ends = [polynomial.polyval(0.0, polynomial.polyder(first, order))]
        ends.append(polynomial.polyval(span, polynomial.polyder(last, order)))
        found.append(float((np.abs(ends) / limit).max()))
    return found[0], found[1]


def _derivative_peaks(trajectory: Trajectory, q: Array, group: JointGroup) -> Iterator[Array]:
    """Peaks (k,) of velocity, acceleration and jerk as ratios to their limits.

    Args:
        q: positions (n, k) at even times, at most 1 ms apart.
    """
    dt, differences = trajectory.duration / (len(q) - 1), q
    for order, limit in enumerate((group.velocity, group.acceleration, group.jerk), 1):
        # A divided difference is a mean of the derivative: it never exceeds a smooth curve's peak.
        differences = np.diff(differences, axis=0) / dt
        exact = _peaks(trajectory, order, np.zeros(group.size))
        yield np.maximum(exact, np.abs(differences).max(axis=0)) / limit


def _peaks(trajectory: Trajectory, order: int, offset: Array) -> Array:
    """Largest magnitudes (k,) of a derivative less an offset (k,), exactly.

    A polynomial's extremes are at its ends and where its own derivative has its roots.
    """
    best = np.zeros(len(offset))
    for piece, span in zip(trajectory.coefficients, np.diff(trajectory.breaks), strict=True):
        # In u = t / span: coefficients of like size.
        scaled = piece * span ** np.arange(len(piece))[:, None]
        derived = polynomial.polyder(scaled, order) if order else scaled
        for j, own in enumerate(derived.T):
            u = np.concatenate([[0.0, 1.0], _roots(polynomial.polyder(own))])
            values = polynomial.polyval(u, own) / span**order - offset[j]
            best[j] = max(best[j], np.abs(values).max())
    return best


def _roots(slope: Array) -> Array:
    """Real parts of a polynomial's roots, moved into [0, 1]: looking at more places is no harm."""
    solid = np.nonzero(np.abs(slope) > 1e-12 * np.abs(slope).max(initial=0.0))[0]
    if len(solid) == 0 or solid[-1] == 0:
        return np.empty(0)
    found = polynomial.polyroots(slope[: solid[-1] + 1])
    return np.asarray(np.clip(np.real(found), 0.0, 1.0))
