"""When an outcome counts as the expected one."""

import pytest

from galley.studies.scenarios.scenario import Expectation, judge_report, matches

PLAN = ["(navigate center burner)", "(pick sugar burner h1)", "(place sugar countertop h1)"]
SUCCESS = {"status": "success", "failure": None, "plan": PLAN}
REFUSED = {
    "status": "refused",
    "failure": {
        "kind": "blocked",
        "message": "stow spam drawer h1 > open: the drawer can't open more than 18 mm: wall_2",
        "objects": ["crate"],
    },
    "plan": [],
}


@pytest.mark.parametrize(
    ("pattern", "action", "fits"),
    [
        ("pick sugar", "(pick sugar burner h1)", True),
        ("PICK Sugar", "(pick sugar burner h1)", True),
        ("pick * burner", "(pick sugar burner h1)", True),
        ("p* s?gar", "(pick sugar burner h1)", True),
        ("pick sug", "(pick sugar burner h1)", False),
        ("pick sugar burner h1 h2", "(pick sugar burner h1)", False),
        ("pick sugar", "(picks sugar)", False),
    ],
)
def test_a_pattern_is_the_beginning_of_an_action(pattern, action, fits):
    assert matches(pattern, action) is fits


@pytest.mark.parametrize(
    ("expected", "report", "wrong"),
    [
        (Expectation("success"), SUCCESS, []),
        (Expectation("success", plan_has=("pick sugar", "place *")), SUCCESS, []),
        (Expectation("success", plan_lacks=("open",), plan_at_most=3), SUCCESS, []),
        (Expectation("refused"), REFUSED, []),
        (Expectation("refused", "blocked", ("crate",)), REFUSED, []),
        (Expectation("refused", names=("wall_2", "drawer")), REFUSED, []),
        (Expectation("refused"), SUCCESS, ["success instead of refused"]),
        (
            Expectation("refused", "unreachable"),
            REFUSED,
            ["refused as blocked instead of unreachable"],
        ),
        (Expectation("refused", names=("wall",)), REFUSED, ["the failure does not name wall"]),
        (Expectation("success", plan_has=("stow",)), SUCCESS, ["no action of the plan is stow"]),
        (
            Expectation("success", plan_lacks=("place sugar",), plan_at_most=2),
            SUCCESS,
            [
                "the plan has (place sugar countertop h1)",
                "the plan has 3 actions, at most 2 expected",
            ],
        ),
    ],
)
def test_an_outcome_is_judged(expected, report, wrong):
    assert list(judge_report(expected, report)) == wrong


def test_a_budget_is_not_a_refusal():
    budget = REFUSED | {"status": "budget", "failure": {"kind": "budget", "message": "tried"}}
    assert judge_report(Expectation("refused"), budget) == ("budget instead of refused",)
    assert judge_report(Expectation("budget"), budget) == ()


def test_an_object_may_be_named_as_the_scene_names_it():
    expected = Expectation("refused", names=("box",))
    assert judge_report(expected, REFUSED, {"box": frozenset({"box", "crate"})}) == ()
