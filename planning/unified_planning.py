"""Galley as an engine of unified_planning.

    from galley.planning.unified_planning import register

    register()
    with OneshotPlanner(name="galley") as planner:
        result = planner.solve(problem, timeout=10)

Only who imports this module needs unified_planning.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import IO, Any

import unified_planning as up
from unified_planning.engines import Engine, PlanGenerationResult, PlanGenerationResultStatus
from unified_planning.engines.mixins import OneshotPlannerMixin
from unified_planning.engines.mixins.oneshot_planner import OptimalityGuarantee
from unified_planning.exceptions import UPUnsupportedProblemTypeError
from unified_planning.io import PDDLWriter
from unified_planning.model import AbstractProblem, Problem, ProblemKind
from unified_planning.plans import ActionInstance, SequentialPlan

from galley.domain.errors import BadInput
from galley.domain.failure import Failure, FailureKind
from galley.domain.pddl.reader import read_task
from galley.planning import GroundAction, LimitReached, SearchLimits, ground, search

_SUPPORTED = {
    "PROBLEM_CLASS": ("ACTION_BASED",),
    "TYPING": ("FLAT_TYPING", "HIERARCHICAL_TYPING"),
    "CONDITIONS_KIND": (
        *("NEGATIVE_CONDITIONS", "DISJUNCTIVE_CONDITIONS", "EQUALITIES"),
        *("EXISTENTIAL_CONDITIONS", "UNIVERSAL_CONDITIONS"),
    ),
    "EFFECTS_KIND": ("CONDITIONAL_EFFECTS", "FORALL_EFFECTS"),
    "QUALITY_METRICS": ("ACTIONS_COST", "PLAN_LENGTH"),
    "ACTIONS_COST_KIND": ("INT_NUMBERS_IN_ACTIONS_COST", "REAL_NUMBERS_IN_ACTIONS_COST"),
}


def register() -> None:
    """Registers the engine ``galley`` with unified_planning's environment."""
    up.shortcuts.get_environment().factory.add_engine("galley", __name__, "GalleyEngine")


class GalleyEngine(Engine, OneshotPlannerMixin):  # type: ignore[misc]
    """Plans of least cost or fewest actions for a metric, of any kind without one."""

    def __init__(self, **options: Any) -> None:
        Engine.__init__(self)
        OneshotPlannerMixin.__init__(self)
        if options:
            raise TypeError(f"galley has no parameter {', '.join(options)}")

    @property
    def name(self) -> str:
        """``galley``."""
        return "galley"

    @staticmethod
    def supported_kind() -> ProblemKind:
        """ADL with types and action costs that are numbers."""
        kind = ProblemKind()
        for group, features in _SUPPORTED.items():
            for feature in features:
                getattr(kind, f"set_{group.lower()}")(feature)
        return kind

    @staticmethod
    def supports(problem_kind: ProblemKind) -> bool:
        """Whether problems of this kind can be solved."""
        return bool(problem_kind <= GalleyEngine.supported_kind())

    @staticmethod
    def satisfies(optimality_guarantee: OptimalityGuarantee) -> bool:
        """Whether plans are as good as asked for: they are optimal for a problem's metric."""
        return True

    def _solve(
        self,
        problem: AbstractProblem,
        heuristic: Callable[[Any], float | None] | None = None,
        timeout: float | None = None,
        output_stream: IO[str] | None = None,
    ) -> PlanGenerationResult:
        assert isinstance(problem, Problem)
        began = perf_counter()
        found, writer = self._search(problem, timeout, began)
        status = PlanGenerationResultStatus
        if isinstance(found, Failure):
            proven = found.kind is not FailureKind.BUDGET
            result = status.UNSOLVABLE_PROVEN if proven else status.TIMEOUT
            if output_stream is not None:
                output_stream.write(f"{found}\n")
            return PlanGenerationResult(result, None, self.name)
        steps = [
            ActionInstance(
                writer.get_item_named(each.name),
                tuple(
                    problem.environment.expression_manager.ObjectExp(writer.get_item_named(arg))
                    for arg in each.args
                ),
            )
            for each in found
        ]
        best = status.SOLVED_OPTIMALLY
        result = best if problem.quality_metrics else status.SOLVED_SATISFICING
        plan = SequentialPlan(steps, problem.environment)
        return PlanGenerationResult(result, plan, self.name)

    def _search(
        self, problem: Problem, timeout: float | None, began: float
    ) -> tuple[tuple[GroundAction, ...] | Failure, PDDLWriter]:
        """The actions of a plan, or why there is none, and what maps their names back."""
        writer = PDDLWriter(problem, rewrite_bool_assignments=True)
        with TemporaryDirectory(prefix="galley-up-") as folder:
            domain_file, problem_file = (Path(folder, each) for each in ("d.pddl", "p.pddl"))
            writer.write_domain(str(domain_file))
            writer.write_problem(str(problem_file))
            try:
                domain, task_problem = read_task(domain_file, problem_file)
            except BadInput as error:
                what = error.errors[0].what
                raise UPUnsupportedProblemTypeError(
                    f"galley can't read it as PDDL: {what}"
                ) from None
        try:
            task = ground(
                domain, task_problem, SearchLimits(seconds=timeout, spent=perf_counter() - began)
            )
        except LimitReached as limit:
            return limit.failure, writer
        limits = SearchLimits(seconds=timeout, spent=perf_counter() - began)
        method = "astar" if problem.quality_metrics else "gbfs"
        found = search(task, method, limits)
        return (found if isinstance(found, Failure) else found.actions), writer
