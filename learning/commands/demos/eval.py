"""``galley demos eval``: measure how often a policy succeeds in the kitchen."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from galley.cli.common.arguments import Count, check_output, need, plural, write_json
from galley.cli.common.progress import Printer
from galley.cli.common.shared import Seeds, Sweep, TaskFiles, json_option
from galley.domain.errors import BadInput
from galley.domain.options import argument, group, option
from galley.learning.collection.recording import Recording
from galley.learning.commands.collecting import evaluation_table

EPILOG = """POLICY is a Python file with a function policy(observation, task) that returns an action
of galley/Kitchen-v0; a folder of galley demos collect, whose actions are replayed; or a
checkpoint of LeRobot, its folder pretrained_model. Rate, actions and cameras must be those of the
training. An episode succeeds when the PDDL goal holds.

examples:
  galley demos eval my_policy.py --problem sugar_only.pddl --seeds 20 --noise low
  galley demos eval sugar --problem sugar_only.pddl --seeds 10     collected episodes, again
  galley demos eval outputs/train/checkpoints/last/pretrained_model --cameras front --film a.mp4"""


@dataclass(frozen=True, kw_only=True)
class DemosEvalOptions:
    """Options of ``galley demos eval``."""

    policy: Path = argument("Roll out this policy: a file or a folder, see below.")
    task: TaskFiles = group(TaskFiles())
    seeds: Seeds = group(Seeds(seeds=20))
    steps: Count = option(2000, "End an episode after this many steps.")
    noise: str | None = option(None, "Add random errors, as galley run does. Default: none.", "HOW")
    film: Path | None = option(None, "Film the first seed's episode into this file, MP4 or GIF.")
    sweep: Sweep = group(Sweep())
    json: Path | None = json_option("the figures")
    kept: Recording = group(Recording(), "observations and actions")


def command(options: DemosEvalOptions) -> int:
    """Evaluate; exit status 0, or 1 if an episode was lost."""
    need("learn", "gymnasium", "pyarrow")
    check_output(options.json, ".json", option="--json")
    check_output(options.film, ".mp4", ".gif", option="--film")
    from galley.learning.evaluation import evaluate
    from galley.learning.rollouts import KitchenRunner

    if not options.policy.exists():
        raise BadInput.one(options.policy, "no such file or folder")
    seeds, printer = options.seeds.all, Printer()
    run = KitchenRunner(
        options.policy.resolve(), options.task.paths(), options.noise, options.kept, options.steps,
        None if options.film is None else options.film.resolve(), seeds[0],
    )  # fmt: skip
    run.outcome(seeds[0], 1)  # reports a bad policy once, instead of in each worker
    printer.stage(f"{options.policy.name}, {plural(len(seeds), 'episode')}")

    def progress(done: int, good: int) -> None:
        printer.fraction("rolling out", done / len(seeds), f"{done}/{len(seeds)}, {good} succeeded")

    with printer:
        evaluation = evaluate(run, seeds, options.sweep.jobs, options.sweep.engine, progress)
    write_json(options.json, evaluation.record())
    return evaluation_table({options.policy.name: evaluation}, printer, "goal")
