"""The study of policies: what success depends on, all on the same 100 seeds as the demonstrator.

    python bench/learning/policy.py --out runs/policies [--only NAME ...] [--steps N]

Every training is of ``Design()`` and ``Training()`` but for what its row says. What is there is not
done again: a killed study goes on, within a training too. Each policy acts for 8 steps a
prediction, with DDIM in 10, and for 2 with DDIM in 5. Times are of the processor.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from galley.bench.report import note, table
from galley.domain.files import write_atomically
from galley.learning.collection.pushing import PushDemonstrator
from galley.learning.demonstrations import collect, read_collection, read_folder
from galley.learning.evaluation import evaluate
from galley.learning.policy.data import tracks_of
from galley.learning.policy.design import Design, Training
from galley.learning.policy.evaluation import PolicyRunner
from galley.learning.policy.pictures import draw_losses
from galley.learning.policy.policy import save_policy
from galley.learning.policy.training import Trainer, train
from galley.planar.pushing.config import PushConfig
from galley.planar.pushing.shapes import shape

SEEDS = range(100, 200)  # of the evaluation
FIRST = 10_000  # seed of the demonstrations
NEAR = {"start_away": 0.05, "start_turned": 0.5}  # as examples/pushing/near.yaml


@dataclass(frozen=True)
class Row:
    """One training.

    Attributes:
        body: of ``SHAPES``. who: demonstrates. episodes: of it, before failures are left out.
        near: episodes that start near the goal, besides.
        design, training: what differs from the defaults, by name.
    """

    body: str = "T"
    who: str = "planned"
    episodes: int = 1000
    near: int = 0
    design: dict[str, Any] = field(default_factory=dict)
    training: dict[str, Any] = field(default_factory=dict)


ROWS = {
    "T-500": Row(episodes=500),
    "T-2000": Row(episodes=2000),
    "T-1000-near-1000": Row(near=1000),
    "T-near-horizon-32": Row(near=1000, design={"prediction_horizon": 32}),
    "T-near-world": Row(near=1000, design={"frame": "world"}),
    "T-near-no-average": Row(near=1000, training={"average": 0.0}),
    "T-near-cloning": Row(near=1000, design={"method": "cloning"}),
    "L-1000-near-1000": Row("L", near=1000),
    "rectangle-1000-near-1000": Row("rectangle", near=1000),
}


def main() -> None:
    """Run the rows that are missing, and print all."""
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--out", type=Path, required=True)
    p.add_argument("--only", nargs="+", choices=tuple(ROWS), default=list(ROWS))
    p.add_argument("--steps", type=int, default=Training().steps)
    p.add_argument("--jobs", type=int, default=1)
    arguments = p.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in arguments.only:
        result = arguments.out / f"{name}.json"
        if not result.exists():
            _run(name, ROWS[name], arguments, result)
    _print(arguments.out, arguments.only)


def _run(name: str, row: Row, arguments: argparse.Namespace, result: Path) -> None:
    out: Path = arguments.out
    config = PushConfig(shape=shape(row.body))
    kinds = {"": (row.episodes, config), "-near": (row.near, replace(config, **NEAR))}
    tracks = []
    for kind, (count, starts) in kinds.items():
        if count:
            run = PushDemonstrator(starts, row.who)
            folder = out / f"{row.body}-{row.who}{kind}"
            collect(run, range(FIRST, FIRST + count), run.collection, folder, arguments.jobs)
            episodes = read_folder(folder).select(range(count))
            tracks += tracks_of(episodes, read_collection(folder), folder)[0]
    design = Design(**row.design)
    how = Training(**{"steps": arguments.steps, **row.training})
    trainer = Trainer(tracks, config, design, how)
    checkpoint, spent = out / f"{name}.safetensors", out / f"{name}.seconds"
    began = time.process_time()
    before = float(spent.read_text()) if spent.exists() else 0.0

    def each(now: object) -> None:
        write_atomically(spent, str(before + time.process_time() - began))

    policy = train(trainer, each, out / f"{name}.training")
    save_policy(checkpoint, policy)
    draw_losses(checkpoint.with_suffix(".png"), policy.history["losses"], design.method)
    found = {}
    for horizon, sampling in ((8, 10), (2, 5)):
        other = out / f"{name}-act{horizon}.safetensors"
        acting = replace(design, action_horizon=horizon, sampling_steps=sampling)
        save_policy(other, replace(policy, design=acting))
        run = PolicyRunner(other)
        found[f"act {horizon}"] = evaluate(run, SEEDS, arguments.jobs).record()
    key = "demonstrator"
    found[key] = evaluate(PolicyRunner(checkpoint, row.who), SEEDS, arguments.jobs).record()
    seconds = float(spent.read_text())
    note(f"{name}: {seconds:.0f} s, {found}")
    record = {**asdict(row), "seconds": seconds, "losses": trainer.losses[-1], **found}
    write_atomically(result, json.dumps(record, indent=1))


def _print(out: Path, names: list[str]) -> None:
    lines = []
    for name in names:
        record = json.loads((out / f"{name}.json").read_text())
        line = [name]
        for key in ("act 8", "act 2", "demonstrator"):
            each = record[key]
            low, high = each["interval"]
            line.append(f"{each['successes']} ({100 * low:.0f}-{100 * high:.0f})")
        best = record["act 2"]
        line += [f"{100 * best['coverage']:.0f}", f"{100 * best['largest_coverage']:.0f}"]
        line += [f"{best['latency_ms']:.1f}", f"{record['seconds'] / 60:.1f}"]
        lines.append(line)
    head = [
        "act 8, of 100",
        "act 2, of 100",
        "demonstrator",
        "coverage %",
        "largest %",
        "ms",
        "min",
    ]
    table(["training", *head], lines)


if __name__ == "__main__":
    main()
