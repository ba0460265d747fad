"""Stable poses in PyBullet: what counts as one stays at rest, and falls back from 4 degrees."""

from dataclasses import replace

import numpy as np
import pytest

from galley.domain.frames import frozen, rotation_about, transform
from galley.domain.scene.model import Item, Shape
from galley.domain.scene.stable_poses import stable_poses
from galley.domain.state import Placement, initial_state
from galley.execution.physics.world import PhysicsWorld

TOP = 0.93  # m, the worktop's height
FACES = np.concatenate([-np.eye(3), np.eye(3)])  # what may be down


def shape(kind, size, xyz=(0.0, 0.0, 0.0)):
    return Shape(kind, np.array(size), transform(None, xyz), (1, 1, 1, 1))


def item(size, *shapes):
    return Item("thing", "thing", np.array(size), shapes, 0.3, 0.8, 0.0, np.eye(4), ())


ITEMS = {
    "box": item((0.089, 0.038, 0.175), shape("box", (0.089, 0.038, 0.175))),
    "can": item((0.066, 0.066, 0.101), shape("cylinder", (0.033, 0.101))),
    "plate": item((0.24, 0.24, 0.012), shape("box", (0.24, 0.24, 0.012))),
    # An L, whose foot sticks out to +x at the bottom: it tips over where its edges are below.
    "corner": item(
        (0.10, 0.05, 0.16),
        shape("box", (0.02, 0.05, 0.16), (-0.04, 0.0, 0.0)),
        shape("box", (0.08, 0.05, 0.02), (0.01, 0.0, -0.07)),
    ),
    "bottle": item(
        (0.06, 0.06, 0.18),
        shape("cylinder", (0.03, 0.12), (0.0, 0.0, -0.03)),
        shape("cylinder", (0.006, 0.06), (0.0, 0.0, 0.06)),
    ),
}


def on_face(thing, down, about, angle):
    """R_WI with a face below, then tilted; the centre's height over what it stands on."""
    axis = int(np.argmax(np.abs(down)))
    other = np.eye(3)[(axis + 1) % 3]
    R_WI = np.stack([np.cross(other, -down), other, -down])
    R_WI = rotation_about(about, angle) @ R_WI
    points = np.concatenate([s.X_BS[:3, 3] + corners_of(s) for s in thing.shapes])
    return R_WI, -float((points @ R_WI[2]).min())


def corners_of(solid):
    signs = np.array(np.meshgrid([-1, 1], [-1, 1], [-1, 1])).reshape(3, 8).T
    return signs * solid.half_extents


@pytest.mark.parametrize("name", ITEMS)
def test_an_item_stays_on_the_faces_that_count_and_on_no_others(kitchen, robot, name):
    """From 4 degrees to each side: it falls back where the face counts, somewhere else not."""
    thing = ITEMS[name]
    counted = {tuple(np.round(pose.down).astype(int)) for pose in stable_poses(thing)}
    spots = [(0.0, y) for y in (-1.0, -0.75, -0.5, -0.25)]
    tilts = [(about, sign) for about in np.eye(3)[:2] for sign in (1.0, -1.0)]
    for down in FACES:
        items = tuple(replace(thing, name=f"thing{k}") for k in range(len(tilts)))
        scene = replace(kitchen, items=items)
        state = initial_state(scene)
        for k, (about, sign) in enumerate(tilts):
            R_WI, height = on_face(thing, down, about, sign * np.radians(4.0))
            X_WI = frozen(transform(R_WI, (*spots[k], TOP + height + 0.0005)))
            state = state.with_item(k, Placement("world", X_WI))
        world = PhysicsWorld(scene, robot, state)
        try:
            for _ in range(300):
                world.step()
            final = [world.item_pose(k) for k in range(len(tilts))]
        finally:
            world.close()
        back = [float(-(X[2, :3] @ down)) > np.cos(np.radians(1.0)) for X in final]
        face = tuple(down.astype(int))
        if face in counted:
            assert all(back), (face, back)
        elif face != (0, 0, -1):
            moved = [np.hypot(*(X[:2, 3] - p)) for X, p in zip(final, spots, strict=True)]
            assert not all(back) or max(moved) > 0.03, face  # it fell over, or rolls
