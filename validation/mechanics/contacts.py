"""Checks recorded contacts: their places against the geometry, their forces against the weights.

The executor records which bodies touch and with what normal force. The geometry shows where they
touch, and the forces on an item must carry its weight.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array
from galley.domain.log import OUTSIDE, Log
from galley.validation.replay_world import ClosestPoint, ReplayWorld, ordered_pair
from galley.validation.tolerances import Tolerances
from galley.validation.verdict import Pair, Violation

_FALLING = 0.1  # N/kg, rounding of the force that an item in free fall needs
_STRIDE = 6  # samples between two checks of a lasting contact
_CHANGED = 1e-3  # m; a recorded distance that changes by more is checked at once
_SMOOTHING = 3  # samples to either side over which forces are averaged


class RecordedContacts:
    """Checks the recorded contacts of a log.

    Attributes:
        has_forces: whether the log records forces.
        pairs: of each contact, by name.
    """

    def __init__(self, world: ReplayWorld, log: Log, tolerances: Tolerances) -> None:
        self._world, self._log, self._tolerances = world, log, tolerances
        self.has_forces = log.mode == "physics"
        self._forces: dict[Pair, tuple[NDArray[np.int64], Array]] = {}
        self._wrong: dict[Pair, Violation] = {}
        names = [str(name) for name in log.names]
        known = {
            (i, j): ordered_pair(names[i], names[j])
            for i, j in set(map(tuple, log.contact_pair.tolist()))
        }
        self.pairs = [known[i, j] for i, j in log.contact_pair.tolist()]
        self._due = self._contacts_to_check()
        if self.has_forces:
            rows: dict[Pair, list[int]] = {}
            for c, pair in enumerate(self.pairs):
                rows.setdefault(pair, []).append(c)
            for pair, at in rows.items():
                sums = np.cumsum(np.concatenate([[0.0], log.contact_force[at]]))
                self._forces[pair] = log.contact_step[at], sums

    def _contacts_to_check(self) -> dict[int, list[tuple[Pair, float]]]:
        """Pairs and recorded distances (m) by the sample in which they are checked."""
        log = self._log
        due: dict[int, list[tuple[Pair, float]]] = {}
        checked: dict[Pair, tuple[int, float]] = {}
        begins = np.searchsorted(log.contact_step, np.arange(len(log.time) + 1))
        samples = np.repeat(np.arange(len(log.time)), np.diff(begins)).tolist()
        distances = log.contact_distance.tolist()
        for c, k in enumerate(samples, start=int(begins[0])):
            pair, recorded = self.pairs[c], distances[c]
            at, before = checked.get(pair, (-_STRIDE, 0.0))
            if OUTSIDE in pair or (k - at < _STRIDE and abs(recorded - before) < _CHANGED):
                continue
            checked[pair] = k, recorded
            due.setdefault(k, []).append((pair, recorded))
        return due

    def check(self, k: int) -> None:
        """Check the contacts of sample ``k``, whose state is set."""
        log, limits = self._log, self._tolerances
        for pair, recorded in self._due.get(k, ()):
            nearest = min(
                (n.distance for n in self._world.closest_points(*pair, limits.push_distance)),
                default=None,
            )
            if nearest is None:
                what = f"a contact of {pair[0]} and {pair[1]} is recorded, but they are apart"
            elif abs(recorded - nearest) > limits.contact_distance:
                what = (
                    f"{pair[0]} and {pair[1]} are recorded {1e3 * recorded:.1f} mm apart, but are"
                    f" {1e3 * nearest:.1f} mm"
                )
            else:
                continue
            self._wrong.setdefault(pair, Violation(float(log.time[k]), what, "contact"))

    @property
    def violations(self) -> tuple[Violation, ...]:
        """The first wrong contact of each pair, and finger forces beyond their motors' limits."""
        violations = list(self._wrong.values())
        limit = self._world.scene.physics.finger_force
        for pair, (steps, sums) in self._forces.items():
            if not set(pair) & set(self._world.robot.fingers):
                continue
            begin, end = (np.searchsorted(steps, steps + ahead) for ahead in (0, 2 * _SMOOTHING))
            means = (sums[end] - sums[begin]) / (2 * _SMOOTHING)
            if means.max() > self._tolerances.finger_force_factor * limit:
                time = float(self._log.time[steps[np.argmax(means)]])
                what = (
                    f"{pair[0]} and {pair[1]} press on each other with {means.max():.0f} N, but"
                    f" a finger can exert {limit:.0f} N"
                )
                violations.append(Violation(time, what, "contact"))
        return tuple(violations)

    def weight_fault(self, k: int, index: int, contacts: list[ClosestPoint], needed: float) -> str:
        """Why the recorded forces don't carry an item; empty if they do, or can't be judged.

        Args:
            contacts: of the item in sample ``k``. needed: required upward force, N/kg.
        """
        scene, robot = self._world.scene, self._world.robot
        item, share = scene.items[index], self._tolerances.weight_residual
        weight = item.mass * needed
        normals: dict[str, list[float]] = {}
        for contact in contacts:
            normals.setdefault(contact.other, []).append(contact.normal[2])
        forces = {other: self.mean_force(k, item.name, other) for other in normals}
        links = normals.keys() & set(robot.links)
        if links and len(links) < len(normals):
            return ""  # hand and support share the weight
        if links:
            friction = (
                self._tolerances.friction_factor * item.friction * scene.physics.finger_friction
            )
            upper = friction * sum(forces.values())
            lower = 0.0
        else:
            upper = sum(force * max(normals[other]) for other, force in forces.items())
            lower = sum(force * min(normals[other]) for other, force in forces.items())
        slack = share * abs(weight) + _FALLING * item.mass
        if lower <= weight + slack and upper >= weight - slack:
            return ""
        carried = upper if upper < weight else lower
        return f"recorded forces carry {carried:.1f} N of {item.name}, which needs {weight:.1f} N"

    def recorded_near(self, k: int, pair: Pair) -> bool:
        """Whether a run with forces recorded a contact of this pair in sample ``k``, or next to it:
        simulators report the contacts at the start of a step."""
        return pair in self._forces and bool((np.abs(self._forces[pair][0] - k) <= 1).any())

    def mean_force(self, k: int, a: str, b: str) -> float:
        """Mean normal force (N) between two bodies around sample ``k``; 0 if none was recorded."""
        pair = ordered_pair(a, b)
        if pair not in self._forces:
            return 0.0
        steps, sums = self._forces[pair]
        low, high = max(k - _SMOOTHING, 0), min(k + _SMOOTHING + 1, len(self._log.time))
        begin, end = np.searchsorted(steps, (low, high))
        return float(sums[end] - sums[begin]) / (high - low)
