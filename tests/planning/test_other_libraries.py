"""Galley in PDDLGym and in unified_planning, judged by those."""

import pytest
import unified_planning.shortcuts as up
from unified_planning.engines import PlanGenerationResultStatus as Status
from unified_planning.engines import SequentialPlanValidator, ValidationResultStatus
from unified_planning.exceptions import UPUnsupportedProblemTypeError
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


def test_an_unsupported_problem_is_refused_in_its_manner(planner):
    problem = EXAMPLES["matchcellar"].problem
    with pytest.raises(UPUnsupportedProblemTypeError, match="durative actions"):
        planner.solve(problem)  # it does not check the kind for a planner called by its name
    assert not planner.supports(problem.kind)


def test_limits_and_unsolvable_problems(planner):
    problem = EXAMPLES["basic"].problem.clone()
    assert planner.solve(problem, timeout=1e-9).status is Status.TIMEOUT
    problem.clear_actions()
    assert planner.solve(problem).status is Status.UNSOLVABLE_PROVEN


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


@pytest.mark.parametrize("options", [{}, {"operators_as_actions": True}], ids=str)
@pytest.mark.parametrize(("name", "goal"), [("kitchen", "task"), ("drawers", "put_away")])
def test_laid_out_files_suit_its_environment(name, goal, options, tmp_path):
    core = pytest.importorskip("pddlgym.core")
    from galley.planning.pddlgym import lay_out

    env = core.PDDLEnv(*map(str, lay_out(tmp_path, name, **options)), **options)
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
