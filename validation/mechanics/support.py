"""Checks that the contacts of each item can support its motion, by the Newton-Euler equations.

An item's acceleration follows from its positions, its contacts from the geometry. Together with
gravity, contact forces within their friction cones must be able to produce this acceleration. For
an item that floats, climbs or overhangs, no such forces exist.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import nnls

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
    """

    world: ReplayWorld
    log: Log
    tolerances: Tolerances
    violations: list[Violation] = field(default_factory=list)

    def __post_init__(self) -> None:
        items = self.world.scene.items
        self.recorded_contacts = RecordedContacts(self.world, self.log, self.tolerances)
        self._corners = [
            points_in_world(self.log.items[:, k], corners(item.size))
            for k, item in enumerate(items)
        ]
        self._surfaces = {body.name: body.friction for body in self.world.scene.bodies}
        self._surfaces |= {item.name: item.friction for item in items}
        self._vertices = [_vertices(item) for item in items]
        self._checked = [-_RESTING_STRIDE] * len(items)
        self._lasting: dict[tuple[int, str], _LastingFault] = {}

    def check(self, k: int, world: ReplayWorld) -> None:
        """Check sample ``k``, whose state is set in ``world``."""
        self.recorded_contacts.check(k)
        last = k == len(self.log.time) - 1
        for index in range(len(self._corners)):
            at, places = self._checked[index], self._corners[index]
            if k - at < _MOVING_STRIDE and not last:
                continue
            if (
                k - at < _RESTING_STRIDE
                and not last
                and np.abs(places[k] - places[at]).max() < _MOVED
            ):
                continue
            self._checked[index] = k
            self._check_item(k, index, last)

    def _check_item(self, k: int, index: int, last: bool) -> None:
        scene, log, limits = self.world.scene, self.log, self.tolerances
        item, held = scene.items[index], int(log.held[k]) == index
        contacts = self.world.closest_points_around(item.name, limits.contact_margin)
        ours = [t for t in contacts if t.other in self.world.robot.links]
        others = [t for t in contacts if t.other not in self.world.robot.links]
        needed = self._required_wrench(k, index)
        faults: dict[str, tuple[str, str]] = {}
        if held and not {t.other for t in ours} >= set(self.world.robot.fingers):
            words = f"{item.name} is logged as held, but the fingers don't touch it"
            faults["held"] = "floating", words
        external = self.recorded_contacts.mean_force(k, OUTSIDE, item.name) / item.mass
        bound = limits.support_residual + _PUSH * external
        if self._residual(k, index, others, needed) > bound:
            if self._residual(k, index, contacts, needed) > bound:
                words = f"{item.name} has no support and does not fall"
                faults["carried"] = "floating", words
            elif not held:
                words = f"{item.name} is carried by the hand, but not logged as held"
                faults["unlogged"] = "floating", words
        if self.recorded_contacts.has_forces:
            words = self.recorded_contacts.weight_fault(k, index, contacts, needed[2])
            if words:
                faults["weighs"] = "contact", words
        self._update(k, index, faults, last)

    def _required_wrench(self, k: int, index: int) -> Array:
        """Contact wrench (6,) that its motion requires, about its centre, N/kg and N m/kg."""
        places, period, count = self._corners[index], self.log.period, len(self.log.time)
        pull = -self.world.scene.physics.gravity
        if count < 2 * _DIFFERENCE + 1:
            return np.concatenate([pull, np.zeros(3)])
        at = min(max(k, _DIFFERENCE), count - 1 - _DIFFERENCE)
        before, now, after = (places[at + d] for d in (-_DIFFERENCE, 0, _DIFFERENCE))
        acceleration = (after - 2.0 * now + before) / (_DIFFERENCE * period) ** 2
        # A homogeneous box has a third of the inertia of its mass placed at the corners.
        moment = cross(now - now.mean(axis=0), acceleration).mean(axis=0) / 3.0
        return np.concatenate([acceleration.mean(axis=0) + pull, moment])

    def _residual(self, k: int, index: int, contacts: list[ClosestPoint], needed: Array) -> float:
        """Residual (m/s^2) of the required wrench that no forces at these contacts can produce."""
        item = self.world.scene.items[index]
        reach = 0.5 * float(np.linalg.norm(item.size))
        weights = np.repeat([1.0, 1.0 / reach if len(self._vertices[index]) else 0.0], 3)
        required = needed * weights
        if not contacts:
            return float(np.linalg.norm(required))
        centre = self.log.items[k, index, :3]
        vertices = points_in_world(self.log.items[k : k + 1, index], self._vertices[index])[0]
        columns, faces = [], set()
        for contact in contacts:
            normal, points = np.array(contact.normal), np.array([contact.point])
            face = contact.other, *np.round(normal, 2)
            if face not in faces:  # add the item's corners on this face, once
                coplanar = np.abs((vertices - points) @ normal) < _COPLANAR
                points = np.concatenate([points, vertices[coplanar]])
                faces.add(face)
            edges = _cone(normal, self._friction(item, contact.other))
            moments = cross((points - centre)[:, None], edges)
            forces = np.broadcast_to(edges, moments.shape)
            columns.append(np.concatenate([forces, moments], axis=2).reshape(-1, 6) * weights)
        return float(nnls(np.concatenate(columns).T, required)[1])

    def _friction(self, item: Item, other: str) -> float:
        """Upper bound on the Coulomb coefficient of the two surfaces."""
        scene = self.world.scene
        links = self.world.robot.links
        surface = scene.physics.finger_friction if other in links else self._surfaces[other]
        return float(self.tolerances.friction_factor * item.friction * surface)

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


def _cone(normal: Array, friction: float) -> Array:
    """Four edges (4, 3) of the friction cone about a unit normal (3,)."""
    side = cross(normal, np.eye(3)[np.argmin(np.abs(normal))])
    side /= np.linalg.norm(side)
    across = cross(normal, side)
    return normal + friction * np.array([side, -side, across, -across])


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
