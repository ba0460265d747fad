"""``galley push train``: learn a policy from demonstrations."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from galley.cli.common.arguments import count, given, need, plural, positive, seed_option
from galley.cli.common.progress import Printer
from galley.domain.errors import BadInput
from galley.domain.files import check_writable
from galley.learning.commands.push.options import LEARNED

if TYPE_CHECKING:
    from galley.learning.policy.windows import Track
    from galley.planar.pushing.config import PushConfig

EPILOG = """DIR is a folder of galley push collect, or the public Push-T replay buffer (zarr).
With several, all are learned from. Episodes that failed are left out.

A stopped training, even a killed one, goes on when the same command is given again, and gives the
weights of one that was never stopped; what it needs is beside --out until it ends. The curve of the
losses is written beside --out as well, as a PNG.

examples:
  galley push train pushes --out policy.safetensors
  galley push train pushes --method cloning --out cloned.safetensors
  galley push train pushes corrections --steps 20000 --action-horizon 4 --out better.safetensors
  galley push train pusht_cchi_v7_replay.zarr --out pusht.safetensors"""


def add_arguments(p: argparse.ArgumentParser) -> None:
    """Add the options of ``galley push train``."""
    from galley.learning.policy.design import FRAMES, METHODS, OBSERVATIONS, Design, Training

    design, how = Design(), Training()
    p.add_argument("folders", type=Path, nargs="+", metavar="DIR", help="of galley push collect")
    p.add_argument("--out", type=Path, required=True, metavar="FILE", help="the checkpoint")
    for name, known, about in (
        ("method", METHODS, "diffusion, or cloning: the same network without"),
        ("observation", OBSERVATIONS, "what it sees"),
        ("frame", FRAMES, "in which it sees and says points"),
    ):
        default = getattr(design, name)
        p.add_argument(f"--{name}", choices=known, help=f"{about} (default {default})")
    for name, about in (
        ("observation_horizon", "observations that it sees"),
        ("prediction_horizon", "actions that it predicts"),
        ("action_horizon", "of these that it does before it sees anew"),
        ("sampling_steps", "of DDIM"),
        ("channels", "of the U-Net"),
        ("steps", "of the training"),
        ("batch", "windows in a step"),
    ):
        default = getattr(design, name, None) or getattr(how, name)
        option = f"--{name.replace('_', '-')}"
        p.add_argument(option, type=count, metavar="N", help=f"{about} (default {default})")
    p.add_argument(
        "--rate",
        type=positive,
        metavar="X",
        help=f"the highest learning rate (default {how.rate:g})",
    )
    p.add_argument(
        "--symmetric",
        action=argparse.BooleanOptionalAction,
        help="learn from the episodes that the body's symmetries make as well (default: yes)",
    )
    p.add_argument(
        "--episodes", type=count, metavar="N", help="the first N of each DIR (default: all)"
    )
    seed_option(p)


def command(arguments: argparse.Namespace) -> int:
    """Train; exit status 0 once the checkpoint is written."""
    need("learn", *LEARNED)
    need("learn", "pyarrow", "zarr")
    out: Path = arguments.out
    check_writable(out)
    from galley.learning.policy.design import Design, Training
    from galley.learning.policy.pictures import draw_losses
    from galley.learning.policy.policy import save_policy
    from galley.learning.policy.training import Progress, Trainer, train

    try:
        design = Design(**given(arguments, Design))
        training = Training(**given(arguments, Training))
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    printer = Printer()
    printer.stage("reading")
    tracks, config = _tracks(arguments)
    try:
        trainer = Trainer(tracks, config, design, training)
    except ValueError as error:
        raise BadInput.one(arguments.folders[0], str(error)) from None
    if out.exists():
        trainer.check_made(out)
        printer.stage(f"{out} is there already, trained by the same settings on the same data")
        return 0
    what = f"{plural(trainer.episodes, 'episode')}, {plural(trainer.windows, 'window')}"
    printer.stage(f"training on {what}, {trainer.parameters:,} parameters")

    def each(now: Progress) -> None:
        printer.fraction("training", now.step / now.steps, now.line())

    resume = out.with_name(f"{out.name}.training")
    if resume.exists():
        printer.stage(f"going on from {resume}")
    try:
        policy = train(trainer, each, resume)
    except BadInput:
        raise
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    finally:
        printer.close()
    save_policy(out, policy)
    draw_losses(out.with_suffix(".png"), policy.history["losses"], design.method)
    resume.unlink(missing_ok=True)
    step, loss, value = trainer.losses[-1]
    printer.stage(f"{out}: {Progress(step, step, loss, value, 0.0).line()}")
    return 0


def _tracks(arguments: argparse.Namespace) -> tuple[list[Track], PushConfig]:
    """The episodes of all folders, which must have one table."""
    from galley.learning.commands.collecting import open_demonstrations
    from galley.learning.demonstrations import read_replay_buffer
    from galley.learning.demonstrations.replay_buffer import buffer_collection
    from galley.learning.policy.data import STATE, tracks_of
    from galley.planar.pushing.config import config_record

    tracks: list[Track] = []
    tables: list[PushConfig] = []
    for folder in arguments.folders:
        episodes, collection = open_demonstrations(folder)
        if collection is None:
            episodes = read_replay_buffer(folder, arrays=(STATE,))
            collection = buffer_collection(folder)
        if arguments.episodes is not None:
            if arguments.episodes > len(episodes):
                what = f"has {plural(len(episodes), 'episode')}, not {arguments.episodes}"
                raise BadInput.one(folder, what)
            episodes = episodes.select(range(arguments.episodes))
        found, config = tracks_of(episodes, collection, folder)
        if tables and config_record(config) != config_record(tables[0]):
            raise BadInput.one(folder, f"is of another table than {arguments.folders[0]}")
        tracks += found
        tables.append(config)
    return tracks, tables[0]
