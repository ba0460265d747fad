"""Stable-Baselines3's ``check_env`` for Galley's environments, installed beside it.

    python bench/learning/check_env.py [MODULE:ID ...] [--with PACKAGE ...] [--torch VERSION]

It installs Galley without its dependencies, what its environments need of them, and
Stable-Baselines3 into a virtual environment in a temporary folder. Without an ID it checks all of
ours, pushing in all its variants; MODULE is what registers the environment ID. Where ``--torch`` is
a version with CUDA, it takes several gigabytes.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
FINGER, PUSH = "galley.gym:galley/Finger-v0", "galley.gym:galley/Push-v0"
OURS = ("state", "keypoints", "pixels", "pixels_state")
THEIRS = ("state", "environment_state_agent_pos", "pixels", "pixels_agent_pos")
EVERY = [
    (FINGER, {}),
    *((PUSH, {"action": a, "observation": o}) for a in ("pusher", "joints") for o in OURS),
    *((PUSH, {"compat": "gym-pusht", "observation": o}) for o in THEIRS),
]
NEEDED = ("gymnasium", "scipy", "numba", "pyyaml", "shapely", "pygame-ce", "stable-baselines3")
CHECK = """
import json, sys, traceback, warnings
import gymnasium, stable_baselines3, torch
from stable_baselines3.common.env_checker import check_env
print(f"Stable-Baselines3 {stable_baselines3.__version__}, torch {torch.__version__}")
failed = 0
for name, given in json.loads(sys.argv[1]):
    what = f"{name} {given or ''}".strip()
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            check_env(gymnasium.make(name, **given).unwrapped)
            print(f"{what}: passed, {len(said)} warnings")
        except Exception:
            failed += 1
            traceback.print_exc()
            print(f"{what}: FAILED")
    for each in said:
        print(f"    {each.category.__name__}: {each.message}")
sys.exit(failed > 0)
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("ids", nargs="*", metavar="MODULE:ID", help="default: all of ours")
    parser.add_argument("--with", dest="packages", nargs="+", default=[], metavar="PACKAGE")
    parser.add_argument("--torch", default="2.13.0", metavar="VERSION", help="default: %(default)s")
    args = parser.parse_args()
    wanted = [*NEEDED, f"torch=={args.torch}", *args.packages]
    checks = json.dumps([(each, {}) for each in args.ids] or EVERY)
    with tempfile.TemporaryDirectory(prefix="galley-bench-") as folder:
        venv.create(folder, with_pip=True)
        python = str(Path(folder) / ("Scripts" if sys.platform == "win32" else "bin") / "python")
        pip = [python, "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, "-c", str(ROOT / "constraints.txt"), *wanted], check=True)
        sources = Path(folder) / "galley"  # a copy: setuptools builds beside the sources
        ignored = shutil.ignore_patterns(".*", "build", "runs", "*.egg-info")
        shutil.copytree(ROOT, sources, ignore=ignored)
        subprocess.run([*pip, "--no-deps", str(sources)], check=True)
        return subprocess.run([python, "-c", CHECK, checks], cwd=Path(folder) / "lib").returncode


if __name__ == "__main__":
    raise SystemExit(main())
