"""The requirements that a PDDL file declares."""

from __future__ import annotations

from collections.abc import Sequence

from galley.domain.pddl_faults import Faults, short
from galley.domain.sexpr import Atom, Node

# A requirement of which some uses are supported is accepted; the others are refused where they
# stand, by what they are. Files declare more than they use: `:fluents` for action costs alone.
SUPPORTED = (
    ":strips",
    ":typing",
    ":equality",
    ":negative-preconditions",
    ":disjunctive-preconditions",
    ":existential-preconditions",
    ":universal-preconditions",
    ":quantified-preconditions",
    ":conditional-effects",
    ":adl",
    ":ucpop",
    ":action-costs",
    ":fluents",
    ":numeric-fluents",
)

UNSUPPORTED = {
    ":object-fluents": "functions whose values are objects",
    ":durative-actions": "actions with a duration",
    ":duration-inequalities": "actions with a duration",
    ":continuous-effects": "effects over time",
    ":time": "processes and events",
    ":timed-initial-literals": "facts that change by themselves",
    ":timed-initial-effects": "facts that change by themselves",
    ":derived-predicates": "derived predicates",
    ":domain-axioms": "derived predicates",
    ":subgoal-through-axioms": "derived predicates",
    ":preferences": "preferences",
    ":goal-utilities": "preferences",
    ":constraints": "trajectory constraints",
    ":safety-constraints": "trajectory constraints",
    ":probabilistic-effects": "effects that depend on chance",
    ":non-deterministic": "effects that depend on chance",
    ":rewards": "rewards",
    ":mdp": "effects that depend on chance, and rewards",
    ":hierarchy": "task networks",
    ":hierarchie": "task networks",
    ":method-preconditions": "task networks",
    ":action-expansions": "task networks",
    ":foreach-expansions": "task networks",
    ":dag-expansions": "task networks",
    ":expression-evaluation": "evaluated expressions",
    ":open-world": "facts that are not known",
    ":true-negation": "facts that are not known",
    ":multi-agent": "several agents",
    ":factored-privacy": "several agents",
    ":unfactored-privacy": "several agents",
}


def read_requirements(nodes: Sequence[Node], faults: Faults) -> tuple[str, ...]:
    """The supported requirements that are declared; others are noted."""
    found = []
    for node in nodes:
        name = node.text if isinstance(node, Atom) else ""
        if name in SUPPORTED:
            found.append(name)
        elif name in UNSUPPORTED:
            faults.add(node, f"requirement {name} ({UNSUPPORTED[name]}) is not supported")
        else:
            known = (*SUPPORTED, *UNSUPPORTED)
            faults.add(node, f"unknown requirement '{short(node)}'", name, known)
    return tuple(dict.fromkeys(found))
