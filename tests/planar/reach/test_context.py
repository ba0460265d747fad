"""Distances against many points; the density under contexts and scores against its samples."""

from itertools import pairwise

import numpy as np
import pytest
from matplotlib.path import Path
from scipy.stats import chi2

from galley.planar.reach import Context, DonutSampler, PlanarArm, Weighted, shape_of
from galley.planar.reach.scores import (
    Acceptance,
    clearance,
    limit_margin,
    manipulability,
    visibility,
)

H = np.array([0.3, -0.2])
LIMITS = ((-2.0, 2.0), (-2.5, 1.0))
ARM = PlanarArm(1.0, 0.8, LIMITS)
DENT = shape_of("polygon", (1.2, -0.2, 0.5, 0.5, 1.0, 0.4, 0.9, 1.1, 1.4, 0.9))
SHAPES = (shape_of("circle", (-0.6, 0.1, 0.15)), shape_of("box", (0.2, -1.0, 0.5, 0.2, 0.4)), DENT)
CONTEXT = Context(ARM, SHAPES, forbidden=(shape_of("circle", (1.5, -0.9, 0.4)),), view=1.5)
ZERO = np.zeros((1, 2))


def outline(shape, n=120):
    """Points (k, 2) on the shape's edge."""
    if shape.radius:
        t = np.linspace(0, 2 * np.pi, 4 * n)
        return shape.core.coords[0] + shape.radius * np.column_stack([np.cos(t), np.sin(t)])
    corners = np.array(shape.core.exterior.coords)
    return np.concatenate([np.linspace(a, b, n) for a, b in pairwise(corners)])


def within(shape, p):
    if shape.radius:
        return np.hypot(*(p - shape.core.coords[0]).T) <= shape.radius
    return Path(shape.core.exterior.coords).contains_points(p)


@pytest.mark.parametrize("shape", SHAPES)
def test_distances_of_segments_against_many_points(shape):
    rng = np.random.default_rng(0)
    a, b = rng.uniform(-1.5, 1.8, (2, 25, 2))
    found = shape.distance(a, b)
    edge = outline(shape)
    for i in range(25):
        line = np.linspace(a[i], b[i], 200)
        apart = np.linalg.norm(line[:, None] - edge[None], axis=-1).min()
        expected = 0.0 if within(shape, line).any() else apart
        assert found[i] == pytest.approx(expected, abs=1e-2)
    np.testing.assert_array_equal(shape.contains(a), within(shape, a))
    assert (shape.distance(a, a)[shape.contains(a)] == 0.0).all()


def test_clearance_of_the_robot_against_points_of_its_outline():
    sampler = DonutSampler(ARM, 0.05, 0.5)
    rows = sampler.sample(H, 6, np.random.default_rng(3))
    for shape in SHAPES:
        found = Context(ARM, (shape,)).clearance(rows.q, rows.target)
        edge = outline(shape)
        for row, gap in zip(rows.q, found, strict=True):
            x, y, psi, theta1, _ = row
            u = np.array([np.cos(psi), np.sin(psi)])
            v = np.array([-u[1], u[0]])
            grid = [
                0.15 * i * u + 0.1 * j * v
                for i in np.linspace(-1, 1, 31)
                for j in np.linspace(-1, 1, 11)
            ]
            base = row[:2] + np.array(grid)
            elbow = np.array([x + np.cos(psi + theta1), y + np.sin(psi + theta1)])
            links = np.concatenate([np.linspace([x, y], elbow, 120), np.linspace(elbow, H, 120)])
            parts = ((base, 0.0), (row[:2] + 0.15 * u + np.zeros((1, 2)), 0.05), (links, 0.02))
            gaps = [
                (0.0 if within(shape, p).any() else _apart(p, edge)) - radius for p, radius in parts
            ]
            assert (gap <= 0.0) == (min(gaps) <= 0.0) or abs(min(gaps)) < 0.01
            if min(gaps) > 0.01:
                assert gap == pytest.approx(min(gaps), abs=0.01)


def _apart(p, edge):
    return np.linalg.norm(p[:, None] - edge[None], axis=-1).min()


def test_an_obstacle_within_the_base_is_a_collision():
    context = Context(ARM, (shape_of("circle", (-0.1, 0.05, 0.005)),))
    q = np.array([[0.0, 0.0, 0.0, -1.0, 0.5]])
    assert context.clearance(q, ARM.fk(q[:, :3], q[:, 3:])) <= 0.0


def test_visibility_by_hand():
    """Camera at (0.15, 0), looking along x."""
    q = np.array([[0.0, 0.0, 0.0, 0.0, 0.0]])
    for target, expected in (
        ((1.15, 0), 1.0),
        ((1.15, 1), 0.0),
        ((-1, 0), 0.0),
        ((2.15, 1), 1 - 0.4636 / 0.7854),
    ):
        found = Context(ARM).visibility(q, np.array([target]), np.pi / 2)
        assert found == pytest.approx(expected, abs=1e-4)
    hidden = Context(ARM, (shape_of("circle", (0.7, 0.05, 0.06)),))
    assert hidden.visibility(q, np.array([[1.15, 0.0]]), np.pi / 2) == 0.0
    with pytest.raises(ValueError, match="7"):
        Context(ARM, view=7.0)


def test_forbidden_regions_and_the_whole_context_at_once():
    rows = DonutSampler(ARM, 0.05, 0.5).sample(H, 2000, np.random.default_rng(4))
    free = CONTEXT(rows.q, rows.target)
    forbidden = np.hypot(*(rows.q[:, :2] - (1.5, -0.9)).T) <= 0.4
    np.testing.assert_array_equal(CONTEXT.is_forbidden(rows.q[:, :3]), forbidden)
    touching = CONTEXT.clearance(rows.q, rows.target) <= 0.0
    unseen = CONTEXT.visibility(rows.q, rows.target, 1.5) == 0.0
    assert forbidden.any()
    assert touching.any()
    assert (unseen & ~touching & ~forbidden).any()
    np.testing.assert_array_equal(free == 1.0, ~(forbidden | touching | unseen))
    assert 0.1 < free.mean() < 0.9


def test_scores_by_hand():
    q = np.array([[0.6, 0.8, 0.1, 1.0, -0.75]])
    assert manipulability(q, ZERO) == pytest.approx(np.sin(0.75))
    assert limit_margin(ARM)(q, ZERO) == pytest.approx(min(2 * 1.0 / 4.0, 2 * 1.75 / 3.5))
    near = Context(ARM, (shape_of("circle", (0.6, 1.5, 0.1)),))
    gap = near.clearance(q, ZERO)
    assert clearance(near, 2.0)(q, ZERO) == pytest.approx(np.clip(gap / 2.0, 0, 1))
    terms = ((2.0, manipulability), (1.0, limit_margin(ARM)))
    total = 2 * np.sin(0.75) + 0.5
    assert Acceptance(terms).bound == 3.0
    assert Acceptance(terms)(q, ZERO) == pytest.approx(total / 3.0)
    assert Acceptance(terms, 1.8)(q, ZERO) == 1.0
    assert Acceptance(terms, 1.9)(q, ZERO) == 0.0


TERMS = (
    (1.0, manipulability),
    (1.0, limit_margin(ARM)),
    (0.5, clearance(CONTEXT)),
    (0.3, visibility(CONTEXT)),
)
EVERY = Acceptance(TERMS)


@pytest.mark.parametrize(
    "weights",
    [
        (CONTEXT, EVERY),
        pytest.param((EVERY,), marks=pytest.mark.slow),
        pytest.param((Acceptance(TERMS, 1.2),), marks=pytest.mark.slow),
    ],
)
def test_weighted_density_matches_its_samples(weights):
    """Against a random quadrature of its own: bases uniform in the ring, headings uniform."""
    sampler = DonutSampler(ARM, 0.05, 0.4)
    weighted = Weighted(sampler, weights, 100_000)
    rng = np.random.default_rng(5)
    n = 8000
    square = rng.uniform(sampler.r_min**2, sampler.r_max**2, n)
    r, phi = np.sqrt(square), rng.uniform(-np.pi, np.pi, n)
    delta = rng.uniform(-1.8, 1.8, n)
    base = np.column_stack([H[0] + r * np.cos(phi), H[1] + r * np.sin(phi), phi + np.pi + delta])
    theta, valid = ARM.ik_batch(base, H)
    i, side = np.nonzero(valid)
    q = np.column_stack([base[i], theta[i, side]])
    volume = np.pi * (sampler.r_max**2 - sampler.r_min**2) / n * 3.6
    mass = np.exp(weighted.log_density(q, H)) * volume
    assert mass.sum() == pytest.approx(1.0, abs=0.05)  # the chance error of the oracle
    rows = weighted.sample(H, 4000, rng)
    coin = rng.integers(2, size=4000)
    chosen = np.nonzero((rows.elbow < 0) == coin[rows.source])[0]
    share = np.bincount(_bins(q), mass, 16) / mass.sum()
    noise = np.bincount(_bins(q), mass**2, 16) / mass.sum() ** 2  # variance of the oracle's share
    counts = np.bincount(_bins(rows.q[chosen]), minlength=16)
    total = counts.sum()
    seen = share * total > 5
    variance = (share * total + noise * total**2)[seen]
    terms = (counts - share * total)[seen] ** 2 / variance
    assert chi2.sf(terms.sum(), seen.sum() - 1) > 1e-4


def _bins(q):
    """Eight directions by two elbows."""
    phi = np.arctan2(q[:, 1] - H[1], q[:, 0] - H[0])
    eighth = np.clip((phi + np.pi) / (np.pi / 4), 0, 7).astype(int)
    return 2 * eighth + (np.sin(q[:, -1]) > 0)


def test_where_nothing_is_free_nothing_has_a_density():
    weighted = Weighted(
        DonutSampler(ARM, 0.05, 0.1), (Context(ARM, (shape_of("circle", (*H, 0.1)),)),), 64
    )
    assert weighted.keep_rate(H) == 0.0
    assert len(weighted.sample(H, 100, np.random.default_rng(0))) == 0
    rows = weighted.sampler.sample(H, 10, np.random.default_rng(0))
    assert (weighted.log_density(rows.q, H) == -np.inf).all()


@pytest.mark.parametrize(
    ("make", "named"),
    [
        (lambda: shape_of("circle", (0, 0, -1.0)), "-1"),
        (lambda: shape_of("box", (0, 0, 1, 0)), "1 and 0"),
        (lambda: Acceptance(((-1.0, manipulability),)), "-1"),
        (lambda: Acceptance(TERMS, 9.0), "9"),
        (lambda: limit_margin(PlanarArm(1, 1)), "None"),
    ],
)
def test_bad_input_names_the_value(make, named):
    with pytest.raises(ValueError, match=named):
        make()
