"""The numbers of the pictures of p(Q | H), against quadrature, samples and each other."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from galley.planar.reach import DonutSampler, PlanarArm, pictures

FREE = DonutSampler(PlanarArm(1.0, 0.8), 0.05, 0.3)
LIMITED = replace(FREE, arm=PlanarArm(1.0, 0.8, ((-1.2, 2.0), (-2.4, 2.4))))
SAMPLERS = {"free": FREE, "limits": LIMITED, "any heading": replace(LIMITED, heading_sigma=9.0)}


def mass(plane, name="true density"):
    return (plane.densities[name] * np.outer(np.diff(plane.y), np.diff(plane.x))).sum()


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
