"""``galley/Kitchen-v0``: steps per CPU-second and memory, beside a peer on PyBullet if it is there.

    python bench/learning/environment.py [--quick] [--json FILE]

Each row is a process of its own. The peer is panda-gym's PickAndPlace (pip install panda-gym): one
arm and one cube at 25 Hz, where a kitchen has 20 Hz, a mobile arm, furniture with six joints, and
the goal judged in each step.
"""

from __future__ import annotations

import json
import subprocess
import sys

from galley.bench.report import Section, Target, run_sections, shown, table

ROWS = {
    "sugar_only.pddl": ("galley.gym:galley/Kitchen-v0", {"problem": "sugar_only.pddl"}),
    "the same, hand poses": (
        "galley.gym:galley/Kitchen-v0",
        {"problem": "sugar_only.pddl", "actions": "hand"},
    ),
    "the same, two cameras of 96 pixels": (
        "galley.gym:galley/Kitchen-v0",
        {"problem": "sugar_only.pddl", "cameras": ["front", "hand"]},
    ),
    "desk.pddl (SO-101)": ("galley.gym:galley/Kitchen-v0", {"problem": "desk.pddl"}),
    "panda-gym 3.0.7": ("panda_gym:PandaPickAndPlace-v3", {}),
}
CODE = """
import json, resource, sys, time
import gymnasium
name, given, steps = json.loads(sys.argv[1])
env = gymnasium.make(name, **given).unwrapped
env.action_space.seed(0)
env.reset(seed=0)
actions = [env.action_space.sample() for _ in range(steps)]
env.step(actions[0])
began = time.process_time()
for action in actions:
    env.step(action)
spent = time.process_time() - began
began = time.process_time()
env.reset(seed=1)
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([steps / spent, time.process_time() - began, memory / 1024]))
"""


def speed(quick: bool) -> Section:
    """Section s."""
    found: dict[str, list[float]] = {}
    for name, (ident, given) in ROWS.items():
        job = json.dumps([ident, given, 100 if quick else 400])
        done = subprocess.run([sys.executable, "-c", CODE, job], capture_output=True, text=True)
        if done.returncode == 0:
            found[name] = json.loads(done.stdout.splitlines()[-1])
        else:
            print(f"{name}: {done.stderr.splitlines()[-1]}")
    headers = ["environment", "steps per CPU-second", "reset, CPU s", "memory, MiB"]
    table(headers, [[name, *map(shown, each)] for name, each in found.items()])
    seconds = found["sugar_only.pddl"][0] / 20
    return found, [Target.at_least("faster than real time", 3, seconds)]


if __name__ == "__main__":
    sys.exit(run_sections(__doc__, {"s": speed}))
