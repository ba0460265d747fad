"""Why a search may have found nothing: a joint value between start and goal that is never free."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from galley.collision.view import View
from galley.domain.failure import Failure
from galley.domain.frames import Array
from galley.robots.model import RobotModel

_VALUES = 15  # of each joint between start and goals that are looked at
_SAMPLES = 256  # configurations at each of them
_MORE = 4096  # configurations at the one that is reported
_NAMED = 64  # of these, examined for what is in collision


def with_impassable(
    failure: Failure, view: View, robot: RobotModel, start: Array, goals: Array, seed: int
) -> Failure:
    """A failed search's Failure, with a joint value that every path passes and none was free at.

    Every path from one side of a joint's value to the other passes it. Where no configuration with
    that value is free, whatever the other joints' are, there is no path. Of those, random ones are
    checked: this is evidence and no proof. The failure is unchanged if there is no such value.

    Args:
        failure: of the search; gets a sentence, the two bodies most often in collision there, and
            an entry in ``evidence``.
        view: of the joint group. start: (k,). goals: (m, k). seed: of the samples.
    """
    low, high = view.arrays.tree.low, view.arrays.tree.high
    if not np.isfinite([low, high]).all():
        return failure
    rng = np.random.default_rng(seed)

    def at(joint: int, value: float, count: int) -> Array:
        samples = rng.uniform(low, high, (count, len(low)))
        samples[:, joint] = value
        return samples

    for joint in range(len(low)):
        own = goals[:, joint]
        # All goals lie on one side of the start.
        if own.min() > start[joint]:
            ends = (start[joint], own.min())
        elif own.max() < start[joint]:
            ends = (own.max(), start[joint])
        else:
            continue
        values = np.linspace(*ends, _VALUES + 2)[1:-1]
        never = [not view.free_many(at(joint, v, _SAMPLES)).any() for v in values]
        runs = np.flatnonzero(never)
        if not len(runs):
            continue
        value = float(values[runs[len(runs) // 2]])
        samples = at(joint, value, _MORE)
        if view.free_many(samples).any():
            continue
        pairs = Counter(
            pair for q in samples[:_NAMED] for pair in {(c.a, c.b) for c in view.contacts(q)}
        )
        index = int(view.moving[joint])
        name = robot.joints[index] if index < robot.size else "the scene joint"
        units = [unit for group in robot.groups for unit in group.units]
        unit = units[index] if index < robot.size else ""
        a, b = max(pairs, key=lambda pair: (pairs[pair], pair), default=("", ""))
        often = "always" if pairs[a, b] == _NAMED else "most often"
        why = f"; {a} and {b} are in collision {often}" if a else ""
        return replace(
            failure,
            message=f"{failure.message}. Perhaps there is none: {name} has to pass {value:.3g} "
            f"{unit}, where none of {_MORE} random configurations is free{why}",
            objects=(a, b) if a else failure.objects,
            evidence=(
                *failure.evidence,
                {
                    "kind": "impassable-joint-value",
                    "joint": name,
                    "value": value,
                    "samples": _MORE,
                    "pair": [a, b],
                },
            ),
        )
    return failure
