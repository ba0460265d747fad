"""Evaluates a goal in the geometry of one state."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from galley.domain.pddl.formula import EQUALITY, Fact, Formula, Literal
from galley.domain.predicates import PredicateVerdict, fact_holds
from galley.domain.state import State
from galley.planning import Semantics
from galley.robots.panda.mobile import hand_pose
from galley.tamp.task import TampTask


@dataclass(frozen=True)
class GoalJudge:
    """Judges the parts of a goal in one state of a scene.

    Attributes:
        task: whose goal it is.
        state: the state to judge.
        symbolic: the facts at the end of the plan; they decide what has no geometric meaning.
    """

    task: TampTask
    state: State
    symbolic: Collection[Fact]

    def verdict(self, formula: Formula) -> PredicateVerdict:
        """Whether one part of the goal holds, and why."""
        facts = _GeometricFacts(self)
        holds = Semantics(self.task.domain, self.task.problem).holds(formula, {}, facts)
        whys = facts.whys
        if isinstance(formula, Literal) and formula.predicate == EQUALITY:
            whys = {formula.fact: "the names of objects say so"}
        return PredicateVerdict(holds, "; ".join(dict.fromkeys(whys.values())))

    def fact(self, fact: Fact) -> PredicateVerdict:
        """Whether a fact holds."""
        X_WH = hand_pose(self.state.q, self.task.scene.robot.base)
        bindings = tuple(self.task.bindings[name] for name in fact.args)
        verdict = fact_holds(self.task.scene, self.state, fact.predicate, bindings, X_WH)
        if verdict is not None:
            return verdict
        why = "has no geometric meaning; as the validated plan says"
        return PredicateVerdict(fact in self.symbolic, why)


def unmet(task: TampTask, state: State, symbolic: Collection[Fact]) -> tuple[str, ...]:
    """What of the goal does not hold in a state: a sentence for each part."""
    judge = GoalJudge(task, state, symbolic)
    verdicts = ((formula, judge.verdict(formula)) for formula in task.problem.goal)
    return tuple(f"{part} does not hold: {v.why}" for part, v in verdicts if not v.holds)


@dataclass
class _GeometricFacts:
    """A set of the facts that hold, evaluated lazily."""

    judge: GoalJudge
    whys: dict[Fact, str] = field(default_factory=dict)

    def __contains__(self, fact: object) -> bool:
        if not isinstance(fact, Fact):
            return False
        verdict = self.judge.fact(fact)
        self.whys[fact] = verdict.why
        return verdict.holds
