"""Galley in PDDLGym and in unified_planning, judged by those."""

import json
from fractions import Fraction

import pytest
import unified_planning.shortcuts as up
from unified_planning.engines import PlanGenerationResultStatus as Status
from unified_planning.engines import SequentialPlanValidator, ValidationResultStatus
from unified_planning.exceptions import UPUnsupportedProblemTypeError, UPUsageError
from unified_planning.model import ContingentProblem
from unified_planning.test.examples import get_example_problems

from galley.domain.pddl.reader import read_task
from galley.planning import ground, search
from galley.planning.unified_planning import GalleyEngine, register

EXAMPLES = get_example_problems()
SUPPORTED = sorted(
    name for name, each in EXAMPLES.items() if GalleyEngine.supports(each.problem.kind)
)


@pytest.fixture
def planner():
    register()
    up.get_environment().credits_stream = None
    with up.OneshotPlanner(name="galley") as engine:
        yield engine


def test_some_of_its_examples_are_classical():
    assert len(SUPPORTED) >= 20
    assert "matchcellar" not in SUPPORTED  # durative


@pytest.mark.parametrize("name", SUPPORTED)
def test_its_validator_accepts_the_plans_of_its_examples(name, planner):
    problem = EXAMPLES[name].problem
    result = planner.solve(problem, timeout=60)
    best = Status.SOLVED_OPTIMALLY if problem.quality_metrics else Status.SOLVED_SATISFICING
    assert result.status is best
    verdict = SequentialPlanValidator().validate(problem, result.plan)
    assert verdict.status is ValidationResultStatus.VALID


REFUSED = sorted(set(EXAMPLES) - set(SUPPORTED) - {"basic_undef_bool"})  # its undefined is false


@pytest.mark.parametrize("name", REFUSED)
def test_an_unsupported_problem_is_refused_in_its_manner(name, planner):
    problem = EXAMPLES[name].problem
    named = problem.kind.features - GalleyEngine.supported_kind().features
    with pytest.raises(UPUnsupportedProblemTypeError) as caught:
        planner.solve(problem)  # it does not check the kind for a planner called by its name
    assert all(each.lower().replace("_", " ") in str(caught.value) for each in named)
    assert not planner.supports(problem.kind)


def test_what_its_writer_leaves_out_is_no_verdict(planner):
    problem = ContingentProblem("either")
    x, y = (problem.add_fluent(name, default_initial_value=False) for name in "xy")
    problem.add_oneof_initial_constraint([x, y])
    problem.add_goal(up.Or(x, y))
    with pytest.raises(UPUnsupportedProblemTypeError, match="contingent"):
        planner.solve(problem)


def test_limits_and_unsolvable_problems(planner):
    problem = EXAMPLES["basic"].problem.clone()
    late = planner.solve(problem, timeout=1e-9)
    assert late.status is Status.TIMEOUT
    assert "time limit" in late.log_messages[0].message
    problem.clear_actions()
    never = planner.solve(problem)
    assert never.status is Status.UNSOLVABLE_PROVEN
    assert json.loads(never.log_messages[1].message)["never"] == ["(x)"]


def way():
    """From a to c: 7 in one step, 3/2 + 2 by b. Nothing else costs less than 7."""
    problem, place = up.Problem("way"), up.UserType("place")
    at = problem.add_fluent("at", default_initial_value=False, p=place)
    far = problem.add_fluent("far", up.RealType(), default_initial_value=7, p=place, q=place)
    a, b, c = (problem.add_object(name, place) for name in "abc")
    go = up.InstantaneousAction("go", p=place, q=place)
    go.add_precondition(at(go.p))
    go.add_effect(at(go.p), False)
    go.add_effect(at(go.q), True)
    problem.add_action(go)
    problem.set_initial_value(at(a), True)
    problem.set_initial_value(far(a, b), Fraction(3, 2))
    problem.set_initial_value(far(b, c), 2)
    problem.add_goal(at(c))
    problem.add_quality_metric(up.MinimizeActionCosts({go: far(go.p, go.q)}))
    return problem


def test_static_fluents_are_costs_and_a_search_is_a_parameter(planner):
    problem = way()
    with up.OneshotPlanner(
        problem_kind=problem.kind, optimality_guarantee="SOLVED_OPTIMALLY"
    ) as it:
        assert it.name == "galley"
        best = it.solve(problem)
    assert (best.status, len(best.plan.actions)) == (Status.SOLVED_OPTIMALLY, 2)
    with up.OneshotPlanner(name="galley", params={"search": "bfs"}) as it:
        short = it.solve(problem)
    assert (short.status, len(short.plan.actions)) == (Status.SOLVED_SATISFICING, 1)
    for wrong in ({"search": "bsf"}, {"serch": "bfs"}):
        with pytest.raises(UPUsageError, match=r"search is one of bfs, astar, gbfs|it has search"):
            up.OneshotPlanner(name="galley", params=wrong)


@pytest.mark.parametrize("name", ["Kitchen", "Drawers"])
def test_pddlgyms_make_knows_the_kitchen(name):
    pddlgym = pytest.importorskip("pddlgym")
    from galley.planning.pddlgym import register as register_kitchen

    register_kitchen()
    register_kitchen()
    env = pddlgym.make(f"PDDLEnv{name}-v0")
    observation, _ = env.reset()
    after, *_ = env.step(env.action_space.sample(observation))
    assert after != observation
    assert len(env.unwrapped.problems) == 2


@pytest.mark.parametrize(("name", "goal"), [("kitchen", "task"), ("drawers", "put_away")])
def test_laid_out_files_suit_its_environment(name, goal, tmp_path):
    core = pytest.importorskip("pddlgym.core")
    from galley.planning.pddlgym import lay_out

    env = core.PDDLEnv(*map(str, lay_out(tmp_path, name)), operators_as_actions=True)
    env.fix_problem_index(1)
    state, _ = env.reset()
    objects = {each.name: each for each in state.objects}
    predicates = {each.name: each for each in env.action_predicates}
    plan = search(ground(*read_task(f"{name}.pddl", f"{goal}.pddl")), "bfs")
    done = [
        env.step(predicates[each.name](*(objects[arg] for arg in each.args)))[1:3]
        for each in plan.actions
    ]
    assert done == [(0.0, False)] * 7 + [(1.0, True)]
