"""Options declared by a dataclass: what can be typed, what the command gets, what is refused."""

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from galley.cli.common.arguments import Count
from galley.cli.common.options import add_options, given, read_options
from galley.domain.options import REQUIRED, argument, group, more, option


@dataclass(frozen=True, kw_only=True)
class Film:
    height: Count = more(720, "Set the height.")
    gif: bool = option(False, "Film as GIF.")

    def __post_init__(self):
        if self.gif and self.height > 1000:
            raise ValueError("a GIF is at most 1000 high")


@dataclass(frozen=True, kw_only=True)
class Draw:
    scene: Path = argument("a file")
    others: tuple[Path, ...] = argument("others", default=(), nargs="*")
    name: str = option(REQUIRED, "of the drawing")
    grid_size: Count | None = option(None, "places", flag="--grid")
    colour: Literal["red", "blue"] = option("red", "Draw lines in it.")
    legend: bool = more(True, "Say what lines are.")
    at: tuple[float, float] | None = option(None, "a place", ("X", "Y"), either="place")
    inside: str | None = option(None, "a body", either="place")
    circle: tuple[tuple[float, ...], ...] = option((), "a circle", "NUMBER")
    film: Film = group(Film(height=540), "film")
    unset: int = 7  # no option


def read(*words):
    p = argparse.ArgumentParser()
    add_options(p, Draw)
    return read_options(Draw, p.parse_args([*map(str, words)]))


def test_what_is_not_given_has_its_default():
    found = read("s", "--name", "n")
    assert (found.others, found.grid_size, found.colour, found.legend) == ((), None, "red", True)
    assert (found.circle, found.film.height, found.film.gif, found.unset) == ((), 540, False, 7)


def test_each_type_is_read():
    words = ("s", "t", "u", "--name", "n", "--grid", 3, "--colour", "blue", "--no-legend")
    more = ("--at", 1, 2.5, "--circle", 0, 1, "--circle", 2, 3, 4, "--height", 99, "--gif")
    found = read(*words, *more)
    assert found == Draw(
        scene=Path("s"),
        others=(Path("t"), Path("u")),
        name="n",
        grid_size=3,
        colour="blue",
        legend=False,
        at=(1.0, 2.5),
        circle=((0.0, 1.0), (2.0, 3.0, 4.0)),
        film=Film(height=99, gif=True),
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["s"], "the following arguments are required: --name"),
        (["--name", "n"], "the following arguments are required: FILE"),
        (["s", "--name", "n", "--grid", "0"], "argument --grid: must be 1 or more, not 0"),
        (["s", "--name", "n", "--at", "1", "nan"], "argument --at: must be a finite number"),
        (["s", "--name", "n", "--at", "1", "2", "--inside", "b"], "not allowed with argument --at"),
        (["s", "--name", "n", "--colour", "green"], "invalid choice: 'green'"),
    ],
)
def test_what_does_not_fit_is_refused(words, told, capsys):
    with pytest.raises(SystemExit) as caught:
        read(*words)
    assert caught.value.code == 2
    assert told in capsys.readouterr().err


def test_options_that_do_not_go_together_are_a_fault_of_the_usage():
    with pytest.raises(argparse.ArgumentTypeError, match="a GIF is at most 1000 high"):
        read("s", "--name", "n", "--gif", "--height", 1080)


def test_the_help_has_descriptions_defaults_and_groups_and_more_is_last():
    p = argparse.ArgumentParser(prog="draw")
    add_options(p, Draw)
    text = " ".join(p.format_help().split())
    assert "--colour {red,blue} Draw lines in it. Default: red." in text
    assert "film: --gif Film as GIF. more:" in text
    assert text.endswith(
        "more: --legend, --no-legend Say what lines are. Default: yes. --height N Set the height. "
        "Default: 540."
    )
    assert "unset" not in text


def test_those_of_another_dataclass_are_found_in_groups_too():
    @dataclass
    class Settings:
        name: str
        height: int
        grid_size: int = 5

    found = given(read("s", "--name", "n"), Settings)
    assert found == {"name": "n", "height": 540}


@pytest.mark.parametrize(
    ("command", "extra"),
    [
        ("contact lift", "planar"),
        ("push train pushes --out policy", "learn"),
        ("demos collect", "learn"),
    ],
)
def test_without_its_libraries_a_command_says_what_to_install(
    command, extra, cli, here, monkeypatch
):
    monkeypatch.setattr("galley.cli.common.arguments.find_spec", lambda name: None)
    done = cli(*command.split())
    assert done.status == 2
    (fault,) = done.faults
    assert " needs " in fault
    assert fault.endswith(f": pip install 'galley-tamp[{extra}]'")
    assert not list(here.iterdir())
