"""Gradients through steps and contacts against central differences."""

import sys
from importlib import import_module

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from galley.planar.contact import (
    Body2D,
    Box,
    Circle,
    Contact,
    HalfPlane,
    Polygon,
    World,
    simulate,
    value_and_gradient,
)

STEPS, H = 25, 0.02
HEXAGON = 0.5 * np.stack([np.cos(np.arange(6) * np.pi / 3), np.sin(np.arange(6) * np.pi / 3)], 1)
L_SHAPE = 0.5 * np.array([[0, 0], [2, 0], [2, 1], [1, 1], [1, 2], [0, 2]])

PARAMETERS = {
    "mass": 0.4,
    "friction": 0.3,
    "stiffness": 800.0,
    "damping": 60.0,
    "size": 1.0,
    "pose": np.array([0.0, 0.55, 0.2]),
    "velocity": np.array([1.0, -1.0, 0.5]),
}


def cost_of(shape, count):
    """Of the last pose and of all contact forces; ``outline`` is what the shape is made of."""

    def cost(p, outline):
        body = Body2D(shape(p["size"] * outline), p["mass"], pose=p["pose"], velocity=p["velocity"])
        contact = Contact(p["stiffness"], p["damping"], 100.0, p["friction"], count=count)
        run = simulate(World([body, Body2D(HalfPlane())], contact), p["controls"], H)
        force = jnp.sum(run.contacts.force[1:] ** 2) / STEPS
        return jnp.sum(run.pose[-1, 0] * jnp.array([1.0, 2.0, 0.5])) + 0.1 * force

    return cost


CASES = {
    "circle": (Circle, 1, np.array(0.5)),
    "circle, three points": (Circle, 3, np.array(0.5)),
    "box": (Box, 8, np.array([0.5, 0.4])),
    "hexagon": (Polygon, 12, HEXAGON),
    "L": (Polygon, 12, L_SHAPE),
}


@pytest.fixture(scope="module")
def evaluate():
    """One compiled gradient for each kind of shape: hexagon and L share theirs."""
    known = {}

    def run(name, p):
        shape, count, outline = CASES[name]
        if (shape, count) not in known:
            known[shape, count] = value_and_gradient(cost_of(shape, count))
        return known[shape, count](p, outline)

    return run


@pytest.mark.parametrize(
    "name", [each if each == "L" else pytest.param(each, marks=pytest.mark.slow) for each in CASES]
)
def test_gradients_are_those_of_central_differences(name, evaluate):
    rng = np.random.default_rng(3)
    controls = rng.normal(0, 1.0, (STEPS, 3)) * [1.0, 1.0, 0.1]
    p = {**PARAMETERS, "controls": controls}
    _, gradient = evaluate(name, p)
    for key, value in p.items():
        value = np.asarray(value)
        # Along one direction each: all the numbers of an array at once.
        direction = rng.normal(size=value.shape) if value.ndim else np.array(1.0)
        step = 1e-6 * max(1.0, float(np.max(np.abs(value))))
        ends = [
            evaluate(name, {**p, key: value + sign * step * direction})[0] for sign in (1.0, -1.0)
        ]
        difference = (ends[0] - ends[1]) / (2.0 * step)
        assert np.sum(gradient[key] * direction) == pytest.approx(difference, rel=1e-5), key
        assert difference != 0.0


def sliding(p):
    contact = Contact(2e3, 100.0, 100.0, p["friction"], softness=1e-3)
    body = Body2D(Circle(0.2), mass=p["mass"], pose=(0, 0.3, 0), velocity=(1.5, 0, 0))
    return World([body, Body2D(HalfPlane())], contact)


def test_transformed_without_float64_it_says_what_to_do():
    def height(u):
        return simulate(sliding({"mass": 1.0, "friction": 0.1}), u).pose[-1, 0, 1]

    with pytest.raises(TypeError, match="enable_x64"):
        jax.grad(height)(jnp.zeros((3, 3)))


def test_without_the_extra_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "equinox", None)
    for name in [each for each in sys.modules if each.startswith("galley.planar.contact")]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ImportError, match=r"needs equinox: pip install 'galley-tamp\[planar\]'"):
        import_module("galley.planar.contact")
