"""``galley touch``: its files, its refusals, its film and its window."""

import csv
from pathlib import Path

import imageio.v3 as imageio
import numpy as np
import pytest

from galley.cli import main
from galley.planar.finger import Drag, Finger, Kind, simulate
from galley.planar.finger.pictures import FingerCanvas, film_touch

POLICY = "from __future__ import annotations\nfrom dataclasses import dataclass\n"
POLICY += "@dataclass\nclass Memory:\n    seen: bool = False\n"
POLICY += "def policy(sense):\n    return 0.4 if sense.sensor else 0.2 - 0.5 * sense.velocity\n"


def touch(*arguments):
    return main(["touch", *map(str, arguments)])


def events(folder):
    with open(folder / "events.csv") as stream:
        return [row["kind"] for row in csv.DictReader(stream)]


def test_an_example_leaves_figure_film_samples_and_events(tmp_path, capsys):
    out = tmp_path / "out"
    status = touch("push", "--until", 0.4, "--gap", 0.01, "--height", 120, "--out", out)
    assert status == 0
    names = {"touch.png", "touch.mp4", "samples.csv", "events.csv"}
    assert {path.name for path in out.iterdir()} == names
    assert events(out)[0] == "touch"
    assert "closing m/s" in capsys.readouterr().out
    assert imageio.imread(out / "touch.png").shape[:2] == (902, 1100)
    assert imageio.improps(out / "touch.mp4", plugin="FFMPEG").shape[1:] == (120, 214, 3)


def test_a_profile(tmp_path):
    (tmp_path / "f.csv").write_text("time,force\n0,0\n1,3\n1,-1\n")
    out = tmp_path / "out"
    given = ("--no-video", "--gap", 0, "--until", 2, "--out", out)
    assert touch("--force", tmp_path / "f.csv", *given) == 0
    assert events(out)[:2] == ["slip", "part"]
    assert (out / "samples.csv").is_file()
    assert not (out / "touch.mp4").exists()


def test_the_policy_of_the_help(tmp_path):
    (tmp_path / "p.py").write_text(POLICY)
    out = tmp_path / "out"
    given = (
        "--no-video",
        "--object-mass",
        "inf",
        "--gap",
        0.3,
        "--until",
        4,
        "--rate",
        100,
        "--out",
        out,
    )
    assert touch("--force", tmp_path / "p.py", *given) == 0
    assert events(out)[-1] == "settle"


def test_a_policy_that_fails_keeps_what_was_simulated(tmp_path, capsys):
    (tmp_path / "p.py").write_text("def policy(sense):\n    return 1 / (sense.time < 0.99)\n")
    out = tmp_path / "out"
    assert touch("--force", tmp_path / "p.py", "--no-video", "--gap", 0.1, "--out", out) == 1
    assert "ended at 1 s: the policy failed at 1 s: ZeroDivisionError" in capsys.readouterr().err
    assert "touch" in events(out)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("f.csv", "0,1\n2,1\n1,0\n", "f.csv:3: time 1.0 s comes after 2.0 s; sort the pairs"),
        ("f.csv", "time,force\n0,1\n1,nan\n", "f.csv:3: (1.0, nan) is not finite"),
        ("f.csv", "0,1\n1\n", "f.csv:2: expected a time and a force"),
        ("f.csv", "\n", "f.csv: is empty, expected a time and a force a line"),
        ("f.py", "def policy(sense:\n", "f.py:1: is not valid Python: "),
        ("f.py", "a = 1\nb = 1 / 0\n", "f.py:2: fails while it is read: ZeroDivisionError"),
        ("f.py", "a = 1\n", "f.py: defines no function policy(sense)"),
        ("f.txt", "", "f.txt: must be a profile, .csv, or a policy, .py"),
    ],
)
def test_malformed_files(name, text, message, tmp_path, capsys):
    (tmp_path / name).write_text(text)
    assert touch("--force", tmp_path / name, "--out", tmp_path / "out") == 2
    said = capsys.readouterr().err
    assert said.removeprefix(f"{tmp_path}/").startswith(message)
    assert len(said.splitlines()) == 1
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "say what pushes: wall, push, --force or --keyboard"),
        (["wall", "--kinetic-friction", "12"], "kinetic_friction = 12 N: must not exceed"),
        (["wall", "--finger-drag", "-1", "0"], "linear = -1.0 N s/m: must be a number from 0"),
        (["wall", "--period", "0.1"], "argument --period: belongs to --force with a policy"),
        (["wall", "--gif", "--fps", "30"], "argument --fps: a GIF frame lasts whole hundredths"),
        (["--force", "p.py", "--keyboard"], "argument --keyboard: not with --force"),
        (["wall", "--restitution", "2"], "argument --restitution: must be a number from 0 to 1"),
    ],
)
def test_options_that_do_not_go_together(arguments, message, cli):
    done = cli("touch", *arguments)
    assert done.status == 2
    assert message in done.err


def columns(picture, color):
    """First and last column with pixels near a colour."""
    near = (np.abs(np.asarray(picture).astype(int) - color).max(axis=2) < 12).any(axis=0)
    return np.flatnonzero(near)[[0, -1]]


def test_bodies_and_arrows_stand_where_they_should():
    stage = FingerCanvas(Finger(), 1000, 400, -2.0, 8.0, 10.0)  # 100 pixels a metre
    picture = stage.draw(1.0, 3.0, 5.0, 0.0, 0.0)
    assert columns(picture, (120, 174, 214))[1] == pytest.approx(300 - 7, abs=4)
    assert columns(picture, (205, 170, 125))[0] == pytest.approx(500, abs=4)
    low = np.asarray(picture)[120:]  # without the texts
    assert columns(low, (27, 108, 168))[0] == pytest.approx(300 - 130 - 80, abs=4)
    with pytest.raises(IndexError):
        columns(low, (198, 40, 40))  # nothing is felt
    felt = stage.draw(3.0, 3.0, 0.0, 10.0, 0.0)[120:]
    assert columns(felt, (198, 40, 40)) == pytest.approx([500 - 160, 500], abs=6)


@pytest.mark.parametrize("name", ["a.mp4", "a.gif"])
def test_the_film_moves(name, tmp_path):
    run = simulate(Finger(gap=0.2, finger_drag=Drag()), 2.0, 0.6)
    film_touch(run, tmp_path / name, fps=10.0, height=240)
    frames = list(imageio.imiter(tmp_path / name))
    assert len(frames) == 7
    tips = [columns(frame[60:110, :, :3], (120, 174, 214))[1] for frame in frames]
    assert (np.diff(tips) > 0).all()
    assert [path.name for path in Path(tmp_path).iterdir()] == [name]


def test_the_keyboard(monkeypatch):
    """Real pygame on SDL's dummy driver; keys come as its events."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    pygame = pytest.importorskip("pygame")
    from galley.planar.finger.window import drive

    ticks = iter(range(10_000))
    real = pygame.event.get

    def get():
        tick = next(ticks)
        for at, kind, key in (
            (3, pygame.KEYDOWN, pygame.K_RIGHT),
            (13, pygame.KEYUP, pygame.K_RIGHT),
            (15, pygame.KEYDOWN, pygame.K_LSHIFT),
            (15, pygame.KEYDOWN, pygame.K_LEFT),
            (20, pygame.KEYDOWN, pygame.K_ESCAPE),
        ):
            if tick == at:
                pygame.event.post(pygame.event.Event(kind, key=key))
        return real()

    monkeypatch.setattr(pygame.event, "get", get)
    run = drive(Finger(gap=0.05), 2.0)
    assert run.fault is None
    assert run.end == pytest.approx(0.8)
    assert run.at([0.06, 0.3, 0.58, 0.7]).applied_force.tolist() == [0.0, 2.0, 0.0, -10.0]
    assert run.order(Kind.TOUCH)
