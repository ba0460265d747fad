"""Runs each planner in its own process and collects time and memory."""

from __future__ import annotations

import json
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import Any

from galley.bench.planning.tasks import KITCHEN_DOMAIN, POSITIVE_KITCHEN, Case
from galley.bench.report import note, shown

Result = dict[str, Any]

PEERS = Path(__file__).with_name("peers.py")
FAST_DOWNWARD = {
    "fd-blind": ("--search", "astar(blind())"),
    "fd-lmcut": ("--search", "astar(lmcut())"),
    "fd-hmax": ("--search", "astar(hmax())"),
    "fd-lama": ("--alias", "lama-first"),
}
# Exit codes of its driver; None where it had to be killed.
STATUS = {
    0: "solved", 10: "unsolvable", 11: "unsolvable", 12: "unsupported", 20: "memory",
    21: "time", 22: "memory", 23: "time", 34: "unsupported", None: "time",
}  # fmt: skip
LONG = 3.0  # seconds; a run that takes longer is not repeated


@dataclass(frozen=True)
class Bench:
    """How runs are made.

    Attributes:
        peers: the interpreter that has the peers.
        installed: what it has, by name; ``driver`` is Fast Downward's script.
        folder: where task files go.
        seconds: wall time of a search.
        repeats: how often a run is repeated; medians count.
    """

    peers: str
    installed: Result
    folder: Path
    seconds: float
    repeats: int

    @classmethod
    def start(cls, peers: str, folder: Path, seconds: float, repeats: int) -> Bench:
        """Asks the interpreter ``peers`` what is installed there."""
        asked = subprocess.run([peers, PEERS, "where"], capture_output=True, text=True, check=True)
        return cls(peers, json.loads(asked.stdout), folder, seconds, repeats)

    def within(self, seconds: float, repeats: int | None = None) -> Bench:
        """The same with another limit."""
        return replace(self, seconds=seconds, repeats=repeats or self.repeats)

    def run(self, planner: str, case: Case, plans: int = 20) -> Result:
        """The medians of repeated runs of ``planner`` on ``case``; see ``once``."""
        return self.compare((planner,), case, plans)[0]

    def compare(self, planners: Sequence[str], case: Case, plans: int = 20) -> list[Result]:
        """The same for several planners, which take turns: what slows one slows the others."""
        results: list[list[Result]] = [[] for _ in planners]
        for _ in range(self.repeats):
            for planner, mine in zip(planners, results, strict=True):
                if not mine or (mine[0]["status"] == "solved" and mine[0]["total_s"] < LONG):
                    mine.append(self.once(planner, case, plans))
        return [_middle(each) for each in results]

    def once(self, planner: str, case: Case, plans: int = 20) -> Result:
        """One run: status, expanded, cost, ``search_s``, ``total_s`` (whole process), ``rss_mib``.

        ``status`` is ``solved``, ``unsolvable``, ``unsupported``, ``time``, ``memory``, ``error``
        or ``not installed``.
        """
        if planner.startswith("pyperplan") and case.domain == KITCHEN_DOMAIN:
            case = replace(case, name=f"{case.name}-positive", domain=POSITIVE_KITCHEN)
        files = [str(each) for each in case.write(self.folder)]
        note(f"{planner} on {case.name}")
        if planner in FAST_DOWNWARD:
            return self._fast_downward(planner, files)
        python = sys.executable if planner.startswith("galley") else self.peers
        command = [python, str(PEERS), planner, *files]
        command += ["--seconds", str(self.seconds), "--plans", str(plans)]
        # Reading and grounding are not limited by the child itself.
        code, output, total = _process(command, self.folder, 3 * self.seconds + 30)
        lines = output.strip().splitlines()
        if code != 0 or not lines:
            return {"status": "time" if code is None else "error", "why": output, "total_s": total}
        return {"total_s": total, **json.loads(lines[-1])}

    def _fast_downward(self, planner: str, files: list[str]) -> Result:
        if "driver" not in self.installed:
            return {"status": "not installed", "total_s": 0.0}
        kind, value = FAST_DOWNWARD[planner]
        with tempfile.TemporaryDirectory() as name:
            command = [self.peers, self.installed["driver"], "--plan-file", "plan"]
            command += [kind, value, *files] if kind == "--alias" else [*files, kind, value]
            # Its own time limit would make its clock coarse on some systems.
            code, output, total = _process(command, Path(name), self.seconds + 5)
            plan = Path(name, "plan")
            text = plan.read_text() if plan.is_file() else ""

        def number(pattern: str) -> float | None:
            found = re.findall(pattern, output)
            return float(found[-1]) if found else None

        memory = [float(each) / 1024 for each in re.findall(r"eak memory: (\d+) KB", output)]
        expanded = number(r"Expanded (\d+) state")
        status = STATUS.get(code, "error")
        result: Result = {
            "status": status,
            "cost": number(r"Plan cost: (\d+)"),
            "length": number(r"Plan length: (\d+)"),
            "expanded": None if expanded is None else int(expanded),
            # With reading the translated task and building its successor generator.
            "search_s": number(r"Total time: ([\d.e-]+)s"),
            "total_s": total,
            "rss_mib": max(memory, default=None),
            "plan": text,
            "axioms": number(r"Translator axioms: (\d+)"),
        }
        if status == "error":
            result["why"] = output[-300:]
        if result["search_s"] and result["search_s"] > self.seconds:
            result["status"] = "time"
        return result


def _middle(results: list[Result]) -> Result:
    """The first of repeated runs, with medians in place of its times."""
    middle = dict(results[0])
    keys = ("search_s", "grounding_s", "total_s", "rss_mib")
    for key in keys:
        values = [each[key] for each in results if each.get(key) is not None]
        if values:
            middle[key] = statistics.median(values)
    return middle


def walls(commands: dict[str, list[str]], folder: Path, repeats: int) -> dict[str, float]:
    """Median wall times of commands that must succeed, taken in turns after a warm-up."""
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(repeats + 1):
        for name, command in commands.items():
            note(f"{name}, whole process")
            code, output, total = _process(command, folder, 60)
            if code != 0:
                raise RuntimeError(f"{' '.join(command)} ended with {code}: {output[-500:]}")
            times[name].append(total)
    return {name: statistics.median(each[1:]) for name, each in times.items()}


def _process(command: list[str], folder: Path, limit: float) -> tuple[int | None, str, float]:
    """Status (None where the limit was reached), output and wall time; no child is left over."""
    # Everybody's byte code may be kept from one start to the next, as it is for users.
    variables = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    start = perf_counter()
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    try:
        output, _ = process.communicate(timeout=limit)
        return process.returncode, output, perf_counter() - start
    except subprocess.TimeoutExpired:
        return None, "", perf_counter() - start
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def geometric_mean(values: list[float]) -> float | None:
    """None of no values."""
    return statistics.geometric_mean(values) if values else None


def ratio(theirs: Result, ours: Result, key: str = "search_s") -> float | None:
    """How many times longer they took, where both solved it in a measurable time."""
    if theirs["status"] != "solved" or ours["status"] != "solved":
        return None
    a, b = theirs.get(key), ours.get(key)
    return a / b if a and b else None


def outcome(result: Result, key: str = "search_s", scale: float = 1.0) -> str:
    """A figure of a run, or why there is none."""
    if result["status"] != "solved":
        return result["status"]
    value = result.get(key)
    return shown(None if value is None else value * scale)
