"""``galley plan`` and ``galley verify plan`` as their users call them."""

import json

import pytest

import galley
from galley.domain.shipped import KITCHEN
from galley.tests.command_line import environment, python

DOMAIN = KITCHEN / "kitchen.pddl"
ERRAND = ("--problem", KITCHEN / "sugar_only.pddl")
SHORTEST = ["(navigate center burner)", "(pick sugar burner h1)"]
SHORTEST += ["(navigate burner countertop)", "(place sugar countertop h1)"]


def test_plan_prints_an_action_a_line(cli):
    done = cli("plan", *ERRAND)
    assert (done.status, done.err) == (0, "")
    lines = done.out.splitlines()
    assert lines[:-1] == SHORTEST
    assert lines[-1].startswith("; cost 4, ")


@pytest.fixture
def written(tmp_path):
    """``cli("plan", "--json", written.file)``, and then ``written()``: what is in it."""

    def read():
        return json.loads(read.file.read_text())

    read.file = tmp_path / "plan.json"
    return read


def test_plan_as_json(cli, written):
    done = cli("plan", *ERRAND, "--json", written.file)
    assert done.status == 0
    assert done.out.splitlines()[:-1] == SHORTEST
    data = written()
    for key in ("search_s", "read_s", "ground_s", "expanded", "generated", "operators", "facts"):
        assert data.pop(key) > 0
    assert data == {"status": "solved", "search": "bfs", "plan": SHORTEST, "cost": 4}


def test_plan_is_the_same_under_another_hash_seed(cli):
    other = python("-m", "galley", "plan", env=environment(PYTHONHASHSEED="4711"))
    assert other.out.split(";")[0] == cli("plan").out.split(";")[0]
    assert len(other.out.splitlines()) == 9


def test_no_plan(cli, problem, written):
    file = problem("(and (grasp sugar) (grasp spam))")
    done = cli("plan", "--problem", file)
    assert done.status == 1
    assert done.out == ""
    assert len(done.faults) == 1
    assert done.err.startswith("unsolvable: no plan exists: all ")
    assert "none has (grasp sugar) and (grasp spam) together" in done.err
    done = cli("plan", "--problem", file, "--json", written.file)
    assert done.status == 1
    data = written()
    assert (data["status"], data["plan"]) == ("unsolvable", None)
    assert data["failure"]["kind"] == "contradiction"
    assert data["failure"]["certificate"]["conflict"] == ["(grasp sugar)", "(grasp spam)"]


@pytest.mark.parametrize("search", ["bfs", "astar", "gbfs"])
def test_every_search_prints_a_plan_that_holds(cli, tmp_path, search):
    done = cli("plan", "--search", search)
    assert (done.status, done.err) == (0, "")
    file = tmp_path / "task.plan"
    file.write_text(done.out)
    done = cli("verify", "plan", file)
    assert (done.status, done.out[:7], done.err) == (0, "valid: ", "")


def test_the_best_plans(cli, written):
    done = cli("plan", *ERRAND, "--top-k", 3)
    assert (done.status, done.err) == (0, "")
    heads = [line for line in done.out.splitlines() if line.startswith("; plan")]
    assert heads == [
        "; plan 1: cost 4, 4 actions", "; plan 2: cost 5, 5 actions", "; plan 3: cost 5, 5 actions"
    ]  # fmt: skip
    cli("plan", *ERRAND, "--top-k", 3, "--json", written.file)
    data = written()
    assert [each["cost"] for each in data["plans"]] == [4, 5, 5]
    assert data["plans"][0]["plan"] == SHORTEST
    assert not data["complete"]


def test_all_plans_there_are(cli, problem):
    # Without an empty hand nothing but the base moves: plans are the ways to the burner.
    done = cli("plan", "--problem", problem("(near burner)"), "--top-k", 10**6, "--node-limit", 50)
    assert done.status == 1
    assert done.err.startswith("limit: ")
    assert done.out.startswith("; plan 1: cost 1, 1 action\n(navigate center burner)\n; plan 2")


def test_top_k_has_its_own_search(cli):
    done = cli("plan", "--top-k", 3, "--search", "gbfs")
    assert done.status == 2
    assert len(done.faults) == 1
    assert "remove --search" in done.err


def test_faults_are_listed(cli, tmp_path):
    domain, problem = tmp_path / "d.pddl", tmp_path / "p.pddl"
    domain.write_text(DOMAIN.read_text().replace("(grasp ?obj) (holds", "(graps ?obj) (holds"))
    problem.write_text("(define (problem p) (:domain kitchen)\n(:init) (:gaol (near burner)))")
    done = cli("plan", "--domain", domain, "--problem", problem)
    assert done.status == 2
    assert any(f.startswith(f"{domain}:") and "did you mean 'grasp'" in f for f in done.faults)
    done = cli("plan", "--problem", problem)
    assert done.faults == [
        f"{problem}:2:9: section :gaol is not supported; did you mean ':goal'?",
    ]


def test_a_limit_is_not_called_unsolvable(cli, written):
    done = cli("plan", "--node-limit", 2, "--json", written.file)
    assert done.status == 1
    assert done.err.startswith("limit: ")
    data = written()
    assert (data["status"], data["failure"]["kind"]) == ("limit", "budget")
    assert data["failure"]["certificate"] is None


@pytest.fixture
def plan_file(tmp_path):
    def write(*lines):
        file = tmp_path / "task.plan"
        file.write_text("".join(f"{line}\n" for line in lines))
        return file

    return write


def test_verify_plan_asks_pddlgym(cli, plan_file):
    done = cli("verify", "plan", plan_file(*SHORTEST), *ERRAND, "--pddlgym")
    assert done.status == 0
    assert "PDDLGym agrees: PDDLGym executes all 4 actions and reaches the goal" in done.out
    for lines, words in ((SHORTEST[1:2], "step 1, (pick sugar burner h1): PDDLGym finds"),
                         (SHORTEST[:1], "PDDLGym does not find the goal")):  # fmt: skip
        done = cli("verify", "plan", plan_file(*lines), *ERRAND, "--pddlgym")
        assert done.status == 1
        assert f"PDDLGym agrees: {words}" in done.out


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (SHORTEST[1:], "step 1, (pick sugar burner h1): precondition (near burner) does not hold"),
        (SHORTEST[:3], "all 3 actions are applicable, but at the end (on sugar countertop)"),
        ([], "there is no action, but at the end (on sugar countertop)"),
        (["(navigate center borner)"], "no object 'borner'; did you mean 'burner'?"),
    ],
)
def test_verify_plan_names_the_first_failing_action(cli, plan_file, lines, words):
    done = cli("verify", "plan", plan_file(*lines), *ERRAND)
    assert done.status == 1
    assert done.out == ""
    assert len(done.faults) == 1
    assert done.err.startswith("invalid: ")
    assert words in done.err


@pytest.mark.parametrize(
    ("lines", "place"),
    [
        (["; a comment", "(pick sugar burner h1"], "2:1"),
    ],
)
def test_a_malformed_plan_file(cli, plan_file, lines, place):
    file = plan_file(*lines)
    done = cli("verify", "plan", file, *ERRAND)
    assert done.status == 2
    assert done.err.startswith(f"{file}:{place}: ")
    assert "Traceback" not in done.err


def test_help_says_what_there_is(cli):
    done = cli("--help")
    assert done.status == 0
    for word in ("run", "plan", "verify", "scene", "compare", "disturb", "exit status", "130"):
        assert word in done.out
    headed = {"studies": "compare", "planar systems": "touch", "learning": "push"}
    for heading, first in headed.items():
        assert f"  {heading}:\n    {first} " in done.out
    for command in ("run", "plan", "verify", "scene", "compare", "disturb"):
        done = cli(command, "--help")
        assert done.status == 0
        assert "exit status" in done.out
    assert cli("--version").out == f"galley {galley.__version__}\n"
