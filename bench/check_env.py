"""Stable-Baselines3's ``check_env`` for one of Galley's environments, installed beside it.

    python bench/check_env.py [MODULE:ID] [--with PACKAGE ...] [--torch VERSION]

It installs Galley without its dependencies, Gymnasium, SciPy and Stable-Baselines3 into a virtual
environment in a temporary folder; MODULE is what registers the environment ID. Where ``--torch`` is
a version with CUDA, it takes several gigabytes.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FINGER = "galley.contact.finger.environment:galley/Finger-v0"
CHECK = """
import sys, warnings
import gymnasium, stable_baselines3, torch
from stable_baselines3.common.env_checker import check_env
env = gymnasium.make(sys.argv[1])
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    check_env(env.unwrapped)
for each in said:
    print(f"warning: {each.message}")
versions = f"Stable-Baselines3 {stable_baselines3.__version__}, torch {torch.__version__}"
print(f"{sys.argv[1]}: check_env passed, {len(said)} warnings ({versions})")
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("id", nargs="?", default=FINGER, help="default: %(default)s")
    parser.add_argument("--with", dest="packages", nargs="+", default=[], metavar="PACKAGE")
    parser.add_argument("--torch", default="2.13.0", metavar="VERSION", help="default: %(default)s")
    args = parser.parse_args()
    wanted = ["gymnasium", "scipy", "stable-baselines3", f"torch=={args.torch}", *args.packages]
    with tempfile.TemporaryDirectory(prefix="galley-bench-") as folder:
        venv.create(folder, with_pip=True)
        python = str(Path(folder) / ("Scripts" if sys.platform == "win32" else "bin") / "python")
        pip = [python, "-m", "pip", "install", "--quiet"]
        subprocess.run([*pip, "-c", str(ROOT / "constraints.txt"), *wanted], check=True)
        sources = Path(folder) / "galley"  # a copy: setuptools builds beside the sources
        ignored = shutil.ignore_patterns(".*", "build", "runs", "*.egg-info")
        shutil.copytree(ROOT, sources, ignore=ignored)
        subprocess.run([*pip, "--no-deps", str(sources)], check=True)
        return subprocess.run([python, "-c", CHECK, args.id], cwd=Path(folder) / "lib").returncode


if __name__ == "__main__":
    raise SystemExit(main())
