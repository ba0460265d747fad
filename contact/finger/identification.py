"""What touch tells: an object's parameters from the finger's motion and its sensor alone.

Nonlinear least squares through the model (SciPy's ``least_squares``, trust region reflective): the
run is simulated anew with candidate parameters, and must move and feel as the finger did. Both are
compared as means over sample intervals, displacement / h and felt impulse / h, which change
smoothly where an impact moves from one sample to the next; values at instants would jump.

Known are the finger itself, its sensor and the applied force; found are the object's mass, static
and kinetic friction and restitution, and on the way its distance. Standard errors are the linear
ones, the square roots of the diagonal of s^2 (J^T J)^-1. A direction that J (nearly) maps to 0 is
one in which the readings say nothing: every parameter with a part in it has an infinite error.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import groupby, product
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from galley.contact.finger.force import Constant, Profile, Ramp
from galley.contact.finger.model import Finger
from galley.contact.finger.simulation import Solver, simulate
from galley.contact.finger.trace import Trace
from galley.contact.parameters import DURATION, RATIO
from galley.domain.frames import Array, frozen

NAMES = ("object_mass", "static_friction", "kinetic_friction", "restitution")
_SOLVER = Solver(rtol=1e-7, atol=1e-9, max_step=0.2, max_events=200)
_STEP = 1e-4  # of finite differences, above the solver's error
_MAX_EVALUATIONS = 15
_FIRST, _GROWTH = 10, 1.5  # intervals after the first touch that are looked at, and more of them
_LOST = 30.0  # mean square of the residuals at which a guess is given up
_GOOD = 1.5  # mean square of the residuals, in units of the noise, that is a fit
_FELT = 4.0  # times the noise: a reading above it was felt
_BLIND = 1e-3  # rms change of the residuals, in units of noise, per unit of p: below it unseen
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
            tell the parameter, whose value is a guess then.
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

    # Runs of different parameters drift apart with time: what the beginning tells comes first.
    n, first = len(readings.sensor), int(felt[0])
    horizons = [first + _FIRST]
    while horizons[-1] < n:
        horizons.append(min(first + math.ceil(_GROWTH * (horizons[-1] - first)), n))
    horizons[0] = min(horizons[0], n)
    best: Any = None
    for guess in guesses:
        found = searched(guess, horizons[0])
        for count in horizons[1:]:
            found = searched(found.x, count)
            if 2.0 * found.cost > _LOST * found.fun.size:
                break
        whole = found.fun.size == 2 * n
        if whole and (best is None or found.cost < best.cost):
            best = found
        if whole and 2.0 * found.cost < _GOOD * found.fun.size:
            break
    if best is None:
        best = searched(guesses[0], n)
    rows = best.fun.size
    variance = 2.0 * best.cost / max(rows - best.x.size, 1)
    finger = _finger(readings, best.x)
    values = {name: float(getattr(finger, name)) for name in NAMES}
    errors = _errors(best.x, best.jac, variance)
    return Estimate(values, dict(zip(NAMES, errors, strict=True)), float(np.sqrt(variance)))


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
    return float(max(rough, 1e-4 * np.abs(channel).max(), 1e-12))


def _felt(readings: Readings, noise: float) -> Any:
    """Indices of the intervals in which something was felt, in two of them running."""
    felt = readings.sensor > max(_FELT * noise, 1e-6)
    return np.flatnonzero(felt[:-1] & felt[1:])


def _guesses(readings: Readings, felt: Any) -> Iterator[Array]:
    """A grid of parameters, from the intervals in which something was felt."""
    h = float(readings.times[1] - readings.times[0])
    first = int(felt[0])
    gap = max(float(readings.velocity[:first].sum() * h), 0.0)
    still = np.abs(readings.velocity[felt]) < 0.02 * np.abs(readings.velocity).max()
    pressed = readings.sensor[felt][still]
    most = float(pressed.max()) if len(pressed) else float(np.median(readings.sensor[felt]))
    # The first impact, J = m (1 + e) w with the reduced mass m, tells e for each object mass.
    known = readings.finger
    during = slice(first, first + round(known.contact_time / h) + 1)
    closing = max(
        float(readings.velocity[max(first - 3, 0) : first].mean()) if first else 0.0, 1e-3
    )
    share_of_all = float(readings.sensor[during].sum()) * h / closing / known.finger_mass
    masses = (np.inf, 1.0, 2.0, 0.5, 4.0)
    bounces = {mass: share_of_all * (1.0 + known.finger_mass / mass) - 1.0 for mass in masses}
    likely = {mass: e for mass, e in bounces.items() if -0.3 <= e <= 1.1}
    if not likely:  # there was no first impact, as where the finger starts in contact
        likely = dict.fromkeys(masses, 0.2)
    for share, (mass, e) in product((0.7, 0.4), likely.items()):
        kinetic, surplus = max(share * most, 2e-3), max((1.0 - share) * most, 2e-4)
        object_mass = mass
        if math.isinf(mass):  # friction held it
            object_mass, surplus = 2.0, 50.0 * max(most, float(readings.sensor.max()))
        guess = [np.log(object_mass), np.log(kinetic), np.log(surplus), min(e, 0.8), gap]
        yield np.clip(guess, _LOW + 1e-3, _HIGH - 1e-3)


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
