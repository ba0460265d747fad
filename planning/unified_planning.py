"""Galley as an engine of unified_planning.

    from galley.planning.unified_planning import register

    register()
    with OneshotPlanner(name="galley") as planner:
        result = planner.solve(problem, timeout=10)

Only who imports this module needs unified_planning.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import IO, Any

import unified_planning as up
from unified_planning.engines import Engine, PlanGenerationResult, PlanGenerationResultStatus
from unified_planning.engines.mixins import OneshotPlannerMixin
from unified_planning.engines.mixins.oneshot_planner import OptimalityGuarantee
from unified_planning.engines.results import LogLevel, LogMessage
from unified_planning.exceptions import UPException, UPUnsupportedProblemTypeError, UPUsageError
from unified_planning.io import PDDLWriter
from unified_planning.model import AbstractProblem, Problem, ProblemKind
from unified_planning.plans import ActionInstance, SequentialPlan

from galley.domain.errors import BadInput
from galley.domain.failure import Failure, FailureKind
from galley.domain.pddl.model import Domain as PDDLDomain
from galley.domain.pddl.model import Problem as PDDLProblem
from galley.domain.pddl.reader import read_task
from galley.planning import LimitReached, SearchLimits, ground, search
from galley.planning.searches.methods import METHODS

_SUPPORTED = {
    *("ACTION_BASED", "FLAT_TYPING", "HIERARCHICAL_TYPING"),
    *("NEGATIVE_CONDITIONS", "DISJUNCTIVE_CONDITIONS", "EQUALITIES"),
    *("EXISTENTIAL_CONDITIONS", "UNIVERSAL_CONDITIONS"),
    *("CONDITIONAL_EFFECTS", "FORALL_EFFECTS"),
    *("ACTIONS_COST", "PLAN_LENGTH", "STATIC_FLUENTS_IN_ACTIONS_COST"),
    *("INT_NUMBERS_IN_ACTIONS_COST", "REAL_NUMBERS_IN_ACTIONS_COST"),
}
_CLOSED_WORLD = {"UNDEFINED_INITIAL_SYMBOLIC"}  # solved: what is undefined is false in PDDL


def register() -> None:
    """Registers the engine ``galley`` with unified_planning's environment."""
    up.shortcuts.get_environment().factory.add_engine("galley", __name__, "GalleyEngine")


class GalleyEngine(Engine, OneshotPlannerMixin):  # type: ignore[misc]
    """Plans of least cost or fewest actions for a metric, of any kind without one.

    Args:
        search: a key of ``METHODS``, for OneshotPlanner; by default ``astar`` if the problem has a
            metric, else ``gbfs``.

    Raises:
        UPUsageError: another parameter or search.
    """

    def __init__(self, search: str | None = None, **unknown: Any) -> None:
        Engine.__init__(self)
        OneshotPlannerMixin.__init__(self)
        if unknown:
            raise UPUsageError(f"galley has no parameter {', '.join(unknown)}; it has search")
        if search not in (None, *METHODS):
            raise UPUsageError(f"search is one of {', '.join(METHODS)}, not {search!r}")
        self._method = search

    @property
    def name(self) -> str:
        """``galley``."""
        return "galley"

    @staticmethod
    def supported_kind() -> ProblemKind:
        """ADL with types and action costs that are numbers or static fluents."""
        return ProblemKind(_SUPPORTED)

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
        began = perf_counter()

        def limits() -> SearchLimits:
            """Those of what begins now."""
            return SearchLimits(seconds=timeout, spent=perf_counter() - began)

        _refuse_unsupported(problem)
        method = self._method or ("astar" if problem.quality_metrics else "gbfs")
        writer = PDDLWriter(problem, rewrite_bool_assignments=True)
        try:
            task = ground(*_written(writer), limits())
            found = search(task, method, limits())
        except LimitReached as limit:
            found = limit.failure
        if isinstance(found, Failure):
            return _failed(found)
        # Every action counts 1 where the plan's length is the metric.
        best = method == "astar" or (method == "bfs" and problem.kind.has_plan_length())
        named, thing = writer.get_item_named, problem.environment.expression_manager.ObjectExp
        steps = [
            ActionInstance(named(each.name), tuple(thing(named(arg)) for arg in each.args))
            for each in found.actions
        ]
        plan = SequentialPlan(steps, problem.environment)
        status = PlanGenerationResultStatus
        optimal = best and problem.quality_metrics
        solved = status.SOLVED_OPTIMALLY if optimal else status.SOLVED_SATISFICING
        return PlanGenerationResult(solved, plan, "galley")


def _refuse_unsupported(problem: AbstractProblem) -> None:
    others = problem.kind.features - GalleyEngine.supported_kind().features - _CLOSED_WORLD
    if others or not isinstance(problem, Problem):
        features = ", ".join(sorted(each.lower().replace("_", " ") for each in others))
        raise UPUnsupportedProblemTypeError(f"galley: problems with {features} are not supported")


def _written(writer: PDDLWriter) -> tuple[PDDLDomain, PDDLProblem]:
    """What unified_planning writes as PDDL, read again."""
    with TemporaryDirectory(prefix="galley-up-") as folder:
        files = Path(folder, "d.pddl"), Path(folder, "p.pddl")
        try:
            writer.write_domain(str(files[0]))
            writer.write_problem(str(files[1]))
            return read_task(*files)
        except BadInput as error:
            raise UPUnsupportedProblemTypeError(f"galley: {error.errors[0].what}") from None
        except (AssertionError, NotImplementedError, UPException) as error:
            what = str(error).partition("\n")[0]
            raise UPUnsupportedProblemTypeError(f"galley: {what}") from error


def _failed(failure: Failure) -> PlanGenerationResult:
    """The result for a failure, with its certificate as a log message."""
    status = PlanGenerationResultStatus
    proven = failure.kind is not FailureKind.BUDGET
    texts = [str(failure)]
    if failure.certificate is not None:
        texts.append(json.dumps(dict(failure.certificate)))
    return PlanGenerationResult(
        status.UNSOLVABLE_PROVEN if proven else status.TIMEOUT,
        None,
        "galley",
        log_messages=[LogMessage(LogLevel.INFO, text) for text in texts],
    )
