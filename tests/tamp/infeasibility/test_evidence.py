"""The whole search where no refusal is due: only leaning grasps get there, or nothing does."""

import pytest

from galley.collision.backends.pybullet_world import PyBulletWorld
from galley.domain.failure import Failure, FailureKind
from galley.domain.pddl.reader import read_domain, read_problem
from galley.domain.scene.reader import load_scene
from galley.domain.shipped import KITCHEN
from galley.robots.panda.models import mobile_panda
from galley.skills import PlanningContext, Settings
from galley.tamp.binding import tamp_task
from galley.tamp.search import RefinedPlan, Search
from galley.tests.skills.infeasibility.scenes import cleft, square, with_more

TAKE = """\
(define (problem take)
  (:domain kitchen)
  (:objects center table - furniture block - objective h1 - hand)
  (:init (near center) (empty h1) (on block table))
  (:goal (holds h1 block)))
"""


def cage():
    """A closed cage about the block, so wide that a hand could be anywhere in it."""
    sides = (
        "[[-0.16, 0.36], [-0.46, -0.44], [0.84, 1.36]]",
        "[[-0.16, 0.36], [0.04, 0.06], [0.84, 1.36]]",
        "[[-0.18, -0.16], [-0.46, 0.06], [0.84, 1.36]]",
        "[[0.36, 0.38], [-0.46, 0.06], [0.84, 1.36]]",
        "[[-0.18, 0.38], [-0.46, 0.06], [1.36, 1.38]]",
    )
    return "  cage:\n    shapes:\n" + "".join(f"      - {{extents: {side}}}\n" for side in sides)


@pytest.fixture
def solve(tmp_path):
    """Searches the task of taking the block in the small scene with more bodies."""

    def run(bodies):
        (tmp_path / "scene.yaml").write_text(with_more(bodies, change=square))
        (tmp_path / "task.pddl").write_text(TAKE)
        scene = load_scene(tmp_path / "scene.yaml")
        domain = read_domain(KITCHEN / "kitchen.pddl")
        problem = read_problem(tmp_path / "task.pddl", domain)
        with PyBulletWorld(scene, mobile_panda(scene.robot.base)) as world:
            context = PlanningContext(scene, world.robot, world, Settings(placements=100))
            task = tamp_task(scene, domain, problem)
            return Search(context, task, task.start).solve()

    return run


def test_between_two_walls_the_block_is_taken_by_a_leaning_hand(solve):
    assert isinstance(solve(cleft()), RefinedPlan)


@pytest.mark.slow
def test_what_no_bound_shows_is_no_refusal(solve):
    found = solve(cage())
    assert isinstance(found, Failure)
    assert found.kind is FailureKind.BUDGET
    assert found.certificate is None
    assert "cage" in found.objects
    assert "grasps and placements from base poses were tried" in found.message
