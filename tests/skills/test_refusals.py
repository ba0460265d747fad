"""What a skill refuses: with a certificate where there is one, honestly otherwise."""

import numpy as np
import pytest

from galley.domain.failure import Failure, FailureKind
from galley.domain.scene_file import load_scene
from galley.domain.state import initial_state
from galley.motion.motion import Motion
from galley.reachability.stances import shortfall
from galley.robots.mobile_panda import mobile_panda
from galley.skills import SKILLS, BoundAction, Settings, Workbench
from galley.tamp.refine import refine
from galley.worlds.pybullet_world import PyBulletWorld


def action(scene, index, name, *objects):
    return BoundAction(index, name, tuple(scene.binding(o) for o in objects))


@pytest.fixture
def bench(kitchen, world):
    return Workbench(kitchen, world.robot, world, Settings(seed=0, placements=150))


def refused(bench, *plan):
    found = refine(bench, plan, initial_state(bench.scene), SKILLS)
    assert isinstance(found, Failure)
    return found


def test_the_sugar_box_does_not_fit_into_the_drawer(kitchen, bench):
    stow = action(kitchen, 0, "stow", "sugar", "drawer", "h1")
    failure = refused(bench, stow)
    assert failure.kind is FailureKind.DOES_NOT_FIT
    assert failure.numbers["height_m"] > failure.numbers["room_m"]
    assert "stow sugar drawer h1" in failure.step
    assert "0.175" in str(failure)
    assert "0.109" in str(failure)


@pytest.mark.parametrize(
    ("name", "where"),
    [("place", "center"), ("place", "drawer"), ("stow", "countertop"), ("stow", "center")],
)
def test_furniture_without_the_region_is_a_contradiction(kitchen, bench, name, where):
    failure = refused(bench, action(kitchen, 0, name, "spam", where, "h1"))
    assert failure.kind is FailureKind.CONTRADICTION
    assert failure.certificate["object"] == where
    assert where in failure.objects


def test_an_action_without_a_skill_is_bad_input(kitchen, bench):
    failure = refused(bench, action(kitchen, 0, "juggle", "spam"))
    assert failure.kind is FailureKind.BAD_INPUT
    assert "juggle" in str(failure)
    assert "navigate" in str(failure)


def test_nothing_is_refused_that_the_default_task_does(kitchen, bench):
    for name, *objects in (
        ("pick", "sugar", "burner", "h1"),
        ("place", "sugar", "countertop", "h1"),
        ("stow", "spam", "drawer", "h1"),
        ("navigate", "center", "burner"),
    ):
        bound = action(kitchen, 0, name, *objects)
        assert SKILLS[name].impossible(bench, bound, initial_state(kitchen)) is None


FAR = "{xyz: [-3.5, 0.1, 0.89]}"


@pytest.fixture(scope="module")
def far_bench(small_text, tmp_path_factory):
    """The small scene, its block on a shelf 3.5 m behind the cabinet."""
    text = small_text.replace("{on: top, xy: [0.1, -0.2], yaw: 0.5}", FAR)
    shelf = "  shelf:\n    shapes:\n      - {extents: [[-3.7, -3.3], [-0.3, 0.5], [0.80, 0.84]]}\n"
    text = text.replace("  cabinet:\n    shapes", f"{shelf}  cabinet:\n    shapes", 1)
    file = tmp_path_factory.mktemp("far") / "far.yaml"
    file.write_text(text)
    scene = load_scene(file)
    with PyBulletWorld(scene, mobile_panda(scene.robot.base)) as world:
        yield Workbench(scene, world.robot, world, Settings(placements=100, attempts=2))


def test_an_item_out_of_reach_is_refused_with_a_distance(far_bench):
    scene = far_bench.scene
    failure = refused(
        far_bench,
        action(scene, 0, "navigate", "center", "table"),
        action(scene, 1, "pick", "block", "table", "h1"),
    )
    assert failure.kind is FailureKind.UNREACHABLE
    gap = failure.numbers["shortfall_m"]
    # By hand: nearest stance x = 0.7, item x = -3.5: 4.2 m, less some 1.3 m of arm, hand and item.
    assert 2.6 < gap < 3.2
    assert failure.objects == ("block",)
    point = np.array(failure.certificate["point_m"])
    stance = scene.stance(failure.certificate["stance"])
    np.testing.assert_allclose(point, [-3.5, 0.1, 0.89])
    assert shortfall(point, stance, scene.robot.base) >= gap  # the certificate can be checked


def test_an_item_walled_in_is_an_honest_budget_failure(small_text, tmp_path):
    """In reach, but behind walls: nothing proves it impossible, so it says how often it tried."""
    walls = """\
  box:
    shapes:
      - {extents: [[0.02, 0.04], [-0.29, -0.11], [0.84, 1.20]]}
      - {extents: [[0.16, 0.18], [-0.29, -0.11], [0.84, 1.20]]}
      - {extents: [[0.04, 0.16], [-0.29, -0.27], [0.84, 1.20]]}
      - {extents: [[0.04, 0.16], [-0.13, -0.11], [0.84, 1.20]]}
"""
    file = tmp_path / "walled.yaml"
    file.write_text(small_text.replace("  drawer:\n    parent", f"{walls}  drawer:\n    parent", 1))
    scene = load_scene(file)
    with PyBulletWorld(scene, mobile_panda(scene.robot.base)) as world:
        bench = Workbench(scene, world.robot, world, Settings(placements=40, attempts=1))
        failure = refused(
            bench,
            action(scene, 0, "navigate", "center", "table"),
            action(scene, 1, "pick", "block", "table", "h1"),
        )
    assert failure.kind is FailureKind.BUDGET
    assert failure.certificate is None
    assert failure.numbers["tries"] >= 40
    assert "box" in str(failure), "it names what was in the way"


def test_driving_somewhere_with_nothing_to_do_there_ends_in_the_stance(kitchen, bench):
    navigate = action(kitchen, 0, "navigate", "center", "countertop")
    start = initial_state(kitchen)
    found = SKILLS["navigate"].refine(bench, navigate, (), start, np.random.default_rng(0))
    assert all(isinstance(m, Motion) for m in found)
    assert found[-1].group == "base"
    assert kitchen.stance("countertop").contains(found[-1].path.end)
