"""What touch tells: an object's parameters from the finger's motion and its sensor alone.

Guesses are read off the readings, and those that fit best are refined by nonlinear least squares
through the model (SciPy's ``least_squares``, trust region reflective): the run is simulated anew
with candidate parameters, and must move and feel as the finger did. Both are
compared as means over sample intervals, displacement / h and felt impulse / h, which change
smoothly where an impact moves from one sample to the next; values at instants would jump.

Known are the finger itself, its sensor and the applied force; found are the object's mass, static
and kinetic friction and restitution, and on the way its distance. Standard errors are the linear
ones, the square roots of the diagonal of s^2 (J^T J)^-1. A direction that J (nearly) maps to 0 is
one in which the readings say nothing: every parameter with a part in it has an infinite error. So
have all if even the best fit misses the readings by more than their noise. Another minimum that
fits as well widens the errors to it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from galley.domain.frames import Array, frozen
from galley.domain.parameters import DURATION, RATIO
from galley.planar.finger.force import Constant, Profile, Ramp
from galley.planar.finger.model import Finger
from galley.planar.finger.simulation import Solver, simulate
from galley.planar.finger.trace import Trace

NAMES = ("object_mass", "static_friction", "kinetic_friction", "restitution")
_SOLVER = Solver(rtol=1e-7, atol=1e-9, max_step=0.2, max_events=200)
_STEP = 1e-4  # of finite differences, above the solver's error
_MAX_EVALUATIONS = 15
_FIRST, _GROWTH = 10, 1.7  # intervals after the first touch that are looked at, and more of them
_ROUGH = 25.0  # squares of residuals beyond it count as this much in the comparison of guesses
_STARTS = 2  # guesses at the most from which the search begins
_BOUNCES = (0.05, 0.2, 0.4, 0.7)  # restitutions that are tried
_RESTITUTIONS, _SCANS = np.linspace(0.02, 0.9, 16), 3  # and how often they are gone through
_MASSES = np.geomspace(0.1, 10.0, 25)  # in units of the finger's
_LIKELY = 5
_GOOD, _BAD = 1.1, 1.5  # mean square of the residuals, in units of the noise, that is a fit
_MISFIT = 1.3  # the same, of what was found: above it, it is not what happened
_RIVALS = 2  # searches besides, from points where other minima may be
_NUDGES, _HEAVIER = (-0.04, -0.02, -0.01, 0.01, 0.02, 0.04), (0.7, 0.85, 1.2, 1.4)
_AS_LIKELY = 9.0  # more squares of residuals, in units of the noise: three standard deviations
_LEAST = 2e-3  # of a channel's peak: less noise would make minima too narrow to be found
_FELT = 4.0  # times the noise: a reading above it was felt
_BLIND = 1e-3  # rms change of the residuals, in units of noise, per unit of p: below it unseen
_FEW = 4  # intervals of pushing that tell anything
_PART = 0.1  # of a unit vector: a parameter has a part in a direction
# Logarithms of mass, kinetic friction and surplus of the static one; restitution; gap (m).
_LOW = np.array([np.log(1e-2), np.log(1e-3), np.log(1e-4), 0.0, 0.0])
_HIGH = np.array([np.log(1e3), np.log(1e2), np.log(1e2), 1.0, np.inf])


@dataclass(frozen=True)
class Readings:
    """What a finger knows of a run: means over n intervals of its own motion and its sensor.

    Attributes:
        finger: of which the object's parameters and the gap are not read.
        force: as applied.
        times: (n + 1,) s, equally spaced.
        velocity: (n,) m/s. sensor: (n,) N.

    Raises:
        ValueError: fewer than ten intervals, arrays that don't fit, or a number that is none.
    """

    finger: Finger
    force: Profile
    times: Array
    velocity: Array
    sensor: Array

    def __post_init__(self) -> None:
        n = len(self.velocity)
        if n < 10:
            raise ValueError(f"{n} intervals are too few: at least ten are needed")
        for name, size in (("times", n + 1), ("velocity", n), ("sensor", n)):
            values = np.asarray(getattr(self, name))
            if values.shape != (size,) or not np.isfinite(values).all():
                raise ValueError(f"{name} {values.shape}: must be ({size},) finite numbers")

    @classmethod
    def of(
        cls,
        trace: Trace,
        noise: float = 0.0,
        rng: np.random.Generator | None = None,
        period: float = 0.02,
    ) -> Readings:
        """From a simulated run: the finger's side of it, never the object's.

        Args:
            trace: the run, from rest.
            noise: standard deviation of white noise, as a share of each channel's largest reading.
            rng: for the noise.
            period: s, of an interval.

        Raises:
            ValueError: bad noise or period, a run shorter than ten intervals or not from rest, or
                its force was a function of time.
        """
        noise = RATIO.checked("noise", noise)
        count = int(trace.end / DURATION.checked("period", period) + 1e-9)
        if count < 10:
            raise ValueError(f"end = {trace.end:g} s: too short for ten intervals of {period:g} s")
        start = trace.at(0.0)
        if start.finger_velocity[0] or start.object_velocity[0]:
            raise ValueError("the run doesn't begin at rest")
        times = frozen(np.arange(count + 1) * period)
        velocity, sensor = _means(trace, times)
        if noise:
            rng = rng or np.random.default_rng(0)
            velocity, sensor = (
                channel + rng.normal(0.0, noise * np.abs(channel).max() + 1e-300, channel.shape)
                for channel in (velocity, sensor)
            )
        force = _applied(trace)
        return cls(trace.finger, force, *(frozen(each) for each in (times, velocity, sensor)))


@dataclass(frozen=True)
class Estimate:
    """Parameters with standard errors, in the units of ``Finger``.

    Attributes:
        values, errors: by name, those of ``NAMES``; an error is ``inf`` where the readings don't
            tell the parameter, or nothing was found that fits: the value is a guess then.
        residual: root mean square of the residuals, each in units of its channel's noise.
    """

    values: dict[str, float]
    errors: dict[str, float]
    residual: float

    @property
    def unidentified(self) -> tuple[str, ...]:
        """Names of the parameters that the readings don't tell."""
        return tuple(name for name, error in self.errors.items() if np.isinf(error))

    def __str__(self) -> str:
        """One line: values, errors, and what isn't identified."""
        known = [
            f"{name} {self.values[name]:.4g} +- {error:.2g}"
            for name, error in self.errors.items()
            if np.isfinite(error)
        ]
        blind = self.unidentified
        return ", ".join(known + ([f"not identified: {', '.join(blind)}"] if blind else []))


def identify(readings: Readings | Trace) -> Estimate:
    """Mass, friction and restitution of the object that a finger felt.

    Args:
        readings: of a run from rest; of a ``Trace``, those without noise.

    Raises:
        ValueError: as ``Readings.of``.
    """
    if isinstance(readings, Trace):
        readings = Readings.of(readings)
    scales = np.array([_noise(readings.velocity), _noise(readings.sensor)])
    felt = _felt(readings, float(scales[1]))
    if not len(felt):  # nothing was touched
        nothing = dict.fromkeys(NAMES, np.nan)
        return Estimate(nothing, dict.fromkeys(NAMES, np.inf), 0.0)

    guesses = list(_guesses(readings, felt))

    def residuals(p: Array, count: int) -> Array:
        """Of the first ``count`` intervals."""
        times = readings.times[: count + 1]
        trace = simulate(_finger(readings, p), readings.force, times[-1], solver=_SOLVER)
        if trace.fault is not None:
            return np.full(2 * count, 1e3)
        means = zip(_means(trace, times), (readings.velocity, readings.sensor), scales, strict=True)
        return np.concatenate([(mean - read[:count]) / scale for mean, read, scale in means])

    def misfit(p: Array) -> float:
        return float(np.minimum(residuals(p, len(readings.sensor)) ** 2, _ROUGH).sum())

    def searched(p: Array, count: int) -> Any:
        return least_squares(
            residuals,
            np.clip(p, _LOW + 1e-6, _HIGH - 1e-6),
            args=(count,),
            bounds=(_LOW, _HIGH),
            x_scale="jac",
            diff_step=_STEP,
            ftol=1e-4,
            max_nfev=_MAX_EVALUATIONS,
        )

    n = len(readings.sensor)
    best: Any = None
    rough = [misfit(p) for p in guesses]
    starts: list[Array] = []  # the best of each restitution: it is there that minima are many
    for k in np.argsort(rough):
        if len(starts) < _STARTS and all(abs(guesses[k][3] - p[3]) > 1e-9 for p in starts):
            starts.append(guesses[k])
    for p in starts:
        for _ in range(_SCANS):  # where its sequence of bounces is wrong, another restitution helps
            found = searched(p, n)
            if best is None or found.cost < best.cost:
                best = found
            if 2.0 * best.cost < _GOOD * best.fun.size:
                break
            others = [np.array([*found.x[:3], e, found.x[4]]) for e in _RESTITUTIONS]
            p = min(others, key=misfit)
        if 2.0 * best.cost < _GOOD * best.fun.size:
            break
    if 2.0 * best.cost > _BAD * best.fun.size:
        # Runs of different parameters drift apart with time: what the beginning tells comes first.
        p = starts[0]
        for count in _growing(int(felt[0]), n):
            found = searched(p, count)
            p = found.x
        if found.cost < best.cost:
            best = found
    near = sorted(_others(best.x), key=misfit)[:_RIVALS]
    rivals = [best, *(searched(p, n) for p in near)]
    best = min(rivals, key=lambda each: float(each.cost))
    variance = 2.0 * best.cost / max(best.fun.size - best.x.size, 1)
    found = np.array([_parameters(readings, each.x) for each in rivals])
    value = _parameters(readings, best.x)
    # What fits as well is as likely: an error is at least the way to it.
    likely = [2.0 * (each.cost - best.cost) < _AS_LIKELY * variance for each in rivals]
    apart = np.abs(found[likely] - value).max(axis=0)
    errors = np.maximum(_errors(best.x, best.jac, variance), apart)
    if variance > _MISFIT:
        errors = np.full(len(NAMES), np.inf)
    values, spread = (dict(zip(NAMES, map(float, a), strict=True)) for a in (value, errors))
    return Estimate(values, spread, float(np.sqrt(variance)))


def _others(p: Array) -> Iterator[Array]:
    """Where other minima may be: bounces by another restitution, a push by another mass."""
    for change in _NUDGES:
        yield np.array([*p[:3], np.clip(p[3] + change, 0.0, 1.0), p[4]])
    for factor in _HEAVIER:
        yield np.array([p[0] + np.log(factor), *p[1:]])


def _parameters(readings: Readings, p: Array) -> Array:
    """In the order of ``NAMES``."""
    finger = _finger(readings, p)
    return np.array([getattr(finger, name) for name in NAMES], dtype=np.float64)


def _growing(first: int, n: int) -> list[int]:
    """Numbers of intervals to look at, from just after the first touch to all n."""
    found = [min(first + _FIRST, n)]
    while found[-1] < n:
        found.append(min(first + math.ceil(_GROWTH * (found[-1] - first)), n))
    return found


def _errors(p: Array, jacobian: Array, variance: float) -> list[float]:
    """Standard errors in the order of ``NAMES``; infinite in the directions that J doesn't see."""
    _, sizes, directions = np.linalg.svd(jacobian, full_matrices=False)
    seen = sizes > _BLIND * np.sqrt(len(jacobian))
    blind = np.abs(directions[~seen]).max(axis=0, initial=0.0) > _PART
    spread = directions[seen] / sizes[seen, None]
    covariance = variance * spread.T @ spread
    mass, kinetic, surplus = np.exp(p[:3])
    # From p to the parameters; static friction is the sum of kinetic and surplus.
    change = np.zeros((4, len(p)))
    change[0, 0], change[1, 1:3], change[2, 1], change[3, 3] = mass, (kinetic, surplus), kinetic, 1
    errors = np.sqrt(np.einsum("ij,jk,ik->i", change, covariance, change))
    return [
        float("inf") if (blind & (row != 0.0)).any() else float(error)
        for row, error in zip(change, errors, strict=True)
    ]


def _finger(readings: Readings, p: Array) -> Finger:
    mass, kinetic, surplus = np.exp(p[:3])
    return replace(
        readings.finger,
        object_mass=mass,
        static_friction=kinetic + surplus,
        kinetic_friction=kinetic,
        restitution=float(np.clip(p[3], 0.0, 1.0)),
        gap=float(max(p[4], 0.0)),
    )


def _noise(channel: Array) -> float:
    """Standard deviation of a channel's noise, by third differences, which smooth motion lacks.

    The median withstands impacts; differences of white noise have the variance 20 s^2.
    """
    rough = np.median(np.abs(np.diff(channel, 3))) / (0.6745 * np.sqrt(20.0))
    return float(max(rough, _LEAST * np.abs(channel).max(), 1e-12))


def _felt(readings: Readings, noise: float) -> Any:
    """Indices of the intervals in which something was felt, in two of them running."""
    felt = readings.sensor > max(_FELT * noise, 1e-6)
    return np.flatnonzero(felt[:-1] & felt[1:])


def _guesses(readings: Readings, felt: Any) -> Iterator[Array]:
    """Parameters to begin with, the likeliest first: read off the intervals of contact, or a grid.

    A finger that pushes is pressed by N = a (F_k + D_o) + (1 - a) X, where X = F - D_f is what is
    left of the applied force and a = m_f / (m_f + m_o). The object that rests bears at least what
    it was pressed with. If it never moved, its first impact, J = m_f (1 + e) w, gives e.
    """
    finger, first = readings.finger, int(felt[0])
    h = float(readings.times[1] - readings.times[0])
    v, sensor = readings.velocity, readings.sensor
    gap = max(float(v[:first].sum() * h), 0.0)
    during = slice(first, first + round(finger.contact_time / h) + 1)
    closing = max(float(v[max(first - 3, 0) : first].mean()) if first else 0.0, 1e-3)
    pushed = float(sensor[during].sum()) * h / closing / finger.finger_mass
    still = felt[np.abs(v[felt]) < 0.02 * np.abs(v).max()]
    most = float(sensor[still].max() if len(still) else np.median(sensor[felt]))

    def guess(mass: float, kinetic: float, static: float, bounce: float) -> Array:
        surplus = max(static - kinetic, 0.05 * kinetic, 2e-4)
        p = [np.log(mass), np.log(max(kinetic, 2e-3)), np.log(surplus), min(bounce, 0.8), gap]
        return np.asarray(np.clip(p, _LOW + 1e-3, _HIGH - 1e-3))

    bearing = 50.0 * max(most, float(sensor.max()))  # N, of an object that doesn't move
    yield guess(2.0, 0.7 * most, bearing, pushed - 1.0)
    grid = [(mass, share * most) for share in (0.7, 0.4) for mass in (0.5, 1.0, 2.0, 4.0)]
    for mass, kinetic in _pushing(readings, felt) or grid:
        for bounce in _BOUNCES:
            yield guess(mass, kinetic, max(most, kinetic), bounce)


def _pushing(readings: Readings, felt: Any) -> list[tuple[float, float]]:
    """Likely object masses (kg), each with its kinetic friction (N), best first; maybe none.

    From the intervals of pushing, by least absolute deviations: pulses of impacts are outliers.
    """
    finger, v, sensor = readings.finger, readings.velocity, readings.sensor
    middles = 0.5 * (readings.times[:-1] + readings.times[1:])
    applied = np.interp(middles, readings.force.times, readings.force.forces)
    left = applied - [finger.finger_drag(u) for u in v]
    opposed = left - finger.finger_mass * np.gradient(v, middles)  # by what the finger touches
    pushes = felt[(v[felt] > 0.05 * np.abs(v).max()) & (opposed[felt] > 0.5 * sensor[felt])]
    if len(pushes) < _FEW:
        return []
    X, drag = left[pushes], np.array([finger.object_drag(u) for u in v[pushes]])
    found = []
    for mass in finger.finger_mass * _MASSES:
        share = finger.finger_mass / (finger.finger_mass + mass)
        rest = sensor[pushes] - X - share * (drag - X)  # a F_k, and noise
        kinetic = float(np.median(rest))
        found.append((float(np.abs(rest - kinetic).sum()), mass, max(kinetic / share, 1e-2)))
    return [(mass, kinetic) for _, mass, kinetic in sorted(found)[:_LIKELY]]


def _applied(trace: Trace) -> Profile:
    """The force of a run, whose pieces must be constant or ramps."""
    pairs = []
    for force, group in groupby(trace.segments, lambda each: each.force):
        if not isinstance(force, (Constant, Ramp)):
            raise ValueError("the force is a function of time: must be a number, pairs or a policy")
        stretch = list(group)
        pairs += [(t, force(t)) for t in (stretch[0].start, stretch[-1].end)]
    return Profile.of(pairs)


def _means(trace: Trace, times: Array) -> tuple[Array, Array]:
    """Mean velocity (m/s) and sensor reading (N) over the intervals between times (n + 1,)."""
    h = np.diff(times)
    end = min(trace.end, times[-1])
    edges = np.unique(
        np.concatenate([times, [s.start for s in trace.segments], [s.end for s in trace.segments]])
    )
    edges = edges[edges <= end]
    # The constant part is smooth between edges: two points of Gauss integrate it to third order.
    left, width = edges[:-1], np.diff(edges)
    inner = [left + width * x for x in (0.5 - 0.5 / np.sqrt(3.0), 0.5 + 0.5 / np.sqrt(3.0))]
    points = trace.at(np.concatenate(inner))
    constant = points.sensor_constant.reshape(2, -1).mean(axis=0) * width
    total = np.concatenate([[0.0], np.cumsum(constant)])
    impulse = np.interp(times, edges, total)
    for event in trace.events:
        done = (times - event.time) / trace.finger.contact_time
        impulse = impulse + event.impulse * np.clip(done, 0.0, 1.0)
    position = trace.at(np.minimum(times, end)).finger_position
    return np.diff(position) / h, np.diff(impulse) / h
