"""Covering spheres: they contain the hulls, reach no further than they say, and are kept."""

import itertools
import json
import logging

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import nnls

from galley.domain.meshes import hull
from galley.robots.iiwa import iiwa
from galley.robots.panda.description import panda_arm
from galley.robots.spheres import covering as covering_store
from galley.robots.spheres.covering import (
    as_text,
    cover,
    covering_of,
    digest,
    from_text,
    needed_radii,
    quick_cover,
)
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


@pytest.mark.slow
@pytest.mark.parametrize(("body", "excess"), SHIPPED)
def test_shipped_spheres_cover_their_links_and_reach_no_further_than_stated(
    body, excess, monkeypatch
):
    monkeypatch.setattr(covering_store, "cover", None)  # nothing is made here
    covering = covering_of(body, excess)
    assert covering.excess <= excess + 5e-6
    rng = np.random.default_rng(0)
    assert worst_point(body, covering, rng) <= 0.0
    k = rng.integers(len(covering.radii), size=60)
    out = rng.normal(size=(60, 3))
    out /= np.linalg.norm(out, axis=1)[:, None]
    ends = covering.centres[k] + covering.radii[k, None] * out
    assert max(distance_to_hull(ends, body)) <= covering.excess + 1e-6
    _, gap, _ = needed_radii(body, covering.centres, covering.radii)
    assert gap <= 0.0


@pytest.mark.parametrize(("body", "excess"), SHIPPED)
def test_clusters_hold_their_spheres(body, excess):
    covering = covering_of(body, excess)
    assert (np.diff(covering.cluster) >= 0).all()
    assert np.bincount(covering.cluster).max() <= 8
    assert np.bincount(covering.cluster).min() >= 1
    gap = np.linalg.norm(covering.centres - covering.cluster_centres[covering.cluster], axis=1)
    assert (gap + covering.radii <= covering.cluster_radii[covering.cluster]).all()


def test_radii_that_a_cube_needs_are_the_closed_form():
    body = hull(CUBE)
    need, _, _ = needed_radii(body, np.zeros((1, 3)), np.array([0.1]))
    assert need == pytest.approx([0.1 * np.sqrt(3.0)])
    need, out, corner = needed_radii(body, 0.5 * CUBE, np.full(8, 0.08))
    assert need == pytest.approx(np.full(8, 0.05 * np.sqrt(3.0)))
    assert out == pytest.approx(0.05 * np.sqrt(3.0) - 0.08)
    # Corners of the eight small cubes: the coordinates are -0.1, 0 or 0.1.
    assert np.abs(corner[:, None] - [-0.1, 0.0, 0.1]).min(axis=1).max() < 1e-12


@pytest.mark.parametrize("left_out", range(6))
def test_a_missing_sphere_is_noticed(left_out):
    body, excess = SHIPPED[6].values
    covering = covering_of(body, excess)
    keep = np.arange(len(covering.radii)) != left_out * len(covering.radii) // 6
    centres, radii = covering.centres[keep], covering.radii[keep]
    _, out, corner = needed_radii(body, centres, radii)
    assert out > 1e-5
    assert body.distance(corner) < 1e-9
    assert (np.linalg.norm(corner - centres, axis=1) > radii).all()


@pytest.mark.slow
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
    assert worst_point(body, covering, rng) <= 0.0
    assert covering.excess <= excess
    ends = covering.centres + covering.radii[:, None] * np.array([0.6, 0.0, 0.8])
    assert max(distance_to_hull(ends, body)) <= excess + 1e-6


def test_the_same_hull_gets_the_same_spheres():
    first, second = cover(hull(CUBE), 0.05), cover(hull(CUBE), 0.05)
    assert np.array_equal(first.centres, second.centres)
    assert np.array_equal(first.radii, second.radii)


def test_more_excess_needs_fewer_spheres():
    counts = [len(cover(hull(CUBE), excess).radii) for excess in (0.03, 0.05, 0.08)]
    assert counts[0] > counts[1] > counts[2] >= 1


@pytest.mark.parametrize("excess", [0.0, -0.01, 1e-5, float("nan")])
def test_an_excess_that_covers_nothing_is_refused(excess):
    with pytest.raises(ValueError, match="excess"):
        cover(hull(CUBE), excess)


def test_coverings_are_made_once_and_kept(tmp_path, monkeypatch, caplog):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    caplog.set_level(logging.INFO, logger="galley")
    made = covering_of(hull(CUBE), 0.05, "crate")
    assert "crate" in caplog.text
    files = list(tmp_path.rglob("*"))
    assert [f.name for f in files if f.is_file()] == [f"{digest(hull(CUBE), 0.05)}.json"]
    monkeypatch.setattr(covering_store, "cover", None)
    again = covering_of(hull(CUBE[::-1]), 0.05)
    assert np.array_equal(made.centres, again.centres)
    assert np.array_equal(made.radii, again.radii)
    assert worst_point(hull(CUBE), again, np.random.default_rng(0)) <= 0.0


@pytest.mark.parametrize("text", ["", "{}", "[1, 2]", '{"clusters": [], "excess": 3}', "\x00"])
def test_a_damaged_file_is_made_anew(text, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path = tmp_path / "galley" / "spheres" / f"{digest(hull(CUBE), 0.06)}.json"
    path.parent.mkdir(parents=True)
    path.write_text(text)
    covering = covering_of(hull(CUBE), 0.06)
    assert worst_point(hull(CUBE), covering, np.random.default_rng(0)) <= 0.0
    assert json.loads(path.read_text())["clusters"]


def test_a_folder_that_cannot_be_written_is_no_obstacle(tmp_path, monkeypatch):
    (tmp_path / "galley").write_text("a file where the folder should be")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert len(covering_of(hull(CUBE), 0.06).radii) > 0


def test_the_digest_is_of_hull_and_excess():
    assert digest(hull(CUBE), 0.05) == digest(hull(np.vstack([CUBE, 0.5 * CUBE])), 0.05)
    assert digest(hull(CUBE), 0.05) != digest(hull(CUBE), 0.051)
    assert digest(hull(CUBE), 0.05) != digest(hull(CUBE + np.array([1e-6, 0, 0])), 0.05)


def test_numbers_in_files_round_to_the_safe_side():
    made = cover(hull(CUBE), 0.06)
    again = from_text(as_text(made, "cube"))
    moved = np.linalg.norm(again.centres - made.centres, axis=1)
    assert (again.radii >= made.radii + moved).all()
    assert (again.radii <= made.radii + 3e-6).all()
    assert again.excess >= (again.radii + hull(CUBE).distance(again.centres)).max()


def test_a_quick_cover_is_proved_and_needs_few_more_spheres():
    body, excess = next(p.values for p in SHIPPED if p.id == "lbr_iiwa_link_7")
    quick = quick_cover(body, excess)
    _, out, _ = needed_radii(body, quick.centres, quick.radii)
    assert out <= 0.0
    assert quick.excess <= excess
    assert len(quick.radii) <= 1.2 * len(covering_of(body, excess).radii) + 1
    with pytest.raises(ValueError, match="too small"):
        quick_cover(body, 1e-5)


def test_a_quick_cover_of_a_hull_with_many_corners_covers_all_of_it():
    x = np.random.default_rng(0).normal(size=(800, 3))
    body = hull(x / np.linalg.norm(x, axis=1)[:, None] * [0.04, 0.05, 0.1])
    assert len(body.vertices) == 800
    quick = quick_cover(body, 0.01)
    _, out, _ = needed_radii(body, quick.centres, quick.radii)
    assert out <= 0.0
    assert quick.excess <= 0.01
