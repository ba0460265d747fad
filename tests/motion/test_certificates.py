"""The proof between states, on a line through space with an obstacle of known thickness."""

import itertools

import numpy as np
import pytest

from galley.motion.certify import CAP, certify


def prove(points, obstacle, required=0.0):
    """A point robot: clearance is its true distance to the obstacle, travel the true distance."""
    points = np.asarray(points, dtype=float)

    def at(s):
        k = min(int(s), len(points) - 2)
        return points[k] + (s - k) * (points[k + 1] - points[k])

    looked = []

    def clearance(s):
        looked.append(at(s))
        return min(CAP, obstacle(at(s)))

    return certify(points, clearance, lambda a, b: float(np.linalg.norm(b - a)), required), looked


def plate(thickness):
    """Signed distance to a plate at x = 0.5, as thick as given."""
    return lambda p: abs(p[0] - 0.5) - thickness / 2


@pytest.mark.parametrize("thickness", [0.1, 0.01, 1e-3, 1e-4])
def test_a_plate_however_thin_is_not_straddled(thickness):
    found, _ = prove([[0.0, 0.0], [1.0, 0.0]], plate(thickness))
    assert found.hit is not None
    assert found.hit == pytest.approx(0.5, abs=0.06)


@pytest.mark.parametrize("gap", [0.05, 0.01, 0.002])
def test_passing_beside_a_plate_is_proven_free(gap):
    found, looked = prove([[0.5 - gap, -1.0], [0.5 - gap, 0.0], [0.3, 1.0]], plate(0.0))
    assert found.hit is None
    assert found.clearance == pytest.approx(gap, abs=1e-9)
    assert found.states == len(looked)


@pytest.mark.parametrize(
    ("required", "free"), [(0.005, True), (0.0099, True), (0.0101, False), (0.02, False)]
)
def test_the_clearance_required_is_the_clearance_proven(required, free):
    found, _ = prove([[0.0, -0.5], [0.49, 0.0], [0.0, 0.5]], plate(0.0), required)
    assert (found.hit is None) is free


def test_whatever_is_proven_free_is_free_at_ten_thousand_states():
    rng = np.random.default_rng(0)
    radius, shares = 0.15, np.linspace(0, 1, 3000)[:, None]
    proven = 0
    for _ in range(60):
        points = rng.uniform(0, 1, (4, 2))
        ball = rng.uniform(0, 1, 2)
        found, _ = prove(points, lambda p, b=ball: float(np.linalg.norm(p - b)) - radius, 0.001)
        dense = np.concatenate([a + shares * (b - a) for a, b in itertools.pairwise(points)])
        least = np.linalg.norm(dense - ball, axis=1).min() - radius
        if found.hit is None:
            proven += 1
            assert least > 0.001 - 1e-6
        else:
            assert least < 0.001 + 2e-4, "no false alarm beyond the finest step"
    assert 10 < proven < 50
