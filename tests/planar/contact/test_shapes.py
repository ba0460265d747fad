"""Signed distances against brute force, their gradients, moments, and shapes that are refused."""

import jax
import numpy as np
import pytest

from galley.planar.contact import (
    Body2D,
    Box,
    Circle,
    HalfPlane,
    Moved,
    Polygon,
    Rounded,
    regular_polygon,
)

L_SHAPE = [[0, 0], [2, 0], [2, 1], [1, 1], [1, 3], [0, 3]]
SQUARE = [[0, 0], [1, 0], [1, 1], [0, 1]]
SHAPES = {
    "circle": Circle(0.8),
    "box": Box((0.7, 0.4)),
    "hexagon": regular_polygon(6, 0.9),
    "L": Polygon(L_SHAPE),
    "L clockwise": Polygon(L_SHAPE[::-1]),
    "rounded box": Rounded(Box((0.5, 0.3)), 0.2),
    "rounded L": Rounded(Polygon(L_SHAPE), 0.1),
    "moved box": Moved(Box((0.7, 0.4)), (0.3, -0.2, 0.6)),
}


def dense_edge(shape, count=1000):
    """Points so near to one another on the edge that the nearest is the distance, to 2e-3."""
    if isinstance(shape, Moved):
        x, y, angle = shape.pose
        c, s = np.cos(angle), np.sin(angle)
        return dense_edge(shape.shape) @ np.array([[c, s], [-s, c]]) + [x, y]
    if isinstance(shape, Circle):
        angle = np.linspace(0, 2 * np.pi, count)
        return shape.radius * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    a = np.asarray(shape.vertices)
    share = np.linspace(0, 1, count)[:, None, None]
    return (a + share * (np.roll(a, -1, axis=0) - a)).reshape(-1, 2)


def encloses(edge_vertices, p):
    """Whether a polygon has a point inside, by the angles that its edges take up."""
    a = np.asarray(edge_vertices) - p
    b = np.roll(a, -1, axis=0)
    turned = np.arctan2(a[:, 0] * b[:, 1] - a[:, 1] * b[:, 0], np.sum(a * b, axis=1))
    return abs(np.sum(turned)) > 3.0


@pytest.fixture(scope="module")
def surfaces():
    """Distance and gradient of each shape, compiled, for 600 points or fewer."""

    def evaluate(name, points):
        repeated = np.resize(np.asarray(points, dtype=float), (600, 2))  # all of one compilation
        with jax.enable_x64(True):
            both = jax.jit(jax.vmap(jax.value_and_grad(SHAPES[name].distance)))
            return [np.asarray(each)[: len(points)] for each in both(repeated)]

    return evaluate


@pytest.mark.parametrize("name", SHAPES)
def test_distance_is_that_of_the_nearest_point_of_the_edge(name, surfaces):
    points = np.random.default_rng(0).uniform(-2, 4, (600, 2))
    psi, slope = surfaces(name, points)
    shape = SHAPES[name]
    core, radius = (shape.core, shape.radius) if isinstance(shape, Rounded) else (shape, 0.0)
    edge = dense_edge(core)
    near = np.min(np.linalg.norm(points[:, None] - edge, axis=2), axis=1)
    outline = edge if isinstance(core, (Circle, Moved)) else core.vertices
    if isinstance(core, Moved):
        x, y, angle = core.pose
        c, s = np.cos(angle), np.sin(angle)
        outline = np.asarray(core.shape.vertices) @ np.array([[c, s], [-s, c]]) + [x, y]
    inside = np.array([encloses(outline, p) for p in points])
    assert 5 < inside.sum() < 550
    assert psi == pytest.approx(np.where(inside, -near, near) - radius, abs=2e-3)
    assert np.linalg.norm(slope, axis=1) == pytest.approx(np.ones(600), abs=1e-12)
    # A step down the gradient ends on the edge, as exactly as numbers allow.
    back, _ = surfaces(name, points - psi[:, None] * slope)
    outer = ~inside | isinstance(shape, Circle)
    assert back[outer] == pytest.approx(np.zeros(outer.sum()), abs=1e-12)


@pytest.mark.parametrize("name", SHAPES)
def test_gradients_are_finite_at_kinks_and_corners(name, surfaces):
    shape = SHAPES[name]
    with jax.enable_x64(True):
        edge = np.asarray(shape.perimeter(12))
    special = np.concatenate([edge, [[0, 0], [0.3, -0.2], [0, 0.1], [1, 1], [0.35, 0.05]]])
    psi, slope = surfaces(name, special)
    assert np.all(np.isfinite(psi))
    assert np.all(np.isfinite(slope))
    if name == "rounded L":  # at the reflex corner its points are inside
        assert np.sum(np.abs(psi[: len(edge)]) > 1e-12) == 3
        assert np.all(psi[: len(edge)] < 1e-12)
    else:
        assert psi[: len(edge)] == pytest.approx(np.zeros(len(edge)), abs=1e-12)
    sizes = np.linalg.norm(slope[: len(edge)], axis=1)
    assert sizes == pytest.approx(np.ones(len(edge)), abs=1e-12)


@pytest.mark.parametrize("name", ["circle", "L clockwise", "moved box"])
def test_moments_are_those_of_many_small_squares(name):
    shape = SHAPES[name]
    axis = np.arange(-2, 3.5, 0.02) + 0.01
    grid = np.stack(np.meshgrid(axis, axis), axis=-1).reshape(-1, 2)
    with jax.enable_x64(True):
        psi = np.asarray(jax.jit(jax.vmap(shape.distance))(grid))
        area, centroid, second = (np.asarray(each) for each in shape.moments())
    inside = grid[psi < 0]
    assert area == pytest.approx(len(inside) * 0.02**2, rel=0.02)
    assert centroid == pytest.approx(inside.mean(axis=0), abs=0.01)
    assert second == pytest.approx(np.mean(np.sum((inside - centroid) ** 2, axis=1)), rel=0.02)


def test_a_body_has_its_origin_at_the_centre_of_mass():
    from galley.planar.geometry.polygon import SimplePolygon as Outline

    for vertices in (L_SHAPE, L_SHAPE[::-1]):
        body = Body2D(Polygon(vertices), mass=2.0)
        found = Outline(vertices).mass_properties(2.0)
        assert float(body.inertia) == pytest.approx(found.inertia, rel=1e-12)
        with jax.enable_x64(True):
            corners = np.asarray(body.shape.perimeter(1))
        assert corners == pytest.approx(np.array(vertices) - found.centroid, abs=1e-12)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Circle(0.0), "radius = 0.0 m: must be a number greater than 0"),
        (lambda: Box((1.0, -0.5)), "half_size = -0.5"),
        (lambda: HalfPlane((0.0, 0.0)), "direction"),
        (lambda: Polygon([[0, 0], [1, 0]]), "n >= 3"),
        (lambda: Polygon([*SQUARE, SQUARE[-1]]), "leave one out"),
        (lambda: regular_polygon(2, 1.0), "n >= 3"),
        (lambda: Rounded(Box((1.0, 1.0)), -1.0), "radius"),
        (lambda: Body2D(Circle(1.0), mass=0.0), "mass = 0"),
        (lambda: Body2D(Circle(1.0), mass=1.0, inertia=0.0), "inertia = 0"),
        (lambda: Body2D(HalfPlane(), mass=1.0), "inertia"),
        (lambda: Body2D(Circle(1.0), velocity=(1, 0, 0)), "velocity"),
        (lambda: Body2D(Circle(1.0), mass=1.0, pose=(0, 0)), "pose"),
    ],
)
def test_bad_shapes_and_bodies_are_refused_by_name(make, words):
    with pytest.raises(ValueError, match=words):
        make()
