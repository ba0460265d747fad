"""Public PDDL: PDDLGym's files, and domains in the style of the IPC."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from galley.domain.errors import BadInput
from galley.domain.pddl.formula import (
    Exists,
    Forall,
    ForEach,
    Imply,
    Literal,
    When,
)
from galley.domain.pddl.reader import read_domain, read_problem, read_task

GYM = Path(find_spec("pddlgym").origin).parent / "pddl"

CHANCE = "probabilistic"
GYM_REFUSED = {
    "derivedblocks": "section :derived is not supported",
    "easygripper": "space on both sides",
    **dict.fromkeys(("explodingblocks", "manyexplodingblockssmallpiles", "manytireworld"), CHANCE),
    **dict.fromkeys(("navigation1", "river", "tireworld"), CHANCE),
    **{f"navigation{i}": "is never closed" for i in range(2, 11)},
}
GYM_DOMAINS = sorted(file.stem for file in GYM.glob("*.pddl"))
assert set(GYM_REFUSED) < set(GYM_DOMAINS)
assert len(GYM_DOMAINS) > 80


@pytest.mark.parametrize("name", GYM_DOMAINS)
def test_pddlgyms_files_are_read(name):
    if name in GYM_REFUSED:
        with pytest.raises(BadInput) as caught:
            read_domain(GYM / f"{name}.pddl")
        assert GYM_REFUSED[name] in str(caught.value)
        return
    domain = read_domain(GYM / f"{name}.pddl")
    problems = sorted((GYM / name).glob("*.pddl"), key=lambda file: file.stat().st_size)
    for file in problems[:2]:
        assert read_problem(file, domain).goal


@pytest.fixture
def read(tmp_path):
    def run(domain, problem):
        (tmp_path / "d.pddl").write_text(domain, encoding="utf-8")
        (tmp_path / "p.pddl").write_text(problem, encoding="utf-8")
        return read_task(tmp_path / "d.pddl", tmp_path / "p.pddl")

    return run


def test_a_lift_with_rules_about_passengers(read):
    domain, problem = read(
        """\
(define (domain miconic)
  (:requirements :adl)
  (:types passenger - object
          going_up vip attendant never_alone conflict_A conflict_B - passenger
          floor - object
         )
(:predicates
(origin ?person - passenger ?floor - floor)
;; entry of ?person is ?floor
(destin ?person - passenger ?floor - floor) (no-access ?person - passenger ?floor - floor)
(above ?floor1 - floor  ?floor2 - floor) (boarded ?person - passenger)
(served ?person - passenger) (lift-at ?floor - floor))

(:action stop
  :parameters (?f - floor)
  :precondition (and (lift-at ?f)
    (imply (exists (?p - conflict_A)
             (or (and (not (served ?p)) (origin ?p ?f))
                 (and (boarded ?p) (not (destin ?p ?f)))))
           (forall (?q - conflict_B)
             (and (or (destin ?q ?f) (not (boarded ?q)))
                  (or (served ?q) (not (origin ?q ?f))))))
    (forall (?p - never_alone)
      (imply (or (and (origin ?p ?f) (not (served ?p))) (boarded ?p))
             (exists (?q - attendant) (or (boarded ?q) (origin ?q ?f)))))
    (forall (?p - going_up)
      (imply (boarded ?p)
        (forall (?g - floor) (imply (destin ?p ?g) (or (= ?f ?g) (above ?f ?g))))))
    (forall (?p - passenger) (imply (no-access ?p ?f) (not (boarded ?p)))))
  :effect (and
    (forall (?p - passenger) (when (and (boarded ?p) (destin ?p ?f))
                                   (and (not (boarded ?p)) (served  ?p))))
    (forall (?p - passenger) (when (and (origin ?p ?f) (not (served ?p))) (boarded ?p)))))

(:action up
  :parameters (?f1 - floor ?f2 - floor)
  :precondition (and (lift-at ?f1) (above ?f1 ?f2))
  :effect (and (lift-at ?f2) (not (lift-at ?f1))))
)
""",
        """\
(define (problem mixed-f4-p2-u50-v20-d40-a80-n50-A50-B50-N75-F20)
   (:domain miconic)
   (:objects p0 - vip p1 - conflict_A
             f0 f1 f2 f3 - floor)
(:init (above f0 f1) (origin p0 f0) (destin p0 f1) (lift-at f0))
(:goal (forall (?p - passenger) (served ?p)))
)
""",
    )
    stop, up = domain.actions
    kinds = [type(each) for each in stop.precondition]
    assert kinds == [Literal, Imply, Forall, Forall, Forall]
    assert isinstance(stop.precondition[1].premise, Exists)
    assert all(isinstance(each, ForEach) for each in stop.effect)
    assert isinstance(stop.effect[0].effects[0], When)
    assert up.precondition == (Literal("lift-at", ("?f1",)), Literal("above", ("?f1", "?f2")))
    assert isinstance(problem.goal[0], Forall)
