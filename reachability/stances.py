"""Where to stand: base poses from which the arm may reach a hand pose."""

from __future__ import annotations

from functools import cache

import numpy as np

from galley.domain.frames import Array, wrap
from galley.domain.scene.base_spec import MobileBaseSpec
from galley.domain.scene.model import Stance
from galley.robots.panda.ik import A7, D1, DF
from galley.robots.panda.kinematics import stretch

_CLOSEST = 0.2  # m, horizontally from the arm's axis to the wrist: nearer, it is in its own way


def sample_stances(
    X_WF: Array, stance: Stance, spec: MobileBaseSpec, n: int, rng: np.random.Generator
) -> Array:
    """Random base poses (k, 3) from whose arm the flange pose X_WF (4, 4) may be in reach.

    The arm's foot is drawn uniformly from the ring about the flange that a stretched arm can
    span, the heading uniformly, ``n`` times; k <= n of them lie in the stance set and within the
    base's limits.
    """
    p_WC = X_WF[:3, 3] - DF * X_WF[:3, 2]  # the wrist lies on a circle of radius A7 about C
    height = float(p_WC[2]) - (spec.p_BA[2] + D1)
    span = (_longest() + A7) ** 2 - height**2
    if span <= _CLOSEST**2:
        return np.empty((0, 3))
    # Uniform in the ring's area.
    r = np.sqrt(rng.uniform(_CLOSEST**2, span, n))
    angle = rng.uniform(-np.pi, np.pi, n)
    heading = sample_headings(stance, n, rng)
    c, s = np.cos(heading), np.sin(heading)
    bases = np.empty((n, 3))
    bases[:, 0] = p_WC[0] + r * np.cos(angle) - (c * spec.p_BA[0] - s * spec.p_BA[1])
    bases[:, 1] = p_WC[1] + r * np.sin(angle) - (s * spec.p_BA[0] + c * spec.p_BA[1])
    bases[:, 2] = heading
    low = np.maximum(spec.lower, [*stance.lower[:2], -np.inf])
    high = np.minimum(spec.upper, [*stance.upper[:2], np.inf])
    return np.asarray(bases[((bases >= low) & (bases <= high)).all(axis=1)])


def sample_headings(stance: Stance, n: int, rng: np.random.Generator) -> Array:
    """Headings (n,) of the stance set, uniform, in [-pi, pi); its range may pass pi."""
    low = float(stance.lower[2])
    return wrap(low + rng.random(n) * min(float(stance.upper[2]) - low, 2.0 * np.pi))


def sample_heading(stance: Stance, rng: np.random.Generator) -> float:
    """A heading of the stance set, uniform, in [-pi, pi); its range may pass pi."""
    return float(sample_headings(stance, 1, rng)[0])


@cache
def _longest() -> float:
    """From shoulder to wrist centre, metres."""
    return stretch()[1]


def shortfall(p_W: Array, stance: Stance, spec: MobileBaseSpec) -> float:
    """Lower bound (m) on how far the flange stays away from p_W (3,) from anywhere in the stance.

    0 means "may be in reach".
    """
    return float(_shortfall(p_W[None], stance, spec, _longest() + float(np.hypot(A7, DF)))[0])


def wrist_shortfall(p_WC: Array, stance: Stance, spec: MobileBaseSpec) -> Array:
    """The same for where the wrist has to be: on a circle of radius A7 about points (n, 3): (n,).

    The point lies DF behind the flange on its axis.
    """
    return _shortfall(p_WC, stance, spec, _longest() + A7)


def _shortfall(p_W: Array, stance: Stance, spec: MobileBaseSpec, length: float) -> Array:
    """How far points (n, 3) are beyond ``length`` (m) from wherever the shoulder can be: (n,).

    The foot of the arm is at most |mount| from the base's centre, the base's centre in the stance
    box within the base's limits; the shoulder is D1 above the foot.
    """
    low = np.maximum(stance.lower[:2], spec.lower[:2])
    high = np.minimum(stance.upper[:2], spec.upper[:2])
    away = np.linalg.norm(p_W[:, :2] - np.clip(p_W[:, :2], low, high), axis=1)
    horizontal = np.maximum(0.0, away - np.linalg.norm(spec.p_BA[:2]))
    height = p_W[:, 2] - (spec.p_BA[2] + D1)
    return np.asarray(np.maximum(0.0, np.hypot(horizontal, height) - length))
