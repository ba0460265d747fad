"""The default task over many seeds: success, planning time, validation; no film.

    python bench/tamp/default_task.py [--seeds 20] [--problem FILE] [--planner rrt] [--json FILE]

Runs the seeds in one process, after a warm-up run that is not counted. Prints one line per seed,
then medians and 95th percentiles.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path

import numpy as np

from galley.domain.shipped import KITCHEN
from galley.engine import record_run
from galley.stages import Options


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--problem", type=Path, default=KITCHEN / "task.pddl")
    parser.add_argument("--planner", default="rrt-connect")
    parser.add_argument("--checker", default="kernel")
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        warm_up = Options(
            problem=arguments.problem,
            planner=arguments.planner,
            checker=arguments.checker,
            out=Path(folder) / "warm-up",
            execute="none",
            video=False,
        )
        record_run(warm_up)
        for seed in range(arguments.first, arguments.first + arguments.seeds):
            options = Options(
                problem=arguments.problem,
                seed=seed,
                planner=arguments.planner,
                checker=arguments.checker,
                out=Path(folder) / "run",
                video=False,
            )
            report = record_run(options).report
            timing = report.spent_s
            planning = sum(timing[k] for k in ("task", "motion", "optimization"))
            validation = report.validation
            row = {
                "seed": seed,
                "status": report.status,
                "planning_s": planning,
                "refinements": report.as_json()["refinements"],
                "motions": len(report.motions),
                "motion_s": sum(m.trajectory.duration for m in report.motions),
                "states_checked": validation.states_checked if validation else 0,
                "max_penetration_mm": 1e3 * validation.max_penetration_m if validation else None,
                "why": str(report.failure or ""),
            }
            rows.append(row)
            print(
                f"seed {seed:3d}  {report.status:8s} planning {planning:6.2f} s  "
                f"{row['refinements']} refinements, {row['motions']} motions, "
                f"{row['motion_s']:.0f} s of motion, {row['states_checked']} states checked, "
                f"deepest {row['max_penetration_mm'] or 0:.2f} mm  {row['why']}",
                flush=True,
            )
    times = np.array([row["planning_s"] for row in rows])
    good = sum(row["status"] == "success" for row in rows)
    print(
        f"{good} of {len(rows)} succeeded; planning median {np.median(times):.2f} s, "
        f"95th percentile {np.percentile(times, 95):.2f} s, longest {times.max():.2f} s"
    )
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0 if good == len(rows) else 1


if __name__ == "__main__":
    sys.exit(main())
