"""Disturbances of a PhysicsWorld: external forces and changed friction. They never set a state."""

from __future__ import annotations

from galley.collision.backends.bullet import pybullet as pb
from galley.domain.frames import Array
from galley.execution.physics.world import PhysicsWorld


def push_item(world: PhysicsWorld, index: int, force: Array, point: Array) -> None:
    """Apply a force (3,), N, to an item at a point (3,), m, during the next step; world frame."""
    pb.applyExternalForce(
        world.item_ids[index],
        -1,
        force.tolist(),
        point.tolist(),
        pb.WORLD_FRAME,
        physicsClientId=world.client,
    )


def set_item_friction(world: PhysicsWorld, index: int, friction: float) -> None:
    """Set an item's Coulomb friction coefficient."""
    pb.changeDynamics(
        world.item_ids[index], -1, lateralFriction=friction, physicsClientId=world.client
    )


def support_friction(world: PhysicsWorld, index: int) -> float:
    """The friction coefficient between an item and its support: Bullet multiplies the two.

    An item that touches nothing counts as standing on a surface with the scene's default.
    """
    body = world.item_ids[index]
    supports = [
        _friction(world, point[2], point[4])
        for point in pb.getContactPoints(bodyA=body, physicsClientId=world.client)
        if point[2] != world.robot_id
    ]
    return _friction(world, body, -1) * max(supports, default=world.scene.physics.friction)


def _friction(world: PhysicsWorld, body: int, link: int) -> float:
    """The friction coefficient of a link of a PyBullet body (link -1: its base)."""
    return float(pb.getDynamicsInfo(body, link, physicsClientId=world.client)[1])


def robot_normal_force(world: PhysicsWorld, index: int) -> float:
    """Normal force (N) of the robot on an item, over all contacts."""
    points = pb.getContactPoints(
        bodyA=world.robot_id, bodyB=world.item_ids[index], physicsClientId=world.client
    )
    return float(sum(point[9] for point in points))
