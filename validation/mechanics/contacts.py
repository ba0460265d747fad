"""Recorded contacts against the geometry and the weights.

Whoever executes records which bodies touch and with what normal force. Where they touch is seen in
the geometry, and what stands on something presses on it with its weight.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from galley.domain.frames import Array
from galley.domain.log import OUTSIDE, Log
from galley.validation.stage import Near, Stage, ordered
from galley.validation.tolerances import Tolerances
from galley.validation.verdict import Pair, Violation

_OFTEN = 6  # samples between two looks at a contact that goes on
_SAME = 1e-3  # m: a recorded distance that changes by more is looked at in any sample
_AROUND = 3  # samples to either side over which forces are means


class Ledger:
    """Recorded forces of a log, by pair.

    Attributes:
        kept: whether the log has forces.
    """

    def __init__(self, stage: Stage, log: Log, tolerances: Tolerances) -> None:
        self._stage, self._log, self._tolerances = stage, log, tolerances
        self.kept = log.mode == "physics"
        self._forces: dict[Pair, tuple[NDArray[np.int64], Array]] = {}
        self._looked: dict[Pair, tuple[int, float]] = {}
        self._wrong: dict[Pair, Violation] = {}
        names = [str(name) for name in log.names]
        self._pairs = [ordered(names[i], names[j]) for i, j in log.contact_pair.tolist()]
        self._begins = np.searchsorted(log.contact_step, np.arange(len(log.time) + 1)).tolist()
        if self.kept:
            rows: dict[Pair, list[int]] = {}
            for c, pair in enumerate(self._pairs):
                rows.setdefault(pair, []).append(c)
            for pair, at in rows.items():
                sums = np.cumsum(np.concatenate([[0.0], log.contact_force[at]]))
                self._forces[pair] = log.contact_step[at], sums

    def look(self, k: int) -> None:
        """Compare the contacts of sample ``k`` with the state that the stage shows."""
        log, limits = self._log, self._tolerances
        for c in range(self._begins[k], self._begins[k + 1]):
            pair = self._pairs[c]
            if OUTSIDE in pair:
                continue
            at, before = self._looked.get(pair, (-_OFTEN, 0.0))
            told = float(log.contact_distance[c])
            if k - at < _OFTEN and abs(told - before) < _SAME:
                continue
            self._looked[pair] = k, told
            nearest = min(
                (n.distance for n in self._stage.near(*pair, limits.touching)), default=None
            )
            if nearest is None:
                words = f"a contact of {pair[0]} and {pair[1]} is recorded, but they are apart"
            elif abs(told - nearest) > limits.recorded:
                words = (
                    f"{pair[0]} and {pair[1]} are recorded {1e3 * told:.1f} mm apart, and are"
                    f" {1e3 * nearest:.1f}"
                )
            else:
                continue
            self._wrong.setdefault(pair, Violation(float(log.time[k]), words, "contact"))

    @property
    def violations(self) -> tuple[Violation, ...]:
        """Contacts that are not where they are said to be, the first of each pair; and forces of
        fingers beyond what their motors can press with."""
        found = list(self._wrong.values())
        able = self._stage.scene.physics.finger_force
        for pair, (steps, sums) in self._forces.items():
            if not set(pair) & set(self._stage.robot.fingers):
                continue
            begin, end = (np.searchsorted(steps, steps + ahead) for ahead in (0, 2 * _AROUND))
            means = (sums[end] - sums[begin]) / (2 * _AROUND)
            if means.max() > self._tolerances.pressing * able:
                time = float(self._log.time[steps[np.argmax(means)]])
                words = (
                    f"{pair[0]} and {pair[1]} press on each other with {means.max():.0f} N, a"
                    f" finger can with {able:.0f} N"
                )
                found.append(Violation(time, words, "contact"))
        return tuple(found)

    def weighs(self, k: int, index: int, touches: list[Near], needed: float) -> str:
        """How recorded forces fail to carry an item; empty where they do, or it can't be told.

        Args:
            touches: where it is touched in sample ``k``. needed: force upwards, N per kg.
        """
        scene, robot = self._stage.scene, self._stage.robot
        item, share = scene.items[index], self._tolerances.weight
        weight = item.mass * needed
        normals: dict[str, list[float]] = {}
        for touch in touches:
            normals.setdefault(touch.other, []).append(touch.normal[2])
        forces = {other: self.force(k, item.name, other) for other in normals}
        links = normals.keys() & set(robot.links)
        if links and len(links) < len(normals):
            return ""  # hand and ground share it
        if links:
            friction = self._tolerances.friction * item.friction * scene.physics.finger_friction
            most = friction * sum(forces.values())
            least = 0.0
        else:
            most = sum(force * max(normals[other]) for other, force in forces.items())
            least = sum(force * min(normals[other]) for other, force in forces.items())
        if least <= (1.0 + share) * weight and most >= (1.0 - share) * weight:
            return ""
        told = most if most < weight else least
        return f"recorded forces carry {told:.1f} N of {item.name}, which needs {weight:.1f} N"

    def force(self, k: int, a: str, b: str) -> float:
        """Mean normal force (N) between two about sample ``k``; 0 if none was recorded."""
        pair = ordered(a, b)
        if pair not in self._forces:
            return 0.0
        steps, sums = self._forces[pair]
        low, high = max(k - _AROUND, 0), min(k + _AROUND + 1, len(self._log.time))
        begin, end = np.searchsorted(steps, (low, high))
        return float(sums[end] - sums[begin]) / (high - low)
