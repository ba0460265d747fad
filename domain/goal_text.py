"""Goals written in a program rather than in a problem file."""

from __future__ import annotations

from galley.domain.errors import BadInput
from galley.domain.formula import Formula
from galley.domain.pddl import Domain, Problem
from galley.domain.pddl_faults import Faults
from galley.domain.pddl_formula import read_condition
from galley.domain.pddl_problem import check_contradiction
from galley.domain.pddl_scope import Scope, object_types
from galley.domain.sexpr import parse_sexprs


def read_goal_text(text: str, domain: Domain, problem: Problem) -> tuple[Formula, ...]:
    """The goal that ``text`` writes, about the objects of ``problem``.

    Args:
        text: one condition in PDDL: ``"(and (on spam burner) (not (near burner)))"``.
        domain: the domain.
        problem: whose objects it may name.

    Raises:
        BadInput: every fault of the text, with line and column; the file is called ``goal``.
    """
    faults = Faults("goal")
    nodes = parse_sexprs(text, faults.file)
    if len(nodes) != 1:
        what = "expected one condition such as (on spam burner); put several into (and ...)"
        raise BadInput.one(faults.file, what, 1, 1)
    goal = read_condition(
        nodes[0], Scope(domain, object_types(problem.objects), {}, "the goal", faults)
    )
    check_contradiction(goal, faults)
    faults.raise_if_any()
    return goal
