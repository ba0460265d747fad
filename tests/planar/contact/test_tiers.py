"""Touch in one, two and three dimensions, from the same parameters, beside the closed form."""

import numpy as np
import pytest

from galley.bench.contact import tiers

ALLOWED = {  # m/s at the end, of speeds of 0.5 to 1.5 m/s
    "finger, 1D": 1e-5,  # a finger of 1 mg pushes on the slope
    "plane, 2D": 1e-2,
    "PyBullet, 3D": 4e-2,  # its impact is 5 % off
}


@pytest.mark.parametrize("name", list(tiers.CASES))
@pytest.mark.parametrize(
    "tier", [pytest.param(t, marks=pytest.mark.slow if "2D" in t else ()) for t in tiers.TIERS]
)
def test_the_tiers_agree_with_the_closed_form(tier, name):
    case = tiers.CASES[name]()
    off = tiers.RUNS[tier](case) - case.exact(case.times)
    assert abs(off[-1]) < ALLOWED[tier]
    assert np.median(np.abs(off)) < ALLOWED[tier]


@pytest.mark.parametrize("restitution", [0.1, 0.5, 0.9])
def test_damping_gives_the_restitution_that_it_is_asked_for(restitution):
    k_n, speed, mass, dt = 1e4, 0.7, 1.3, 1e-6
    k_d = tiers.damping_for(restitution, speed, k_n)
    d, v = 0.0, speed
    while d >= 0.0 and v > -speed:  # explicit, half a step apart
        v -= dt / mass * d * max(k_n + k_d * v, 0.0)
        d += dt * v
    assert -v == pytest.approx(restitution * speed, rel=1e-3)
