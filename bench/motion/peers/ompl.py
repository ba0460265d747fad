"""OMPL's RRT-Connect, asking a function in Python whether a configuration is free."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np
from ompl import base, geometric, util

from galley.bench.motion.peers.planners import Answer
from galley.bench.motion.queries import Query
from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.collision.checker import pairs
from galley.domain.frames import Array
from galley.domain.scene.model import Scene
from galley.robots.model import RobotModel

Free = Callable[[Array], bool]
"""Whether an arm configuration (7,) is free."""
_STEP = 0.05  # rad between checked states, Euclidean


class Checkers:
    """Makes the function that OMPL asks, for each query anew."""

    def __init__(self, make: Callable[[Query], Free], close: Callable[[], None]) -> None:
        self.make = make
        self.close = close


def bullet_checker(scene: Scene, robot: RobotModel) -> Checkers:
    """PyBullet's answers, without a margin."""
    world = PyBulletWorld(scene, robot)

    def make(query: Query) -> Free:
        state = query.state
        held = () if state.held is None else (scene.items[state.held].name,)
        checker = world.checker(state, pairs(robot.fingers, held), margin=0.0)
        q = state.q.copy()

        def free(arm: Array) -> bool:
            q[3:10] = arm
            return checker.free(q)

        return free

    return Checkers(make, world.close)


class Ompl:
    """The planner with its default range, its result unsimplified."""

    def __init__(self, name: str, robot: RobotModel, checkers: Checkers) -> None:
        self.name = name
        self.checkers = checkers
        group = robot.group("arm")
        bounds = base.RealVectorBounds(group.size)
        for k in range(group.size):
            bounds.setLow(k, float(group.lower[k]))
            bounds.setHigh(k, float(group.upper[k]))
        self.space = base.RealVectorStateSpace(group.size)
        self.space.setBounds(bounds)
        util.setLogLevel(util.LOG_NONE)

    def prepare(self, query: Query) -> None:
        """See ``Planner``."""
        self._free = self.checkers.make(query)

    def plan(self, query: Query, seed: int, limit: float) -> Answer:
        """See ``Planner``."""
        setup = self._setup(query, seed)
        began = perf_counter()
        setup.solve(limit)
        seconds = perf_counter() - began
        if not setup.haveExactSolutionPath():
            return Answer(None, seconds)
        states = setup.getSolutionPath().getStates()
        return Answer(np.array([[s[k] for k in range(7)] for s in states]), seconds)

    def close(self) -> None:
        """See ``Planner``."""
        self.checkers.close()

    def _setup(self, query: Query, seed: int) -> geometric.SimpleSetup:
        """Made anew for every plan: only then does a seed always lead to the same search."""
        free = self._free

        def valid(state: base.State) -> bool:
            # A bool of NumPy's would be a bad cast.
            return bool(free(np.array([state[k] for k in range(7)])))

        util.RNG.setSeed(seed + 1)
        setup = geometric.SimpleSetup(self.space)
        setup.setStateValidityChecker(valid)
        information = setup.getSpaceInformation()
        information.setStateValidityCheckingResolution(_STEP / self.space.getMaximumExtent())
        setup.setStartAndGoalStates(self._state(query.start), self._state(query.goal))
        setup.setPlanner(geometric.RRTConnect(information))
        setup.setup()
        return setup

    def _state(self, q: Array) -> base.State:
        state = self.space.allocState()
        for k in range(7):
            state[k] = float(q[k])
        return state
