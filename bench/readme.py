"""What README and docs show, made again from today's code: console texts, pictures, figures.

    python bench/readme.py [--only texts,pictures,rates,times] [--again] [--quick]

texts     lines of console output, of the commands that print them
pictures  stills and films; one is replaced where it differs by more than noise
rates     how often a task succeeds: hours, two runs at a time; a busy machine changes nothing
times     how long things take, with their plots: half an hour, on a machine that does nothing else

``readme.toml`` names the commands and the places. A command's results stay in ``runs/readme/NAME``,
and it does not run again without --again: an interrupted call goes on. The tables of figures are
written once all their commands have run, under one date. What was not measured, a peer that is not
installed, stays, with the date that stands beside it. Documents and pictures are replaced whole.
At the end a table says what changed. Exit status 1: a command failed, a line is printed no more, a
figure has no date, or a picture grew by more than a fifth and was not replaced.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from datetime import date
from itertools import zip_longest
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from imageio import v3 as imageio
from imageio_ffmpeg import get_ffmpeg_exe
from PIL import Image

from galley.bench.report import installed, note, table
from galley.domain.files import atomic_file, write_atomically
from galley.domain.log import Log

ROOT = Path(__file__).resolve().parents[1]
CONTENTS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
RATES, TIMES = (CONTENTS["commands"].pop(group) for group in ("rates", "times"))
COMMANDS: dict[str, str] = CONTENTS["commands"] | RATES | TIMES
GROUPS = ("texts", "pictures", "rates", "times")
NOISE = 1.2  # of 255; two palettes, or digits in a page, make 1
GROWTH = 1.2  # of a picture's file
Row = tuple[str, str, str, str]  # what, before, after, verdict: in capitals where it is a fault
Figures = dict[str, str]


def carry_out(name: str, store: Path, sizes: dict[str, str]) -> bool:
    """Run a command unless it has run, after those whose results it takes; whether it succeeded."""
    at = store / name
    if ran(store, name):
        return True
    needed = set(re.findall(r"\{(\w+)\}", COMMANDS[name])) & set(COMMANDS)
    if not all(carry_out(each, store, sizes) for each in needed):
        return False
    if name not in RATES:  # those resume
        shutil.rmtree(at, ignore_errors=True)
    at.mkdir(parents=True, exist_ok=True)
    places = {each: str(store / each) for each in COMMANDS}
    words: list[str] = []
    for word in shlex.split(COMMANDS[name].format(at=at, **places, **sizes)):
        galley, script = word == "galley", word.endswith(".py")
        words += [sys.executable] if galley or script else []
        words += ["-m", "galley"] if galley else [str(ROOT / word)] if script else [word]
    note(f"{name}: {' '.join(words)}\n")
    began, before = perf_counter(), os.times()
    try:
        run = subprocess.run(words, cwd=at, text=True, capture_output=True)
    except FileNotFoundError as error:
        note(f"{name}: {error.filename} is not installed\n")
        return False
    wall, after = perf_counter() - began, os.times()
    said = run.stdout + run.stderr
    # A refusal and a wrong outcome in a suite end with 1, and are what is asked for.
    judging = {"none", "scenarios"} & set(words)
    if run.returncode not in ((0, 1) if judging else (0,)):
        note(f"{name} ended with {run.returncode} after {wall:.0f} s: {said[-600:]}\n")
        return False
    note(f"{name}: {wall:.0f} s\n")
    cpu = sum(after[2:4]) - sum(before[2:4])
    told = {"date": str(date.today()), "wall_s": wall, "cpu_s": cpu, "said": said}
    write_atomically(at / "done.json", json.dumps(told, indent=1))
    return True


def ran(store: Path, name: str) -> bool:
    """Whether a command has succeeded."""
    return (store / name / "done.json").exists()


def read(path: Path) -> Any:
    """JSON, or an object a line."""
    text = path.read_text()
    if path.suffix == ".jsonl":
        return [json.loads(line) for line in text.splitlines()]
    return json.loads(text)


def captions(store: Path) -> Figures:
    """Lengths and durations of the trajectories in the two films."""
    found = {}
    for name, prefix in (("random", ""), ("turnaround", "turn_")):
        told = read(store / name / "out" / "compare.json")
        (shown,) = [each for each in told["queries"] if each["query"] == told["shown"]]
        for each in shown["solutions"]:
            if each["found"]:
                found[f"{prefix}{each['method']}_s"] = f"{each['duration_s']:.1f}"
                found[f"{prefix}{each['method']}_rad"] = f"{each['joint_length_rad']:.2f}"
    return found


def rates(store: Path) -> Figures:
    """How often."""
    default, suite = (
        read(store / name / "out" / "scenarios.json") for name in ("default", "suite")
    )
    rows, faults = (read(store / name / "out" / "outcomes.jsonl") for name in ("physics", "faults"))
    names = {each["scenario"] for each in suite["outcomes"]}
    good = [row for row in faults if row["status"] == "success"]
    wrong = sum(not (row["goal_reached"] and row["valid"]) for row in good)
    found = {
        "default_seeds": f"seeds 0 to {default['runs'] - 1}",
        "default": f"{default['right']} of {default['runs']}",
        "scenarios": str(len(names)),
        "suite_seeds": str(suite["runs"] // len(names)),
        "suite": f"{suite['right']} of {suite['runs']}",
        "fault_seeds": str(len({row["seed"] for row in faults})),
        "recovered": str(len(good) - wrong),
        "failed": str(len(faults) - len(good)),
        "wrong": str(wrong or "none"),
    }
    for section, key, let_go in (("a", "physics", "let_go"), ("b", "noise", "let_go_noise")):
        own = [row for row in rows if row["section"] == section]
        found[key] = f"{sum(row['status'] == 'success' for row in own)} of {len(own)}"
        found["physics_seeds"] = f"seeds 0 to {len(own) - 1}"
        found |= spread([1e3 * each[1] for row in own for each in row["released"]], let_go)
    return found


def times(store: Path) -> Figures:
    """How long."""
    from galley.bench.motion.peers.ours import PROVEN
    from galley.bench.motion.peers.planners import OMPL_BULLET, ROBOPLAN
    from galley.bench.motion.queries import KITCHEN_SET
    from galley.bench.optimization.peers import KTO_25, SMOOTH

    tamp, motion, optimization, planning = (
        read(store / name / "raw.json") for name in ("tamp", "motion", "optimization", "planning")
    )
    rows, packed = tamp["a"]["rows"], [row for row in tamp["c"] if row["status"] == "solved"]
    size = max(row["size"] for row in tamp["d"] if row["series"] == "items")
    ten = [row for row in tamp["d"] if (row["series"], row["size"]) == ("items", size)]
    found = {
        "plans": str(len(rows)),
        "solves": str(len(tamp["a"]["solve_s"]["none"])),
        "packed": f"{len(packed)} of {len(tamp['c'])}",
        "ten_actions": str(ten[0]["actions"]),
        "task": _two(planning["c"]["galley_s"]),
    }
    for key, values in (
        ("plan", [row["solve_s"] for row in rows]),
        ("first", [row["first_s"] for row in rows]),
        ("smooth", [row["smooth_s"] for row in rows]),
        ("solve", tamp["a"]["solve_s"]["none"]),
        ("solve_smooth", tamp["a"]["solve_s"]["smooth"]),
        ("pack", [row["solve_s"] for row in packed]),
        ("ten", [row["solve_s"] for row in ten]),
    ):
        found |= spread(values, key)
    kitchen = motion["a"]["summaries"][KITCHEN_SET]
    for planner, key in ((PROVEN, "proven"), (OMPL_BULLET, "ompl"), (ROBOPLAN, "roboplan")):
        if told := kitchen.get(planner):
            unit = "" if planner == PROVEN else " ms"
            found[key] = _two(1e3 * told["median"]) + unit
            found[f"{key}_p95"] = _two(1e3 * told["p95"])
            found[f"{key}_solved"] = f"{told['solved']}/{told['asked']}"
    for method, key in ((SMOOTH, "spline"), (KTO_25, "kto")):
        own = [each for each in optimization["runs"]["arm"] if each["name"] == method]
        passed = sum(bool(each.get("free") and each.get("within")) for each in own)
        found[f"{key}_passed"] = f"{passed}/{len(own)}"
        found |= spread([1e3 * each["seconds"] for each in own], key)
    if drivers := [v for k, v in planning["c"].items() if k.startswith("fd-")]:
        found["driver"] = f"{_two(min(drivers))} s"
    targets = [
        ("breadth-first search, pyperplan", "pyperplan"),
        ("greedy search, 10 items", "gbfs"),
        ("b. refusals without search", "refused"),
        ("b. the same, whole process", "refused_process"),
    ]
    for each in planning["targets"] + tamp["targets"]:
        for begins, key in targets:
            if each["what"].startswith(begins) and each["figure"] is not None:
                found[key] = _two(each["figure"])
    return found | first_run(store)


def first_run(store: Path) -> Figures:
    """From an empty cache to the film, and again; seconds of simulation a second."""
    cold, warm, verify = (read(store / name / "done.json") for name in ("cold", "warm", "verify"))
    spent = [read(store / name / "out" / "report.json")["timing_s"] for name in ("cold", "warm")]
    duration = Log.load(store / "warm" / "out" / "states.npz").duration
    ratios = {f"{duration / each['execution']:.1f}" for each in spent}
    seconds = {
        "cold": cold["wall_s"],
        "warm": warm["wall_s"],
        "compiling": cold["wall_s"] - warm["wall_s"],
        "executing": spent[1]["execution"],
        "film": spent[1]["video"],
        "ran": duration,
    }
    found = {key: f"{value:.0f}" for key, value in seconds.items()}
    found["simulated"] = " to ".join(sorted(ratios, key=float))
    return found | {"judged": f"{verify['cpu_s']:.1f}"}


def spread(values: list[float], name: str) -> Figures:
    """Median, 95th percentile and worst."""
    figures = np.percentile(values, (50, 95, 100))
    return dict(zip((name, f"{name}_p95", f"{name}_worst"), map(_two, figures), strict=True))


def _two(value: float) -> str:
    return f"{float(f'{value:.2g}'):g}"


def when(store: Path) -> str:
    """The day, or the first and the last one, and the machine."""
    days = sorted({read(store / name / "done.json")["date"] for name in (*RATES, *TIMES)})
    said = [f"{date.fromisoformat(day):%-d %B %Y}" for day in dict.fromkeys((days[0], days[-1]))]
    python = platform.python_version().rpartition(".")[0]
    return f"on {' to '.join(said)} on {os.cpu_count()} cores of a cloud machine, Python {python}"


def pattern(template: str) -> re.Pattern[str]:
    """Where the template stands in a document, however its lines are broken."""
    parts = re.split(r"\{\w+\}", template)
    literal = [r"\s+".join(map(re.escape, re.split(r"\s+", part))) for part in parts]
    return re.compile(r"([^|\n]+?)".join(literal))


def fill(text: str, template: str, figures: Figures) -> tuple[str, list[Row]]:
    """The document with the template's figures; one that was not measured stays as it is.

    Raises:
        ValueError: the template does not stand in the document exactly once.
    """
    found = list(pattern(template).finditer(text))
    if len(found) != 1:
        raise ValueError(f"stands {len(found)} times in the document: {template}")
    rows: list[Row] = []
    for k, name in reversed([*enumerate(re.findall(r"\{(\w+)\}", template), 1)]):
        old, (low, high) = found[0][k], found[0].span(k)
        if name in figures:
            text = text[:low] + figures[name] + text[high:]
            rows.append((name, old, figures[name], "same" if old == figures[name] else "changed"))
        elif name != "_":
            rows.append((name, old, "not measured", "stays" if "(" in old else "WITHOUT DATE"))
    return text, rows[::-1]


def write_figures(templates: dict[str, list[str]], figures: Figures) -> Iterator[Row]:
    """Figures in sentences and tables."""
    for document, own in templates.items():
        text = (ROOT / document).read_text()
        for template in own:
            text, rows = fill(text, template, figures)
            yield from ((f"{document}: {row[0]}", *row[1:]) for row in rows)
        write_atomically(ROOT / document, text)


def write_texts(store: Path) -> Iterator[Row]:
    """Lines of console output."""
    for document, lines in CONTENTS["texts"].items():
        text = (ROOT / document).read_text()
        for begins, name in lines:
            line = re.compile(rf"{re.escape(begins)}.*")
            said = read(store / name / "done.json")["said"] if ran(store, name) else ""
            old, new = line.search(text), line.search(said)
            assert old is not None, f"{document} has no line '{begins}'"
            if new is None:
                yield f"{document}: {begins}", old[0], f"{name} does not print it", "GONE"
                continue
            after = new[0].replace(str(store / name / "out"), "runs/task-...")
            text = text[: old.start()] + after + text[old.end() :]
            yield f"{document}: {begins}", old[0], after, "same" if old[0] == after else "changed"
        write_atomically(ROOT / document, text)


def write_pictures(store: Path, names: list[str]) -> Iterator[Row]:
    """Pictures that differ from those that stand there."""
    for name in names:
        path, told = ROOT / name, CONTENTS["pictures"][name]
        size, peers = path.stat().st_size, told.get("peers", [])
        if missing := set(peers) - set(installed(*peers)):
            yield name, f"{size:,} bytes", f"not installed: {', '.join(sorted(missing))}", "stays"
            continue
        if not ran(store, told["of"]):
            yield name, f"{size:,} bytes", f"{told['of']} has not run", "NOT MADE"
            continue
        with atomic_file(store / told["of"] / path.name, path.suffix) as made:
            make(told, store / told["of"], made)
            apart, data = difference(path, made), made.read_bytes()
        verdict = (
            "same" if apart <= NOISE else "changed" if len(data) <= GROWTH * size else "TOO LARGE"
        )
        if verdict == "changed":
            write_atomically(path, data)
        yield name, f"{size:,} bytes", f"{len(data):,} bytes, {apart:.2g} apart", verdict


def make(told: dict[str, Any], at: Path, made: Path) -> None:
    """One picture or film of what the command wrote."""
    source = at / told["file"]
    if "at" in told:
        rate = imageio.immeta(source)["fps"]
        indices = [round(seconds * rate) for seconds in told["at"]]
        found = [Image.fromarray(imageio.imread(source, index=k)) for k in indices]
        wide, high = found[0].size
        if len(found) > 1:  # two rows of three, of half the size
            whole = Image.new("RGB", (3 * wide, 2 * high))
            for k, each in enumerate(found):
                whole.paste(each, (k % 3 * wide, k // 3 * high))
            found = [whole.resize((3 * wide // 2, high), Image.Resampling.LANCZOS)]
        found[0].save(made, quality=86)
    elif made.suffix == ".mp4":  # smaller than what was written in a hurry
        encode = [get_ffmpeg_exe(), "-v", "error", "-y", "-i", source, "-crf", "30"]
        subprocess.run([*encode, "-movflags", "+faststart", made], check=True)
    elif made.suffix == ".jpg":
        Image.open(source).convert("RGB").save(made, quality=80)
    else:
        shutil.copyfile(source, made)


def difference(a: Path, b: Path) -> float:
    """Mean absolute difference of their pixels, 0 to 255; of films the worst of every tenth."""
    worst = 0.0
    mode = {} if a.suffix == ".mp4" else {"mode": "RGB"}
    frames = zip_longest(imageio.imiter(a, **mode), imageio.imiter(b, **mode))
    for k, (ours, theirs) in enumerate(frames):
        if ours is None or theirs is None or ours.shape != theirs.shape:
            return 255.0
        if k % 10 == 0:
            worst = max(worst, float(np.abs(ours.astype(float) - theirs).mean()))
    return worst


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", default=",".join(GROUPS), help="some groups, with commas")
    parser.add_argument("--again", action="store_true", help="run commands that have run, too")
    parser.add_argument("--quick", action="store_true", help="few seeds, and write no document")
    arguments = parser.parse_args()
    only, quick = arguments.only.split(","), arguments.quick
    if wrong := [each for each in only if each not in GROUPS]:
        parser.exit(2, f"readme.py: --only: no '{wrong[0]}', there are {', '.join(GROUPS)}\n")
    store = ROOT / "runs" / ("readme-quick" if quick else "readme")
    sizes = {"quick": "--quick" if quick else ""}
    seeds = ("2", "2", "1") if quick else ("100", "40", "10")
    sizes |= dict(zip(("many", "fewer", "some"), seeds, strict=True))
    pictures = [
        name
        for name, told in CONTENTS["pictures"].items()
        if ("times" if told["of"] in TIMES else "pictures") in only
    ]
    wanted = [CONTENTS["pictures"][name]["of"] for name in pictures]
    if "texts" in only:
        wanted += [name for lines in CONTENTS["texts"].values() for _, name in lines]
    wanted += [*(RATES if "rates" in only else ()), *(TIMES if "times" in only else ())]
    for name in wanted if arguments.again else ():
        shutil.rmtree(store / name, ignore_errors=True)
    done = {name: carry_out(name, store, sizes) for name in dict.fromkeys(wanted)}
    rows: list[Row] = []
    if not quick:
        rows += write_pictures(store, pictures)
        if "texts" in only:
            rows += write_texts(store)
        if done.get("random") and done.get("turnaround"):
            rows += write_figures(CONTENTS["captions"], captions(store))
        if {"rates", "times"} & set(only):
            waiting = [name for name in (*RATES, *TIMES) if not ran(store, name)]
            note(f"the tables of figures wait for {', '.join(waiting)}\n" if waiting else "")
            if not waiting:
                figures = rates(store) | times(store) | {"when": when(store)}
                rows += write_figures(CONTENTS["tables"], figures)
    table(
        ["what", "before", "after", ""], [[" ".join(k.split())[:45] for k in row] for row in rows]
    )
    return 0 if all(done.values()) and not any(row[3].isupper() for row in rows) else 1


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)  # the next call goes on
