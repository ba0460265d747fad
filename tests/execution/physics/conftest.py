"""Physics runs that are closed after the test."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from galley.domain.state import initial_state
from galley.execution.physics.executor import PhysicsExecutor


@pytest.fixture
def opened(scene, robot):
    """``opened(state, fault=...)``: a run in the file's scene, or in ``within`` another."""
    with ExitStack() as runs:

        def make(state=None, within=scene, **more):
            start = initial_state(within) if state is None else state
            run = PhysicsExecutor(within, robot, start, **more)
            runs.callback(run.close)
            return run

        yield make
