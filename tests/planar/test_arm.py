"""The planar chain against complex numbers and finite differences."""

import numpy as np
import pytest

from galley.planar.arm import PlanarChain

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_points_are_sums_of_complex_numbers(n):
    chain = PlanarChain(tuple(RNG.uniform(0.2, 1.0, n)))
    base, theta = RNG.normal(size=(7, 3)), RNG.normal(size=(7, n))
    for row in range(7):
        z, alpha, expected = complex(*base[row, :2]), base[row, 2], []
        expected.append(z)
        for length, angle in zip(chain.lengths, theta[row], strict=True):
            alpha += angle
            z += length * np.exp(1j * alpha)
            expected.append(z)
        points = chain.points(base, theta)[row]
        np.testing.assert_allclose(points[:, 0] + 1j * points[:, 1], expected, atol=1e-14)
    np.testing.assert_allclose(chain.fk(base, theta), chain.points(base, theta)[:, -1], atol=1e-14)


@pytest.mark.parametrize(
    ("limits", "angle", "expected"),
    [
        ((-np.pi, np.pi), np.pi, np.pi),
        ((-np.pi, np.pi), -np.pi, -np.pi),
        ((-np.pi, np.pi), 3.5, 3.5 - 2 * np.pi),
        ((0.5, 4.0), -2.5, 2 * np.pi - 2.5),
        ((0.5, 4.0), 0.4, None),
        ((0.5, 4.0), 0.5 - 1e-15, 0.5),
        ((0.0, np.pi), -np.pi, np.pi),
        ((-20.0, -16.0), 1.0, 1.0 - 6 * np.pi),
    ],
)
def test_angles_are_taken_into_limits_by_whole_turns(limits, angle, expected):
    turned, inside = PlanarChain((1.0,), (limits,)).in_limits(np.array([[angle]]))
    assert inside.tolist() == [expected is not None]
    if expected is not None:
        assert turned[0, 0] == pytest.approx(expected, abs=1e-14)


@pytest.mark.parametrize(
    ("lengths", "limits", "named"),
    [
        ((), None, r"\(\)"),
        ((1.0, 0.0), None, "link 2.* 0"),
        ((float("inf"),), None, "inf"),
        ((1.0,), ((1.0, -1.0),), "1 >= -1"),
        ((1.0,), ((0.0, 1.0), (0.0, 1.0)), "1 pairs"),
        ((1.0,), ((0.0, float("nan")),), "nan"),
    ],
)
def test_bad_chains_are_refused(lengths, limits, named):
    with pytest.raises(ValueError, match=named):
        PlanarChain(lengths, limits)


def test_wrong_shapes_are_refused():
    with pytest.raises(ValueError, match=r"\(3,\)"):
        PlanarChain((1.0, 1.0)).fk(np.zeros(3), np.zeros(3))
    with pytest.raises(ValueError, match=r"\(2,\)"):
        PlanarChain((1.0, 1.0)).fk(np.zeros(2), np.zeros(2))
