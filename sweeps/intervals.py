"""Confidence in a rate of success."""

from __future__ import annotations

import math


def wilson(successes: int, runs: int, z: float = 1.96) -> tuple[float, float]:
    """Wilson's score interval (1927) of a success rate; 95 % confidence by default."""
    if runs == 0:
        return 0.0, 1.0
    p = successes / runs
    middle = (p + z * z / (2 * runs)) / (1 + z * z / runs)
    half = z / (1 + z * z / runs) * math.sqrt(p * (1 - p) / runs + z * z / (4 * runs * runs))
    return max(0.0, middle - half), min(1.0, middle + half)
