"""Looks more than once, so that what is observed with noise is known well enough to plan with."""

from __future__ import annotations

import numpy as np

from galley.domain.frames import Array, frozen, transform
from galley.domain.state import Placement, State
from galley.simulation.executor import Executor

LOOKS = 10  # whose mean is taken: a third of the noise of one


def look_well(executor: Executor, first: State | None = None) -> State:
    """The mean of several looks at the world; one is enough where two give the same.

    Positions are averaged, rotations by the nearest rotation to their mean (Horn 1987). An item
    that isn't seen with the same parent each time counts as it was seen last.
    """
    states = [executor.observe() if first is None else first]
    for _ in range(LOOKS - 1):
        state = executor.observe()
        if len(states) == 1 and _same(state, states[0]):
            return state
        states.append(state)
    latest = states[-1]
    items = []
    for index, placement in enumerate(latest.items):
        poses = [s.items[index].X_PI for s in states if s.items[index].parent == placement.parent]
        items.append(Placement(placement.parent, frozen(_mean(np.array(poses)))))
    return State(
        frozen(np.mean([s.q for s in states], axis=0)),
        frozen(np.mean([s.scene_q for s in states], axis=0)),
        tuple(items),
    )


def _same(a: State, b: State) -> bool:
    return (
        np.array_equal(a.q, b.q)
        and np.array_equal(a.scene_q, b.scene_q)
        and all(
            x.parent == y.parent and np.array_equal(x.X_PI, y.X_PI)
            for x, y in zip(a.items, b.items, strict=True)
        )
    )


def _mean(poses: Array) -> Array:
    """Of poses (m, 4, 4) near each other."""
    U, _, Vt = np.linalg.svd(poses[:, :3, :3].mean(axis=0))
    turn = np.diag([1.0, 1.0, np.sign(np.linalg.det(U @ Vt))])
    return transform(U @ turn @ Vt, poses[:, :3, 3].mean(axis=0))
