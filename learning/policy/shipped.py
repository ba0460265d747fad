"""Policies that come with Galley."""

from __future__ import annotations

from pathlib import Path

READY = {"ready": Path(__file__).with_name("ready.safetensors")}
"""Paths of checkpoints, by name."""
