"""Where to stand: base poses from which the arm may reach a hand pose."""

from __future__ import annotations

import numpy as np

from galley.domain.base_spec import MobileBaseSpec
from galley.domain.frames import Array, rotation_z, wrap
from galley.domain.scene import Stance
from galley.robots.panda import A7, D1, DF
from galley.robots.panda_reach import stretch

_CLOSEST = 0.2  # m, horizontally from the arm's axis to the wrist: nearer, it is in its own way


def sample_stance(
    X_WF: Array, stance: Stance, spec: MobileBaseSpec, rng: np.random.Generator
) -> Array | None:
    """One random base pose (3,) from whose arm the flange pose X_WF (4, 4) may be in reach.

    The arm's foot is drawn uniformly from the ring about the flange that a stretched arm can
    span, the heading uniformly; None if that falls outside the stance set or the base's limits.
    """
    p_WC = X_WF[:3, 3] - DF * X_WF[:3, 2]  # the wrist lies on a circle of radius A7 about C
    height = float(p_WC[2]) - (spec.p_BA[2] + D1)
    span = (stretch()[1] + A7) ** 2 - height**2
    if span <= _CLOSEST**2:
        return None
    # Uniform in the ring's area.
    r = float(np.sqrt(rng.uniform(_CLOSEST**2, span)))
    angle = rng.uniform(-np.pi, np.pi)
    foot = p_WC[:2] + r * np.array([np.cos(angle), np.sin(angle)])
    heading = sample_heading(stance, rng)
    base = np.array([*(foot - (rotation_z(heading) @ spec.p_BA)[:2]), heading])
    inside = (base >= np.array(spec.lower)).all() and (base <= np.array(spec.upper)).all()
    return base if inside and stance.contains(base) else None


def sample_heading(stance: Stance, rng: np.random.Generator) -> float:
    """A heading of the stance set, uniform, in [-pi, pi); its range may pass pi."""
    low = float(stance.lower[2])
    return float(wrap(low + rng.random() * min(float(stance.upper[2]) - low, 2.0 * np.pi)))


def shortfall(p_W: Array, stance: Stance, spec: MobileBaseSpec) -> float:
    """Lower bound (m) on how far the flange stays away from p_W (3,) from anywhere in the stance.

    0 means "may be in reach". The foot of the arm is at most |mount| from the base's centre, the
    base's centre in the stance box within the base's limits; the shoulder is D1 above the foot.
    """
    low = np.maximum(stance.lower[:2], spec.lower[:2])
    high = np.minimum(stance.upper[:2], spec.upper[:2])
    away = float(np.linalg.norm(p_W[:2] - np.clip(p_W[:2], low, high)))
    horizontal = max(0.0, away - float(np.linalg.norm(spec.p_BA[:2])))
    height = float(p_W[2]) - (spec.p_BA[2] + D1)
    longest = stretch()[1] + float(np.hypot(A7, DF))  # shoulder to flange
    return max(0.0, float(np.hypot(horizontal, height)) - longest)
