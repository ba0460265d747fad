"""Galley as an engine of unified_planning.

    from galley.planning.unified_planning import register

    register()
    with OneshotPlanner(name="galley") as planner:
        result = planner.solve(problem, timeout=10)

Only who imports this module needs unified_planning.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import takewhile
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import IO, Any

import unified_planning as up
from unified_planning.engines import Engine, PlanGenerationResult, PlanGenerationResultStatus
from unified_planning.engines.mixins import AnytimePlannerMixin, OneshotPlannerMixin
from unified_planning.engines.mixins.anytime_planner import AnytimeGuarantee
from unified_planning.engines.mixins.oneshot_planner import OptimalityGuarantee
from unified_planning.engines.results import LogLevel, LogMessage
from unified_planning.exceptions import UPException, UPUnsupportedProblemTypeError, UPUsageError
from unified_planning.io import PDDLWriter
from unified_planning.model import AbstractProblem, Problem, ProblemKind
from unified_planning.plans import ActionInstance, SequentialPlan

from galley.domain.errors import BadInput, did_you_mean
from galley.domain.failure import Failure, FailureKind
from galley.domain.pddl.reader import read_task
from galley.planning import LimitReached, Plan, SearchLimits, Task, ground, plans, search
from galley.planning.searches.methods import METHODS

_SUPPORTED = {
    "PROBLEM_CLASS": ("ACTION_BASED",),
    "TYPING": ("FLAT_TYPING", "HIERARCHICAL_TYPING"),
    "CONDITIONS_KIND": (
        *("NEGATIVE_CONDITIONS", "DISJUNCTIVE_CONDITIONS", "EQUALITIES"),
        *("EXISTENTIAL_CONDITIONS", "UNIVERSAL_CONDITIONS"),
    ),
    "EFFECTS_KIND": ("CONDITIONAL_EFFECTS", "FORALL_EFFECTS"),
    "QUALITY_METRICS": ("ACTIONS_COST", "PLAN_LENGTH"),
    "ACTIONS_COST_KIND": (
        *("INT_NUMBERS_IN_ACTIONS_COST", "REAL_NUMBERS_IN_ACTIONS_COST"),
        "STATIC_FLUENTS_IN_ACTIONS_COST",
    ),
}
_CLOSED_WORLD = {"UNDEFINED_INITIAL_SYMBOLIC"}  # solved: what is undefined is false in PDDL


def register() -> None:
    """Registers the engine ``galley`` with unified_planning's environment."""
    up.shortcuts.get_environment().factory.add_engine("galley", __name__, "GalleyEngine")


class GalleyEngine(Engine, OneshotPlannerMixin, AnytimePlannerMixin):  # type: ignore[misc]
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
        AnytimePlannerMixin.__init__(self)
        if unknown:
            raise UPUsageError(f"galley has no parameter {', '.join(unknown)}; it has search")
        if search not in (None, *METHODS):
            hint = did_you_mean(str(search), list(METHODS))
            raise UPUsageError(f"search is one of {', '.join(METHODS)}, not {search!r}{hint}")
        self._method = search

    @property
    def name(self) -> str:
        """``galley``."""
        return "galley"

    @staticmethod
    def supported_kind() -> ProblemKind:
        """ADL with types and action costs that are numbers or static fluents."""
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

    @staticmethod
    def ensures(anytime_guarantee: AnytimeGuarantee) -> bool:
        """Whether AnytimePlanner can give such plans: only optimal ones."""
        return anytime_guarantee is AnytimeGuarantee.OPTIMAL_PLANS

    def _solve(
        self,
        problem: AbstractProblem,
        heuristic: Callable[[Any], float | None] | None = None,
        timeout: float | None = None,
        output_stream: IO[str] | None = None,
    ) -> PlanGenerationResult:
        run = _Run(problem, timeout, output_stream)
        method = self._method or ("astar" if problem.quality_metrics else "gbfs")
        found: Plan | Failure | Task = run.task
        if isinstance(found, Task):
            found = search(found, method, run.limits)
        # Every action counts 1 where the plan's length is the metric.
        optimal = method == "astar" or (method == "bfs" and problem.kind.has_plan_length())
        return run.result(found, optimal)

    def _get_solutions(
        self,
        problem: AbstractProblem,
        timeout: float | None = None,
        output_stream: IO[str] | None = None,
    ) -> Iterator[PlanGenerationResult]:
        """A plan that is found quickly and then one of the best; or all of the best, if guaranteed.

        All results but the last are ``INTERMEDIATE``.
        """
        run = _Run(problem, timeout, output_stream)
        task = run.task
        if isinstance(task, Failure):
            yield run.result(task)
        elif self.optimality_metric_required:
            yield from run.all_best(task)
        else:
            yield from run.better_and_better(task)


class _Run:
    """A problem of unified_planning as a task, and what is found as its results."""

    def __init__(
        self, problem: AbstractProblem, timeout: float | None, output_stream: IO[str] | None
    ) -> None:
        self.problem = problem
        self._timeout, self._output_stream = timeout, output_stream
        self._began = perf_counter()
        self.task = self._task()

    @property
    def limits(self) -> SearchLimits:
        """Those of a search that begins now."""
        return SearchLimits(seconds=self._timeout, spent=perf_counter() - self._began)

    def _task(self) -> Task | Failure:
        if not isinstance(self.problem, Problem):  # a schedule, several agents
            raise self._refusal("")
        with TemporaryDirectory(prefix="galley-up-") as folder:
            domain_file, problem_file = (Path(folder, each) for each in ("d.pddl", "p.pddl"))
            try:
                self._writer = PDDLWriter(self.problem, rewrite_bool_assignments=True)
                self._writer.write_domain(str(domain_file))
                self._writer.write_problem(str(problem_file))
                domain, problem = read_task(domain_file, problem_file)
            except BadInput as error:
                raise self._refusal(error.errors[0].what) from None
            except (AssertionError, NotImplementedError, UPException) as error:
                raise self._refusal(str(error).partition("\n")[0]) from error
        if not self._others <= _CLOSED_WORLD:  # the writer left it out without a word
            raise self._refusal("")
        try:
            return ground(domain, problem, self.limits)
        except LimitReached as limit:
            return limit.failure

    @property
    def _others(self) -> set[str]:
        """The problem's features that are not supported."""
        return set(self.problem.kind.features - GalleyEngine.supported_kind().features)

    def _refusal(self, what: str) -> UPUnsupportedProblemTypeError:
        features = ", ".join(sorted(each.lower().replace("_", " ") for each in self._others))
        why = [f"problems with {features} are not supported"] if features else []
        return UPUnsupportedProblemTypeError(f"galley: {': '.join([*why, what] if what else why)}")

    def better_and_better(self, task: Task) -> Iterator[PlanGenerationResult]:
        """Results for a plan that is found quickly, and for the best if there is time."""
        found = search(task, "gbfs", self.limits)
        if isinstance(found, Failure):
            yield self.result(found)
            return
        yield self.result(found, last=False)
        best = search(task, "astar", self.limits)
        yield self.result(best, True) if isinstance(best, Plan) else self.result(found)

    def all_best(self, task: Task) -> Iterator[PlanGenerationResult]:
        """Results for all plans of least cost, none of which visits a state twice."""
        ordered = plans(task, self.limits)
        best = next(ordered, None)
        if best is None:
            assert ordered.failure is not None, "nor is it complete"
            yield self.result(ordered.failure)
            return
        least = best.cost
        for plan in takewhile(lambda each: each.cost == least, ordered):
            yield self.result(best, last=False)
            best = plan
        yield self.result(best, True)

    def result(
        self, found: Plan | Failure, optimal: bool = False, last: bool = True
    ) -> PlanGenerationResult:
        """A result, with the certificate of a Failure as a log message."""
        status = PlanGenerationResultStatus
        if isinstance(found, Plan):
            best = optimal and self.problem.quality_metrics
            solved = status.SOLVED_OPTIMALLY if best else status.SOLVED_SATISFICING
            plan = self._as_theirs(found)
            return PlanGenerationResult(solved if last else status.INTERMEDIATE, plan, "galley")
        proven = found.kind is not FailureKind.BUDGET
        failed = status.UNSOLVABLE_PROVEN if proven else status.TIMEOUT
        if self._output_stream is not None:
            self._output_stream.write(f"{found}\n")
        texts = [str(found)]
        if found.certificate is not None:
            texts.append(json.dumps(dict(found.certificate)))
        log = [LogMessage(LogLevel.INFO, text) for text in texts]
        return PlanGenerationResult(failed, None, "galley", log_messages=log)

    def _as_theirs(self, plan: Plan) -> SequentialPlan:
        named, environment = self._writer.get_item_named, self.problem.environment
        thing = environment.expression_manager.ObjectExp
        steps = [
            ActionInstance(named(each.name), tuple(thing(named(arg)) for arg in each.args))
            for each in plan.actions
        ]
        return SequentialPlan(steps, environment)
