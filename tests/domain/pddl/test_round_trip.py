"""Formulas and effects survive being written and read again."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from galley.domain.pddl.formula import (
    And,
    Exists,
    Forall,
    ForEach,
    FunctionTerm,
    Imply,
    Literal,
    Not,
    Or,
    Variable,
    When,
)
from galley.domain.pddl.reader import read_domain
from galley.tests.effort import examples

TYPES = ("room", "box")
NAMES = ("?x", "?y", "?z")
HEAD = """\
(define (domain d)
  (:types room box)
  (:constants hall - room)
  (:predicates (p) (q ?a) (r ?a ?b))
  (:functions (total-cost) (f ?a) (g))
  (:action a :parameters (?x ?y ?z)
"""

# Every variable is a parameter, so any may occur anywhere; quantifiers shadow them.
terms = st.sampled_from((*NAMES, "hall"))


def facts(positive):
    def literal(draw):
        name, arity = draw(st.sampled_from((("p", 0), ("q", 1), ("r", 2))))
        return Literal(name, tuple(draw(terms) for _ in range(arity)), draw(positive))

    return st.composite(literal)()


equalities = st.builds(
    lambda a, b, positive: Literal("=", (a, b), positive), terms, terms, st.booleans()
)
literals = st.one_of(facts(st.booleans()), equalities)
variables = st.lists(
    st.builds(
        Variable,
        st.sampled_from(NAMES),
        st.sampled_from((("object",), ("room",), ("room", "box"), ("box", "object"))),
    ),
    max_size=2,
    unique_by=lambda each: each.name,
).map(tuple)


def several(parts, **sizes):
    return st.lists(parts, **sizes).map(tuple)


formulas = st.recursive(
    literals,
    lambda parts: st.one_of(
        several(parts, max_size=3).map(And),
        several(parts, max_size=3).map(Or),
        parts.filter(lambda each: not isinstance(each, Literal)).map(Not),
        st.builds(Imply, parts, parts),
        st.builds(Exists, variables, parts),
        st.builds(Forall, variables, parts),
    ),
    max_leaves=8,
)


def unique(parts):
    return tuple(dict.fromkeys(parts))


conditions = several(formulas.filter(lambda each: not isinstance(each, And)), max_size=3).map(
    unique
)
effects = st.recursive(
    facts(st.booleans()),
    lambda parts: st.one_of(
        st.builds(When, conditions, several(parts, max_size=3).map(unique)),
        st.builds(ForEach, variables, several(parts, max_size=3).map(unique)),
    ),
    max_leaves=6,
)
costs = st.one_of(
    st.floats(0, 1e9),
    st.builds(lambda a: FunctionTerm("f", (a,)), terms),
    st.just(FunctionTerm("g", ())),
)


@pytest.fixture(scope="module")
def read_action(tmp_path_factory):
    file = tmp_path_factory.mktemp("round") / "d.pddl"

    def run(condition, effect):
        file.write_text(f"{HEAD} :precondition (and {condition}) :effect (and {effect})))")
        (action,) = read_domain(file).actions
        return action

    return run


QUICK = settings(
    max_examples=examples(120),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=True,
)


@QUICK
@given(condition=conditions, effect=several(effects, max_size=3).map(unique), cost=several(costs))
def test_what_is_written_is_read_again(condition, effect, cost, read_action):
    increases = (f"(increase (total-cost) {each})" for each in cost)
    action = read_action(" ".join(map(str, condition)), " ".join(map(str, (*effect, *increases))))
    assert action.precondition == condition
    assert action.effect == effect
    assert action.cost == cost


@QUICK
@given(formula=formulas)
def test_a_formula_within_another_keeps_its_shape(formula, read_action):
    action = read_action(str(Or((formula, Literal("p", ())))), "")
    assert action.precondition == (Or((formula, Literal("p", ()))),)
