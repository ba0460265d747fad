"""``galley push``: its films, its windows, its refusals."""

import csv

import imageio.v3 as imageio
import pytest

from galley.cli import main
from galley.planar.pushing import demonstrators


def push(*arguments):
    return main(["push", *map(str, arguments)])


class Still:
    """Leaves the pusher where it is."""

    def __init__(self, config):
        pass

    def reset(self, seed):
        pass

    def act(self, state):
        return state.pusher[:, 0]


@pytest.fixture
def still(monkeypatch):
    """The demonstrators do nothing."""
    monkeypatch.setattr(demonstrators, "demonstrator", lambda name, config: Still(config))


def test_a_film_of_episodes_that_fail_is_written_all_the_same(still, tmp_path, capsys):
    out = tmp_path / "out"
    options = ["--demonstrator", "scripted", "--height", 120, "--fps", 2, "--speed", 10, "--gif"]
    assert push("film", *options, "--shape", "L", "--seed", 4, "--seeds", 2, "--out", out) == 0
    assert {path.name for path in out.iterdir()} == {"push.gif", "episodes.csv"}
    with open(out / "episodes.csv") as stream:
        rows = list(csv.DictReader(stream))
    assert [(r["seed"], r["steps"], r["success"]) for r in rows] == [
        ("4", "300", "0"),
        ("5", "300", "0"),
    ]
    assert "coverage" in capsys.readouterr().out
    assert imageio.imread(out / "push.gif").shape[-3] == 120


def test_a_demonstrator_that_succeeds_is_filmed_as_mp4(tmp_path, capsys):
    out = tmp_path / "out"
    options = ["--height", 120, "--fps", 5, "--speed", 4, "--out", out]
    assert push("film", "--demonstrator", "scripted", "--seed", 2, *options) == 0
    assert "yes" in capsys.readouterr().out
    frames = list(imageio.imiter(out / "push.mp4"))
    assert frames[0].shape[0] == 120
    with open(out / "episodes.csv") as stream:
        (row,) = csv.DictReader(stream)
    assert len(frames) == pytest.approx(int(row["steps"]) * 0.1 / 4 * 5 + 1 + 5, abs=1)


def test_windows_end_with_escape_and_say_what_came_of_it(still, monkeypatch, capsys):
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    pygame = pytest.importorskip("pygame")
    capsys.readouterr()  # pygame's greeting
    ticks, real = iter(range(10_000)), pygame.event.get

    def get():
        if next(ticks) % 20 == 19:
            pygame.event.post(pygame.event.Event(pygame.KEYDOWN, key=pygame.K_ESCAPE))
        return real()

    monkeypatch.setattr(pygame.event, "get", get)
    assert push("play") == 0
    assert capsys.readouterr().out == ""  # the mouse never came
    assert push("demo", "--demonstrator", "scripted", "--seed", 7) == 0
    rows = capsys.readouterr().out.splitlines()
    assert [row.split() for row in rows] == [
        ["seed", "steps", "coverage", "success"],
        ["7", "4", *rows[1].split()[2:4], "no"],
    ]


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        (["play", "--shape", "moon"], "argument --shape: 'moon': must be one of T, L, rectangle"),
        (["film", "--demonstrator", "nobody"], "argument --demonstrator: invalid choice: 'nobody'"),
        (["film", "--demonstrator", "scripted", "--gif", "--fps", "30"], "--fps: a GIF frame"),
        (["film", "pushes", "--shape", "L"], "table and seeds are those of the folder"),
        (["film"], "one of the arguments --demonstrator --policy DIR is required"),
        (["play", "--shape", "none.yaml"], "none.yaml"),
        (["play", "--config", "none.yaml"], "none.yaml"),
    ],
)
def test_bad_options_are_refused(arguments, fault, cli, here):
    done = cli("push", *arguments)
    assert done.status == 2
    assert fault in done.err
    assert not list(here.iterdir())


@pytest.mark.parametrize(
    "command", [["play"], ["demo", "--demonstrator", "scripted"]], ids=" ".join
)
def test_a_missing_display_is_said_in_a_line(command, monkeypatch, capsys):
    pytest.importorskip("pygame")
    for name in ("SDL_VIDEODRIVER", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    assert push(*command) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "no window: " in line
