"""Covering spheres: they contain the hulls, and reach no further than they say."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from galley.domain.meshes import hull
from galley.robots.iiwa import iiwa
from galley.robots.panda.description import panda_arm
from galley.robots.spheres import covering as coverings
from galley.robots.spheres.covering import cover, covering_of, power_cells
from galley.robots.urdf_reader import link_shapes

CUBE = np.array(list(itertools.product((-0.1, 0.1), repeat=3)))


def robot_links(robot):
    rules = dict(robot.sphere_excess)
    return [
        pytest.param(shape.hull, rules.get(shape.link, rules["*"]), id=shape.link)
        for shape in link_shapes(robot.urdf)
        if shape.hull is not None
    ]


SHIPPED = [*robot_links(panda_arm()), *robot_links(iiwa())]


def outside(points, covering):
    """How far each point is outside the union of the spheres (n,)."""
    gap = np.full(len(points), np.inf)
    for centre, radius in zip(covering.centres, covering.radii, strict=True):
        np.minimum(gap, np.linalg.norm(points - centre, axis=1) - radius, out=gap)
    return gap


def worst_point(body, covering, rng, count=20_000):
    """The largest ``outside`` that a search inside the hull finds: random points, then about them.

    Points are mixtures of the hull's corners, so this knows nothing of half-spaces.
    """

    def mixtures():
        some = body.vertices[rng.integers(len(body.vertices), size=(count, 4))]
        return np.einsum("nk,nkd->nd", rng.dirichlet(np.full(4, 0.3), count), some)

    points = np.vstack([body.vertices, mixtures()])
    worst = -np.inf
    for share in (0.3, 0.1, 0.03, 0.01, 0.003):
        gap = outside(points, covering)
        worst = max(worst, gap.max())
        best = points[np.argsort(gap)[-count // 20 :]]
        points = (1.0 - share) * np.repeat(best, 20, axis=0) + share * mixtures()
    return max(worst, outside(points, covering).max())


def distance_to_hull(points, body):
    """Distance of each point from the hull of the corners, by non-negative least squares."""
    A = np.vstack([body.vertices.T, np.full(len(body.vertices), 100.0)])  # weights sum to one
    return [nnls(A, np.array([*x, 100.0]))[1] for x in points]


def unproved(body, centres, radii):
    """How far the worst corner of a power cell is outside its sphere."""
    kept, cells = power_cells(body, centres, radii)
    gaps = (
        np.linalg.norm(cell - centres[k], axis=1).max() - radii[k]
        for k, cell in zip(kept, cells, strict=True)
    )
    return max(gaps)


@pytest.mark.parametrize(("body", "excess"), SHIPPED)
def test_shipped_spheres_cover_their_links_and_reach_no_further_than_stated(
    body, excess, monkeypatch
):
    monkeypatch.setattr(coverings, "cover", None)  # nothing is made here
    covering = covering_of(body, excess)
    assert covering.excess <= excess + 5e-6
    rng = np.random.default_rng(0)
    assert worst_point(body, covering, rng, 3000) <= 0.0
    k = rng.integers(len(covering.radii), size=20)
    out = rng.normal(size=(20, 3))
    out /= np.linalg.norm(out, axis=1)[:, None]
    ends = covering.centres[k] + covering.radii[k, None] * out
    assert max(distance_to_hull(ends, body)) <= covering.excess + 1e-6

    assert (np.diff(covering.cluster) >= 0).all()
    assert np.bincount(covering.cluster).min() >= 1
    assert np.bincount(covering.cluster).max() <= 8
    gap = np.linalg.norm(covering.centres - covering.cluster_centres[covering.cluster], axis=1)
    assert (gap + covering.radii <= covering.cluster_radii[covering.cluster]).all()


@pytest.mark.slow
@pytest.mark.parametrize(("body", "excess"), SHIPPED)
def test_shipped_spheres_are_proved_to_cover_and_few(body, excess):
    covering = covering_of(body, excess)
    assert unproved(body, covering.centres, covering.radii) <= 0.0
    assert len(cover(body, excess).radii) <= 1.4 * len(covering.radii) + 2


def test_cells_of_a_cube_are_the_closed_form():
    body = hull(CUBE)
    kept, cells = power_cells(body, 0.5 * CUBE, np.full(8, 0.08))
    assert kept == list(range(8))
    for k, cell in enumerate(cells):  # the small cube in that corner, its corners several times
        found = np.unique(np.round(cell, 9) + 0.0, axis=0)
        assert np.array_equal(found, np.unique(0.5 * (CUBE[k] + CUBE), axis=0))
    centres = np.array([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.09, 0.0, 0.0]])
    kept, _ = power_cells(body, centres, np.array([0.1, 0.2, 0.01]))
    assert kept == [1]  # it hides the smaller one about the same point, and all of the last


@pytest.mark.parametrize("left_out", range(3))
def test_a_missing_sphere_is_noticed(left_out):
    body, excess = SHIPPED[6].values
    covering = covering_of(body, excess)
    keep = np.arange(len(covering.radii)) != left_out * len(covering.radii) // 3
    assert unproved(body, covering.centres[keep], covering.radii[keep]) > 1e-5


@settings(max_examples=4, deadline=None, derandomize=True)
@given(
    seed=st.integers(0, 1000),
    corners=st.integers(4, 14),
    stretch=st.sampled_from([(1.0, 1.0, 1.0), (1.0, 0.4, 0.2), (1.0, 1.0, 0.15)]),
)
def test_random_hulls_are_covered_within_the_excess(seed, corners, stretch):
    rng = np.random.default_rng(seed)
    body = hull(rng.normal(size=(corners, 3)) * stretch * 0.05 + rng.normal(size=3))
    excess = 0.025
    covering = cover(body, excess)
    assert worst_point(body, covering, rng, 2000) <= 0.0
    assert covering.excess <= excess
    ends = covering.centres + covering.radii[:, None] * np.array([0.6, 0.0, 0.8])
    assert max(distance_to_hull(ends, body)) <= excess + 1e-6


def test_the_same_hull_gets_the_same_spheres_and_more_excess_fewer():
    first, second = cover(hull(CUBE), 0.05), cover(hull(CUBE), 0.05)
    assert np.array_equal(first.centres, second.centres)
    assert np.array_equal(first.radii, second.radii)
    counts = [len(cover(hull(CUBE), excess).radii) for excess in (0.04, 0.06, 0.08)]
    assert counts[0] > counts[1] > counts[2] >= 1


@pytest.mark.parametrize("excess", [0.0, -0.01, 1e-5, float("nan")])
def test_an_excess_that_covers_nothing_is_refused(excess):
    with pytest.raises(ValueError, match="excess"):
        cover(hull(CUBE), excess)
