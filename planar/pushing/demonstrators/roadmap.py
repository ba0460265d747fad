"""A roadmap round a body: contacts on its outline, and shortest paths of the pusher to them.

Contacts lie along the outline, in the body's frame. The roadmap is a visibility graph of the
outline, grown by the pusher's radius and a clearance: its nodes lie beside the convex vertices. It
moves with the body; only the table's rim, which blocks nodes, depends on the pose.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import shapely
from numpy.typing import NDArray

from galley.domain.frames import Array, rotation_z
from galley.planar.geometry.polygon import signed_distance
from galley.planar.pushing.simulation import PushSimulation

_CONTACTS = 96  # about so many along the whole outline
_CLEARANCE = 0.5  # share of the pusher's radius, between pusher and body on the way
_TOLERANCE = 0.9  # share of the clearance that a path must keep; nodes lie exactly at it
_WIDEST_TURN = 1.8  # rad; a vertex that turns more has several nodes


@dataclass(frozen=True, eq=False)
class Paths:
    """Shortest paths of a pusher to the standoffs of all contacts.

    Attributes:
        lengths: (m,), m; inf if there is no path.
    """

    lengths: Array
    _nodes: Array
    _ends: Array
    _start: Array
    _last: NDArray[np.int64]
    _before: NDArray[np.int64]

    def to(self, contact: int) -> Array:
        """Points (k, 2) of the path from the pusher to a contact's standoff, in the world, m."""
        points, node = [self._ends[contact]], int(self._last[contact])
        while node >= 0:
            points.append(self._nodes[node])
            node = int(self._before[node])
        return np.concatenate([self._start, points[::-1]])


class Roadmap:
    """The roadmap of a simulation's pusher round its body.

    Attributes:
        points: (m, 2), contacts on the outline, about the body's centroid, m.
        normals: (m, 2), outward normals there.
        standoffs: (m, 2), where the pusher's centre is before it pushes there, m.
    """

    def __init__(self, sim: PushSimulation) -> None:
        config, self._body = sim.config, sim.body
        self._radius, self._clearance = config.pusher_radius, _CLEARANCE * config.pusher_radius
        self._low = np.full(2, self._radius)
        self._high = np.array([config.width, config.height]) - self._radius
        corners = sim.body.vertices
        self._outline = shapely.LinearRing(corners)
        offset = self._radius + self._clearance
        self._need = self._radius + _TOLERANCE * self._clearance
        points, normals = contacts_along(corners, _CONTACTS)
        stand = points + offset * normals
        free = signed_distance(sim.body, stand)[0] >= self._need
        self.points, self.normals, self.standoffs = points[free], normals[free], stand[free]
        nodes = _beside(corners, offset)
        self._nodes = nodes[signed_distance(sim.body, nodes)[0] >= self._need]
        self._between = self._seen(self._nodes[:, None], self._nodes[None], self._need)
        self._reach = self._seen(self._nodes[:, None], self.standoffs[None], self._need)

    def _seen(self, a: Array, b: Array, need: float) -> Array:
        """Lengths (...,), m, of segments from a to b (..., 2); inf if nearer than ``need`` (m)."""
        a, b = np.broadcast_arrays(a, b)
        gap = shapely.distance(shapely.linestrings(np.stack([a, b], axis=-2)), self._outline)
        return np.where(gap >= need, np.linalg.norm(b - a, axis=-1), np.inf)

    def paths(self, body: Array, pusher: Array) -> Paths:
        """Shortest paths from a pusher (2,), m, round a body at a pose (3,), m and rad.

        A pusher within the clearance leaves the body along the normal first.
        """
        turn = rotation_z(float(body[2]))[:2, :2]
        nodes, ends = self._nodes @ turn.T + body[:2], self.standoffs @ turn.T + body[:2]
        distance, _, normal = signed_distance(self._body, (pusher - body[:2]) @ turn)
        start = pusher[None]
        if distance < self._radius + self._clearance:
            away = self._radius + self._clearance - float(distance)
            left = self.on_table(pusher + away * (turn @ normal))
            start = np.stack([pusher, left])
        here = (start[-1] - body[:2]) @ turn
        need = min(self._need, _TOLERANCE * float(signed_distance(self._body, here)[0]))
        out, bad = self.off_table(nodes), self.off_table(ends)
        distances = np.where(out, np.inf, self._seen(here[None], self._nodes, need))
        before = np.full(len(nodes), -1)
        links = np.where(out[None], np.inf, self._between)
        # Bellman-Ford over all nodes at once, until no path becomes shorter.
        for _ in range(len(nodes)):
            through = distances[:, None] + links
            best = through.argmin(axis=0)
            shorter = through.min(axis=0) < distances - 1e-12
            if not shorter.any():
                break
            distances = np.where(shorter, through.min(axis=0), distances)
            before = np.where(shorter, best, before)
        lengths = self._seen(here[None], self.standoffs, need)
        last = np.full(len(ends), -1)
        if len(nodes):
            through = distances[:, None] + self._reach
            shorter = through.min(axis=0) < lengths
            last = np.where(shorter, through.argmin(axis=0), last)
            lengths = np.where(shorter, through.min(axis=0), lengths)
        lengths = np.where(bad, np.inf, lengths + np.linalg.norm(start[-1] - start[0]))
        return Paths(lengths, nodes, ends, start, last, before)

    def between(self) -> Array:
        """Lengths (m, m), m, of the paths from standoff to standoff, without the table's rim."""
        distances = self._between.copy()  # of the nodes, by the Floyd-Warshall algorithm
        for k in range(len(distances)):
            distances = np.minimum(distances, distances[:, k, None] + distances[k])
        direct = self._seen(self.standoffs[:, None], self.standoffs[None], self._need)
        if not len(distances):
            return direct
        through = (self._reach[:, :, None] + distances[:, None, :]).min(axis=0)  # contact to node
        return np.asarray(np.minimum(direct, (through[:, :, None] + self._reach).min(axis=1)))

    def on_table(self, points: Array) -> Array:
        """The nearest points (..., 2), m, at which the pusher's centre is on the table."""
        return np.asarray(np.clip(points, self._low, self._high))

    def off_table(self, points: Array) -> NDArray[np.bool_]:
        """Whether (n,) the table's rim keeps the pusher's centre from points (n, 2), m."""
        return np.asarray(((points < self._low) | (points > self._high)).any(axis=1))


def contacts_along(corners: Array, count: int) -> tuple[Array, Array]:
    """About ``count`` points (m, 2), evenly along an outline, with outward normals (m, 2)."""
    edges = np.roll(corners, -1, axis=0) - corners
    sizes = np.linalg.norm(edges, axis=1)
    points, normals = [], []
    for corner, edge, size in zip(corners, edges, sizes, strict=True):
        n = max(round(count * size / sizes.sum()), 1)
        points.append(corner + edge * ((np.arange(n) + 0.5) / n)[:, None])
        normals.append(np.tile([edge[1] / size, -edge[0] / size], (n, 1)))
    return np.concatenate(points), np.concatenate(normals)


def _beside(corners: Array, offset: float) -> Array:
    """Nodes (k, 2) round the convex vertices; chords between them stay ``offset`` (m) away."""
    into = corners - np.roll(corners, 1, axis=0)
    out = np.roll(into, -1, axis=0)
    turns = np.arctan2(into[:, 0] * out[:, 1] - into[:, 1] * out[:, 0], (into * out).sum(axis=1))
    nodes = []
    for corner, along, turn in zip(corners, into, turns, strict=True):
        if turn <= 0.0:
            continue
        n = int(np.ceil(turn / _WIDEST_TURN))
        angles = np.arctan2(-along[0], along[1]) + turn * (np.arange(n) + 0.5) / n
        reach = offset / np.cos(0.5 * turn / n)
        nodes.append(corner + reach * np.stack([np.cos(angles), np.sin(angles)], axis=1))
    return np.concatenate(nodes)
