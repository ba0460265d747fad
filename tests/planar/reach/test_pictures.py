"""The numbers of the pictures of p(Q | H), against quadrature, samples and each other."""

from __future__ import annotations

from dataclasses import replace
from math import pi

import numpy as np
import pytest

from galley.planar.reach import DonutSampler, PlanarArm, pictures, scores, uniform_targets

FREE = DonutSampler(PlanarArm(1.0, 0.8), 0.05, 0.3)
LIMITED = replace(FREE, arm=PlanarArm(1.0, 0.8, ((-1.2, 2.0), (-2.4, 2.4))))
SAMPLERS = {
    "free": FREE,
    "limits": LIMITED,
    "any heading": replace(LIMITED, heading_sigma=9.0),
}


def mass(plane, name="true density"):
    return (plane.densities[name] * np.outer(np.diff(plane.y), np.diff(plane.x))).sum()


@pytest.mark.parametrize("name", SAMPLERS)
def test_true_densities_integrate_to_one(name):
    sampler = SAMPLERS[name]
    assert mass(pictures.base_plane(sampler, {}, 160)) == pytest.approx(1.0, abs=0.01)
    assert mass(pictures.joint_plane(sampler, {}, 160)) == pytest.approx(1.0, abs=0.015)


@pytest.mark.parametrize("name", SAMPLERS)
def test_true_densities_are_those_of_the_samples(name):
    """Each cell's count against its expected one: the mean of z^2 is near 1."""
    sampler = replace(SAMPLERS[name])
    rows = sampler.sample((0.5, -1.0), 60_000, np.random.default_rng(3))
    for make in (pictures.base_plane, pictures.joint_plane):
        plane = make(sampler, {"drawn": rows}, 40)
        area = np.outer(np.diff(plane.y), np.diff(plane.x))
        expected = plane.densities["true density"] * area * len(rows)
        drawn = plane.densities["drawn"] * area * len(rows)
        assert mass(plane, "drawn") == pytest.approx(1.0)
        inner = expected > 20.0  # cells within, not those that a rim cuts
        z = (drawn - expected)[inner] / np.sqrt(expected[inner])
        assert inner.sum() > 100
        # Two rows of a base share its cell, which doubles the variance of the base's counts.
        assert np.median(np.abs(z)) < 2.0
        assert abs(z.mean()) < 0.25


def test_poses_are_relative_to_the_target():
    rows = FREE.sample((3.0, 4.0), 500, np.random.default_rng(0))
    base = pictures.poses(rows)
    np.testing.assert_array_equal(base[:, :2] + (3.0, 4.0), rows.q[:, :2])
    np.testing.assert_array_equal(base[:, 2], rows.q[:, 2])


def test_coverage_targets_are_uniform_and_hands_are_not():
    rng, bounds = np.random.default_rng(1), ((-2.0, 2.0), (-1.0, 3.0))
    rows = FREE.sample(uniform_targets(bounds, 40_000, rng), 40_000, rng)
    hands, targets, _ = pictures.coverage(rows, FREE.arm, bounds, rng).values()
    edges = [np.linspace(low, high, 9) for low, high in bounds]

    def spread(each):
        counts = np.histogram2d(*each.T, edges)[0]
        return counts.std() / counts.mean()

    assert spread(targets) < 0.06
    assert spread(hands) > 0.15
    # Hands are base + arm, so that they are symmetric about the middle of the bounds.
    assert hands.mean(axis=0) == pytest.approx([0.0, 1.0], abs=0.05)


def test_keep_rates_agree_within_their_error():
    rates = pictures.keep_rates(LIMITED, 4000, np.random.default_rng(5), count=9)
    np.testing.assert_array_equal(rates.at, rates.sigma[::4])
    assert (np.abs(rates.sampled - rates.closed[::4]) < 4.5 * rates.error).all()
    (low, high), _ = LIMITED.arm.limits
    wide = replace(LIMITED, arm=PlanarArm(1.0, 0.8, ((-pi, pi), LIMITED.arm.limits[1])))
    # With any heading theta1 is uniform.
    uniform = (high - low) / (2 * pi) * np.mean(wide.keep_rates)
    assert rates.closed[-1].mean() == pytest.approx(uniform, abs=0.005)


@pytest.mark.slow
def test_every_picture_is_written(tmp_path):
    from PIL import Image

    rows = LIMITED.sample((0.0, 0.0), 300, np.random.default_rng(0))
    planes = [pictures.base_plane(LIMITED, {"a": rows}, 24)]
    pictures.draw_donut(tmp_path / "donut.png", rows, LIMITED)
    pictures.draw_joints(tmp_path / "joints.png", rows, LIMITED)
    pictures.draw_densities(tmp_path / "density.png", planes, [("x", "y", "z")])
    points = pictures.coverage(rows, LIMITED.arm, ((-1, 1), (-1, 1)), np.random.default_rng(0))
    pictures.draw_coverage(tmp_path / "coverage.png", points, ((-1, 1), (-1, 1)), 1.8)
    for each in ("donut", "joints", "density", "coverage"):
        with Image.open(tmp_path / f"{each}.png") as image:
            assert min(image.size) > 300


def test_scores_move_the_bases_as_they_say():
    rng = np.random.default_rng(2)
    scored = {"manipulability": scores.manipulability, "area": scores.area(LIMITED.arm)}
    plane, shares = pictures.scored_plane(LIMITED, scored, 40_000, rng)
    assert list(plane.densities) == list(shares) == ["no score", "manipulability", "area"]
    x, y = np.meshgrid(*(0.5 * (e[1:] + e[:-1]) for e in (plane.x, plane.y)))
    weights = {name: d / d.sum() for name, d in plane.densities.items()}
    r = np.hypot(x, y)
    rows = LIMITED.sample((0.0, 0.0), 40_000, rng)
    sine, distance = np.abs(np.sin(rows.q[:, 4])), np.hypot(*rows.q[:, :2].T)
    # The spread of r under the density p w / mean, by importance weights.
    every = {"no score": np.ones(len(sine)), "manipulability": sine, "area": distance / 1.8}
    for name, weight in every.items():
        wanted = np.average((distance - 1.2) ** 2, weights=weight)
        assert (weights[name] * (r - 1.2) ** 2).sum() == pytest.approx(wanted, abs=0.004)
        assert shares[name] == pytest.approx(weight.mean(), abs=0.01)
    assert (weights["no score"] * x).sum() == pytest.approx(0.0, abs=0.02)
