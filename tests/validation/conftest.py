"""A valid run of the default task, whole and in parts that are quick to judge."""

from __future__ import annotations

import pytest

from galley.domain.log import Log
from galley.domain.pddl.reader import read_task
from galley.tests.conftest import once_per_session
from galley.tests.validation.mutations import carried, part
from galley.validation import Goal


@pytest.fixture(scope="session")
def run_folder(tmp_path_factory):
    """The default task, run without forces, once for all workers."""
    from galley.engine import record_run
    from galley.stages import Options

    def good(folder):
        outcome = record_run(Options(execute="kinematic", video=False, out=folder))
        assert outcome.report.status == "success", outcome.report.failure

    return once_per_session(tmp_path_factory, "kinematic-run", good)


@pytest.fixture(scope="session")
def good(run_folder):
    return Log.load(run_folder / "states.npz")


@pytest.fixture(scope="session")
def carrying(good):
    """From the stove to the counter: picks, carries, places."""
    return carried(good)


@pytest.fixture(scope="session")
def closing(good):
    """The can is put into the open drawer, which is pushed shut."""
    names = [str(m) for m in good.motions]
    first = next(k for k, name in enumerate(names) if name.endswith("put in: lower"))
    return part(good, first, len(names) - 1)


@pytest.fixture(scope="session")
def goal(kitchen_folder):
    return Goal(*read_task(kitchen_folder / "kitchen.pddl", kitchen_folder / "task.pddl"))


@pytest.fixture(scope="session")
def forced(physics_run):
    """All of the default task under physics."""
    return Log.load(physics_run.folder / "states.npz")


@pytest.fixture(scope="session")
def lifted(forced):
    """Under physics: from the stove into the hand, and with it to the counter."""
    names = [str(m) for m in forced.motions]
    first = next(k for k, name in enumerate(names) if name.startswith("(pick sugar"))
    last = next(k for k in range(first, len(names)) if names[k].endswith("| drive"))
    return part(forced, first, last)
