"""Densities against quadrature, histograms of samples and closed forms."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import chi2, norm

from galley.planar.reach import DonutSampler, PlanarArm, Weighted, uniform_targets
from galley.planar.reach.scores import area

H = np.array([0.3, -0.2])
LIMITS = ((-2.0, 2.0), (-2.5, 1.0))
WRAPPED = ((0.5, 4.0), (0.3, 5.9))
ARM = PlanarArm(1.0, 0.8)


def nodes(sampler, n_r, n_delta):
    """Rows of q on a polar grid about H, made by ``ik_batch``, and the volume that each stands for.

    The direction phi is one: p does not depend on it.
    """
    edges = np.linspace(sampler.r_min, sampler.r_max, n_r + 1)
    r, phi = 0.5 * (edges[1:] + edges[:-1]), 0.4
    delta = (np.arange(n_delta) + 0.5) / n_delta * 2 * np.pi - np.pi
    r, delta = (a.ravel() for a in np.meshgrid(r, delta, indexing="ij"))
    base = np.column_stack([H[0] + r * np.cos(phi), H[1] + r * np.sin(phi), phi + np.pi + delta])
    theta, valid = sampler.arm.ik_batch(base, H)
    i, side = np.nonzero(valid)
    volume = 2 * np.pi * r[i] * (edges[1] - edges[0]) * 2 * np.pi / n_delta
    return np.column_stack([base[i], theta[i, side]]), volume


def bins(sampler, q):
    """A bin of each row: six in r, three in |delta|, two elbows."""
    away = H - q[:, :2]
    r = np.hypot(*away.T)
    k = np.clip(6 * (r - sampler.r_min) / (sampler.r_max - sampler.r_min), 0, 5).astype(int)
    delta = np.abs(np.angle(np.exp(1j * (q[:, 2] - np.arctan2(away[:, 1], away[:, 0])))))
    return (k * 3 + np.digitize(delta, [0.3, 0.9])) * 2 + (np.sin(q[:, 4]) > 0)


def chi_square(observed, share):
    """P(chi-square at least as large), bins with fewer than 10 expected merged."""
    expected = share * observed.sum()
    few = expected < 10
    observed = np.append(observed[~few], observed[few].sum())
    expected = np.append(expected[~few], expected[few].sum())
    observed, expected = observed[expected > 1e-9], expected[expected > 1e-9]
    return chi2.sf(((observed - expected) ** 2 / expected).sum(), len(expected) - 1)


@pytest.mark.parametrize("limits", [None, LIMITS, WRAPPED])
@pytest.mark.parametrize("sigma", [0.4, 3.0, 1e300])
def test_density_integrates_to_one_and_matches_samples(limits, sigma):
    sampler = DonutSampler(PlanarArm(1.0, 0.8, limits), 0.05, sigma)
    q, volume = nodes(sampler, 160, 160)
    mass = np.exp(sampler.log_density(q, H)) * volume
    assert mass.sum() == pytest.approx(1.0, abs=4e-3)
    assert mass[np.sin(q[:, 4]) > 0].sum() == pytest.approx(
        sampler.keep_rates[0] / sum(sampler.keep_rates), abs=4e-3
    )
    share = np.bincount(bins(sampler, q), mass, 36) / mass.sum()
    rng = np.random.default_rng(1)
    rows = sampler.sample(H, 12_000, rng)
    # Every second elbow, independent of which survived: rows of one base are dependent.
    coin = rng.integers(2, size=12_000)
    chosen = np.nonzero((rows.elbow < 0) == coin[rows.source])[0]
    assert len(np.unique(rows.source[chosen])) == len(chosen)
    assert chi_square(np.bincount(bins(sampler, rows.q[chosen]), minlength=36), share) > 1e-4
    assert np.isfinite(sampler.log_density(rows.q, rows.target)).all()
    assert (rows.elbow == np.sign(np.sin(rows.q[:, 4]))).all()
    assert len(rows) / (2 * 12_000) == pytest.approx(sampler.keep_rate(), abs=0.02)


@pytest.mark.parametrize("limits", [LIMITS, WRAPPED, ((-2.0, 2.0), (-4.0, 4.0))])
def test_whole_turns_are_not_counted_twice(limits):
    sampler = DonutSampler(PlanarArm(1.0, 0.8, limits), 0.05, 0.4)
    q, volume = nodes(sampler, 160, 160)
    turns = 2 * np.pi * np.array([(0, 0, 0, i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)])
    mass = sum((np.exp(sampler.log_density(q + turn, H)) @ volume for turn in turns), 0.0)
    assert mass == pytest.approx(1.0, abs=4e-3)
    rows = sampler.sample(H, 2000, np.random.default_rng(0))
    assert np.isfinite(sampler.log_density(rows.q, H)).all()


def test_weighted_by_area_bases_are_uniform_in_the_ring():
    sampler = DonutSampler(ARM, 0.05, 0.3)
    law = Weighted(sampler, (area(ARM),), 2_000_000)
    rows = law.sample(H, 40_000, np.random.default_rng(0))
    q = rows.q[rows.elbow > 0]
    square = np.linspace(sampler.r_min**2, sampler.r_max**2, 11)
    counts = np.histogram(np.hypot(*(H - q[:, :2]).T) ** 2, square)[0]
    assert chi_square(counts, np.full(10, 0.1)) > 1e-4
    facing = q[:20] - [0, 0, 1, 0, 0] * np.angle(np.exp(1j * (q[:20, 2:3] - np.arctan2(
        *(H - q[:20, :2]).T[::-1])[:, None])))  # fmt: skip
    facing[:, 3] = q[:20, 3] + q[:20, 2] - facing[:, 2]
    exact = 0.5 / (np.pi * (sampler.r_max**2 - sampler.r_min**2)) * norm(scale=0.3).pdf(0.0)
    assert np.exp(law.log_density(facing, H)) == pytest.approx(exact, rel=1e-3)


@pytest.mark.parametrize("sigma", [0.05, 0.5, 2.0, 5.0])
@pytest.mark.parametrize("limits", [LIMITS, WRAPPED])
def test_keep_rates_against_adaptive_quadrature(sigma, limits):
    sampler = DonutSampler(PlanarArm(1.0, 0.8, limits), 0.05, sigma)
    (lo1, hi1), (lo2, hi2) = limits
    low, high = sampler.r_min, sampler.r_max
    turns = 2 * np.pi * np.arange(-9, 10)

    def rate(r, s):
        gamma = np.arccos((r * r - 1.64) / 1.6)
        if not ((s * gamma + turns >= lo2) & (s * gamma + turns <= hi2)).any():
            return 0.0
        beta = np.arctan2(0.8 * np.sin(gamma), 1 + 0.8 * np.cos(gamma))
        upper, lower = (-lo1 - s * beta + turns) / sigma, (-hi1 - s * beta + turns) / sigma
        return (norm.cdf(upper) - norm.cdf(lower)).sum() / (high - low)

    cuts = [np.sqrt(1.64 + 1.6 * np.cos(edge)) for edge in (lo2, hi2)]
    points = sorted(c for c in cuts if low < c < high)
    for s, found in zip((1, -1), sampler.keep_rates, strict=True):
        expected, _ = quad(rate, low, high, (s,), points=points, limit=200, epsabs=1e-10)
        assert found == pytest.approx(expected, abs=1e-8)
    plus, minus = sampler.keep_rates
    assert sampler.keep_rate() == pytest.approx(0.5 * (plus + minus))


@pytest.mark.parametrize("sigma", [0.01, 0.4, 3.0, 30.0])
def test_wrapped_normal(sigma):
    error = DonutSampler(ARM, 0.05, sigma).heading
    d = np.linspace(-np.pi, np.pi, 40_001)
    p = np.exp(error.log_density(d))
    assert np.trapezoid(p, d) == pytest.approx(1.0, abs=1e-8)
    if sigma <= 3.0:
        direct = norm.pdf(d[:, None] + 2 * np.pi * np.arange(-20, 21), scale=sigma).sum(axis=1)
        np.testing.assert_allclose(p, direct, rtol=1e-9, atol=1e-300)
    for a, b in ((-0.3, 0.2), (2.5, 4.0), (-9.0, -4.0), (-np.pi, np.pi)):
        inside = (d[:-1] + d[1:]) / 2
        inside = (inside - a) % (2 * np.pi) <= b - a
        cells = 0.5 * (p[1:] + p[:-1]) * np.diff(d)
        mass = error.mass(np.array([a]), np.array([b]))[0]
        assert mass == pytest.approx(cells[inside].sum(), abs=2e-3)


def test_nothing_off_the_support():
    sampler = DonutSampler(PlanarArm(1.0, 0.8, LIMITS), 0.05, 0.3)
    rows = sampler.sample(H, 50, np.random.default_rng(0))
    for away in ([0.1, 0, 0, 0, 0], [0, 0, 0, 0.1, 0], [0, 0, 0, 2 * np.pi, 0]):
        assert (sampler.log_density(rows.q + away, H) == -np.inf).all()
    near, _ = PlanarArm(1.0, 0.8).ik_batch([[1.79, 0, np.pi]], [0, 0])
    q = np.column_stack([np.tile([1.79, 0, np.pi], (2, 1)), near[0]])
    assert (DonutSampler(ARM, 0.05, 0.3).log_density(q, [0, 0]) == -np.inf).all()


def test_targets_one_a_base_and_uniform_over_bounds():
    targets = uniform_targets(((-1, 2), (0, 1)), 20_000, np.random.default_rng(0))
    counts = np.histogram2d(*targets.T, bins=4, range=((-1, 2), (0, 1)))[0].ravel()
    assert chi_square(counts, np.full(16, 1 / 16)) > 1e-4
    sampler = DonutSampler(PlanarArm(1.0, 0.8, LIMITS), 0.05, 0.3)
    rows = sampler.sample(targets, 20_000, np.random.default_rng(1))
    assert (rows.target == targets[rows.source]).all()
    np.testing.assert_allclose(ARM.fk(rows.q[:, :3], rows.q[:, 3:]), rows.target, atol=1e-12)
    assert np.isfinite(sampler.log_density(rows.q, rows.target)).all()
    again = sampler.sample(targets, 20_000, np.random.default_rng(1))
    assert (again.q == rows.q).all()


def test_limits_of_which_nothing_is_left():
    sampler = DonutSampler(PlanarArm(1.0, 0.8, ((-1, 1), (3.0, 3.1))), 0.05, 0.3)
    assert len(sampler.sample(H, 100, np.random.default_rng(0))) == 0
    assert sampler.keep_rate() == 0.0


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: DonutSampler(ARM, 0.8, 0.3), "0.8"),
        (lambda: DonutSampler(ARM, -0.1, 0.3), "-0.1"),
        (lambda: DonutSampler(ARM, 0.1, -0.3), "-0.3"),
        (lambda: DonutSampler(ARM, 0.1, np.inf), "inf"),
        (lambda: DonutSampler(ARM, 0.1, 0.3).log_density(np.zeros((1, 4)), H), r"\(1, 4\)"),
        (lambda: uniform_targets(((1, 0), (0, 1)), 5, None), r"\(1, 0\)"),
    ],
)
def test_bad_input_names_the_value(make, named):
    with pytest.raises(ValueError, match=named):
        make()
