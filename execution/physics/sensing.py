"""Sensing in a PhysicsWorld: contacts with their forces, the held item, the observed State."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

import numpy as np

from galley.collision.backends.bullet import pybullet as pb
from galley.collision.checker import Pair, pair
from galley.domain.frames import Array, frozen, inverse
from galley.domain.scene.model import HAND
from galley.domain.state import Placement, State, base_pose, placement_at, resting_hand
from galley.execution.physics.world import PhysicsWorld
from galley.motion.thresholds import Thresholds


class ContactForce:
    """The contact of two bodies, summed over its contact points.

    Attributes:
        distance: the smallest distance of any point, m; negative in penetration.
        normal_force: the sum of the normal forces, N.
        force: total force x, y, z (N, world frame) on the first body of the pair, with friction.
    """

    __slots__ = ("distance", "force", "normal_force")

    def __init__(self) -> None:
        self.distance = np.inf
        self.normal_force = 0.0
        self.force = [0.0, 0.0, 0.0]


def measure_contacts(world: PhysicsWorld) -> dict[Pair, ContactForce]:
    """All current contacts, by pair of names in alphabetical order."""
    contacts: dict[Pair, ContactForce] = {}
    # Fields of a point: 1, 2 bodies A and B; 3, 4 their links; 7 normal; 8 distance; 9 normal
    # force; 10, 11 friction and its direction; 12, 13 friction along the second direction.
    for point in pb.getContactPoints(physicsClientId=world.client):
        if point[8] > 0.0 and point[9] <= 0.0:
            continue  # near, but not in contact
        first, second = world.names[point[1], point[3]], world.names[point[2], point[4]]
        key = pair(first, second)
        contact = contacts.get(key)
        if contact is None:
            contact = contacts[key] = ContactForce()
        contact.distance = min(contact.distance, point[8])
        contact.normal_force += point[9]
        # Bullet's normal is on B, towards A; friction acts on B along its two directions.
        sign, force = 1.0 if key[0] == first else -1.0, contact.force
        normal, along, across = point[9], point[10], point[12]
        for k, (n, a, c) in enumerate(zip(point[7], point[11], point[13], strict=True)):
            force[k] += sign * (normal * n + (along * a + across * c))
    return contacts


def force_on(members: frozenset[str], contacts: Mapping[Pair, ContactForce]) -> Array:
    """The total force (3,), N, world frame, that all other bodies exert on ``members``."""
    total = np.zeros(3)
    for (a, b), contact in contacts.items():
        if (a in members) == (b in members):
            continue  # an internal force of the members, or none on them
        total += np.multiply(1.0 if a in members else -1.0, contact.force)
    return total


def gripped_bodies(
    world: PhysicsWorld,
    contacts: Mapping[Pair, ContactForce],
    limits: Thresholds,
    hand: str = "",
) -> tuple[str, ...]:
    """Names of the bodies that all fingers of a hand press on, firmest grip first.

    Each finger must press with ``held_force`` (N) at least. This is less than the force that ends a
    grasp: a grip that slackens later still holds.
    """
    grips: dict[str, float] = {}
    fingers = world.robot.acting(hand).fingers
    for name in {n for key in contacts for n in key if n not in world.robot.links}:
        forces = [contacts[key].normal_force for f in fingers if (key := pair(f, name)) in contacts]
        if len(forces) == len(fingers) and min(forces) >= limits.held_force:
            grips[name] = min(forces)
    return tuple(sorted(grips, key=lambda name: (-grips[name], name)))


def held_item(
    world: PhysicsWorld,
    contacts: Mapping[Pair, ContactForce],
    limits: Thresholds,
    hand: str = "",
) -> int | None:
    """Index of the item in a hand, or None; an empty name means the acting hand.

    An item is held if every finger presses on it (``gripped_bodies``); a gripped handle is no item.
    """
    index = world.scene.item_index
    gripped = gripped_bodies(world, contacts, limits, hand)
    return next((index[name] for name in gripped if name in index), None)


def item_speed(world: PhysicsWorld, index: int) -> float:
    """An upper bound on the speed (m/s) of any point of an item: |v| + r |w|."""
    v, w = world.item_velocity(index)
    radius = 0.5 * float(np.linalg.norm(world.scene.items[index].size))
    return float(np.linalg.norm(v) + radius * np.linalg.norm(w))


def observed_state(
    world: PhysicsWorld, held: int | None, resting: Mapping[str, int] = MappingProxyType({})
) -> State:
    """The observed State, without sensor noise.

    Args:
        world: in its current state.
        held: index of the item in the acting hand, or None.
        resting: indices of the items in the other hands, by the hand's name.
    """
    scene, hand = world.scene, world.robot.hand
    others = {index: name for name, index in resting.items() if index != held}
    scene_q = frozen(world.scene_q())
    X_WH = world.hand_pose()
    placements = []
    for index in range(len(scene.items)):
        X_WI = world.item_pose(index)
        # A held item is placed in the hand's frame, one in another hand in the base's frame.
        if index == held:
            placements.append(Placement(HAND, frozen(inverse(X_WH) @ X_WI)))
            continue
        if index in others:
            X_BI = inverse(base_pose(world.q())) @ X_WI
            placements.append(Placement(resting_hand(others[index]), frozen(X_BI)))
            continue
        placements.append(placement_at(scene, X_WI, scene_q))
    # Under load a joint may be slightly beyond its limit; planners expect it within.
    return State(frozen(np.clip(world.q(), *world.robot.limits)), scene_q, tuple(placements), hand)
