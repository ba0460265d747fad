"""The study of policies: what success depends on, all on the same 50 seeds as the demonstrator.

    python bench/learning/policy.py --out runs/policies [--only NAME ...] [--steps N]

Every training is of ``Design()`` and ``Training()`` but for what its row says. What is there is not
done again: a killed study goes on, within a training too. Each policy acts for 8 steps a
prediction, with DDIM in 10, and for 2 with DDIM in 5. Times are of the processor.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from galley.bench.report import note, table
from galley.domain.files import write_atomically
from galley.learning.collection.pushing import PushDemonstrator
from galley.learning.demonstrations import collect, read_collection, read_folder
from galley.learning.policy.data import tracks_of
from galley.learning.policy.design import Design, Training
from galley.learning.policy.evaluation import PolicyRunner, evaluate
from galley.learning.policy.pictures import draw_losses
from galley.learning.policy.policy import save_policy
from galley.learning.policy.training import Trainer, train
from galley.planar.pushing.config import PushConfig
from galley.planar.pushing.shapes import shape

SEEDS = range(50)  # of the evaluation
FIRST = 1000  # seed of the demonstrations


@dataclass(frozen=True)
class Row:
    """One training.

    Attributes:
        body: of ``SHAPES``. who: demonstrates. episodes: of it, before failures are left out.
        method: of the design. corrected: whether corrections of an earlier row's policy, as many
            as ``CORRECTIONS`` says, are learned as well.
    """

    body: str = "T"
    who: str = "planned"
    episodes: int = 200
    method: str = "diffusion"
    corrected: str = ""


CORRECTIONS = 500
ROWS = {
    "T-200": Row(),
    "T-500": Row(episodes=500),
    "T-50": Row(episodes=50),
    "T-200-scripted": Row(who="scripted"),
    "T-200-cloning": Row(method="cloning"),
    "L-200": Row("L"),
    "rectangle-200": Row("rectangle"),
    "T-500-corrected": Row(episodes=500, corrected="T-500"),
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
    folders = [_collected(out / f"{row.body}-{row.who}", row.episodes, row.who, config, arguments)]
    if row.corrected:
        earlier = out / f"{row.corrected}-act2.safetensors"
        folder = out / f"{row.corrected}-corrections"
        _collected(folder, CORRECTIONS, row.who, config, arguments, earlier)
        folders.append(folder)
    tracks = []
    for folder in folders:
        episodes = read_folder(folder)
        episodes = episodes.select(range(min(row.episodes, len(episodes))))
        tracks += tracks_of(episodes, read_collection(folder), folder)[0]
    design, how = Design(method=row.method), Training(steps=arguments.steps)
    trainer = Trainer(tracks, config, design, how)
    checkpoint, spent = out / f"{name}.safetensors", out / f"{name}.seconds"
    began = time.process_time()
    before = float(spent.read_text()) if spent.exists() else 0.0

    def each(now: object) -> None:
        write_atomically(spent, str(before + time.process_time() - began))

    policy = train(trainer, each, out / f"{name}.training")
    save_policy(checkpoint, policy)
    draw_losses(checkpoint.with_suffix(".png"), policy.history["losses"], row.method)
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


def _collected(
    folder: Path,
    episodes: int,
    who: str,
    config: PushConfig,
    arguments: argparse.Namespace,
    after: Path | None = None,
) -> Path:
    """A folder with at least so many episodes."""
    there = len(list(folder.glob("episode-*.parquet")))
    if there < episodes:
        run = PushDemonstrator(config, who, None, after)
        first = FIRST if after is None else FIRST + 1000
        seeds = range(first, first + episodes)
        collect(run, seeds, run.collection, folder, arguments.jobs)
    return folder


def _print(out: Path, names: list[str]) -> None:
    lines = []
    for name in names:
        record = json.loads((out / f"{name}.json").read_text())
        line = [name]
        for key in ("act 8", "act 2", "demonstrator"):
            each = record[key]
            low, high = each["interval"]
            line.append(f"{each['successes']} ({50 * low:.0f}-{50 * high:.0f})")
        best = record["act 2"]
        line += [f"{100 * best['coverage']:.0f}", f"{100 * best['largest_coverage']:.0f}"]
        line += [f"{best['latency_ms']:.1f}", f"{record['seconds'] / 60:.1f}"]
        lines.append(line)
    head = ["act 8, of 50", "act 2, of 50", "demonstrator", "coverage %", "largest %", "ms", "min"]
    table(["training", *head], lines)


if __name__ == "__main__":
    main()
