"""Whether a goal holds in the geometry, whatever the symbols promised."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from galley.domain.pddl.formula import EQUALITY, Fact, Formula, Literal
from galley.domain.pddl.model import Domain, Problem
from galley.domain.predicates import PredicateVerdict, fact_holds
from galley.domain.scene.model import Binding, Scene
from galley.domain.state import State
from galley.planning import Semantics
from galley.robots.catalog import robot_of


@dataclass(frozen=True)
class GoalJudge:
    """Judges the parts of a goal in one state of a scene.

    Attributes:
        scene: the scene.
        domain: the domain of the problem.
        problem: the problem whose goal it is.
        bindings: what its objects are in the scene.
        state: the state to judge.
        symbolic: the facts that the plan ends with; what has no geometric meaning is left to them.
    """

    scene: Scene
    domain: Domain
    problem: Problem
    bindings: Mapping[str, Binding]
    state: State
    symbolic: Collection[Fact]

    def verdict(self, formula: Formula) -> PredicateVerdict:
        """Whether one part of the goal holds, and how that is seen."""
        seen = _Seen(self)
        holds = Semantics(self.domain, self.problem).holds(formula, {}, seen)
        whys = seen.whys
        if isinstance(formula, Literal) and formula.predicate == EQUALITY:
            whys = {formula.fact: "the names of objects say so"}
        return PredicateVerdict(holds, "; ".join(dict.fromkeys(whys.values())))

    def fact(self, fact: Fact) -> PredicateVerdict:
        """Whether a fact holds."""
        X_WH = robot_of(self.scene.robot).kinematics.hand_pose(self.state.q)
        bindings = tuple(self.bindings[name] for name in fact.args)
        verdict = fact_holds(self.scene, self.state, fact.predicate, bindings, X_WH)
        if verdict is not None:
            return verdict
        why = "has no geometric meaning; as the validated plan says"
        return PredicateVerdict(fact in self.symbolic, why)


@dataclass
class _Seen:
    """The facts that hold, each looked up in the geometry when it is asked for."""

    judge: GoalJudge
    whys: dict[Fact, str] = field(default_factory=dict)

    def __contains__(self, fact: object) -> bool:
        if not isinstance(fact, Fact):
            return False
        verdict = self.judge.fact(fact)
        self.whys[fact] = verdict.why
        return verdict.holds
