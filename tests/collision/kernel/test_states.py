"""What a kernel keeps from State to State never shows: it answers like a fresh kernel."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from galley.collision.checker import held_pairs
from galley.collision.scene_kernel import SceneKernel
from galley.domain.frames import rotation_z, transform
from galley.domain.scene.model import HAND
from galley.domain.state import Placement, initial_state


def random_state(scene, robot, rng):
    """Drawers open somewhere, items on the furniture, in a drawer or in the hand."""
    state = initial_state(scene)
    q = rng.uniform(*(np.concatenate([getattr(g, a) for g in robot.groups]) for a in LIMITS))
    scene_q = np.array([rng.choice([j.lower, rng.uniform(j.lower, j.upper)]) for j in scene.joints])
    state = state.with_robot(q).with_scene(scene_q)
    held = rng.integers(2 * len(scene.items))
    for k, placed in enumerate(state.items):
        if k == held:
            X_HI = transform(rotation_z(rng.uniform(-3, 3)), [0.0, 0.0, 0.12])
            state = state.with_item(k, Placement(HAND, X_HI))
        elif rng.random() < 0.5:
            shift = transform(None, [*rng.uniform(-0.3, 0.3, 2), 0.0])
            state = state.with_item(k, Placement(placed.parent, shift @ placed.X_PI))
        elif rng.random() < 0.5:
            p = transform(rotation_z(rng.uniform(-3, 3)), [*rng.uniform(-0.2, 0.2, 2), 0.83])
            state = state.with_item(k, Placement("indigo_drawer_top", p))
    return state


LIMITS = ("lower", "upper")


def changed(state, other, aspect):
    """``state`` with one aspect of another: the robot, the drawers, or one item."""
    if aspect == "robot":
        return replace(state, q=other.q)
    if aspect == "drawers":
        return replace(state, scene_q=other.scene_q)
    items = list(state.items)
    items[aspect] = other.items[aspect]
    return replace(state, items=tuple(items))


def near(state, robot, rng, count):
    """Configurations with the hand mostly among the furniture."""
    Q = np.repeat(state.q[None], count, axis=0)
    Q[:, :3] = rng.uniform([-0.2, -1.2, -np.pi], [1.4, 1.6, np.pi], (count, 3))
    arm = robot.group("arm")
    Q[:, robot.slice("arm")] = rng.uniform(arm.lower, arm.upper, (count, 7))
    return Q


def answers(kernel, robot, state, rng):
    """Freedom and distances of many configurations, by several views."""
    allowed = held_pairs(kernel.scene, robot, state)
    Q = near(state, robot, rng, 40)
    arm = kernel.view(state, "arm", allowed)
    base = kernel.view(state, "base", allowed, 0.02)
    return (
        kernel.checker(state, allowed).free_many(Q),
        kernel.checker(state, allowed, 0.001).free_many(Q),
        arm.free_many(Q[:, robot.slice("arm")]),
        arm.clearances(Q[:8, robot.slice("arm")]),
        base.free_many(Q[:, robot.slice("base")]),
        arm.spheres_only.free_many(Q[:, robot.slice("arm")]),
    )


def test_a_kernel_that_has_seen_many_states_answers_like_a_fresh_one(kitchen, robot):
    rng = np.random.default_rng(5)
    states = [random_state(kitchen, robot, rng)]
    aspects = ["robot", "drawers", *range(len(kitchen.items))]
    for k in range(11):
        other = random_state(kitchen, robot, rng)
        states.append(changed(states[-1], other, aspects[k % len(aspects)]))
    used = SceneKernel(kitchen, robot)
    seen = [0, 0]
    for turn, k in enumerate([*range(12), *rng.permutation(12)]):
        found = answers(used, robot, states[k], np.random.default_rng(turn))
        wanted = answers(SceneKernel(kitchen, robot), robot, states[k], np.random.default_rng(turn))
        for a, b in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(a, b)
        seen[0] += int(found[0].sum())
        seen[1] += int((~found[0]).sum())
    assert min(seen) > 20  # else nothing was told apart


def test_states_that_differ_by_rounding_only_share_a_world_whichever_comes_first(kitchen, robot):
    rng = np.random.default_rng(0)
    state = random_state(kitchen, robot, rng)
    twins = [state]
    for _ in range(3):
        items = tuple(
            replace(p, X_PI=p.X_PI + rng.uniform(-1e-13, 1e-13, (4, 4))) for p in state.items
        )
        twins.append(replace(state, items=items))
    wanted = answers(SceneKernel(kitchen, robot), robot, state, np.random.default_rng(1))
    for order in ([0, 1, 2, 3], [3, 2, 1, 0]):
        kernel = SceneKernel(kitchen, robot)
        for k in order:
            found = answers(kernel, robot, twins[k], np.random.default_rng(1))
            for a, b in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(a, b)
            assert kernel.view(twins[k], "arm") is kernel.view(state, "arm")


def test_arms_that_start_elsewhere_share_a_view_and_bases_do_not(kitchen, robot):
    kernel, state = SceneKernel(kitchen, robot), initial_state(kitchen)
    q = np.array(state.q)
    q[robot.slice("arm")] += 0.1
    assert kernel.view(state.with_robot(q), "arm") is kernel.view(state, "arm")
    for k in (0, 2, 11):  # the base's place and heading, a finger
        q = np.array(state.q)
        q[k] -= 0.01
        assert kernel.view(state.with_robot(q), "arm") is not kernel.view(state, "arm")


@pytest.mark.parametrize("group", ["base", "base+arm"])
def test_only_what_lies_below_the_chassis_is_left_out_where_the_base_moves(kitchen, robot, group):
    left_out = SceneKernel(kitchen, robot).constant_pairs(group)
    assert {name for pair in left_out for name in pair} == {"chassis", "floor"}
