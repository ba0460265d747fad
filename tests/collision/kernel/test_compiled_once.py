"""New scenes, items and drawer positions compile nothing; nor does another number of joints."""

from __future__ import annotations

from functools import partial

import numba
import numpy as np
from numba.core import event

from galley.collision.collision_world import CollisionWorld
from galley.collision.kernel import contacts, continuous_collision, prepare
from galley.collision.scene_kernel import SceneKernel
from galley.collision.solids import box
from galley.domain.frames import transform
from galley.domain.scene.model import HAND
from galley.domain.state import Placement, initial_state
from galley.motion.kernel import plan as planners
from galley.motion.planners.planning import plan
from galley.robots.panda.description import panda_arm
from galley.tests.collision.kernel.support import KINDS, random_solid

START = np.array([0.9, 0.3, 0.0, -1.8, 0.0, 2.2, 0.8])
GOAL = START * [-1, 1, 1, 1, 1, 1, 1]


CALLED = (
    continuous_collision.state_free,
    continuous_collision.states_free,
    continuous_collision.segments_free,
    continuous_collision.path_proven,
    prepare.prepare,
    contacts.nearby,
    continuous_collision.curve_proven,
    planners.plan,
)


def ask_everything(view, q):
    view.free(q)
    view.free_many(q[None])
    view.edges_free(q[None], q[None] + 0.1)
    view.unproven(np.array([q, q + 0.1]))
    view.contacts(q, within=0.05)
    view.clearances(q[None])
    view.nearby(q[None], 0.1)
    view.curve_unproven([0.0, 1.0], np.stack([q, 0.1 * np.ones_like(q)])[None])


def test_nothing_is_compiled_for_a_new_scene(kitchen, robot):
    world = CollisionWorld(panda_arm(), {"post": box((0.1, 0.1, 0.5), at=(0.5, 0.0, 0.3))})
    ask_everything(world.view("arm"), START)
    plan(world, START, GOAL)
    before = [list(function.signatures) for function in CALLED]
    with event.install_recorder("numba:compile") as recorder:
        for changed in changes(kitchen, robot):
            changed()
    # What an earlier run has compiled comes from disk, unseen by the recorder, but seen here.
    assert [list(function.signatures) for function in CALLED] == before
    assert [entry.data["dispatcher"] for _, entry in recorder.buffer] == []


def test_the_recorder_sees_what_is_compiled():
    """What the test above leans on."""
    with event.install_recorder("numba:compile") as recorder:
        numba.njit(lambda x: x + 1)(2)
    assert recorder.buffer


def changes(kitchen, robot):
    """Questions about worlds that have not been asked about before."""
    rng = np.random.default_rng(0)
    for count in (0, 40):
        obstacles = {
            f"{k}": random_solid(KINDS[k % 4], rng, rng.uniform(0.3, 1.0, 3)) for k in range(count)
        }
        world = CollisionWorld(panda_arm(), obstacles)
        world = world.holding("tin", random_solid("cylinder", rng, np.array([0, 0, 0.2])))
        yield partial(ask_everything, world.view("arm"), START)
        yield partial(ask_everything, world.view("all"), np.append(START, [0.02, 0.02]))
        yield partial(plan, world, START, np.array([GOAL, 0.9 * GOAL]))
    scenes = SceneKernel(kitchen, robot)
    state = initial_state(kitchen).with_item(0, Placement(HAND, transform(None, (0, 0, 0.1))))
    driven = scenes.view(state, "arm", driven="indigo_drawer_top_joint")
    yield partial(ask_everything, scenes.view(state, "base+arm"), state.q[:10])
    yield partial(ask_everything, driven, np.append(state.q[3:10], 0.1))
    yield partial(plan, scenes.world(state), state.q[:3], state.q[:3] + 0.1, group="base")
