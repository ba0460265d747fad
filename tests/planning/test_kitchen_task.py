"""The kitchen: the plan counted by hand, and why some goals are unsatisfiable."""

import subprocess
import sys

import pytest

from galley.domain.failure import FailureKind
from galley.domain.pddl.formula import Fact
from galley.domain.pddl.reader import read_domain, read_problem
from galley.domain.shipped import KITCHEN
from galley.planning import SearchLimits, ground, search
from galley.planning.searches.breadth_first import breadth_first
from galley.tests.planning.reference import facts_of

TASK = (KITCHEN / "task.pddl").read_text()


@pytest.fixture(scope="module")
def domain():
    return read_domain(KITCHEN / "kitchen.pddl")


@pytest.fixture
def solve(domain, tmp_path):
    """Searches the kitchen task with some of its text replaced."""

    def run(*replacements, by=search, **options):
        text = TASK
        for old, new in replacements:
            assert old in text
            text = text.replace(old, new)
        (tmp_path / "p.pddl").write_text(text)
        task = ground(domain, read_problem(tmp_path / "p.pddl", domain))
        return by(task, limits=SearchLimits(**options))

    return run


def test_optimum(solve, domain):
    # By hand: two items, each fetched from the burner and delivered elsewhere, is four drives
    # (one arrival for each pick and each delivery), two picks, a place and a stow.
    plan = solve()
    assert str(plan).splitlines() == [
        "(navigate center burner)",
        "(pick sugar burner h1)",
        "(navigate burner countertop)",
        "(place sugar countertop h1)",
        "(navigate countertop burner)",
        "(pick spam burner h1)",
        "(navigate burner drawer)",
        "(stow spam drawer h1)",
    ]
    assert plan.cost == 8
    assert 0 < plan.expanded <= plan.generated <= 320


def test_operators_are_the_reachable_ones(domain):
    problem = read_problem(KITCHEN / "task.pddl", domain)
    task = ground(domain, problem)
    # 4 * 3 drives; 2 items * 4 furniture for each of pick, place and stow.
    assert len(task.operators) == 12 + 3 * 8
    assert str(task.operators[0].action) == "(navigate countertop burner)"
    assert facts_of(task, task.init) == frozenset(problem.init)
    assert task == ground(domain, problem)


def test_the_hand_that_opens_is_the_hand_that_holds(solve, domain):
    plan = solve(
        ("h1 - hand", "h1 h2 - hand"),
        ("(empty h1)", "(empty h1) (empty h2)"),
    )
    # With two hands one visit to the burner is enough: both drives back to it are saved.
    assert len(plan.actions) == 7
    held = {}
    for action in plan.actions:
        if action.name == "pick":
            held[action.args[2]] = action.args[0]
        elif action.name != "navigate":
            assert held.pop(action.args[2]) == action.args[0]


def test_an_exhausted_space_is_counted(solve):
    failure = solve(
        ("(on sugar countertop)", "(on sugar countertop) (grasp sugar) (near burner)"),
        by=breadth_first,  # which doesn't look for contradictions first
    )
    assert failure.certificate["conflict"] == ["(on sugar countertop)", "(grasp sugar)"]
    # 4 places for the base. The sugar is in hand, on one of 4, or stowed; the spam likewise, but
    # here it matters whether it is stowed in the drawer. They are not both in hand.
    assert failure.certificate["states"] == 4 * (6 * 7 - 1)
    assert not failure.certificate["whole_states"]
    # Where the base is doesn't depend on the items: its 4 places are all that need be searched.
    failure = solve(("(on sugar countertop)", "(near burner) (near drawer)"),
                    ("(inside spam drawer)", ""), by=breadth_first)  # fmt: skip
    assert failure.certificate["states"] == 4
    assert not failure.certificate["whole_states"]


def test_three_wishes_in_conflict(domain, tmp_path):
    # Two slots and four items: any two fit, no three do.
    (tmp_path / "d.pddl").write_text(
        "(define (domain slots) (:predicates (free ?s) (slot ?s) (in ?x))"
        "(:action put :parameters (?x ?s) :precondition (and (free ?s) (slot ?s))"
        " :effect (and (in ?x) (not (free ?s)))))"
    )
    (tmp_path / "p.pddl").write_text(
        "(define (problem p) (:domain slots) (:objects a b c d s t)"
        "(:init (slot s) (slot t) (free s) (free t))"
        "(:goal (and (in a) (in b) (in c) (in d))))"
    )
    slots = read_domain(tmp_path / "d.pddl")
    failure = search(ground(slots, read_problem(tmp_path / "p.pddl", slots)))
    assert failure.certificate["conflict"] == ["(in a)", "(in b)", "(in c)"]


def test_a_fact_that_nothing_provides(solve):
    failure = solve(("(empty h1)", ""))
    assert failure.kind is FailureKind.CONTRADICTION
    assert failure.certificate["goal"] == "(on sugar countertop)"
    assert failure.certificate["remedies"] == ["(empty h1)"]
    assert "(place sugar countertop h1) needs (grasp sugar)" in failure.message
    assert failure.message.endswith("it might if (empty h1) held initially")


def test_a_goal_nothing_reaches_is_not_pruned(domain, tmp_path, solve):
    # Of the facts, (grasp spam) and (on spam ...) are unreachable once the spam is nowhere.
    failure = solve(("(on spam burner)\n", ""), ("(on sugar countertop)", ""))
    assert failure.certificate["goal"] == "(inside spam drawer)"
    problem = read_problem(tmp_path / "p.pddl", domain)
    assert Fact("inside", ("spam", "drawer")) in ground(domain, problem).facts


def test_negative_goal(solve):
    plan = solve(("(on sugar countertop)", "(not (on sugar burner))"), ("(inside spam drawer)", ""))
    assert [each.name for each in plan.actions] == ["navigate", "pick"]
    failure = solve(("(near center)", "(near center) (inside sugar drawer)"),
                    ("(inside spam drawer)", "(not (inside sugar drawer))"))  # fmt: skip
    assert failure.certificate["goal"] == "(not (inside sugar drawer))"
    assert "no action deletes 'inside' facts" in failure.message


def test_planning_is_light():
    # In a process of its own: other tests have imported the heavy ones by now.
    code = (
        "import sys, galley.planning, galley.domain.pddl.reader;"
        "print(*{'numpy','pybullet','pydrake','matplotlib','pddlgym','gym'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
