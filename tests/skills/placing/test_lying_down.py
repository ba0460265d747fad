"""Items that may lie: which faces fit where, against all 24 axis-parallel orientations of a box."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from galley.domain.frames import rotation_z, transform
from galley.domain.scene.stable_poses import allowed_poses, heading_axis
from galley.domain.state import initial_state
from galley.motion.motion import yaw_of
from galley.skills.infeasibility.refusals import does_not_fit
from galley.skills.placing.packing import in_every_pose, packing_certificate, turned_together
from galley.skills.placing.placements import placements_in
from galley.tests.skills.placing.test_placements import box_item, region_of

side = st.sampled_from([0.04, 0.06, 0.09, 0.14, 0.19])


def orientations():
    """The 24 rotations (3, 3) that map axes to axes."""
    for order in itertools.permutations(range(3)):
        for signs in itertools.product((1.0, -1.0), repeat=3):
            R = np.zeros((3, 3))
            R[range(3), order] = signs
            if np.linalg.det(R) > 0.0:
                yield R


def test_an_item_is_pushed_to_the_yaw_by_which_its_place_is_judged():
    item = replace(box_item((0.04, 0.06, 0.09)), upright=False)
    for R in orientations():
        X_WI = transform(rotation_z(0.3) @ R)
        x, y = X_WI[:2, heading_axis(item, X_WI[:3, :3])]
        assert yaw_of(X_WI) == pytest.approx(np.arctan2(y, x))


def fits_askew(p, q, a, b):
    """Whether p x q, p >= q, fits into a x b, a >= b, but not parallel to its sides (Carver)."""
    if p <= a or q > b or p * p + q * q <= a * a:
        return False
    return b >= (2 * p * q * a + (p * p - q * q) * np.sqrt(p * p + q * q - a * a)) / (p * p + q * q)


@settings(max_examples=40, deadline=None)
@given(size=st.tuples(side, side, side), room=st.tuples(side, side, side), volume=st.booleans())
def test_a_box_is_put_on_exactly_the_faces_that_fit(kitchen, size, room, volume):
    size, room = np.array(size), np.array(room) + 0.005
    item = replace(box_item(size), upright=False)
    kind, height = ("volume", room[2]) if volume else ("surface", 0.0)
    region = replace(region_of(room[:2], kind=kind, height=height), body="floor")
    fitting = set()
    for R in orientations():
        x, y, z = np.abs(R) @ size
        long, short = sorted(room[:2])[::-1]
        assume(not fits_askew(max(x, y), min(x, y), long, short))
        if x <= room[0] and y <= room[1] and (not volume or z <= room[2]):
            fitting.add(tuple(-R[2]))
    assert (does_not_fit(item, region) is None) >= bool(fitting)
    scene = replace(kitchen, items=(), bodies=(kitchen.body("floor"),), joints=())
    poses, rng = allowed_poses(item), np.random.default_rng(0)
    state = initial_state(scene)
    found = itertools.islice(placements_in(scene, state, poses, region, (), None, rng), 60)
    faces = set()
    for X in found:
        faces.add(tuple(-np.round(X[2, :3])))
        corners = np.array(list(itertools.product(*([-s / 2, s / 2] for s in size))))
        points = corners @ X[:3, :3].T + X[:3, 3]
        low, high = points.min(axis=0), points.max(axis=0)
        assert low[2] == pytest.approx(0.7)
        assert (low[:2] > -1e-9).all()
        assert (high[:2] < room[:2] + 1e-9).all()
        assert not volume or high[2] < 0.7 + room[2] + 1e-9
    assert faces == fitting


def test_the_refusal_names_every_height(kitchen):
    drawer = kitchen.region("indigo_drawer_top_inside")
    sugar = replace(kitchen.item("sugar_box"), upright=False)
    assert does_not_fit(sugar, drawer) is None
    low = drawer.boxes.copy()
    low[0, 1, 2] = low[0, 0, 2] + 0.03
    refused = does_not_fit(sugar, replace(drawer, boxes=low))
    assert str(refused).endswith(
        "nor does it fit lying, 0.089 m high on 0.038 x 0.175 m or 0.038 m high on 0.089 x 0.175 m"
    )
    assert len(refused.certificate["on_each_face"]) == 3


def test_a_proof_of_no_room_is_one_for_every_way_to_lie():
    """Two boxes of 0.1 x 0.1 x 0.2 m find no room on 0.15 x 0.15 m, however they lie."""
    two = [replace(box_item((0.1, 0.1, 0.2), name), upright=False) for name in "ab"]

    def prove(board):
        return in_every_pose(two, lambda turned: packing_certificate(turned, region_of(board)))

    assert len(list(turned_together(two))) == 4, "each upright, or lying"
    assert packing_certificate(two, region_of((0.15, 0.15))) is not None
    assert len(prove((0.15, 0.15))["in_every_pose"]) == 4
    assert prove((0.205, 0.205)) is None, "side by side they lie"
