"""Whether what touches an item can carry it, the way it moves: Newton's and Euler's laws.

An item's acceleration follows from its positions, where it is touched from the geometry. What
touches it must be able to push with forces that, with gravity, give this acceleration, each in the
cone of friction about the normal of its contact. What hangs in the air, climbs, or stands on an
edge with its weight beside it needs a force that nothing there can give.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import nnls

from galley.domain.frames import Array
from galley.domain.log import OUTSIDE, Log
from galley.domain.scene.model import Item
from galley.validation.mechanics.contacts import Ledger
from galley.validation.poses import carried_along, corners, cross
from galley.validation.stage import Near, Stage
from galley.validation.tolerances import Tolerances
from galley.validation.verdict import Violation

_OFTEN, _SELDOM = 6, 30  # samples between two looks at an item that moves, and at one that stands
_AROUND = 3  # samples to either side, between which accelerations are measured
_MOVED = 1e-4  # m, of a corner: the item does not stand
_LYING = 0.003  # m from the plane of a contact: such a corner lies on it
_PUSH = 1.5  # from a force to what it does, turning included
_RIM = 12  # points for a circle


@dataclass
class _Spell:
    """Looks in a row at which something was wrong with an item."""

    kind: str
    words: str
    began: float
    told: bool = False


@dataclass
class Support:
    """Looks at every loose and held item of a log, sample by sample.

    Args:
        stage: shows the sample that is looked at.
    """

    stage: Stage
    log: Log
    tolerances: Tolerances
    violations: list[Violation] = field(default_factory=list)

    def __post_init__(self) -> None:
        items = self.stage.scene.items
        self.ledger = Ledger(self.stage, self.log, self.tolerances)
        self._corners = [
            carried_along(self.log.items[:, k], corners(item.size)) for k, item in enumerate(items)
        ]
        self._surfaces = {body.name: body.friction for body in self.stage.scene.bodies}
        self._surfaces |= {item.name: item.friction for item in items}
        self._vertices = [_vertices(item) for item in items]
        self._looked = [-_SELDOM] * len(items)
        self._spells: dict[tuple[int, str], _Spell] = {}

    def look(self, k: int, stage: Stage) -> None:
        """Judge sample ``k``, whose state ``stage`` shows."""
        self.ledger.look(k)
        last = k == len(self.log.time) - 1
        for index in range(len(self._corners)):
            at, places = self._looked[index], self._corners[index]
            if k - at < _OFTEN and not last:
                continue
            if k - at < _SELDOM and not last and np.abs(places[k] - places[at]).max() < _MOVED:
                continue
            self._looked[index] = k
            self._judge(k, index, last)

    def _judge(self, k: int, index: int, last: bool) -> None:
        scene, log, limits = self.stage.scene, self.log, self.tolerances
        item, held = scene.items[index], int(log.held[k]) == index
        touches = self.stage.around(item.name, limits.support)
        ours = [t for t in touches if t.other in self.stage.robot.links]
        others = [t for t in touches if t.other not in self.stage.robot.links]
        needed = self._needed(k, index)
        wrong: dict[str, tuple[str, str]] = {}
        if held and not {t.other for t in ours} >= set(self.stage.robot.fingers):
            words = f"{item.name} is said to be held, but the fingers are not at it"
            wrong["held"] = "floating", words
        bound = limits.unsupported + _PUSH * self.ledger.force(k, OUTSIDE, item.name) / item.mass
        if self._lacking(k, index, others, needed) > bound:
            if self._lacking(k, index, touches, needed) > bound:
                words = f"{item.name} has nothing under it and does not fall"
                wrong["carried"] = "floating", words
            elif not held:
                wrong["said"] = (
                    "floating",
                    f"{item.name} is carried by the hand, but not said to be held",
                )
        if self.ledger.kept:
            words = self.ledger.weighs(k, index, touches, needed[2])
            if words:
                wrong["weighs"] = "contact", words
        self._keep(k, index, wrong, last)

    def _needed(self, k: int, index: int) -> Array:
        """Force and moment (6,) about its centre that contacts must give, N and N m per kg."""
        places, period, count = self._corners[index], self.log.period, len(self.log.time)
        pull = -self.stage.scene.physics.gravity
        if count < 2 * _AROUND + 1:
            return np.concatenate([pull, np.zeros(3)])
        at = min(max(k, _AROUND), count - 1 - _AROUND)
        before, now, after = (places[at + d] for d in (-_AROUND, 0, _AROUND))
        acceleration = (after - 2.0 * now + before) / (_AROUND * period) ** 2
        # A third of that of the corners is the inertia of a box that is filled evenly.
        moment = cross(now - now.mean(axis=0), acceleration).mean(axis=0) / 3.0
        return np.concatenate([acceleration.mean(axis=0) + pull, moment])

    def _lacking(self, k: int, index: int, touches: list[Near], needed: Array) -> float:
        """How much (m/s^2) of what is needed no forces at these contacts can give."""
        item = self.stage.scene.items[index]
        reach = 0.5 * float(np.linalg.norm(item.size))
        weights = np.repeat([1.0, 1.0 / reach if len(self._vertices[index]) else 0.0], 3)
        wanted = needed * weights
        if not touches:
            return float(np.linalg.norm(wanted))
        centre = self.log.items[k, index, :3]
        standing = carried_along(self.log.items[k : k + 1, index], self._vertices[index])[0]
        columns, seen = [], set()
        for touch in touches:
            normal, points = np.array(touch.normal), np.array([touch.point])
            face = touch.other, *np.round(normal, 2)
            if face not in seen:  # the item's corners on it, once
                lying = np.abs((standing - points) @ normal) < _LYING
                points = np.concatenate([points, standing[lying]])
                seen.add(face)
            edges = _cone(normal, self._friction(item, touch.other))
            moments = cross((points - centre)[:, None], edges)
            forces = np.broadcast_to(edges, moments.shape)
            columns.append(np.concatenate([forces, moments], axis=2).reshape(-1, 6) * weights)
        return float(nnls(np.concatenate(columns).T, wanted)[1])

    def _friction(self, item: Item, other: str) -> float:
        """Coulomb's coefficient of two surfaces, at most."""
        scene = self.stage.scene
        links = self.stage.robot.links
        surface = scene.physics.finger_friction if other in links else self._surfaces[other]
        return float(self.tolerances.friction * item.friction * surface)

    def _keep(self, k: int, index: int, wrong: dict[str, tuple[str, str]], last: bool) -> None:
        """What stays wrong for a while, or at the end, is a violation."""
        now = float(self.log.time[k])
        for key in [key for key in self._spells if key[0] == index and key[1] not in wrong]:
            del self._spells[key]
        for what, (kind, words) in wrong.items():
            spell = self._spells.setdefault((index, what), _Spell(kind, words, now))
            lasting = now - spell.began > self.tolerances.unsupported_time
            if not spell.told and (lasting or last):
                spell.told = True
                self.violations.append(Violation(spell.began, spell.words, spell.kind))


def _cone(normal: Array, friction: float) -> Array:
    """Four edges (4, 3) of the cone of friction about a unit normal (3,)."""
    side = cross(normal, np.eye(3)[np.argmin(np.abs(normal))])
    side /= np.linalg.norm(side)
    across = cross(normal, side)
    return normal + friction * np.array([side, -side, across, -across])


def _vertices(item: Item) -> Array:
    """Points (m, 3) that the item's shapes stand on; none where a mesh is among them."""
    found = []
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
        found.append(points @ shape.X_BS[:3, :3].T + shape.X_BS[:3, 3])
    return np.concatenate(found) if found else np.zeros((0, 3))
