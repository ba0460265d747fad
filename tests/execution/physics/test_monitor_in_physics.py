"""The execution monitor under physics: mishaps are noticed, and recovered from."""

from dataclasses import replace

import numpy as np
import pytest

from galley.domain.frames import transform
from galley.domain.listener import Listener
from galley.execution.disturbance.faults import parse_fault
from galley.execution.monitor import ExecutionMonitor, MotionPlan
from galley.execution.physics.executor import PhysicsExecutor
from galley.execution.recovery.replanning import RESUMED, RecoveryPlan
from galley.motion.motion import Attachment
from galley.motion.thresholds import THRESHOLDS
from galley.planning import GroundAction
from galley.robots.panda.mobile import hand_pose
from galley.tests.execution.physics.by_hand import (
    BEFORE,
    KNOB,
    ahead,
    close,
    grip,
    line,
    seek,
    standing,
)
from galley.tests.execution.scripted import FACTS


def test_a_drawer_that_gets_stuck_is_pulled_again(scene_of, small_text, robot):
    """The stuck drawer ends the pull; the loop hears of the drawer and of the arm, pulls the rest
    from where both are, and is content. Forces do it all."""
    scene = scene_of(small_text.replace("limits: [0, 0.4]", "limits: [0, 0.4], friction: 3.0"))
    X_WT = ahead(*KNOB)
    start = standing(scene, robot, BEFORE, X_WT)
    fault = parse_fault("stuck:slide", scene, 1)
    executor = PhysicsExecutor(scene, robot, start, fault=fault)
    pulled, opening = (GroundAction("open", ("drawer",)),), 0.20

    def pull(q):
        X_WH = hand_pose(q, scene.robot.base)
        guard = seek([1.0, 0.0, 0.0], THRESHOLDS.pull_force)
        to = transform(X_WH[:3, :3], X_WT[:3, 3] + np.array([opening, 0.0, 0.0]))
        motion = line(scene, robot, q, to, 0.15, guard, grip("knob"), "pull")
        return replace(motion, attachments=(Attachment("joint", "slide"),))

    asked = []

    class Puller:
        def replan(self, under_way, state, number):
            asked.append((under_way, state))
            return RecoveryPlan(pulled, (pull(state.q),), state, FACTS[:2], None, RESUMED)

        def finish(self, motions, state):
            return motions

        def unmet(self, state, facts):
            return () if abs(state.scene_q[0] - opening) < 0.005 else ("not open",)

    closing = close(robot, 0.04, 0.01, 20.0, "knob")
    loop = ExecutionMonitor(
        executor,
        scene,
        robot,
        THRESHOLDS,
        Puller(),
        Listener(),
    )
    failure = loop.run(MotionPlan(pulled, (closing, pull(start.q)), start, FACTS[:2]))
    opened = executor.log().scene_q[:, 0]
    ends = list(executor.log().ends)
    executor.close()
    assert failure is None
    assert all(each.struck for each in fault.faults)
    ((under_way, state),) = asked
    assert 0.04 < state.scene_q[0] < 0.9 * opening
    assert under_way.motion.phase == "pull"
    (recovery,) = loop.recoveries
    assert "drawer" in {deviation.kind for deviation in recovery.noticed}
    assert recovery.ended.startswith("stuck")
    assert opened[-1] == pytest.approx(opening, abs=0.003)
    assert ends[0].startswith("grip")
    assert ends[1].startswith("stuck")
    assert ends[2] == ""
