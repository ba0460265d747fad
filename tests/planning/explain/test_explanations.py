"""Explanations of formulas, conditional effects, forbidden actions and large spaces."""

import pytest

from galley.domain.failure import FailureKind
from galley.planning import Plan, ground, search
from galley.tests.planning.reference import action

DOMAIN = """
(define (domain doors) (:requirements :adl)
  (:types room key)
  (:predicates (at ?r - room) (door ?a ?b - room) (locked ?r - room) (held ?k - key)
               (opens ?k - key ?r - room) (lies ?k - key ?r - room) (dark ?r - room))
  (:action go :parameters (?a ?b - room)
    :precondition (and (at ?a) (door ?a ?b) (or (not (locked ?b))
                       (exists (?k - key) (and (held ?k) (opens ?k ?b)))))
    :effect (and (at ?b) (not (at ?a))
                 (forall (?k - key) (when (and (lies ?k ?b) (not (dark ?b))) (held ?k))))))
"""
OBJECTS = "(:objects hall den vault - room brass - key)"
INIT = "(at hall) (door hall den) (door den hall) (door hall vault) (door vault hall)"
INIT += " (locked vault) (opens brass vault) (lies brass den)"


@pytest.fixture
def explain(pddl):
    def run(goal, init=INIT):
        problem = f"(define (problem p) (:domain doors) {OBJECTS} (:init {init}) (:goal {goal}))"
        return search(ground(*pddl(DOMAIN, problem)))

    return run


def test_the_way_leads_through_a_conditional_effect(explain):
    assert [str(a) for a in explain("(at vault)").actions] == [
        "(go hall den)", "(go den hall)", "(go hall vault)"]  # fmt: skip


def test_a_missing_key_is_named_through_conditions_of_effects(explain):
    failure = explain("(at vault)", INIT.replace("(lies brass den)", ""))
    assert failure.kind is FailureKind.CONTRADICTION
    assert failure.certificate["goal"] == "(at vault)"
    # An unlocked vault, or the key.
    assert "(go hall vault) needs (not (locked vault)) or (held brass)" in failure.message
    assert {"(lies brass den)", "(held brass)", "(not (locked vault))"} <= {
        *failure.certificate["remedies"]}  # fmt: skip
    for remedy in failure.certificate["remedies"]:
        if not remedy.startswith("(not"):
            changed = INIT.replace("(lies brass den)", remedy)
            assert isinstance(explain("(at vault)", changed), Plan)


def test_a_key_in_the_dark_is_not_found(explain):
    failure = explain("(held brass)", INIT + " (dark den)")
    assert "(not (dark den))" in failure.certificate["remedies"]
    assert "no action deletes 'dark' facts" in failure.message


@pytest.mark.parametrize(
    ("goal", "words"),
    [
        ("(or (dark hall) (dark den))", "it needs (dark hall) or (dark den)"),
        ("(forall (?r - room) (dark ?r))", "it needs (dark hall)"),
        ("(exists (?r - room) (and (dark ?r) (at ?r)))", "it needs (dark hall) or (dark den)"),
        ("(imply (door hall den) (dark den))", "it needs (not (door hall den)) or (dark den)"),
        ("(not (or (at den) (door hall den)))", "(not (door hall den))"),
        ("(= hall den)", "goal (= hall den) can never hold: it contradicts itself"),
        ("(exists (?r - room) (not (= ?r ?r)))", "contradicts itself"),
    ],
)
def test_a_formula_that_nothing_makes_true(explain, goal, words):
    failure = explain(goal)
    assert failure.kind is FailureKind.CONTRADICTION
    assert failure.certificate["reason"] == "unreachable"
    assert words in failure.message


def test_a_conflict_of_formulas(explain):
    failure = explain("(and (held brass) (or (at hall) (at vault)) (forall (?r - room)"
                      " (imply (at ?r) (= ?r den))))")  # fmt: skip
    assert failure.certificate["reason"] == "exhausted"
    assert failure.certificate["conflict"] == [
        "(or (at hall) (at vault))",
        "(forall (?r - room) (imply (at ?r) (= ?r den)))",
    ]


def test_a_forbidden_action_is_given_as_the_reason(kitchen_task):
    task = kitchen_task.forbid(*(action(f"(pick spam {f} h1)") for f in ("burner", "center")))
    task = task.forbid(*(action(f"(pick spam {f} h1)") for f in ("countertop", "drawer")))
    failure = search(task)
    assert failure.certificate["goal"] == "(inside spam drawer)"
    assert failure.message.endswith("h1) is forbidden")


def test_many_goals_are_explained_in_time(pddl, with_goal):
    """Of 12 switches at most 6 can be up: 2,510 different violations."""
    n = 12
    switches = " ".join(f"s{i}" for i in range(n))
    coins = " ".join(f"(coin c{i})" for i in range(n // 2))
    task = ground(
        *pddl(
            "(define (domain d) (:predicates (coin ?c) (switch ?s) (up ?s))"
            " (:action flip :parameters (?s ?c) :precondition (and (coin ?c) (switch ?s))"
            " :effect (and (up ?s) (not (coin ?c)))))",
            f"(define (problem p) (:domain d) (:objects {switches} "
            f"{' '.join(f'c{i}' for i in range(n // 2))})"
            f"(:init {coins} {' '.join(f'(switch s{i})' for i in range(n))})"
            f"(:goal (and {' '.join(f'(up s{i})' for i in range(n))})))",
        )
    )
    failure = search(with_goal(task, *(f"(up s{i})" for i in range(n))))
    assert failure.kind is FailureKind.CONTRADICTION
    assert len(failure.certificate["conflict"]) == n // 2 + 1
