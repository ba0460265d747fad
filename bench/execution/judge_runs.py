"""False alarms of the validation: stored successful physics runs, validated again.

    python bench/execution/judge_runs.py FOLDER [--runs N] [--jobs N] [--only-judge]

A third of the runs is undisturbed (the default task and scenarios of the suite), a third has
moderate noise in the world and its observations, and a third recovered from a fault. A failed run
is kept and not counted: another seed replaces it. A stopped call resumes. A run takes 10 to 30
seconds of one core, its validation two or three. Success is what validation said when the run was
made: change the validation after that.

Exit status 1 if any run now has a violation.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from time import perf_counter

from galley.domain.shipped import SCENARIOS
from galley.engine import record_run
from galley.execution.disturbance.noise import parse_noise
from galley.results.run_folder import REPORT
from galley.results.stored_run import read_run
from galley.stages import Options
from galley.studies.scenarios.scenario import read_scenario
from galley.sweeps import LostJob, sweep
from galley.validation import validate_run

_TASKS = ("seed_task", "swap", "cook_and_wash", "put_away", "unpack", "pack_three")
_FAULTS = ("nudge", "slippery", "stuck", "push-base:drive", "push-base:arm")


def tasks(series: str) -> Iterator[tuple[str, Options]]:
    """Names and options of the runs of a series, without end."""
    for seed in itertools.count():
        options = Options(seed=seed, execute="physics", video=False)
        if series == "faults":
            for fault in _FAULTS:
                yield f"{fault.replace(':', '-')}-{seed}", replace(options, fault=fault)
            continue
        noise = parse_noise("moderate") if series == "noise" else None
        task = read_scenario(SCENARIOS / f"{_TASKS[seed % len(_TASKS)]}.yaml")
        files = {"scene": task.scene, "domain": task.domain, "problem": task.problem}
        yield f"{task.name}-{seed}", replace(options, noise=noise, **files)


def made(series: str, folder: Path, count: int) -> list[Path]:
    """Folders of so many successful runs of a series; those that are missing are carried out."""
    found: list[Path] = []
    for name, options in tasks(series):
        if len(found) == count:
            break
        out = folder / f"{series}-{name}"
        if not (out / REPORT).exists():
            began = perf_counter()
            status = record_run(replace(options, out=out)).report.status
            print(f"{out.name}: {status}, {perf_counter() - began:.0f} s", flush=True)
        if _good(out, series):
            found.append(out)
    return found


def _good(out: Path, series: str) -> bool:
    """Whether a run was successful; one with a fault, after a recovery."""
    report = json.loads((out / REPORT).read_text())
    recovered = series != "faults" or bool(report["execution"]["recoveries"])
    return report["status"] == "success" and recovered


def judged(out: Path) -> tuple[float, list[str]]:
    """Seconds that the judge took over a run, and what it found."""
    stored, began = read_run(out), perf_counter()
    verdict = validate_run(stored.scene, stored.executed, stored.goal())
    spent = perf_counter() - began
    return spent, list(verdict.faults)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="where the runs are kept")
    parser.add_argument("--runs", type=int, default=102, help="of all three series together")
    parser.add_argument("--jobs", type=int, default=1, help="runs judged at a time")
    parser.add_argument("--only-judge", action="store_true", help="the runs that are there")
    arguments = parser.parse_args()
    arguments.folder.mkdir(parents=True, exist_ok=True)
    false, whole = 0, 0
    for series in ("plain", "noise", "faults"):
        if arguments.only_judge:
            there = sorted(path.parent for path in arguments.folder.glob(f"{series}-*/{REPORT}"))
            runs = [out for out in there if _good(out, series)]
        else:
            runs = made(series, arguments.folder, arguments.runs // 3)
        found = sweep(judged, runs, arguments.jobs)
        wrong = {
            out.name: [result.why] if isinstance(result, LostJob) else result[1]
            for out, result in zip(runs, found, strict=True)
            if isinstance(result, LostJob) or result[1]
        }
        took = [result[0] for result in found if not isinstance(result, LostJob)]
        print(
            f"{series}: {len(runs) - len(wrong)} of {len(runs)} pass, {sum(took):.0f} s", flush=True
        )
        for name, lines in wrong.items():
            print("".join(f"  {name}: {line}\n" for line in lines), end="", flush=True)
        false, whole = false + len(wrong), whole + len(runs)
    print(f"{whole - false} of {whole} successful runs pass")
    return 1 if false else 0


if __name__ == "__main__":
    sys.exit(main())
