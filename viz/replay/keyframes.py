"""Which frames of a motion a recording keeps: those between which interpolation is near enough."""

from __future__ import annotations

import numpy as np

from galley.domain.frames import Array
from galley.viz.film.frames import slerp


def keyframes(poses: Array, metres: float, radians: float) -> list[int]:
    """The frames of poses (F, 7) that must be kept, the first among them; in order.

    What the browser shows between two of them (positions linear, orientations by slerp) is at most
    ``metres`` and ``radians`` off (D. Douglas, T. Peucker, 1973). A pose that stays is kept once.
    """
    kept, spans = {0, len(poses) - 1}, [(0, len(poses) - 1)]
    while spans:
        i, j = spans.pop()
        if j - i < 2:
            continue
        u = (np.arange(i + 1, j) - i)[:, None] / (j - i)
        p = poses[i, :3] + u * (poses[j, :3] - poses[i, :3])
        a = np.broadcast_to(poses[i, 3:], (len(u), 4))
        r = slerp(a, np.broadcast_to(poses[j, 3:], (len(u), 4)), u)
        between = poses[i + 1 : j]
        apart = np.linalg.norm(between[:, :3] - p, axis=1) / metres
        cosine = np.clip(np.abs((between[:, 3:] * r).sum(axis=1)), 0.0, 1.0)
        worst = np.maximum(apart, 2.0 * np.arccos(cosine) / radians)
        if worst.max() > 1.0:
            k = i + 1 + int(worst.argmax())
            kept.add(k)
            spans += [(i, k), (k, j)]
    order = sorted(kept)
    same = len(order) <= 2 and np.allclose(poses[0], poses[-1], atol=1e-6)
    return order[:1] if same else order
