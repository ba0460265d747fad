"""Checks that the contacts of each item can support its motion, by the Newton-Euler equations.

An item's acceleration follows from its positions, its contacts from the geometry. Together with
gravity, contact forces within their friction cones must be able to produce this acceleration. For
an item that floats, climbs or overhangs, no such forces exist.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from galley.domain.frames import Array
from galley.domain.log import OUTSIDE, Log
from galley.domain.scene.model import Item
from galley.validation.mechanics.contacts import RecordedContacts
from galley.validation.poses import corners, cross, points_in_world
from galley.validation.replay_world import ClosestPoint, ReplayWorld
from galley.validation.tolerances import Tolerances
from galley.validation.verdict import Violation

_MOVING_STRIDE, _RESTING_STRIDE = 6, 30  # samples between two checks of an item
_DIFFERENCE = 3  # samples to either side for second differences
_MOVED = 1e-4  # m, of a corner, from which on an item counts as moving
_COPLANAR = 0.003  # m from the plane of a contact within which a corner is part of it
_PUSH = 1.5  # factor from an external force to its effect, rotation included
_RIM = 12  # points for a circle


class _Due(NamedTuple):
    """One check of an item.

    Attributes:
        item: its index. wrench: (6,), of the contacts, that its motion requires; N/kg, N m/kg.
        centre: (3,), of the item. vertices: (m, 3), on which it can stand; both in the world.
    """

    item: int
    wrench: Array
    centre: Array
    vertices: Array


@dataclass
class _LastingFault:
    """Consecutive checks with the same fault of an item."""

    kind: str
    words: str
    began: float
    reported: bool = False


@dataclass
class SupportCheck:
    """Checks every loose and held item of a log, sample by sample.

    Args:
        world: in which the current sample is set.
        places: the corners (T, 8, 3) of each item.
    """

    world: ReplayWorld
    log: Log
    places: Sequence[Array]
    tolerances: Tolerances
    violations: list[Violation] = field(default_factory=list)

    def __post_init__(self) -> None:
        items = self.world.scene.items
        self.recorded_contacts = RecordedContacts(self.world, self.log, self.tolerances)
        self._surfaces = {body.name: body.friction for body in self.world.scene.bodies}
        self._surfaces |= {item.name: item.friction for item in items}
        finger_friction = self.world.scene.physics.finger_friction
        self._surfaces |= dict.fromkeys(self.world.robot.links, finger_friction)
        self._vertices = [_vertices(item) for item in items]
        self._weights = [
            np.repeat([1.0, 2.0 / float(np.linalg.norm(item.size)) if len(points) else 0.0], 3)
            for item, points in zip(items, self._vertices, strict=True)
        ]
        self._due: dict[int, list[_Due]] = {}  # by sample
        for index, places in enumerate(self.places):
            samples = _samples_to_check(places)
            wrenches = _required_wrenches(
                samples, places, self.log.period, self.world.scene.physics.gravity
            )
            poses = self.log.items[samples, index]
            vertices = points_in_world(poses, self._vertices[index])
            for k, *due in zip(samples, wrenches, poses[:, :3], vertices, strict=True):
                self._due.setdefault(k, []).append(_Due(index, *due))
        self._lasting: dict[tuple[int, str], _LastingFault] = {}
        self._answers: dict[int, tuple[object, bool]] = {}  # by item: see ``_explained``

    def check(self, k: int, world: ReplayWorld) -> None:
        """Check sample ``k``, whose state is set in ``world``."""
        self.recorded_contacts.check(k)
        for due in self._due.get(k, ()):
            self._check_item(k, due)

    def _check_item(self, k: int, due: _Due) -> None:
        log, limits, index = self.log, self.tolerances, due.item
        item, held = self.world.scene.items[index], int(log.held[k]) == index
        contacts = self.world.closest_points_around(item.name, limits.contact_margin)
        ours = [t for t in contacts if t.other in self.world.robot.links]
        others = [t for t in contacts if t.other not in self.world.robot.links]
        faults: dict[str, tuple[str, str]] = {}
        if held and not {t.other for t in ours} >= set(self.world.robot.fingers):
            words = f"{item.name} is logged as held, but the fingers don't touch it"
            faults["held"] = "floating", words
        external = self.recorded_contacts.mean_force(k, OUTSIDE, item.name) / item.mass
        bound = limits.support_residual + _PUSH * external
        if not self._explained(due, others, bound):
            if len(others) == len(contacts) or not self._explained(due, contacts, bound):
                words = f"{item.name} has no support and does not fall"
                faults["carried"] = "floating", words
            elif not held:
                words = f"{item.name} is carried by the hand, but not logged as held"
                faults["unlogged"] = "floating", words
        if self.recorded_contacts.has_forces:
            words = self.recorded_contacts.weight_fault(k, index, contacts, due.wrench[2])
            if words:
                faults["weighs"] = "contact", words
        self._update(k, index, faults, last=k == len(log.time) - 1)

    def _explained(self, due: _Due, contacts: list[ClosestPoint], bound: float) -> bool:
        """Whether forces at these contacts can produce the required wrench, up to ``bound``
        (m/s^2)."""
        required = due.wrench * self._weights[due.item]
        if not contacts:
            return bool(np.linalg.norm(required) <= bound)
        # An item that lies still in contact with the same asks the same again.
        parts = (due.wrench, due.centre, due.vertices)
        question = (contacts, bound, *(part.tobytes() for part in parts))
        before = self._answers.get(due.item)
        if before is None or before[0] != question:
            answer = is_reached(self._wrenches(due, contacts), required, bound)
            before = self._answers[due.item] = question, answer
        return before[1]

    def _wrenches(self, due: _Due, contacts: list[ClosestPoint]) -> Array:
        """Weighted wrenches (6, m) of unit normal forces along the edges of friction cones."""
        item, weights = self.world.scene.items[due.item], self._weights[due.item]
        normals = np.array([contact.normal for contact in contacts])
        points = np.array([contact.point for contact in contacts])
        frictions = [self._friction(item, contact.other) for contact in contacts]
        # Each face of the item that is in contact adds the corners on it, once.
        faces: dict[tuple[str, ...], int] = {}
        for i, (contact, normal) in enumerate(
            zip(contacts, normals.round(2).tolist(), strict=True)
        ):
            faces.setdefault((contact.other, *normal), i)
        first = list(faces.values())
        heights = normals[first] @ due.vertices.T - (normals * points)[first].sum(axis=1)[:, None]
        face, vertex = np.nonzero(np.abs(heights) < _COPLANAR)
        owner = np.concatenate([np.arange(len(contacts)), np.array(first)[face]])
        arms = np.concatenate([points, due.vertices[vertex]]) - due.centre
        edges = np.array([_cone(*each) for each in zip(contacts, frictions, strict=True)])[owner]
        wrenches = np.concatenate([edges, cross(arms[:, None], edges)], axis=2).reshape(-1, 6)
        return np.asarray((wrenches * weights).T)

    def _friction(self, item: Item, other: str) -> float:
        """Upper bound on the Coulomb coefficient of the two surfaces."""
        return float(self.tolerances.friction_factor * item.friction * self._surfaces[other])

    def _update(self, k: int, index: int, faults: dict[str, tuple[str, str]], last: bool) -> None:
        """Report faults that last, or that are there at the end."""
        now = float(self.log.time[k])
        for key in [key for key in self._lasting if key[0] == index and key[1] not in faults]:
            del self._lasting[key]
        for what, (kind, words) in faults.items():
            fault = self._lasting.setdefault((index, what), _LastingFault(kind, words, now))
            lasting = now - fault.began > self.tolerances.support_time
            if not fault.reported and (lasting or last):
                fault.reported = True
                self.violations.append(Violation(fault.began, fault.words, fault.kind))


def _samples_to_check(places: Array) -> list[int]:
    """Samples in which an item with these corners (T, 8, 3) is checked: the first and last, and
    more in between while it moves."""
    due = [0]
    while True:
        begin, end = due[-1] + _MOVING_STRIDE, due[-1] + _RESTING_STRIDE
        far = np.abs(places[begin:end] - places[due[-1]]).max(axis=(1, 2)) >= _MOVED
        k = begin + int(np.argmax(far)) if far.any() else end
        if k >= len(places) - 1:
            break
        due.append(k)
    return due if len(places) == 1 else [*due, len(places) - 1]


def _required_wrenches(samples: list[int], places: Array, period: float, gravity: Array) -> Array:
    """Contact wrenches (m, 6) that an item's motion requires in some samples, about its centre,
    N/kg and N m/kg."""
    if len(places) < 2 * _DIFFERENCE + 1:
        return np.tile(np.concatenate([-gravity, np.zeros(3)]), (len(samples), 1))
    at = np.clip(samples, _DIFFERENCE, len(places) - 1 - _DIFFERENCE)
    before, now, after = (places[at + d] for d in (-_DIFFERENCE, 0, _DIFFERENCE))
    acceleration = (after - 2.0 * now + before) / (_DIFFERENCE * period) ** 2
    # A homogeneous box has a third of the inertia of its mass placed at the corners.
    moment = cross(now - now.mean(axis=1, keepdims=True), acceleration).mean(axis=1) / 3.0
    return np.concatenate([acceleration.mean(axis=1) - gravity, moment], axis=1)


def _cone(contact: ClosestPoint, friction: float) -> list[list[float]]:
    """Four edges (4, 3) of the friction cone about a contact's normal."""
    x, y, z = contact.normal
    a, b, c = abs(x), abs(y), abs(z)
    # Tangents: the normal times the axis that is farthest from it, and times that one.
    p, q, r = (0.0, z, -y) if a <= b and a <= c else (-z, 0.0, x) if b <= c else (y, -x, 0.0)
    size = friction / math.sqrt(p * p + q * q + r * r)
    p, q, r = p * size, q * size, r * size
    s, t, u = y * r - z * q, z * p - x * r, x * q - y * p
    return [
        [x + p, y + q, z + r],
        [x - p, y - q, z - r],
        [x + s, y + t, z + u],
        [x - s, y - t, z - u],
    ]


def _vertices(item: Item) -> Array:
    """Points (m, 3) on which the item's shapes can stand; none if one is a mesh."""
    vertices = []
    for shape in item.shapes:
        if not shape.collision or shape.kind == "sphere":
            continue
        if shape.kind == "mesh":
            return np.zeros((0, 3))
        if shape.kind == "box":
            points = corners(shape.size)
        else:
            angles = np.arange(_RIM) * 2.0 * np.pi / _RIM
            middle = np.array([0.0, 0.0, 0.5 * shape.size[1]])
            rim = shape.size[0] * np.column_stack([np.cos(angles), np.sin(angles), 0.0 * angles])
            points = np.concatenate([rim - middle, rim + middle])
        vertices.append(points @ shape.X_BS[:3, :3].T + shape.X_BS[:3, 3])
    return np.concatenate(vertices) if vertices else np.zeros((0, 3))


# ``scipy.optimize.nnls`` takes longer to import than all calls of this in a validation, and it
# doesn't stop as soon as the answer is known.
def is_reached(columns: Array, target: Array, within: float) -> bool:
    """Whether some x >= 0 has ``|columns @ x - target| <= within``.

    First along the steepest descent from zero, which is enough for most supports; then by active
    sets (Lawson and Hanson, Solving Least Squares Problems, 1974, chapter 23).

    Args:
        columns: (m, n). target: (m,).
    """
    steepest = columns @ np.maximum(target @ columns, 0.0)
    size = float(steepest @ steepest)
    # The best multiple is not negative: steepest @ target is the sum of squares of x.
    if size > 0.0 and np.linalg.norm(target - steepest @ target / size * steepest) <= within:
        return True
    x = np.zeros(columns.shape[1])
    passive = np.zeros(len(x), dtype=bool)  # those that may be positive
    tolerance = 10.0 * max(columns.shape) * np.finfo(float).eps * np.abs(columns).sum(axis=0).max()
    rest = target
    for _ in range(3 * len(x)):
        if np.linalg.norm(rest) <= within:
            return True
        slope = np.where(passive, -np.inf, rest @ columns)
        if slope.max() <= tolerance:
            return False
        passive[np.argmax(slope)] = True
        while True:
            at = np.flatnonzero(passive)
            best = np.linalg.lstsq(columns[:, at], target, rcond=None)[0]
            low = best <= 0.0
            if not low.any():
                break
            # As far towards the best as none gets negative; those that become zero leave the set.
            shares = np.where(low, x[at] / np.where(low, x[at] - best, 1.0), np.inf)
            x[at] += shares.min() * (best - x[at])
            passive[at[(x[at] <= 0.0) | (shares == shares.min())]] = False
        x[:] = 0.0
        x[at] = best
        rest = target - columns @ x
    return bool(np.linalg.norm(rest) <= within)
