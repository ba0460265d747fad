"""Task planners on tasks of others: unified_planning's examples and PDDLGym's domains.

A row is one planner on one task. Plans of the examples are judged by unified_planning's validator,
those of PDDLGym's first problems by PDDLGym, which executes them. Galley gets PDDL: what
unified_planning's writer makes of an example, and PDDLGym's files as they are.
"""

from __future__ import annotations

import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

KEYS = ("suite", "task", "planner")
VERSIONS = (
    "unified_planning 1.3.0, up-fast-downward 0.3.1, up-pyperplan 1.1.0 (pyperplan 2.1), "
    "PDDLGym 0.0.7"
)
PLANNERS = ("galley", "fast-downward", "fast-downward-opt", "pyperplan")
_COMPARED = PLANNERS[:3]
SUITES = {"up": "unified_planning's examples", "gym": "PDDLGym's first problems"}
SECONDS = 20  # of a planner for a task
QUICK = 12  # tasks of a suite
_ALIASES = {"fast-downward": "lama-first", "fast-downward-opt": "seq-opt-lmcut"}

Ask = Callable[..., Any]
Row = dict[str, Any]


class _OutOfTime(BaseException):
    pass


# ----------------------------------------------------------------------------- in Galley's process


def answer(request: dict[str, Any]) -> Row:
    """Galley's answer to ``domain`` and ``problem``, texts in PDDL: least cost, or any plan."""
    from galley.domain.errors import BadInput
    from galley.domain.failure import Failure, FailureKind
    from galley.domain.pddl.reader import read_domain, read_problem
    from galley.planning import LimitReached, SearchLimits, ground, search

    with TemporaryDirectory() as folder:
        files = [Path(folder, f"{name}.pddl") for name in ("domain", "problem")]
        for file in files:
            file.write_text(request[file.stem])
        try:
            domain = read_domain(files[0])
            task = ground(domain, read_problem(files[1], domain))
        except BadInput as error:
            return {"outcome": "refused", "why": str(error).replace(f"{folder}/", "")[:300]}
        except LimitReached as error:  # of grounding
            return {"outcome": "refused", "why": str(error)[:300]}
    limits = SearchLimits(seconds=SECONDS / 2)
    found = search(task, "astar", limits)
    if isinstance(found, Failure) and found.kind is FailureKind.BUDGET:
        found = search(task, "gbfs", limits)
    if isinstance(found, Failure):
        outcome = "time" if found.kind is FailureKind.BUDGET else "no plan"
        return {"outcome": outcome, "why": found.message}
    return {"outcome": "solved", "plan": [[each.name, *each.args] for each in found.actions]}


def tell(rows: list[Row]) -> Iterator[str]:
    """The tables: what became of each suite's tasks, and what differs."""
    for suite, what in SUITES.items():
        mine = [row for row in rows if row["suite"] == suite]
        tasks = {row["task"] for row in mine}
        best = {
            task: min((r["cost"] for r in mine if r["task"] == task and r.get("valid")), default=0)
            for task in tasks
        }
        common = [
            task
            for task in tasks
            if all(r.get("valid") for r in mine if r["task"] == task and r["planner"] in _COMPARED)
        ]
        yield f"**{what}**, {len(tasks)} tasks, {SECONDS} s each"
        yield ""
        yield (
            "| planner | valid | cheapest | invalid | no plan exists | refused | without reason "
            f"| error, out of time | judge fails | median s of {len(common)} |"
        )
        yield "|---|" + "---:|" * 9
        for planner in PLANNERS:
            its = [row for row in mine if row["planner"] == planner]
            solved = [row for row in its if row.get("valid")]
            count = Counter(row["outcome"] for row in its)
            cheapest = sum(row["cost"] <= best[row["task"]] + 1e-9 for row in solved)
            mute = sum(r["outcome"] == "refused" and not r.get("why") for r in its)
            times = sorted(row["wall_s"] for row in its if row["task"] in common)
            middle = f"{times[len(times) // 2]:.2f}" if times and planner in _COMPARED else "-"
            cells = [len(solved), cheapest, count["solved"] - len(solved), count["no plan"]]
            cells += [count["refused"], mute, count["error"] + count["time"]]
            cells += [count["not judged"]]
            yield f"| {planner} | " + " | ".join(map(str, cells)) + f" | {middle} |"
        yield ""


# ------------------------------------------------------------------------------ in their process


def wanted(ask: Ask, quick: bool) -> list[tuple[str, str, str]]:
    """The keys of all rows: suite, task, planner."""
    del ask
    tasks = [("up", name) for name in _examples()][: QUICK if quick else None]
    tasks += [("gym", name) for name in _environments()][: QUICK if quick else None]
    return [(*task, planner) for task in tasks for planner in PLANNERS]


def row(ask: Ask, suite: str, task: str, planner: str) -> Row:
    """One planner on one task."""

    def patient(**request: Any) -> Any:
        """``ask``, which must have its answer: the alarm waits."""
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
        try:
            return ask(**request)
        finally:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGALRM})

    signal.signal(signal.SIGALRM, _stop)
    began = perf_counter()
    signal.setitimer(signal.ITIMER_REAL, SECONDS + 10, 5)  # pyperplan, in this process, has none
    try:
        found = (_example if suite == "up" else _gym)(patient, task, planner)
    except _OutOfTime:
        found = {"outcome": "time"}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return {"wall_s": perf_counter() - began} | found


def _stop(*_: Any) -> None:
    raise _OutOfTime


def _examples() -> dict[str, Any]:
    from unified_planning.shortcuts import get_environment
    from unified_planning.test.examples import get_example_problems

    get_environment().credits_stream = None
    return dict(get_example_problems())


def _example(ask: Ask, name: str, planner: str) -> Row:
    """An example of unified_planning, by its own interface."""
    from unified_planning.shortcuts import PlanValidator

    problem, began = _examples()[name].problem, perf_counter()
    made = _by_galley(ask, problem) if planner == "galley" else _by_engine(problem, planner)
    found = {"wall_s": perf_counter() - began, **made}
    plan = found.pop("found", None)
    if plan is not None:
        try:
            with PlanValidator(problem_kind=problem.kind, plan_kind=plan.kind) as validator:
                verdict = validator.validate(problem, plan)
        except Exception as error:
            return found | _not_judged("unified_planning's validator", error)
        values = list((verdict.metric_evaluations or {}).values())
        cost = float(values[0]) if len(values) == 1 else float(len(plan.actions))
        found |= {"valid": bool(verdict), "length": len(plan.actions), "cost": cost}
    return found


def _by_galley(ask: Ask, problem: Any) -> Row:
    from unified_planning.io import PDDLReader, PDDLWriter

    try:
        writer = PDDLWriter(problem)
        texts = {"domain": writer.get_domain(), "problem": writer.get_problem()}
    except Exception as error:  # of any kind, for what it can't write
        return {"outcome": "refused", "why": _line(str(error)), "error": "PDDLWriter"}
    found: Row = ask(**texts)
    steps = found.pop("plan", None)
    if steps is not None:
        text = "\n".join(f"({' '.join(step)})" for step in steps)
        found["found"] = PDDLReader().parse_plan_string(problem, text, writer.get_item_named)
    return found


def _by_engine(problem: Any, planner: str) -> Row:
    from unified_planning.engines import PlanGenerationResultStatus as Status
    from unified_planning.shortcuts import OneshotPlanner

    try:
        with OneshotPlanner(name=planner) as engine:
            result = engine.solve(problem, timeout=None if planner == "pyperplan" else SECONDS)
    except Exception as error:  # every engine has exceptions of its own for what it lacks
        return {"outcome": "refused", "why": _line(str(error)), "error": type(error).__name__}
    outcomes = {
        Status.UNSOLVABLE_PROVEN: "no plan",
        Status.UNSOLVABLE_INCOMPLETELY: "no plan",
        Status.TIMEOUT: "time",
        Status.UNSUPPORTED_PROBLEM: "refused",
    }
    if result.plan is not None:
        return {"outcome": "solved", "found": result.plan}
    return {"outcome": outcomes.get(result.status, "error"), "why": result.status.name}


def _environments() -> list[str]:
    import pddlgym  # registers them
    from gym.envs.registration import registry

    names = (each for each in registry if each.startswith("PDDLEnv"))
    train = sorted({name for name in names if not name.endswith("Test-v0")})
    return [name for name in train if pddlgym.make(name).unwrapped.problems]


def _gym(ask: Ask, name: str, planner: str) -> Row:
    """The first problem of one of PDDLGym's environments."""
    import pddlgym

    environment = pddlgym.make(name).unwrapped
    environment.fix_problem_index(0)
    files = [Path(environment._domain_file), Path(environment.problems[0].problem_fname)]
    began = perf_counter()
    if planner == "galley":
        found = ask(domain=files[0].read_text(), problem=files[1].read_text())
    else:
        found = _by_program(planner, files)
    found = {"wall_s": perf_counter() - began, **found}
    steps = found.pop("plan", None)
    if steps is not None:
        try:
            why = _executed(environment, steps)
        except Exception as error:  # its states of some domains fail, whatever is done there
            return found | _not_judged("PDDLGym", error)
        found |= {"valid": not why, "length": len(steps), "cost": float(len(steps))}
        found |= {"why": why} if why else {}
    return found


def _by_program(planner: str, files: list[Path]) -> Row:
    """Fast Downward's or pyperplan's own command line on two files."""
    import up_fast_downward

    with TemporaryDirectory() as folder:
        names = [Path(folder, each.name) for each in files]
        for name, file in zip(names, files, strict=True):
            name.write_text(file.read_text())
        if planner == "pyperplan":
            command, plan = ["-m", "pyperplan", *names], Path(f"{names[1]}.soln")
        else:
            driver = Path(up_fast_downward.__file__).parent / "downward" / "fast-downward.py"
            plan = Path(folder, "plan")
            command = [driver, "--alias", _ALIASES[planner], "--plan-file", plan, *names]
        try:
            done = subprocess.run(
                [sys.executable, *map(str, command)],
                cwd=folder,
                capture_output=True,
                text=True,
                timeout=SECONDS,
            )
        except subprocess.TimeoutExpired:
            return {"outcome": "time"}
        if plan.exists():
            lines = plan.read_text().splitlines()
            return {
                "outcome": "solved",
                "plan": [each.strip("()").split() for each in lines if each.startswith("(")],
            }
    said = (done.stderr + done.stdout).splitlines()
    if done.returncode in _UNSOLVABLE or any("No solution" in line for line in said):
        return {"outcome": "no plan"}
    errors = [each for each in said if "rror:" in each]
    return {"outcome": "refused", "why": _line(errors[-1] if errors else "")}


_UNSOLVABLE = (10, 11, 12)  # exit codes of Fast Downward


def _executed(environment: Any, steps: list[list[str]]) -> str:
    """What is wrong with a plan when PDDLGym executes it, or nothing.

    Where PDDLGym's actions are not the operators, an operator's precondition names its action.
    """
    observation = environment.reset()[0]
    objects = {str(each.name): each for each in observation.objects}
    domain, done = environment.domain, False
    for count, (name, *args) in enumerate(steps, 1):
        operator = domain.operators.get(name)
        if operator is None:
            return f"step {count}: PDDLGym has no operator {name}"
        if len(args) != len(operator.params) or not set(args) <= set(objects):
            return f"step {count}: PDDLGym has no such objects"
        action = {str(p.name): objects[a] for p, a in zip(operator.params, args, strict=True)}
        if environment.operators_as_actions:
            predicate, names = (
                next(p for p in environment.action_predicates if p.name == name),
                [str(each.name) for each in operator.params],
            )
        else:
            literals = getattr(operator.preconds, "literals", [operator.preconds])
            chosen = next(x for x in literals if str(x.predicate.name) in domain.actions)
            predicate, names = chosen.predicate, [str(each.name) for each in chosen.variables]
        done = environment.step(predicate(*(action[each] for each in names)))[2]
    return "" if done else "PDDLGym does not find the goal reached"


def _not_judged(judge: str, error: Exception) -> Row:
    return {"outcome": "not judged", "why": f"{judge} fails: {type(error).__name__}"}


def _line(text: str) -> str:
    return " ".join(text.split())[:200]
