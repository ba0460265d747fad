"""LeRobot's own command trains ACT and a diffusion policy on a kitchen's data as it is.

    python bench/learning/lerobot_train.py --python python3.12 [--steps 4] [--environments DIR]

Collects runs of the SO-101 on its desk with ``galley demos collect``, exports them, makes an
environment with LeRobot 0.6.1 from PyPI (8 GB), and prints the losses. It fetches no weights.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

POLICIES = "act", "diffusion"
DESK = "--problem", "desk.pddl"
LEROBOT = "lerobot[training,diffusion]==0.6.1"


def galley(*arguments: str | Path) -> None:
    """Run one of Galley's commands."""
    subprocess.run([sys.executable, "-m", "galley", *arguments], check=True)


def losses(lerobot: Path, data: Path, policy: str, steps: int, out: Path) -> list[float]:
    """The loss of each step.

    Raises:
        RuntimeError: the command failed, or left no checkpoint.
    """
    given = {
        "dataset.repo_id": "galley/desk",
        "dataset.root": data,
        "policy.type": policy,
        "policy.device": "cpu",
        "policy.push_to_hub": "false",
        "policy.pretrained_backbone_weights": "null",
        "steps": steps,
        "batch_size": 2,
        "num_workers": 0,
        "log_freq": 1,
        "save_freq": steps,
        "wandb.enable": "false",
        "output_dir": out,
    }
    command = [lerobot, *(f"--{key}={value}" for key, value in given.items())]
    offline = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(out.parent / "hf")}
    done = subprocess.run(command, capture_output=True, text=True, env=offline)
    if done.returncode or not (out / "checkpoints").is_dir():
        raise RuntimeError(f"lerobot-train {policy} failed:\n{done.stderr[-2000:]}")
    return [float(found) for found in re.findall(r" loss:([\d.]+)", done.stdout + done.stderr)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", required=True, help="of version 3.12, for LeRobot")
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--environments", type=Path, help="folder to keep the environment in")
    options = parser.parse_args()
    with TemporaryDirectory() as temporary:
        out = Path(temporary)
        environment = (options.environments or out) / "lerobot"
        if not (environment / "bin" / "lerobot-train").exists():
            print(f"making {environment}", flush=True)
            subprocess.run([options.python, "-m", "venv", environment], check=True)
            subprocess.run([environment / "bin" / "pip", "install", "-q", LEROBOT], check=True)
        kept = ("--cameras", "front", "--execute", "kinematic", "--seeds", "4")
        galley("demos", "collect", *DESK, *kept, "--out", out / "desk")
        galley("demos", "export", out / "desk", "--format", "lerobot", "--out", out / "data")
        features = json.loads((out / "data" / "meta" / "info.json").read_text())["features"]
        print("joints:", *features["observation.state"]["names"])
        for policy in POLICIES:
            lerobot = environment / "bin" / "lerobot-train"
            found = losses(lerobot, out / "data", policy, options.steps, out / policy)
            print(
                f"{policy}: {len(found)} steps, loss",
                *(f"{loss:.3g}" for loss in found),
                flush=True,
            )


if __name__ == "__main__":
    main()
