"""The scene as PyBullet built it, measured by rays, against figures written by hand."""

import numpy as np
import pybullet as pb
import pytest

from galley.domain.state import initial_state

OPEN = {"indigo_drawer_top_joint": 0.3}
DOORS = {"dagger_door_right_joint": np.pi / 2, "dagger_door_left_joint": np.pi / 2}

# What is measured: from where, in which direction, what is hit and where along that axis.
RAYS = {
    "right counter top": ((-0.1, -0.6, 1.3), "-z", "hitman", 0.930),
    "right counter front": ((1.0, -0.6, 0.92), "-x", "hitman", 0.288),
    "range top": ((0.3, 0.42, 1.3), "-z", "range", 0.921),
    "sugar box's top": ((0.065, 0.625, 1.4), "-z", "sugar_box", 0.921 + 0.175),
    "hood's underside": ((-0.1, 0.4, 1.2), "+z", "hood", 1.516),
    "wall cabinet's doors": ((1.0, 1.0, 2.0), "-x", "dagger_door_right", 0.0),
    "handle's front": ((1.0, 1.2, 0.8215), "-x", "indigo_drawer_handle_top", 0.312),
    "drawer's inner floor": ((0.0, 1.2, 0.88), "-z", "indigo_drawer_top", 0.779),
    "floor": ((1.0, 1.5, 1.0), "-z", "floor", 0.0),
    "chassis' back": ((3.0, 0.0, 0.2), "-x", "chassis", 2.0 + 0.815 / 2),
}
OPEN_RAYS = {
    "handle's front": ((1.5, 1.2, 0.8215), "-x", "indigo_drawer_handle_top", 0.612),
    "inner floor": ((0.40, 1.2, 1.2), "-z", "indigo_drawer_top", 0.779),
    "nothing of the drawer below": ((0.40, 1.2, 0.70), "-z", "floor", 0.0),
}
DOOR_RAYS = {
    "right door's front, turned": ((0.2, 0.60, 2.0), "+y", "dagger_door_right", 0.822),
    "right door's free edge": ((1.0, 0.832, 2.0), "-x", "dagger_door_right", 0.371),
}
CASES = [
    *((f"closed: {name}", {}, *ray) for name, ray in RAYS.items()),
    *((f"drawer open: {name}", OPEN, *ray) for name, ray in OPEN_RAYS.items()),
    *((f"doors open: {name}", DOORS, *ray) for name, ray in DOOR_RAYS.items()),
]


def name_of(world, body, link):
    """Straight from PyBullet, not from the world's own table."""
    if link >= 0:
        return pb.getJointInfo(body, link, physicsClientId=world.client)[12].decode()
    return pb.getBodyInfo(body, physicsClientId=world.client)[0].decode()


def cast(world, start, direction):
    axis = "xyz".index(direction[1])
    end = np.array(start)
    end[axis] += 4.0 if direction[0] == "+" else -4.0
    pb.performCollisionDetection(
        physicsClientId=world.client
    )  # brings the bounding boxes up to date
    body, link, _, p, _ = pb.rayTest(start, end, physicsClientId=world.client)[0]
    assert body >= 0, "the ray hit nothing"
    return name_of(world, body, link), p[axis]


@pytest.mark.parametrize(
    ("joints", "start", "direction", "what", "where"),
    [case[1:] for case in CASES],
    ids=[case[0] for case in CASES],
)
def test_a_ray_hits_what_was_measured(kitchen, world, joints, start, direction, what, where):
    scene_q = np.zeros(6)
    for joint, value in joints.items():
        scene_q[kitchen.joint_index[joint]] = value
    world.set_state(initial_state(kitchen).with_scene(scene_q))
    hit, at = cast(world, start, direction)
    assert hit == what
    assert at == pytest.approx(where, abs=1e-3)


def test_items_keep_their_mass_and_a_plausible_inertia(kitchen, world):
    """A uniform box of the item's size, from the textbook: m (b^2 + c^2) / 12."""
    for index, item in enumerate(kitchen.items):
        info = pb.getDynamicsInfo(world.item_ids[index], -1, physicsClientId=world.client)
        a, b, c = item.size**2
        expected = item.mass / 12.0 * np.array([b + c, a + c, a + b])
        assert info[0] == pytest.approx(item.mass)
        np.testing.assert_allclose(sorted(info[2]), sorted(expected), rtol=1e-6)
