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
def lifted(kitchen, robot, shared_world):
    """Under physics: at the stove into the hand, and away from there with it."""
    from galley.execution.physics.executor import PhysicsExecutor
    from galley.tests.execution.errands import SUGAR, errand

    done = errand(kitchen, shared_world, *SUGAR, ("navigate", "burner", "center"))
    done = done.part("burner h1 | reach", "burner center | drive")
    executor = PhysicsExecutor(kitchen, robot, done.states[0])
    for motion, name in zip(done.motions, done.names, strict=True):
        executor.execute(motion, name)
    executor.wait(0.5)
    executor.close()
    return executor.log()
