"""Curves proven free are free everywhere; what the proof refuses can be found there."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from galley.collision.collision_world import CollisionWorld
from galley.collision.view import steepest
from galley.robots.panda.description import panda_arm
from galley.robots.panda.models import mobile_panda
from galley.tests.collision.kernel.support import SLACK, DrakeOracle, random_world, within
from galley.tests.effort import examples


def random_curve(rng, low, high, pieces, degree=3):
    """Continuous pieces (n, degree + 1, k) over random spans, gently bent."""
    breaks = np.concatenate([[0.0], np.cumsum(rng.uniform(0.2, 1.5, pieces))])
    coefficients = np.zeros((pieces, degree + 1, len(low)))
    at = rng.uniform(low, high)
    for k, span in enumerate(np.diff(breaks)):
        coefficients[k, 0] = at
        for power in range(1, degree + 1):
            coefficients[k, power] = rng.uniform(-0.3, 0.3, len(low)) / span**power
        at = states(breaks, coefficients, np.array([breaks[k + 1] - 1e-12]))[0]
    return breaks, coefficients


def states(breaks, coefficients, t):
    piece = np.clip(np.searchsorted(breaks, t, side="right") - 1, 0, len(coefficients) - 1)
    local = (t - breaks[piece])[:, None]
    return sum(coefficients[piece, p] * local**p for p in range(coefficients.shape[1]))


@pytest.mark.parametrize(("make", "group"), [(panda_arm, "arm"), (mobile_panda, "base+arm")])
def test_what_is_proven_keeps_its_distance_in_drake_at_dense_states(make, group):
    robot = make()
    rng = np.random.default_rng(5)
    low, high = np.array([-1.0, -1.0, 0.0]), np.array([1.0, 1.0, 1.2])
    obstacles = random_world(3, 14, low, high, apart=0.45)
    world = CollisionWorld(robot, obstacles)
    rest = np.clip(np.zeros(robot.size), *within(robot))
    view, oracle = world.view(group, rest), DrakeOracle(robot, obstacles)
    limits = within(robot, group)
    proven = refused = 0
    for _ in range(400):
        breaks, coefficients = random_curve(rng, *limits, pieces=3)
        t = view.curve_unproven(breaks, coefficients, 0.003)
        if t is None:
            proven += 1
            if proven > 12:
                break
            q = np.array(rest)
            for state in states(breaks, coefficients, np.linspace(0.0, breaks[-1], 120)):
                q[view.moving] = state
                for pair, distance in oracle.distances(q).items():
                    own = all(name in robot.links for name in pair)
                    assert distance >= (0.0 if own else 0.003) - SLACK, (pair, state)
        else:
            refused += 1
            # There is a reason: what is required is missed, or almost, at that very state.
            state = states(breaks, coefficients, np.array([t]))
            near = view.nearby(state, 0.003)
            assert len(near.row)
            assert (near.distance - np.minimum(near.required, 0.003)).min() < 0.002
    assert proven > 5
    assert refused > 5


def test_a_straight_edge_and_the_same_line_in_curved_time_get_the_same_verdict():
    robot = panda_arm()
    obstacles = random_world(8, 12, np.array([-0.8, -0.8, 0.1]), np.array([0.8, 0.8, 1.0]), 0.3)
    view = CollisionWorld(robot, obstacles).view("arm")
    rng = np.random.default_rng(2)
    free = rng.uniform(*within(robot, "arm"), (3000, 7))
    free = free[view.free_many(free)][:160]
    verdicts = []
    for a, b in zip(free[::2], free[1::2], strict=True):
        law = np.array([0.0, 0.0, 3.0, -2.0])
        coefficients = law[:, None] * (b - a)
        coefficients[0] += a
        straight = view.unproven(np.array([a, b]), 0.0025) is None
        curved = view.curve_unproven([0.0, 1.0], coefficients[None], 0.0025) is None
        assert straight == curved
        verdicts.append(straight)
    assert 0 < sum(verdicts) < len(verdicts)


@settings(deadline=None, max_examples=examples(60))
@given(st.integers(0, 10**6), st.integers(0, 7))
def test_the_bound_on_derivatives_holds_and_is_tight_for_lines(seed, degree):
    rng = np.random.default_rng(seed)
    pieces = rng.normal(size=(2, degree + 1, 3))
    bound = steepest(pieces)
    u = np.linspace(0.0, 1.0, 101)
    for n in range(2):
        for k in range(3):
            slope = np.polynomial.Polynomial(pieces[n, :, k]).deriv()(u)
            assert np.abs(slope).max() <= bound[n, k] * (1.0 + 1e-12) + 1e-12
            if degree == 1:
                assert bound[n, k] == pytest.approx(abs(pieces[n, 1, k]))
