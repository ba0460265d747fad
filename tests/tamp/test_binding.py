"""PDDL objects are bound to the scene, or it is said which can't be and where they stand."""

import pytest

from galley.domain.errors import BadInput
from galley.domain.pddl.reader import read_domain, read_problem
from galley.domain.scene.reader import load_scene
from galley.domain.shipped import KITCHEN
from galley.tamp.binding import bind


@pytest.fixture(scope="module")
def scene():
    return load_scene(KITCHEN / "kitchen.yaml")


@pytest.fixture(scope="module")
def domain():
    return read_domain(KITCHEN / "kitchen.pddl")


@pytest.fixture
def problem(domain, tmp_path):
    def write(objects):
        file = tmp_path / "problem.pddl"
        file.write_text(
            f"(define (problem p) (:domain kitchen)\n (:objects\n{objects})\n"
            " (:init) (:goal (and)))\n"
        )
        return read_problem(file, domain)

    return write


def test_the_kitchen(scene, domain):
    bindings = bind(scene, domain, read_problem(KITCHEN / "task.pddl", domain))
    assert {name: b.kind for name, b in bindings.items()} == {
        "center": "furniture",
        "burner": "furniture",
        "countertop": "furniture",
        "drawer": "furniture",
        "sugar": "item",
        "spam": "item",
        "h1": "hand",
    }
    assert bindings["sugar"].target == "sugar_box"
    assert bindings["countertop"].region == "hitman_top"
    assert bindings["drawer"].handle == "indigo_drawer_handle_top"


def test_every_unknown_object_is_named_with_its_place(scene, domain, problem):
    with pytest.raises(BadInput) as caught:
        bind(scene, domain, problem("sugar suger - objective\n  moon - furniture"))
    errors = caught.value.errors
    assert [(e.line, e.column) for e in errors] == [(3, 7), (4, 3)]
    assert errors[0].what.startswith("object 'suger' has no binding in ")
    assert errors[0].what.endswith("; did you mean 'sugar'?")
    assert "did you mean" not in errors[1].what


@pytest.mark.parametrize(
    ("objects", "told"),
    [
        ("drawer - objective", "object 'drawer' is an objective here but a furniture in"),
        ("sugar - furniture", "object 'sugar' is a furniture here but an item in"),
        ("sugar - hand", "object 'sugar' is a hand here but an item in"),
        ("h1 - objective", "object 'h1' is an objective here but a hand in"),
    ],
)
def test_a_thing_of_another_kind(scene, domain, problem, objects, told):
    with pytest.raises(BadInput) as caught:
        bind(scene, domain, problem(objects))
    (error,) = caught.value.errors
    assert (error.line, error.column) == (3, 1)
    assert error.what.startswith(told)


def test_subtypes_count_as_what_they_are(scene, tmp_path):
    file = tmp_path / "domain.pddl"
    file.write_text(
        "(define (domain kitchen) (:requirements :strips :typing)\n"
        " (:types furniture objective hand - object box - objective)\n"
        " (:predicates (on ?o - objective ?f - furniture))\n"
        " (:action a :parameters (?o - box ?f - furniture)\n"
        "  :precondition (and) :effect (on ?o ?f)))\n"
    )
    domain = read_domain(file)
    task = tmp_path / "problem.pddl"
    task.write_text(
        "(define (problem p) (:domain kitchen) (:objects\nsugar burner - box)"
        " (:init) (:goal (and)))\n"
    )
    with pytest.raises(BadInput) as caught:
        bind(scene, domain, read_problem(task, domain))
    assert [e.what.split("'")[1] for e in caught.value.errors] == ["burner"]


def test_types_that_say_nothing_of_the_kitchen_are_not_judged(scene, tmp_path):
    file = tmp_path / "domain.pddl"
    file.write_text(
        "(define (domain d) (:predicates (p ?x))\n"
        " (:action a :parameters (?x) :precondition (and) :effect (p ?x)))\n"
    )
    domain = read_domain(file)
    task = tmp_path / "problem.pddl"
    task.write_text("(define (problem p) (:domain d) (:objects sugar) (:init) (:goal (p sugar)))\n")
    assert bind(scene, domain, read_problem(task, domain))["sugar"].kind == "item"
