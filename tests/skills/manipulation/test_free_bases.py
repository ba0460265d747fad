"""Base poses drawn for several contacts, held against PyBullet and against the arm's own reach."""

import itertools

import numpy as np
import pytest

from galley.domain.state import initial_state
from galley.skills import PlanningContext, Settings
from galley.skills.manipulation.contacts import handle_manipulations, pick_manipulations
from galley.skills.manipulation.lines import Tally
from galley.skills.manipulation.proof import holding_contact_pairs
from galley.skills.manipulation.reach import _FreeBases, solve_manipulation


@pytest.fixture
def context(kitchen, world):
    return PlanningContext(kitchen, world.robot, world, Settings(seed=0))


@pytest.mark.parametrize("forward", [False, True])
def test_the_base_poses_are_free_and_in_the_stance_set(kitchen, world, context, forward):
    """The engine agrees; and the poses drawn for one contact also serve the next."""
    state, rng = initial_state(kitchen), np.random.default_rng(0)
    stance, arm = kitchen.stance("burner"), context.folded_arm
    index = kitchen.item_index["sugar_box"]
    bases = _FreeBases(context, stance, arm, state, rng, forward)
    engine = world.checker(state, holding_contact_pairs(context, state))
    start, found = state.q[context.robot.slice("base")], []
    for _, way in zip(range(12), pick_manipulations(context, state, index, rng), strict=False):
        near = bases.within_reach(way.contact)
        assert len(near) <= 16
        found += list(near)
    assert len(found) > 50
    for base in found:
        assert stance.contains(base)
        assert engine.free(context.robot.with_groups(state.q, base=base, arm=arm)[0])
    assert len(np.unique(found, axis=0)) < len(found)
    if forward:
        way = np.array(found)[:, :2] - start[:2]
        course = np.arctan2(way[:, 1], way[:, 0]) - np.array(found)[:, 2]
        assert (np.cos(course) > 1.0 - 1e-9).mean() > 0.5, "where the stance set allows it"


def test_after_a_drawer_was_pulled_the_whole_robot_has_room(kitchen, context):
    """Not only the arm: the drawer comes within millimetres of this base, which may drive next."""
    state, rng = initial_state(kitchen), np.random.default_rng(0)
    handle, solved = kitchen.handle(kitchen.binding("drawer").handle), 0
    for back in (0.0, 0.05):
        base = np.array([0.677 + back, 0.894, 1.643])
        ways = handle_manipulations(context, state, handle, 0.3, rng)
        for way in itertools.islice(ways, 60):
            reached = solve_manipulation(context, way, base, rng, Tally())
            if reached is None:
                continue
            end, arm = reached.state_after(context.robot), reached.segments[-1].path.end
            q = context.robot.with_groups(end.q, base=base, arm=arm)[0]
            assert context.checker(end.with_robot(q)).free(q)
            solved += 1
    assert solved, "from farther back"
