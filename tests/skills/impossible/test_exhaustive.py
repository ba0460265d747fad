"""Certificates for what is in the way: given where a wall is, and never where there is a way."""

import json

import numpy as np
import pytest

from galley.domain.failure import FailureKind
from galley.domain.scene.reader import load_scene
from galley.domain.state import initial_state
from galley.robots.panda.models import mobile_panda
from galley.skills import Settings, Workbench
from galley.skills.impossible.exhaustive import (
    Grid,
    cleared,
    every_operation,
    every_pick,
    exhaustive,
    search_grid,
)
from galley.skills.manipulation.contacts import picks
from galley.skills.manipulation.grasps import grasps_of
from galley.skills.manipulation.lines import Tally
from galley.skills.manipulation.reach import stances
from galley.tests.effort import quick_first
from galley.worlds.engines.pybullet_world import PyBulletWorld

# The block stands at x = 0.1, y = -0.2 on a top at 0.84. Walls reach 0.26 m above it.
WALLS = {
    "back": "[[0.02, 0.04], [-0.29, -0.11], [0.84, 1.20]]",
    "front": "[[0.16, 0.18], [-0.29, -0.11], [0.84, 1.20]]",
    "right": "[[0.04, 0.16], [-0.29, -0.27], [0.84, 1.20]]",
    "left": "[[0.04, 0.16], [-0.13, -0.11], [0.84, 1.20]]",
}


def walls(**bodies):
    """A body for each name, of the walls listed."""
    text = ""
    for name, sides in bodies.items():
        shapes = "".join(f"      - {{extents: {WALLS[side]}}}\n" for side in sides)
        text += f"  {name}:\n    shapes:\n{shapes}"
    return text


def crate(x=0.1, y=-0.2):
    """A movable crate: a lid on four walls over the block, too wide to be picked itself."""
    return f"""\
  crate:
    mass: 0.5
    size: [0.30, 0.30, 0.20]
    shapes:
      - {{box: [0.30, 0.30, 0.02], xyz: [0, 0, 0.09]}}
      - {{box: [0.02, 0.30, 0.18], xyz: [0.14, 0, -0.01]}}
      - {{box: [0.02, 0.30, 0.18], xyz: [-0.14, 0, -0.01]}}
      - {{box: [0.26, 0.02, 0.18], xyz: [0, 0.14, -0.01]}}
      - {{box: [0.26, 0.02, 0.18], xyz: [0, -0.14, -0.01]}}
    pose: {{on: top, xy: [{x}, {y}], yaw: 0}}
"""


@pytest.fixture
def opened(small_text, tmp_path):
    """Opens the small scene with more bodies and items; returns its bench."""
    worlds = []

    def open_scene(bodies="", items="", change=lambda text: text):
        text = small_text.replace("  drawer:\n    parent", f"{bodies}  drawer:\n    parent", 1)
        text = change(text.replace("stances:\n", f"{items}stances:\n", 1))
        file = tmp_path / "scene.yaml"
        file.write_text(text)
        scene = load_scene(file)
        worlds.append(PyBulletWorld(scene, mobile_panda(scene.robot.base)))
        return Workbench(scene, worlds[-1].robot, worlds[-1], Settings())

    yield open_scene
    for world in worlds:
        world.close()


def block(bench, state):
    return every_pick(bench, state, bench.scene.item_index["block"])


def judged(bench, grid=None):
    state = initial_state(bench.scene)
    return exhaustive(bench, state, block, bench.scene.stance("cabinet"), "pick the block", grid)


def recheck(bench, state, contacts, certificate):
    """Whether a certificate holds when its grid is searched anew: the oracle of all of them."""
    told = certificate["grid"]
    grid = Grid(told["x_m"], told["y_m"], told["heading_rad"], told["joint7"], told["lines"])
    ways, stance = contacts(bench, state), bench.scene.stance(certificate["stance"])
    if [way.name for way in ways] != list(certificate["ways"]):
        return False
    found = search_grid(bench, state, ways, stance, grid)
    if found.solved or not found.complete:
        return False
    if "without" not in certificate:
        return found.kinematic == 0
    return search_grid(*cleared(bench, state, ways, certificate["without"]), stance, grid).solved


def random_way(bench, tries=300):
    """What the planner's random search finds: independent of the grid."""
    state, index = initial_state(bench.scene), bench.scene.item_index["block"]
    ways = picks(bench, state, index, np.random.default_rng(5))
    stance, rng = bench.scene.stance("cabinet"), np.random.default_rng(6)
    found = stances(bench, ways, stance, bench.tucked, state, rng, Tally(), tries)
    return next(found, None)


def test_every_grasp_is_listed_with_wide_and_narrow_fingers(opened):
    bench = opened()
    state = initial_state(bench.scene)
    item = bench.scene.item("block")
    ways = block(bench, state)
    assert {way.name for way in ways} == {f"pick block ({g.name})" for g in grasps_of(item)}
    assert len(ways) == 2 * len(grasps_of(item))
    assert len({(way.name, way.opening) for way in ways}) == len(ways)


def test_an_item_walled_in_is_blocked_by_the_walls_and_they_are_named(opened):
    bench = opened(walls(pen=WALLS))
    failure = judged(bench)
    assert failure.kind is FailureKind.BLOCKED
    assert failure.objects == ("pen",)
    assert "pen is in the way" in str(failure)
    told = failure.certificate
    assert told["kind"] == "exhaustive-grid"
    assert told["solutions"] == 0
    assert told["without"] == ["pen"]
    assert told["solutions_without"] >= 1
    assert told["grid"]["kinematic"] > 100
    assert random_way(bench) is None
    # By hand: stance x 0.7..1.3 in steps of 0.06, y -1..1 in 0.1, eight headings.
    assert told["grid"]["bases"] == 11 * 21 * 8


def test_a_certificate_survives_a_report_and_can_be_checked_anew(opened):
    bench = opened(walls(pen=WALLS))
    state = initial_state(bench.scene)
    told = json.loads(json.dumps(judged(bench).as_json()))["certificate"]
    assert recheck(bench, state, block, told)
    assert not recheck(bench, state, block, {**told, "without": ["knob"]})
    assert not recheck(bench, state, block, {**told, "ways": told["ways"][1:]})
    unwalled = opened()
    assert not recheck(unwalled, initial_state(unwalled.scene), block, {**told, "without": []})


@pytest.mark.parametrize("missing", quick_first(1, sorted(WALLS)))
def test_without_one_wall_there_is_a_way_and_so_no_certificate(opened, missing):
    """The way is found by the random search too, or there is honestly no statement."""
    bench = opened(walls(pen=[side for side in WALLS if side != missing]))
    if random_way(bench, 3000) is not None:
        assert judged(bench) is None


def test_two_things_that_block_together_are_both_named(opened):
    """A pen in a pen: without either of them the other one is still there."""
    outer = (
        "  outer:\n    shapes:\n"
        "      - {extents: [[-0.02, 0.00], [-0.33, -0.07], [0.84, 1.50]]}\n"
        "      - {extents: [[0.20, 0.22], [-0.33, -0.07], [0.84, 1.50]]}\n"
        "      - {extents: [[0.00, 0.20], [-0.33, -0.31], [0.84, 1.50]]}\n"
        "      - {extents: [[0.00, 0.20], [-0.09, -0.07], [0.84, 1.50]]}\n"
    )
    failure = judged(opened(walls(pen=WALLS) + outer))
    assert failure.kind is FailureKind.BLOCKED
    assert set(failure.objects) == {"pen", "outer"}
    assert "are in the way" in str(failure)


def test_an_item_under_a_movable_crate_is_blocked_by_the_crate(opened):
    bench = opened(items=crate())
    failure = judged(bench)
    assert failure.kind is FailureKind.BLOCKED
    assert failure.objects == ("crate",)
    assert judged(opened(items=crate(y=0.25))) is None


@pytest.mark.slow
def test_of_many_items_just_those_are_named_that_must_go(opened):
    """Two pens of movable panels, and one by the way: no name can be left out of the list."""
    panel = "{{mass: 0.2, shapes: [{{box: [{}, {}, {}]}}], pose: {{on: top, xy: [{}, {}]}}}}"
    items = {"far": panel.format(0.02, 0.2, 0.4, -0.2, 0.3)}
    for name, half, high in (("inner", 0.06, 0.35), ("outer", 0.10, 0.55)):
        length = 2 * half - 0.02
        for k, (dx, dy) in enumerate(((half, 0), (-half, 0), (0, half), (0, -half))):
            sides = (0.015, length) if dx else (length, 0.015)
            items[f"{name}{k}"] = panel.format(*sides, high, round(0.1 + dx, 3), round(dy - 0.2, 3))
    bench = opened(items="".join(f"  {name}: {text}\n" for name, text in items.items()))
    state, failure = initial_state(bench.scene), judged(bench)
    assert failure.kind is FailureKind.BLOCKED
    names = list(failure.objects)
    assert len(names) >= 2
    assert "far" not in names
    told = failure.as_json()["certificate"]
    assert recheck(bench, state, block, told)
    for name in names:
        fewer = [other for other in names if other != name]
        assert not recheck(bench, state, block, {**told, "without": fewer})


def test_out_of_the_arms_reach_from_the_whole_grid_is_unreachable(opened):
    far = opened(
        change=lambda text: text.replace("cabinet: {x: [0.7, 1.3]", "cabinet: {x: [2, 2.3]")
    )
    failure = judged(far)
    assert failure.kind is FailureKind.UNREACHABLE
    assert failure.certificate["grid"]["kinematic"] == 0
    assert recheck(far, initial_state(far.scene), block, failure.certificate)


def test_a_search_cut_short_says_nothing(opened):
    bench = opened(walls(pen=["back", "left"]))
    assert judged(bench, Grid(lines=0)) is None


def test_the_same_question_gets_the_same_answer(opened):
    bench = opened(walls(pen=WALLS))
    assert judged(bench).as_json() == judged(bench).as_json()


def test_a_drawer_that_a_crate_stands_before_is_blocked_by_it(opened):
    """The knob is at x = 0.30, y = 0, z = 0.66; a box as high stands before it on the floor."""
    bodies = "  stool:\n    shapes:\n      - {extents: [[0.34, 0.6], [-0.3, 0.3], [0.0, 0.8]]}\n"
    bench = opened(bodies)
    state = initial_state(bench.scene)

    def pulls(at, from_state):
        return every_operation(at, from_state, at.scene.handle("knob"), 0.3)

    stance = bench.scene.stance("cabinet")
    failure = exhaustive(bench, state, pulls, stance, "open the drawer")
    assert failure.kind is FailureKind.BLOCKED
    assert failure.objects == ("stool",)
    empty = opened()
    assert exhaustive(empty, state, pulls, empty.scene.stance("cabinet"), "open it") is None
    names = [way.name for way in pulls(empty, state)]
    assert len(names) == 2  # either way up
