"""An executor that follows a script, and an ExecutionMonitor for six motions in a small scene."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from galley.domain.listener import Listener
from galley.domain.pddl.formula import Fact
from galley.execution.executor import Observation
from galley.execution.monitor import ExecutionMonitor
from galley.execution.recovery.plans import RESUMED, MotionPlan, RecoveryPlan
from galley.motion.effects import state_after_grasp
from galley.motion.thresholds import THRESHOLDS
from galley.planning import GroundAction

PLAN = (GroundAction("go", ("table",)), GroundAction("take", ("block",)), GroundAction("put"))
FACTS = tuple(frozenset({Fact("step", (str(k),))}) for k in range(4))


class Ears(Listener):
    """Keep the stages and shares that they hear."""

    def __init__(self):
        self.stages, self.shares = [], []

    def stage(self, text):
        self.stages.append(text)

    def fraction(self, text, done):
        self.shares.append(done)


class Scripted:
    """Does what is planned, but for what the script says: by number of the motion, from 0.

    Attributes:
        happens: changes the true State after a motion. glimpses: what is seen then, once.
        ends: why a motion ended early.
    """

    def __init__(self, scene, robot, state):
        self.scene, self.robot, self.state = scene, robot, state
        self.happens, self.glimpses, self.ends = {}, {}, {}
        self.names, self.clock, self.waited, self.looks = [], 0.0, [], 0

    def observe(self):
        self.looks += 1
        return self.state

    def execute(self, motion, name):
        number = len(self.names)
        self.names.append(name)
        self.clock += motion.trajectory.duration
        self.state = state_after_grasp(self.scene, self.robot, motion, self.state)
        self.state = self.happens.get(number, lambda s: s)(self.state)
        seen = self.glimpses.get(number, lambda s: s)(self.state)
        return Observation(seen, self.clock, self.ends.get(number, ""))

    def wait(self, seconds):
        self.waited.append(seconds)
        self.clock += seconds

    def log(self):
        raise NotImplementedError

    def close(self):
        pass


@dataclass
class Bench:
    """A plan of six motions in the small scene, and an ExecutionMonitor for them.

    Attributes:
        replanned: arguments of every call of ``replan``. answers: what it returns, in turn; the
            plan as it is resumed with the motions that are left where there are none.
        missing: what of the goal is missing, at each look at the end, in turn.
    """

    scene: object
    robot: object
    start: object
    motions: tuple
    replanned: list = field(default_factory=list)
    answers: list = field(default_factory=list)
    missing: list = field(default_factory=list)
    answer: object = None

    def __post_init__(self):
        self.executor = Scripted(self.scene, self.robot, self.start)
        self.ears = Ears()
        self.finished = []
        self.loop = ExecutionMonitor(
            self.executor,
            self.scene,
            self.robot,
            THRESHOLDS,
            self,
            self.ears,
        )

    def run(self, start=None):
        return self.loop.run(MotionPlan(PLAN, self.motions, start or self.start, FACTS))

    def finish(self, motions, state):
        self.finished.append((motions, state))
        return motions if self.answer is None else self.answer

    def unmet(self, state, facts):
        return self.missing.pop(0) if self.missing else ()

    def replan(self, under_way, state, number):
        self.replanned.append((under_way, state, number))
        if self.answers:
            answer = self.answers.pop(0)
            return answer(state) if callable(answer) else answer
        rest = tuple(m for m in self.motions if m.action_index >= under_way.index)
        rest = tuple(replace(m, action_index=m.action_index - under_way.index) for m in rest)
        left = PLAN[under_way.index :]
        return RecoveryPlan(left, rest, state, FACTS[under_way.index :], None, RESUMED)
