"""Arrangements by branch and bound, held against closed forms, grids and layouts made to fit."""

import itertools

import numpy as np
import pytest
import shapely
import shapely.affinity
from hypothesis import given, settings
from hypothesis import strategies as st

from galley.skills.placing.arrangements import TOUCHING, Outline, arrange
from galley.skills.placing.footprints import placed
from galley.skills.placing.packing import GAP, packable
from galley.tests.effort import quick_first
from galley.tests.skills.placing.test_placements import box_item, can_item, region_of

# The least square (side 1: of the squares; radius 1: of the circles) that holds a number of them.
# E. Friedman, Packing unit squares in squares (1998); H. Melissen, Packing and covering with
# circles (1997).
SQUARES = {2: 2.0, 3: 2.0, 4: 2.0, 5: 2.0 + np.sqrt(0.5)}
CIRCLES = {
    2: 2.0 + np.sqrt(2.0),
    3: 2.0 + np.sqrt(0.5) + np.sqrt(1.5),
    4: 4.0,
    5: 2.0 + np.sqrt(8.0),
    6: 2.0 + 12.0 / np.sqrt(13.0),
}
CORNERS = np.array([[1, 1], [-1, 1], [-1, -1], [1, -1]])
CUBE, TIN, STICK, BLOCK = (
    box_item((*size, 0.1)) for size in ((0.065, 0.065), (0.05, 0.097), (0.16, 0.02), (0.05, 0.05))
)
# A cube and a tin in a row are 0.162 m long; beside a strip across 0.14 m, a square has 0.063 m.
CASES = {
    "three cubes and a tin": ([CUBE] * 3 + [TIN], (0.14, 0.14), False),
    "the same with 15 mm more": ([CUBE] * 3 + [TIN], (0.155, 0.155), False),
    "the same with 28 mm more": ([CUBE] * 3 + [TIN], (0.168, 0.168), True),
    "four cubes with gaps": ([CUBE] * 4, (0.14, 0.14), True),
    "three cubes and a stick": ([CUBE] * 3 + [STICK], (0.14, 0.14), False),
    "two blocks and a stick across": ([BLOCK] * 2 + [STICK], (0.14, 0.14), True),
    "two cubes and a stick across": ([CUBE] * 2 + [STICK], (0.14, 0.14), False),
    "two tins side by side": ([TIN] * 2 + [CUBE], (0.18, 0.1), True),
    "two tins and a cube": ([TIN] * 2 + [CUBE], (0.13, 0.13), False),
    "five blocks, one askew": ([BLOCK] * 5, (0.15, 0.15), True),
}


@pytest.mark.parametrize("case", CASES)
def test_items_that_leave_little_room_are_arranged_or_refused(case):
    items, sides, fits = CASES[case]
    assert packable(items, region_of(sides), (), np.random.default_rng(0)) is fits


@pytest.mark.parametrize("kind", ["squares", "circles"])
def test_equal_squares_and_circles_are_refused_up_to_the_least_square_that_holds_them(kind):
    known, size, item = {
        "squares": (SQUARES, 0.06, box_item((0.06, 0.06, 0.1))),
        "circles": (CIRCLES, 0.033, can_item(0.033, 0.1)),
    }[kind]
    for count, least in known.items():
        for side, fits in ((0.95 * least * size, False), (1.06 * least * (size + GAP), True)):
            region = region_of((side, side))
            assert packable([item] * count, region, (), np.random.default_rng(0)) is fits


def polygon(corners, x, y, yaw):
    turned = shapely.affinity.rotate(shapely.Polygon(corners), yaw, (0.0, 0.0), use_radians=True)
    return shapely.affinity.translate(turned, x, y)


def check(found, bodies, sides, posts=()):
    """What was arranged lies inside and apart, says shapely."""
    laid = [polygon(body, *pose) for body, pose in zip(bodies, found, strict=True)]
    inside = shapely.box(0.0, 0.0, *sides).buffer(1e-6)
    assert all(inside.contains(each) for each in laid)
    for a, b in itertools.combinations([*laid, *posts], 2):
        assert a in posts or not a.buffer(-1.1 * TOUCHING).intersects(b)


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 6))
def test_pieces_of_a_box_are_never_proven_not_to_fit_into_it(seed, count):
    """Cut straight through until there are enough: they fill it, and touch each other."""
    rng = np.random.default_rng(seed)
    sides = rng.uniform(0.1, 0.25, 2)
    sizes = [sides]
    while len(sizes) < count:
        size = sizes.pop(int(np.argmax(np.prod(sizes, axis=1))))
        along = np.arange(2) == int(size[1] > size[0])
        share = rng.uniform(0.3, 0.7)
        sizes += [np.where(along, share * size, size), np.where(along, (1.0 - share) * size, size)]
    bodies = [CORNERS * size / 2.0 for size in sizes]
    found = arrange(tuple(Outline.of(body, body) for body in bodies), (), tuple(sides), 50_000)
    assert not isinstance(found, int)
    if found is not None:
        check(found, bodies, sides)


@pytest.mark.parametrize("seed", quick_first(6, range(30)))
def test_beside_posts_an_item_has_room_exactly_where_a_grid_of_poses_says_so(seed):
    rng = np.random.default_rng(seed)
    sides, half = rng.uniform(0.10, 0.14, 2), rng.uniform(0.01, 0.05, 2)
    posts = [
        polygon(CORNERS * [0.02, 0.01], *rng.uniform(0.0, sides), rng.uniform(0.0, np.pi))
        for _ in range(3)
    ]
    fixed = tuple(np.array(post.exterior.coords)[:-1].tobytes() for post in posts)
    found = arrange((Outline.of(CORNERS * half, CORNERS * half),), fixed, tuple(sides), 100_000)
    step, turns = 0.004, 30
    # The nearest pose of the grid moves no corner by more than this.
    moved = step / np.sqrt(2.0) + np.hypot(*half) * np.pi / turns / 2.0

    def possible(corners):
        yaw = np.arange(turns) * np.pi / turns
        poses = np.stack(np.meshgrid(*(np.arange(0.0, s, step) for s in sides), yaw), -1)
        laid = placed(corners, poses.reshape(-1, 3))
        laid = laid[((laid >= 0.0) & (laid <= sides)).all(axis=(1, 2))]
        return not shapely.intersects(shapely.union_all(posts), shapely.polygons(laid)).all()

    if isinstance(found, int):
        assert not possible(CORNERS * half)
    else:
        assert possible(CORNERS * np.maximum(half - moved, 1e-4))
    if isinstance(found, np.ndarray):
        check(found, [CORNERS * half], sides, posts)
