"""Stands in for ``motion.thresholds`` until its last reader has moved there."""

from galley.motion.thresholds import THRESHOLDS, Thresholds

__all__ = ["THRESHOLDS", "Thresholds"]
