"""``galley push train``: train a policy on demonstrations."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from galley.cli.common.arguments import Count, need, plural, usage
from galley.cli.common.progress import Printer
from galley.domain.errors import BadInput
from galley.domain.files import check_writable
from galley.domain.options import REQUIRED, argument, group, option
from galley.learning.commands.push.options import LEARNED
from galley.learning.policy.design import Design, Training

if TYPE_CHECKING:
    from galley.learning.policy.windows import Track
    from galley.planar.pushing.config import PushConfig

EPILOG = """Failed episodes are left out. A stopped training resumes if you repeat the command.

examples:
  galley push train pushes --out policy.safetensors
  galley push train pushes near --steps 24000 --out better.safetensors
  galley push train pusht_cchi_v7_replay.zarr --out pusht.safetensors"""


@dataclass(frozen=True, kw_only=True)
class PushTrainOptions:
    """Options of ``galley push train``."""

    folders: tuple[Path, ...] = argument("Learn from these folders of galley push collect.", "DIR")
    out: Path = option(REQUIRED, "Write this checkpoint.")
    design: Design = group(Design())
    training: Training = group(Training())
    first: Count | None = option(None, "Take only the first N episodes of each DIR.")


def command(options: PushTrainOptions) -> int:
    """Train; exit status 0 once the checkpoint is written."""
    need("learn", *LEARNED)
    need("learn", "pyarrow", "zarr")
    out = options.out
    check_writable(out)
    from galley.learning.policy.pictures import draw_losses
    from galley.learning.policy.policy import save_policy
    from galley.learning.policy.training import Trainer, TrainingProgress, train

    printer = Printer()
    printer.stage("reading")
    tracks, config = _tracks(options)
    try:
        trainer = Trainer(tracks, config, options.design, options.training)
    except ValueError as error:
        raise BadInput.one(options.folders[0], str(error)) from None
    if out.exists():
        trainer.check_made(out)
        printer.stage(f"{out} is there already, trained by the same settings on the same data")
        return 0
    data = f"{plural(trainer.episodes, 'episode')}, {plural(trainer.windows, 'window')}"
    printer.stage(f"training on {data}, {trainer.parameters:,} parameters")

    def each(now: TrainingProgress) -> None:
        printer.fraction("training", now.step / now.steps, now.line())

    resume = out.with_name(f"{out.name}.training")
    if resume.exists():
        printer.stage(f"going on from {resume}")
    with printer, usage():
        policy = train(trainer, each, resume)
    save_policy(out, policy)
    draw_losses(out.with_suffix(".png"), policy.history["losses"], options.design.method)
    resume.unlink(missing_ok=True)
    step, loss, value = trainer.losses[-1]
    printer.stage(f"{out}: {TrainingProgress(step, step, loss, value).line()}")
    return 0


def _tracks(options: PushTrainOptions) -> tuple[list[Track], PushConfig]:
    """The tracks of all folders, which must have one table, and this table."""
    from galley.learning.commands.collecting import open_demonstrations
    from galley.learning.demonstrations import read_replay_buffer
    from galley.learning.demonstrations.replay_buffer import buffer_collection
    from galley.learning.policy.data import STATE, tracks_of
    from galley.planar.pushing.config import same_table

    tracks: list[Track] = []
    tables: list[PushConfig] = []
    for folder in options.folders:
        episodes, collection = open_demonstrations(folder)
        if collection is None:
            episodes = read_replay_buffer(folder, arrays=(STATE,))
            collection = buffer_collection(folder)
        if options.first is not None:
            if options.first > len(episodes):
                reason = f"has {plural(len(episodes), 'episode')}, not {options.first}"
                raise BadInput.one(folder, reason)
            episodes = episodes.select(range(options.first))
        own, config = tracks_of(episodes, collection, folder)
        if tables and not same_table(config, tables[0]):
            raise BadInput.one(folder, f"is of another table than {options.folders[0]}")
        tracks += own
        tables.append(config)
    # The policy's table is that of the folder with the widest range of starts.
    return tracks, max(tables, key=lambda table: (table.start_away, table.start_turned))
