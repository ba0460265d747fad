"""gym-pusht in an environment of its own, and its episodes: ``python bench/pushing/peer.py FILE``.

As a script it writes the episode that the tests hold ours against. gym-pusht 0.1.8 needs pymunk
before 7; ours steps the version that is installed here.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import venv
from pathlib import Path
from typing import Any

import numpy as np

PEER = "gym-pusht==0.1.8"
FOLDER = Path("runs/gym-pusht")
STEPS = 1000

# Random targets over most of the table, from gym-pusht's starts. A row: what info says (pusher,
# its velocity, block, number of contacts), coverage, reward, whether it ended; then keypoints.
RECORD = """
import sys, warnings
import numpy as np
warnings.filterwarnings("ignore")
import gymnasium, gym_pusht, pymunk
steps, seeds, found = int(sys.argv[2]), [int(each) for each in sys.argv[3:]], {}
for seed in seeds:
    env = gymnasium.make("gym_pusht/PushT-v0", obs_type="environment_state_agent_pos",
                         render_mode="rgb_array").unwrapped
    rng, rows = np.random.default_rng(seed), []
    actions = rng.uniform(60.0, 452.0, (steps, 2)).astype(np.float32)
    def row(seen, reward, ended, info):
        told = [info[k] for k in ("pos_agent", "vel_agent", "block_pose")]
        return np.r_[(*told, info["n_contacts"], info.get("coverage", 0.0), reward, ended,
                      seen["environment_state"], seen["agent_pos"])]
    seen, info = env.reset(seed=seed)
    rows.append(row(seen, 0.0, False, info))
    pictures = []
    for k, action in enumerate(actions):
        seen, reward, ended, _, info = env.step(action)
        rows.append(row(seen, reward, ended, info))
        if k % 50 == 0:
            pictures.append(env._render())
    found[f"pictures_{seed}"] = np.array(pictures)
    found[f"actions_{seed}"], found[f"rows_{seed}"] = actions, np.array(rows)
starts = [env.reset(seed=seed)[1]["block_pose"] for seed in range(20)]
np.savez(sys.argv[1], starts=starts, pymunk=pymunk.version, **found)
"""


def peer() -> Path:
    """The Python of the peer's environment; made if it is not there."""
    python = FOLDER / "bin" / "python"
    if not (FOLDER / "made").exists():
        print(f"installing {PEER} in {FOLDER}", file=sys.stderr)
        venv.create(FOLDER, with_pip=True, clear=True)
        subprocess.run([python, "-m", "pip", "install", "-q", PEER, "pymunk<7"], check=True)
        (FOLDER / "made").touch()
    return python


def ask(code: str, *arguments: str) -> str:
    """What the peer prints."""
    command = [peer(), "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def recorded(*seeds: int) -> dict[str, Any]:
    """Episodes of gym-pusht: arrays by name, see ``RECORD``."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "episodes.npz"
        ask(RECORD, str(file), str(STEPS), *map(str, seeds))
        with np.load(file) as found:
            return dict(found)


def differences(found: dict[str, Any], seed: int) -> np.ndarray:
    """Of our upstream physics from a recorded episode, like its rows."""
    from galley.planar.pushing.environments.gym_pusht import GymPushTEnv

    env = GymPushTEnv("environment_state_agent_pos", physics="upstream")
    seen, info = env.reset(seed=seed)
    ours = [_row(seen, 0.0, False, info)]
    for action in found[f"actions_{seed}"]:
        seen, reward, ended, _, info = env.step(action)
        ours.append(_row(seen, reward, ended, info))
    return np.abs(np.array(ours) - found[f"rows_{seed}"])


def picture_differences(found: dict[str, Any]) -> tuple[float, float]:
    """Of observed pictures of equal states: the mean of a channel (of 255), and how many differ.

    The latter is the share of pixels with a channel that is off by more than 60.
    """
    from galley.planar.pushing.environments.gym_pusht import GymPushTEnv

    env, off = GymPushTEnv("pixels", physics="upstream"), []
    for name in found:
        if name.startswith("actions_"):
            seed = int(name.removeprefix("actions_"))
            env.reset(seed=seed)
            ours = [env.step(action)[0] for action in found[name]][::50]
            off.append(np.abs(np.array(ours, dtype=int) - found[f"pictures_{seed}"]))
    every = np.concatenate(off)
    return float(every.mean()), float((every.max(axis=-1) > 60).mean())


def _row(seen: dict[str, Any], reward: float, ended: bool, info: dict[str, Any]) -> np.ndarray:
    told = [info[key] for key in ("pos_agent", "vel_agent", "block_pose")]
    more = (info["n_contacts"], info.get("coverage", 0.0), reward, ended)
    return np.concatenate([*told, more, seen["environment_state"], seen["agent_pos"]])


if __name__ == "__main__":
    SEED, EVERY = 0, 10
    given = recorded(SEED)
    np.savez_compressed(
        sys.argv[1],
        actions=given[f"actions_{SEED}"],
        rows=given[f"rows_{SEED}"][::EVERY, :11],
        keypoints=given[f"rows_{SEED}"][:3, 11:],
        starts=given["starts"],
        seed=SEED,
        every=EVERY,
    )
