"""A planned task, and what becomes of it from a State made by hand: shared by the tests here."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from galley.domain.failure import Failure
from galley.domain.frames import transform
from galley.domain.pddl.reader import read_domain, read_problem
from galley.domain.state import State, placement_at
from galley.execution.recovery.plans import InterruptedPlan, RecoveryPlan
from galley.execution.recovery.replanning import TampReplanner, unmet
from galley.motion.effects import effects, state_after
from galley.planning import validate_actions
from galley.skills import PlanningContext, Settings
from galley.skills.manipulation.context import NOTHING_FAILED, FailedContacts
from galley.tamp.binding import tamp_task
from galley.tamp.checks import audit
from galley.tamp.search import RefinedPlan, Search
from galley.tamp.task import TampTask

DRAWER = "indigo_drawer_top_joint"


@pytest.fixture(scope="module")
def scene(scene_of, small_text):
    """The small scene, its block square to the furniture."""
    return scene_of(small_text.replace("yaw: 0.5", "yaw: 0.0"))


@dataclass
class Task:
    """A task that was planned from its start.

    Attributes:
        states: before each motion, and after the last. facts: before each action, and at the end.
    """

    tamp: TampTask
    context: PlanningContext
    plan: tuple
    motions: tuple
    states: list
    facts: tuple

    scene = property(lambda self: self.tamp.scene)
    domain = property(lambda self: self.tamp.domain)
    problem = property(lambda self: self.tamp.problem)
    bindings = property(lambda self: self.tamp.bindings)

    def find(self, action: str, phase: str) -> int:
        """Index of the first motion of an action (its first words) in a phase (a part of it)."""
        return next(
            k
            for k, motion in enumerate(self.motions)
            if str(self.plan[motion.action_index])[1:].startswith(action) and phase in motion.phase
        )

    def after(self, action: str, phase: str) -> tuple[int, State]:
        """That motion's index, and the State it was to lead to."""
        k = self.find(action, phase)
        return k, self.states[k + 1]

    def during(self, action: str, phase: str, share: float) -> tuple[int, State]:
        """That motion's index, and the State when a share of its way is done."""
        k = self.find(action, phase)
        motion = self.motions[k]
        way = motion.path.resampled(0.02).waypoints
        model = effects(self.scene, self.context.robot, motion, self.states[k])
        return k, model.at(way[round(share * (len(way) - 1))])

    def moved(self, state: State, item: str, X_WI: Any) -> State:
        """The State with an item lying at X_WI."""
        placement = placement_at(self.scene, X_WI, state.scene_q)
        return state.with_item(self.scene.item_index[item], placement)

    def drawn(self, state: State, value: float) -> State:
        """The State with the drawer open by ``value``; what lies in it moves along."""
        scene_q = np.array(state.scene_q)
        scene_q[self.scene.joint_index[DRAWER]] = value
        return state.with_scene(scene_q)

    def pushed(self, state: State, x: float, y: float, heading: float) -> State:
        """The State with the base off by so much."""
        q = np.array(state.q)
        q[:3] += [x, y, heading]
        return state.with_robot(q)

    def replan(
        self, k: int, state: State, recovery: int = 1, failed: FailedContacts = NOTHING_FAILED
    ) -> RecoveryPlan | Failure:
        """How it goes on from a State seen after motion ``k``."""
        index = self.motions[k].action_index
        way = InterruptedPlan(self.plan, index, self.facts[index], self.motions[k], failed)
        replanner = TampReplanner(self.context, self.tamp)
        return replanner.replan(way, state, recovery)

    def carried_out(self, found: RecoveryPlan | Failure) -> State:
        """Follows the motions, looks at them in Drake and asserts that the goal holds then."""
        assert isinstance(found, RecoveryPlan), str(found)
        robot, state = self.context.robot, found.start
        for motion in found.motions:
            where = robot.slice(motion.group)
            assert np.allclose(motion.path.start, state.q[where], atol=1e-9), motion.phase
            state = state_after(self.scene, robot, motion, state)
        verdicts = audit(self.scene, robot, found.motions, found.start)
        assert {motion.record.audit for motion in verdicts} <= {"free"}
        assert not unmet(self.tamp, state, found.facts[-1])
        return state


def planned(scene: Any, world: Any, folder: Any, domain_file: str, problem_file: str) -> Task:
    """A task's plan and motions from the scene's start."""
    domain = read_domain(folder / domain_file)
    problem = read_problem(folder / problem_file, domain)
    task = tamp_task(scene, domain, problem)
    context = PlanningContext(scene, world.robot, world, Settings(seed=2))
    found = Search(context, task, task.start).solve()
    assert isinstance(found, RefinedPlan), str(found)
    motions, states = found.refined.motions, [task.start]
    for motion in motions:
        states.append(state_after(scene, context.robot, motion, states[-1]))
    facts = validate_actions(domain, problem, found.plan).states
    return Task(task, context, found.plan, motions, states, facts)


@pytest.fixture(scope="session")
def task(kitchen, shared_world, kitchen_folder) -> Task:
    """The default task."""
    return planned(kitchen, shared_world, kitchen_folder, "kitchen.pddl", "task.pddl")


@pytest.fixture(scope="session")
def drawer_task(kitchen, shared_world, kitchen_folder) -> Task:
    """The same in the words of the domain in which drawers have a state."""
    return planned(kitchen, shared_world, kitchen_folder, "drawers.pddl", "put_away.pddl")


@pytest.fixture(scope="session")
def lying():
    """X_WI of an item of some size that lies with one of its axes down (or up) on a height."""

    def pose(size: Any, axis: int, sign: float, yaw: float, x: float, y: float, z: float) -> Any:
        down = np.zeros(3)
        down[axis] = sign
        side = np.roll(down, 1)
        R_WI = np.stack([side, np.cross(-down, side), -down])  # its rows: W's axes in the item
        c, s = np.cos(yaw), np.sin(yaw)
        turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        return transform(turn @ R_WI, (x, y, z + size[axis] / 2.0))

    return pose
