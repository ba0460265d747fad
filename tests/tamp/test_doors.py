"""Doors on the base's way are opened for it, and what can't be opened is said; nothing else is."""

import pytest

from galley.domain.failure import Failure, FailureKind
from galley.domain.pddl.reader import read_domain, read_problem
from galley.domain.shipped import KITCHEN, SCENARIOS
from galley.tamp.binding import tamp_task
from galley.tests.tamp.test_search_real import solve

WITHOUT = """\
galley_scene: 1
extends: {scene}
bodies: {{gate: null, gate_handle: null}}
joints: {{gate_joint: null}}
handles: {{gate_handle: null}}
objects: {{gate: {{stance: gate}}}}
"""


@pytest.fixture
def found(tmp_path, scene_of):
    """The plan's actions, or a Failure, of ``sliding_door`` with some texts replaced."""

    def of(scene="extends: {scene}\ngalley_scene: 1\n", domain="drawers", changes=()):
        text = (SCENARIOS / "sliding_door.pddl").read_text()
        for old, new in [("domain drawers", f"domain {domain}"), *changes]:
            assert old in text
            text = text.replace(old, new)
        (tmp_path / "problem.pddl").write_text(text)
        read = read_domain(KITCHEN / f"{domain}.pddl")
        problem = read_problem(tmp_path / "problem.pddl", read)
        scene = scene_of(scene.format(scene=SCENARIOS / "sliding_door_scene.yaml"))
        _, answer = solve(tamp_task(scene, read, problem))
        return answer if isinstance(answer, Failure) else [a.name for a in answer.plan]

    return of


def test_the_door_is_opened_before_the_drive_and_only_where_there_is_one(found):
    rest = ["pick", "navigate", "place"]
    assert found() == ["navigate", "open", "navigate", *rest]
    assert found(WITHOUT) == ["navigate", *rest]


def test_a_goal_that_is_a_drive_waits_for_the_door(found):
    plan = found(changes=[("(:goal (on sugar countertop))", "(:goal (near burner))")])
    assert plan == ["navigate", "open", "navigate"]


@pytest.mark.parametrize("named", [True, False])
def test_without_an_action_for_it_the_door_is_named(found, named):
    types = [(f"- {each}", "- furniture") for each in ("stove", "surface", "drawer")]
    types += [] if named else [("gate - furniture", "")]
    refused = found(domain="kitchen", changes=types)
    assert refused.kind is FailureKind.BLOCKED
    assert refused.certificate["kind"] == "passage"
    assert "the base has no way past gate to stance set 'burner'" in refused.message
    assert ("the domain has no action to open it" in refused.message) == named
