"""Fast Downward as one more search: the same question, the same kind of answer.

It is an optional extra (``galley-tamp[fd]``: the program, and a translator in Python), GPL, and
runs as processes of its own in a folder of its own. Nothing of it is imported here.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Collection
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter

from galley.domain.failure import Failure, FailureKind
from galley.domain.pddl import Domain, Problem
from galley.planning.extras import FastDownwardError, MissingExtra
from galley.planning.fast_downward_dialect import dialect
from galley.planning.operators import GroundAction
from galley.planning.pddl_writer import write_pddl
from galley.planning.plan_file import read_plan
from galley.planning.searches.result import Plan
from galley.planning.validation import validate

# What to try in turn. Landmark-cut knows no conditional effects and no axioms, which is what the
# translator makes of quantifiers; h^max is admissible without axioms; blind search always works.
_BLIND = ("--search", "astar(blind())")
_OPTIMAL = (("--search", "astar(lmcut())"), ("--search", "astar(hmax())"), _BLIND)
_OPTIMAL_WITH_AXIOMS = (_BLIND,)
_FIRST = (("--alias", "lama-first"), _BLIND)

# https://www.fast-downward.org/latest/documentation/exit-codes
_SOLVED = 0
_UNSOLVABLE = {10, 11}  # proved, by the translator or by the search
_INCOMPLETE = 12
_UNSUPPORTED = 34
_OUT_OF_MEMORY = {20, 22}
_OUT_OF_TIME = {21, 23}

_LEAST_MEMORY = 32 << 20  # bytes; with less not even its translator starts
_LINES_SHOWN = 8  # of its output, where something went wrong


def fast_downward(
    domain: Domain,
    problem: Problem,
    *,
    optimal: bool,
    forbidden: Collection[GroundAction] = (),
    seconds: float | None = None,
    memory_bytes: int | None = None,
) -> Plan | Failure:
    """A plan by Fast Downward.

    Args:
        domain: the domain.
        problem: a problem of that domain.
        optimal: A* for a cheapest plan (a shortest one where the problem has no metric); else the
            first plan of LAMA, of whatever cost.
        forbidden: actions that no plan may hold.
        seconds: wall time for all of it; None for no limit.
        memory_bytes: address space of each of its processes; None for no limit.

    Returns:
        The plan, validated; ``seconds`` is its search time without translation. Or a Failure:
        ``CONTRADICTION`` where Fast Downward has proved that there is no plan, ``BUDGET`` where it
        ran out of time or memory.

    Raises:
        MissingExtra: Fast Downward is not installed.
        FastDownwardError: it failed in another way; the message ends with its last lines.
        ValueError: a cost has more than six decimals, or a limit is negative.
    """
    for name, limit in (("seconds", seconds), ("memory_bytes", memory_bytes)):
        if limit is not None and not limit >= 0:
            raise ValueError(f"{name} must not be negative, got {limit}")
    driver = _driver()
    if memory_bytes is not None and memory_bytes < _LEAST_MEMORY:
        return _failure(_Outcome(min(_OUT_OF_MEMORY), "", "not begun"), seconds, memory_bytes)
    texts = write_pddl(*dialect(domain, problem, forbidden))
    with tempfile.TemporaryDirectory(prefix="galley-fd-") as name:
        folder = Path(name)
        for file, text in zip(("domain.pddl", "problem.pddl"), texts, strict=True):
            (folder / file).write_text(text, encoding="utf-8")
        outcome = _Runs(driver, folder, seconds, memory_bytes).solve(optimal)
        if outcome.code == _SOLVED:
            asked = _Asked(domain, problem, frozenset(forbidden))
            return _plan(asked, read_plan(folder / "plan"), outcome)
    return _failure(outcome, seconds, memory_bytes)


def _driver() -> Path:
    """The driver script in the installed package, which is found without importing it."""
    spec = find_spec("up_fast_downward")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        driver = Path(place) / "downward" / "fast-downward.py"
        if driver.is_file():
            return driver
    raise MissingExtra("Fast Downward is not installed; pip install 'galley-tamp[fd]'")


@dataclass(frozen=True)
class _Outcome:
    """How the last run ended, what it printed, and with which options."""

    code: int
    output: str
    configuration: str

    def number(self, pattern: str) -> float:
        found = re.findall(pattern, self.output)
        return float(found[-1]) if found else 0.0


class _Runs:
    """Runs of the driver in one folder, against one clock."""

    def __init__(
        self, driver: Path, folder: Path, seconds: float | None, memory_bytes: int | None
    ) -> None:
        self.driver = driver
        self.folder = folder
        self.deadline = None if seconds is None else perf_counter() + seconds
        self.limits: tuple[str, ...] = ()
        if memory_bytes is not None:
            self.limits = ("--overall-memory-limit", f"{memory_bytes // 1024}K")

    def solve(self, optimal: bool) -> _Outcome:
        """Translates once, then searches until one configuration settles it."""
        files = ("domain.pddl", "problem.pddl")
        translated = self.run("translation", "--translate", *files)
        if translated.code != _SOLVED:
            return translated
        axioms = translated.number(r"Translator axioms: (\d+)") > 0
        outcome = translated
        for options in (_OPTIMAL_WITH_AXIOMS if axioms else _OPTIMAL) if optimal else _FIRST:
            kind, value = options
            if kind == "--alias":
                outcome = self.run(value, *options, "output.sas")
            else:
                outcome = self.run(value, "output.sas", *options)
            if outcome.code not in (_UNSUPPORTED, _INCOMPLETE):
                break
        return outcome

    def run(self, configuration: str, *options: str) -> _Outcome:
        command = [sys.executable, str(self.driver), "--plan-file", "plan", "--keep-sas-file"]
        left = None if self.deadline is None else max(0.001, self.deadline - perf_counter())
        process = subprocess.Popen(
            [*command, *self.limits, *options],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,  # a group of its own, to be ended as a whole
        )
        try:
            output, _ = process.communicate(timeout=left)
        except subprocess.TimeoutExpired:
            return _Outcome(min(_OUT_OF_TIME), "", configuration)
        finally:
            _end(process)
        return _Outcome(process.returncode, output, configuration)


def _end(process: subprocess.Popen[str]) -> None:
    """Kills what is left of the process's group, also after Ctrl-C, and waits for it."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
    if process.stdout is not None:
        process.stdout.close()


@dataclass(frozen=True)
class _Asked:
    """What a plan is validated against: the task as it was given, in its own unit of cost."""

    domain: Domain
    problem: Problem
    forbidden: frozenset[GroundAction]


def _plan(asked: _Asked, actions: tuple[GroundAction, ...], outcome: _Outcome) -> Plan:
    verdict = validate(asked, actions)
    if not verdict.valid:
        raise FastDownwardError(f"Fast Downward's plan does not hold: {verdict.message}")
    return Plan(
        actions,
        cost=verdict.cost,
        expanded=int(outcome.number(r"Expanded (\d+) state")),
        generated=int(outcome.number(r"Generated (\d+) state")),
        seconds=outcome.number(r"Search time: ([\d.]+)s"),
    )


def _failure(outcome: _Outcome, seconds: float | None, memory_bytes: int | None) -> Failure:
    expanded = int(outcome.number(r"Expanded (\d+) state"))
    if outcome.code in _UNSOLVABLE:
        return Failure(
            FailureKind.CONTRADICTION,
            f"no plan exists: Fast Downward ({outcome.configuration}) has searched everything",
            numbers={"expanded": expanded},
            certificate={
                "reason": "fast-downward-exhausted",
                "configuration": outcome.configuration,
                "expanded": expanded,
            },
        )
    if outcome.code in _OUT_OF_TIME:
        within = f" within {seconds:g} s" if seconds is not None else " in the time it was given"
        numbers = {"seconds": seconds} if seconds is not None else {}
    elif outcome.code in _OUT_OF_MEMORY or outcome.code == 24:  # 24: memory and time
        mib = (memory_bytes or 0) / 2**20
        known = memory_bytes is not None
        within = f" within {mib:g} MiB of memory" if known else " in the memory there is"
        numbers = {"memory_mib": mib} if known else {}
    else:
        # The driver shows what the translator wrote to stderr as a bytes literal, on one line.
        lines = outcome.output.strip().replace(r"\n", "\n").splitlines()
        last = "\n".join(lines[-_LINES_SHOWN:])
        raise FastDownwardError(
            f"Fast Downward ({outcome.configuration}) ended with status {outcome.code}:\n{last}"
        )
    return Failure(
        FailureKind.BUDGET,
        f"Fast Downward found no plan{within}; there may be one",
        numbers=numbers,
    )
