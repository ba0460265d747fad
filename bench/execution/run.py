"""Runs under physics: success with and without noise and faults, accuracy.

    python bench/execution/run.py [--only abce] [--seeds 100] [--jobs 2] [--out FOLDER]

a  the default task, every seed: goal reached and validated
b  the same with moderate noise (friction and mass +-20 %, poses +-5 mm, observed with noise)
c  faults injected: recovered, honestly failed, or wrongly called a success
e  items after transport: how far from where they were planned (of a and b)

None depends on the machine's speed; bench/readme.py measures that. Every outcome is a line of
OUT/outcomes.jsonl; runs listed there are not repeated.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np

from galley.bench.report import resumed

FAULTS = ("nudge:sugar", "nudge:spam", "slippery:sugar", "slippery:spam", "stuck:drawer")
FAULTS += ("stuck-for-good:drawer", "topple:sugar", "topple:spam", "push-base")
FAULT_SEEDS = 10  # of each fault


def job(section: str, seed: int, noise: str | None, fault: str | None) -> dict:
    """One run, in a process of its own or not; plain data."""
    from galley.engine import record_run
    from galley.execution.disturbance.noise import LEVELS
    from galley.stages import Options

    with tempfile.TemporaryDirectory(prefix="galley-bench-") as folder:
        options = Options(
            seed=seed,
            out=Path(folder) / "run",
            video=False,
            noise=LEVELS[noise] if noise else None,
            fault=fault,
        )
        began = time.perf_counter()
        told = record_run(options).report.as_json()
        wall = time.perf_counter() - began
    execution, verdict = told["execution"], told["validation"]
    return {
        "section": section,
        "seed": seed,
        "noise": noise,
        "fault": fault,
        "status": told["status"],
        "goal_reached": told["goal_reached"],
        "valid": bool(verdict and verdict["passed"]),
        "violations": (verdict or {}).get("violations", [])[:5],
        "failure": (told["failure"] or {}).get("message", ""),
        "recoveries": [
            [r["motion"], r["how"], [n["what"] for n in r["noticed"]]]
            for r in execution["recoveries"]
        ],
        "faults": execution["faults"],
        "released": [[r["item"], r["off_m"], r["turned_rad"]] for r in execution["released"]],
        "timing_s": told["timing_s"],
        "wall_s": wall,
    }


def jobs(only: str, seeds: int) -> list[tuple]:
    """What is to be run: (section, seed, noise, fault)."""
    found: list[tuple] = []
    if "a" in only or "e" in only:
        found += [("a", seed, None, None) for seed in range(seeds)]
    if "b" in only or "e" in only:
        found += [("b", seed, "moderate", None) for seed in range(seeds)]
    if "c" in only:
        each = min(FAULT_SEEDS, seeds)
        found += [("c", seed, None, fault) for fault in FAULTS for seed in range(each)]
    return found


def tell_success(rows: list[dict], section: str, what: str, target: str) -> None:
    """How many of a section's runs succeeded, and why not the others."""
    mine = [row for row in rows if row["section"] == section]
    if not mine:
        return
    right = [row for row in mine if row["status"] == "success"]
    again = sum(bool(row["recoveries"]) for row in right)
    print(f"{section}  {what}: {len(right)} of {len(mine)} succeeded and validated ({target})")
    print(f"   {again} of them recovered on the way, {_count(right)} times in all")
    for row in mine:
        if row["status"] != "success":
            why = row["failure"] or row["violations"]
            print(f"   seed {row['seed']}: {row['status']}: {why}")


def _count(rows: list[dict]) -> int:
    return sum(len(row["recoveries"]) for row in rows)


def tell_faults(rows: list[dict]) -> None:
    """A table of faults."""
    mine = [row for row in rows if row["section"] == "c"]
    if not mine:
        return
    print("c  faults injected     runs  struck  recovered  honestly failed  wrongly a success")
    total = [0] * 5
    for fault in FAULTS:
        of_it = [row for row in mine if row["fault"] == fault]
        struck = [r for r in of_it if not any(" did not strike" in each for each in r["faults"])]
        good = [r for r in of_it if r["status"] == "success" and r["goal_reached"] and r["valid"]]
        wrong = [r for r in of_it if r["status"] == "success" and r not in good]
        failed = [r for r in of_it if r["status"] != "success"]
        figures = [len(of_it), len(struck), len(good), len(failed), len(wrong)]
        total = [a + b for a, b in zip(total, figures, strict=True)]
        print("   {:18s} {:5d} {:7d} {:10d} {:16d} {:18d}".format(fault, *figures))
    print("   {:18s} {:5d} {:7d} {:10d} {:16d} {:18d}".format("all", *total))


def tell_releases(rows: list[dict]) -> None:
    """Distances between where items were planned to be and where they came to be."""
    for section, what in (("a", "no noise"), ("b", "moderate noise")):
        off = [
            (1e3 * r[1], np.degrees(r[2]))
            for row in rows
            if row["section"] == section
            for r in row["released"]
        ]
        if off:
            mm, deg = np.array(off).T
            print(
                f"e  {what}: {len(mm)} releases, off by {np.median(mm):.1f} mm median, "
                f"{np.percentile(mm, 95):.1f} mm 95th percentile, {mm.max():.1f} at most; turned "
                f"by {np.median(deg):.1f}, {np.percentile(deg, 95):.1f}, {deg.max():.1f} degrees"
            )


def main() -> None:
    """See the module's docstring."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", default="abce")
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("runs/bench-execution"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    keys, store = ("section", "seed", "noise", "fault"), options.out / "outcomes.jsonl"
    rows = resumed(store, keys, job, jobs(options.only, options.seeds), options.jobs)
    tell_success(rows, "a", "default task", "wanted: 98 %")
    tell_success(rows, "b", "with moderate noise", "wanted: 90 %")
    tell_faults(rows)
    tell_releases(rows)


if __name__ == "__main__":
    main()
