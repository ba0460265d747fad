"""What a grid says: that it has a solution, or how much was tried in vain. It refuses nothing."""

import json

import numpy as np
import pytest

from galley.domain.failure import FailureKind
from galley.domain.state import initial_state
from galley.skills.manipulation.contacts import pick_manipulations
from galley.skills.manipulation.grasps import grasps_of, leaning_grasps
from galley.skills.manipulation.lines import Tally
from galley.skills.manipulation.reach import solve_from_stances
from galley.tamp.infeasibility.grid import Grid, all_operations, all_picks, search_grid, tried
from galley.tests.effort import quick_first
from galley.tests.skills.infeasibility.scenes import WALLS, cleft, crate, square, walls


def block(context, state):
    return all_picks(context, state, context.scene.item_index["block"])


def judged(context, grid=None):
    state, stance = initial_state(context.scene), context.scene.stance("cabinet")
    return tried(context, state, block(context, state), [stance], "pick the block", grid)


def random_way(context, tries=300):
    """What the planner's random search finds: independent of the grid."""
    state, index = initial_state(context.scene), context.scene.item_index["block"]
    ways = pick_manipulations(context, state, index, np.random.default_rng(5))
    stance, rng = context.scene.stance("cabinet"), np.random.default_rng(6)
    found = solve_from_stances(
        context, ways, stance, context.folded_arm, state, rng, Tally(), tries
    )
    return next(found, None)


def test_every_grasp_is_listed_with_wide_and_narrow_fingers(opened):
    context = opened()
    state, item = initial_state(context.scene), context.scene.item("block")
    index, gripper = context.scene.item_index["block"], context.robot.gripper
    grasps = (*grasps_of(item, gripper), *leaning_grasps(context.scene, state, index, gripper))
    ways = block(context, state)
    assert {way.name for way in ways} == {f"pick block ({g.name})" for g in grasps}
    assert len(ways) == 2 * len(grasps) == len({(way.name, way.opening) for way in ways})


def test_a_failed_grid_search_reports_its_counts(opened):
    context = opened(walls(pen=WALLS))
    failure = judged(context)
    assert failure.kind is FailureKind.BUDGET
    assert failure.certificate is None
    assert "pen" in failure.objects
    grasps = len({way.contact.tobytes() for way in block(context, initial_state(context.scene))})
    # By hand: stance x 0.7..1.3 in steps of 0.06, y -1..1 in 0.1, eight headings.
    pairs = grasps * 11 * 21 * 8
    assert f"none of {pairs:,} grasp and stance pairs tried" in str(failure)
    assert failure.numbers["pairs"] == pairs
    (told,) = json.loads(json.dumps(failure.as_json()))["evidence"]
    assert told["kind"] == "grid"
    assert told["stance"] == "cabinet"
    assert told["pairs"] == pairs
    assert told["bases"] == 11 * 21 * 8
    assert told["complete"]
    assert random_way(context) is None


def test_a_grid_search_is_repeatable(opened):
    context = opened(walls(pen=WALLS))
    state, failure = initial_state(context.scene), judged(context)
    (told,) = failure.evidence
    steps = told["grid"]
    grid = Grid(*(steps[k] for k in ("x_m", "y_m", "heading_rad", "joint7", "lines")))
    ways, stance = block(context, state), context.scene.stance(told["stance"])
    found = search_grid(context, state, ways, stance, grid)
    assert not found.solved
    assert {name: told[name] for name in found.counts()} == found.counts()
    assert judged(context).as_json() == failure.as_json()


@pytest.mark.parametrize("missing", quick_first(1, sorted(WALLS)))
def test_what_the_random_search_finds_the_grid_finds_too(opened, missing):
    context = opened(walls(pen=[side for side in WALLS if side != missing]))
    if random_way(context, 3000) is not None:
        assert judged(context) is None


def test_the_grid_finds_an_existing_solution(opened):
    assert judged(opened()) is None
    assert judged(opened(items=crate(y=0.25))) is None
    assert judged(opened(items=crate())) is not None


def test_between_two_walls_the_grid_leans_too(opened):
    assert judged(opened(cleft(), change=square)) is None


def test_a_grid_cut_short_says_so(opened):
    failure = judged(opened(), Grid(lines=0))
    assert failure.kind is FailureKind.BUDGET
    assert not failure.evidence[0]["complete"]
    assert failure.numbers["pairs"] < judged(opened(walls(pen=WALLS))).numbers["pairs"]


def test_a_drawer_that_something_stands_before(opened):
    """The knob is at x = 0.30, y = 0, z = 0.66; a box as high stands before it on the floor."""
    bodies = "  stool:\n    shapes:\n      - {extents: [[0.34, 0.6], [-0.3, 0.3], [0.0, 0.8]]}\n"
    for context, free in ((opened(bodies), False), (opened(), True)):
        state = initial_state(context.scene)
        pulls = all_operations(context, state, context.scene.handle("knob"), 0.3)
        assert len(pulls) == 2  # either way up
        stance = context.scene.stance("cabinet")
        found = tried(context, state, pulls, [stance], "open the drawer")
        assert (found is None) == free
        assert free or found.numbers["pairs"] == 2 * 11 * 21 * 8
