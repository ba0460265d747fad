"""Demonstrations: how many a minute, how large, and what a kill costs.

    python bench/learning/demonstrations.py [--quick] [--json FILE] [--only k]

Sections: p, pushing, by one worker and two, with and without pictures, and its bytes; k, the same
of kitchen runs; c, a collection that is killed at random moments.
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any

from galley import engine
from galley.bench.report import Section, Target, note, run_sections, shown, table
from galley.compiled.build import RENDERER, ensure
from galley.learning.collection.kitchen import KitchenDemonstrator
from galley.learning.collection.pushing import PushDemonstrator
from galley.learning.collection.recording import Recording
from galley.learning.demonstrations import collect, read_folder
from galley.planar.pushing.config import PushConfig
from galley.tests.learning.demonstrations.made import COLLECTION, run_slowly

_KILLS, _EPISODES = 20, 40
_KILLED = """
import sys
from pathlib import Path
from galley.learning.demonstrations import collect
from galley.tests.learning.demonstrations.made import COLLECTION, run_slowly
if __name__ == "__main__":
    collect(run_slowly, range({episodes}), COLLECTION, Path(sys.argv[1]), 2)
"""


def digests(folder: Path, pattern: str = "*") -> dict[str, str]:
    """Of each file by its name."""
    return {p.name: hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.glob(pattern)}


def pushing(quick: bool) -> Section:
    """p. Episodes of pushing a T, from the call to the last file."""
    table = PushConfig()
    kinds = {
        "planned": PushDemonstrator(table, "planned"),
        "planned, 96 pixels": PushDemonstrator(table, "planned", 96),
        "scripted": PushDemonstrator(table, "scripted"),
    }
    return _collected("p", kinds, range(10 if quick else 100), 1.0, "a second")


def _collected(
    letter: str, kinds: Mapping[str, Any], seeds: Sequence[int], seconds: float, unit: str
) -> Section:
    """Episodes by one worker and two: rates per so many seconds, bytes, and whether they agree."""
    # Every way to run them: its workers and engine.
    ways = {"1 worker": (1, "process"), "2 workers": (2, "process")}
    if find_spec("ray") is not None:
        ways["Ray"] = (2, "ray")
    raw, rows, alike = {}, [], []
    with tempfile.TemporaryDirectory() as place:
        for kind, run in kinds.items():
            rates, found = {}, {}
            for way, (workers, how) in ways.items():
                note(f"{kind}, {way}")
                folder, began = Path(place) / f"{kind}, {way}", perf_counter()
                lost = collect(run, seeds, run.collection, folder, workers, how)
                rates[way] = seconds * (len(seeds) - len(lost)) / (perf_counter() - began)
                found[way] = digests(folder)
            infos = read_folder(folder).infos
            steps = sum(info.length for info in infos)
            files = [p.stat().st_size for p in folder.glob("*.parquet")]
            good = sum(info.success is True for info in infos)
            same = all(each == found["1 worker"] for each in found.values())
            alike.append(same)
            raw[kind] = {unit: rates, "bytes": sum(files), "steps": steps, "good": good}
            cells = [shown(rates[way]) for way in ways]
            size = f"{sum(files) / steps:,.0f}"
            rows.append([kind, *cells, f"{good}/{len(seeds)}", size, "yes" if same else "NO"])
    heads = [*(f"{way}, {unit}" for way in ways), "succeeded", "bytes a step", "same bytes"]
    table([f"{letter}. {len(seeds)} seeds", *heads], rows)
    what = f"{letter}. kinds with the same bytes by {', '.join(ways)}"
    return raw, [Target.at_least(what, len(kinds), sum(alike), "")]


def kitchen(quick: bool) -> Section:
    """k. Runs of the kitchen's one-item task, 20 steps a second, from the call to the last file."""
    task = engine.load(problem="sugar_only.pddl")
    ensure(*engine.COMPILED, RENDERER)
    cameras = ("front", "hand")
    kinds = {
        "kinematic": KitchenDemonstrator(task, "kinematic"),
        "kinematic, 2 cameras of 96": KitchenDemonstrator(
            task, "kinematic", recording=_of(cameras, 96)
        ),
        "kinematic, 2 cameras of 240": KitchenDemonstrator(
            task, "kinematic", recording=_of(cameras, 240)
        ),
        "physics": KitchenDemonstrator(task),
    }
    return _collected("k", kinds, range(2 if quick else 4), 60.0, "a minute")


def _of(cameras: tuple[str, ...], size: int) -> Recording:
    return Recording(cameras=cameras, size=size)


def killed(quick: bool) -> Section:
    """c. kill -9 of all processes of a collection, at random moments, until it ends."""
    draw, kills, vanished, code = random.Random(0), 0, 0, _KILLED.format(episodes=_EPISODES)
    with tempfile.TemporaryDirectory() as place:
        folder, script = Path(place) / "killed", Path(place) / "collect.py"
        script.write_text(code)
        finished: dict[str, str] = {}
        most = 4 if quick else _KILLS
        while kills < most:
            note(f"kill {kills + 1} of {most}: {len(finished)} episodes")
            process = subprocess.Popen([sys.executable, script, folder], start_new_session=True)
            time.sleep(draw.uniform(0.3, 3.0))
            ended = process.poll() is not None
            if not ended:
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            kills += not ended
            left = digests(folder, "episode-*")
            vanished += sum(left.get(name) != each for name, each in finished.items())
            finished = left
            if len(finished) == _EPISODES:  # done before the last kill: start over
                shutil.rmtree(folder)
                finished = {}
        note("to the end")
        for name in ("killed", "whole"):
            collect(run_slowly, range(_EPISODES), COLLECTION, Path(place) / name, 1)
        same = digests(folder) == digests(Path(place) / "whole")
    table(
        ["c. kill -9", "kills", "finished, then lost", "same bytes at the end"],
        [["two workers, any moment", str(kills), str(vanished), "yes" if same else "NO"]],
    )
    targets = [Target.at_most("c. finished episodes lost to a kill", 0, vanished, "")]
    return {"kills": kills, "vanished": vanished, "same": same}, targets


# Letter: what measures it, given whether to be quick.
STEPS: dict[str, Callable[[bool], Section]] = {"p": pushing, "k": kitchen, "c": killed}


if __name__ == "__main__":
    sys.exit(run_sections(__doc__, STEPS))
