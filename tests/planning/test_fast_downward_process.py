"""Fast Downward as a process: costs, limits, interruption, and what is said when it fails."""

import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import pytest

import galley
from galley.domain.failure import FailureKind
from galley.domain.pddl_reader import read_domain, read_problem, read_task
from galley.planning import GroundAction, ground, search
from galley.planning.extras import MissingExtra
from galley.planning.fast_downward import FastDownwardError, fast_downward

ROOT = Path(galley.__file__).parent
sys.path.insert(0, str(ROOT / "bench"))

import planning_tasks as tasks  # noqa: E402

KITCHEN = ROOT / "domain" / "kitchen"


def read(domain_file, problem_file):
    domain = read_domain(domain_file)
    return domain, read_problem(problem_file, domain)


@pytest.fixture(scope="module")
def kitchen():
    return read(KITCHEN / "kitchen.pddl", KITCHEN / "task.pddl")


def test_first_plan_of_lama(kitchen):
    plan = fast_downward(*kitchen, optimal=False)
    assert plan.cost == len(plan.actions) >= 8
    assert plan.expanded > 0


def test_forbidden_actions(kitchen):
    barred = GroundAction("navigate", ("burner", "drawer"))
    plan = fast_downward(*kitchen, optimal=True, forbidden=[barred])
    assert barred not in plan.actions
    assert len(plan.actions) > 8
    last = GroundAction("stow", ("spam", "drawer", "h1"))
    failure = fast_downward(*kitchen, optimal=True, forbidden=[last])
    assert failure.kind is FailureKind.CONTRADICTION
    assert failure.certificate["reason"] == "fast-downward-exhausted"


def test_costs_in_their_own_unit(tmp_path):
    domain, problem = read(*tasks.transport(2, 4, seed=2, unit=0.25).write(tmp_path))
    assert fast_downward(domain, problem, optimal=True).cost % 1  # quarters
    odd = {fact: value / 3 for fact, value in problem.values.items()}
    with pytest.raises(ValueError, match="more than 6 decimals"):
        fast_downward(domain, replace(problem, values=odd), optimal=True)
    vast = {fact: value * 1e9 for fact, value in problem.values.items()}
    with pytest.raises(ValueError, match="too large"):
        fast_downward(domain, replace(problem, values=vast), optimal=True)


SUMS = """(define (domain sums) (:requirements :action-costs :typing) (:types place)
  (:predicates (here ?p - place))
  (:functions (total-cost) - number (way ?a ?b - place) - number (toll ?p - place) - number)
  (:action go :parameters (?a ?b - place) :precondition (here ?a)
    :effect (and (here ?b) (not (here ?a)) (increase (total-cost) (way ?a ?b))
      (increase (total-cost) (toll ?b)) (increase (total-cost) 0.5))))
"""


def test_a_cost_of_several_terms(tmp_path):
    places = "abc"
    ways = [f"= (way {x} {y}) {3 if x + y in 'ab bc' else 10}" for x in places for y in places]
    tolls = ["= (toll a) 0", "= (toll b) 1.5", "= (toll c) 0.1"]
    text = tasks.problem_text(
        "sums", "a b c - place", ["here a", *ways, *tolls], ["here c"], metric=True
    )
    domain, problem = read(*tasks.Case("sums", SUMS, text).write(tmp_path))
    plan = fast_downward(domain, problem, optimal=True)
    assert [each.args for each in plan.actions] == [("a", "b"), ("b", "c")]
    assert plan.cost == pytest.approx(3 + 1.5 + 0.5 + 3 + 0.1 + 0.5)
    assert search(ground(domain, problem), "astar").cost == pytest.approx(plan.cost)


def test_limits_are_failures_and_leave_nothing(tmp_path, monkeypatch):
    domain, problem = read(*tasks.gripper(12).write(tmp_path))
    place = tmp_path / "tmp"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    start = time.perf_counter()
    failure = fast_downward(domain, problem, optimal=True, seconds=0.7)
    assert time.perf_counter() - start < 5
    assert failure.kind is FailureKind.BUDGET
    assert failure.certificate is None
    assert "0.7 s" in failure.message
    failure = fast_downward(domain, problem, optimal=True, memory_bytes=24 << 20)
    assert failure.kind is FailureKind.BUDGET
    assert "24 MiB" in failure.message
    assert list(place.iterdir()) == []
    with pytest.raises(ValueError, match="seconds"):
        fast_downward(domain, problem, optimal=True, seconds=-1)


def test_ctrl_c_ends_the_child(tmp_path):
    files = tasks.gripper(12).write(tmp_path)
    code = (
        "import sys, signal, os, tempfile\n"
        "from galley.domain.pddl_reader import read_domain, read_problem\n"
        "from galley.planning.fast_downward import fast_downward\n"
        "tempfile.tempdir = sys.argv[3]\n"
        "d = read_domain(sys.argv[1]); p = read_problem(sys.argv[2], d)\n"
        # Whoever starts the tests in the background has it ignored.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))\n"
        "signal.setitimer(signal.ITIMER_REAL, 1.0)\n"
        "try:\n"
        "    fast_downward(d, p, optimal=True)\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted')\n"
    )
    place = tmp_path / "tmp"
    place.mkdir()
    done = subprocess.run(
        [sys.executable, "-c", code, *map(str, files), str(place)],
        capture_output=True, text=True, timeout=30, check=False,
    )  # fmt: skip
    assert done.stdout == "interrupted\n", done.stderr
    assert list(place.iterdir()) == []
    running = [Path(f"/proc/{each.name}/cwd") for each in Path("/proc").iterdir()
               if each.name.isdigit()]  # fmt: skip
    for cwd in running:
        try:
            assert not str(cwd.readlink()).startswith(str(place))
        except OSError:  # another's process, or gone
            continue


def test_not_installed(kitchen, monkeypatch):
    monkeypatch.setattr("galley.planning.fast_downward.find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=r"pip install 'galley-tamp\[fd\]'"):
        fast_downward(*kitchen, optimal=True)


def test_what_fast_downward_says_when_it_fails(kitchen):
    domain, problem = kitchen
    broken = replace(problem, objects=problem.objects[:1])
    with pytest.raises(FastDownwardError, match="ended with status"):
        fast_downward(domain, broken, optimal=True)


def test_costs_add_up_as_they_are_written(tmp_path):
    (tmp_path / "d").write_text(
        "(define (domain c) (:predicates (p)) (:functions (total-cost) - number)"
        " (:action a :effect (and (p) (increase (total-cost) 0.1) (increase (total-cost) 0.2))))"
    )
    (tmp_path / "p").write_text(
        "(define (problem x) (:domain c) (:init) (:goal (p)) (:metric minimize (total-cost)))"
    )
    domain, problem = read_task(tmp_path / "d", tmp_path / "p")
    assert fast_downward(domain, problem, optimal=True).cost == 0.3
    assert search(ground(domain, problem), "astar").cost == 0.3
