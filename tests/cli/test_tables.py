"""Tables of commands in narrow terminals: fewer columns, each of them whole."""

import random
from contextlib import redirect_stdout
from io import StringIO

import numpy as np
import pytest
from rich.console import Console

from galley.cli import main
from galley.cli.common.tables import PlainTable
from galley.domain.shipped import KITCHEN
from galley.robots.panda.description import PANDA_GRIPPER
from galley.skills.manipulation.grasps import grasps_of

WIDTHS = [60, 80, 140]


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables") / "run"
    words = ["run", "--problem", KITCHEN / "sugar_only.pddl", "--execute", "none", "--no-html"]
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(StringIO()) as out:
        patch.setenv("COLUMNS", "80")
        assert main([*map(str, words), "--no-video", "--out", str(folder)]) == 0
    (folder / "printed").write_text(out.getvalue())
    return folder


def rows_of(text, first):
    """The lines of the table that begins with the column ``first``."""
    lines = text.splitlines()
    at = next(k for k, line in enumerate(lines) if line.lstrip().startswith(first))
    return lines[at:]


def check_whole(lines, width):
    assert all(len(line.rstrip()) <= width for line in lines if "not shown" not in line), lines
    assert not any("…" in line for line in lines), lines


def test_the_motions_of_a_run_at_80_columns(run_folder):
    lines = rows_of((run_folder / "printed").read_text(), "action")
    lines = lines[: 1 + next(k for k, line in enumerate(lines) if "not shown" in line)]
    check_whole(lines, 80)
    assert lines[0].split()[-2:] == ["clear", "mm"]
    assert lines[1].startswith("navigate center burner ")
    assert lines[-1].startswith("not shown in 80 columns: plan ms, RRT, shortcut")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize(
    ("command", "first"),
    [
        (("trajectory", "RUN"), "motion"),
        (("scene", "--no-picture"), "PDDL object"),
        (("scenarios", "--list"), "scenario"),
    ],
    ids=["trajectory", "scene", "scenarios"],
)
def test_no_column_is_cut(command, first, width, cli, run_folder, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    done = cli(*(run_folder if word == "RUN" else word for word in command))
    assert done.status == 0, done.err
    lines = rows_of(done.out, first)
    missing = [k for k, line in enumerate(lines) if line.startswith("not shown in")]
    table = lines[: missing[0]] if missing else [x for x in lines if "/" not in x]
    check_whole(table, width)
    assert not (missing and width == 140)


@pytest.mark.parametrize("seed", range(8))
def test_columns_are_whole_or_named_below(seed):
    rng = random.Random(seed)
    names = [f"column{k}" for k in range(rng.randint(2, 9))]
    cells = [[f"{n}-{k}".ljust(rng.randint(1, 25), "x") for n in names] for k in range(3)]
    gone_first = rng.sample(names, 2)
    gap = rng.randint(1, 3)
    columns = [f">{name}" if rng.random() < 0.5 else name for name in names]
    table = PlainTable(*columns, gap=gap, spare=gone_first)
    for row in cells:
        table.add_row(*row)
    width = rng.choice([30, 60, 80, 140])

    def printed(at):
        console = Console(width=at, soft_wrap=True)
        with console.capture() as captured:
            console.print(table)
        return captured.get()

    *lines, last = printed(width).splitlines()
    if not last.startswith("not shown"):
        lines.append(last)
    shown = lines[0].split()
    assert shown[0] == names[0]
    for line, row in zip(lines[1:], cells, strict=True):
        assert line.split() == [row[names.index(name)] for name in shown]
    if len(shown) < len(names):
        left_out, _, wide = last.partition(": ")[2].partition("; ")
        assert set(left_out.split(", ")) == set(names) - set(shown)
        assert not (set(gone_first[:1]) - {names[0]}) & set(shown)
        enough = int(wide.split()[0])
        assert "not shown" not in printed(enough)
        assert "not shown" in printed(enough - 1)
    if len(shown) > 1:
        assert max(map(len, lines)) <= width


def test_a_folded_column_keeps_its_words_whole():
    table = PlainTable("name", "number", "~says", spare=["number"])
    table.add_row("a", "1", "indigo_drawer_bottom_joint, other_joint")
    console = Console(width=38, soft_wrap=True)
    with console.capture() as captured:
        console.print(table)
    lines = [line.split() for line in captured.get().splitlines()]
    assert lines[1:3] == [["a", "indigo_drawer_bottom_joint,"], ["other_joint"]]
    assert lines[3][4:6] == ["columns:", "number;"]


def test_scene_tells_how_many_grasps_each_item_has(cli, kitchen):
    """Of the sugar box, which stands: the hand points down, or sideways, or leans by 45 degrees."""
    sugar = kitchen.item("sugar_box")
    ways = [grasp.X_IT[2, 2] for grasp in grasps_of(sugar, PANDA_GRIPPER)]
    above, side = np.isclose(ways, -1.0).sum(), np.isclose(ways, 0.0).sum()
    assert 0 < above + side < len(ways)
    done = cli("scene", "--no-picture")
    assert f"grasps: {above} from above, {side} from the side" in " ".join(done.out.split())
