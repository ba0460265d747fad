"""Reading YAML by pydantic models: every error at its line and column, all at once."""

from __future__ import annotations

from typing import Annotated, Literal

import pytest
from pydantic import Field, WrapValidator

from galley.domain.errors import BadInput
from galley.domain.yaml_models import (
    FileModel,
    Flag,
    Positive,
    Range,
    Triple,
    Word,
    YamlFile,
    named,
)


class Part(FileModel):
    one_of = ("box", "ball")

    box: Triple | None = None
    ball: Positive | None = None
    on: Annotated[Word, named("parts")] | None = None
    kind: Literal["solid", "hollow"] = "solid"
    # What pydantic adds to the path of an error must not confuse its place.
    turn: Range | Annotated[Flag, WrapValidator(lambda value, handler: handler(value))] = True


class Thing(FileModel):
    name: Word
    parts: dict[str, Part]
    sizes: Annotated[tuple[Positive, ...], Field(min_length=1, max_length=3)] = (1.0,)


GOOD = """\
name: on
sizes: [1, 2e1]
parts:
  foot: {ball: 1.0}
  leg:
    box: [0, -0.5, .25]
    on: foot
    turn: [0, 1]
"""


def read(folder, text):
    (folder / "thing.yaml").write_text(text)
    file = YamlFile(folder / "thing.yaml")
    return file.read(Thing, {"parts": file.names("parts")})


def test_words_stay_words_and_numbers_are_numbers(tmp_path):
    thing = read(tmp_path, GOOD)
    assert thing.name == "on"  # a truth value to PyYAML
    assert thing.sizes == (1.0, 20.0)
    assert thing.parts["leg"].box == (0.0, -0.5, 0.25)
    assert thing.parts["leg"].given() == {
        "box": (0.0, -0.5, 0.25),
        "on": "foot",
        "turn": (0.0, 1.0),
    }


@pytest.mark.parametrize(
    ("old", "new", "faults"),
    [
        ("name: on\n", "nam: on\n", ["1:1: nam: unknown key; did you mean 'name'?"]),
        ("name: on\n", "", ["1:1: needs the key 'name'"]),
        (
            "name: on\n",
            "galley_scene: 1\nbodies: {}\n",  # of many faults the one that explains them
            ["1:1: galley_scene: begins another kind of file than is read here"],
        ),
        ("name: on", "name: on\nname: no", ["2:1: name: is given twice"]),
        ("name: on", "name: on\n[a]: no", ["2:1: a key must be a word, got a list"]),
        (
            "name: on",
            "sizes:\nname: on",  # without a value: that one was the slip
            ["3:1: sizes: is given twice"],
        ),
        ("ball: 1.0", "ball: 0", ["4:10: parts.foot.ball: must be greater than 0, got 0"]),
        ("{ball: 1.0}", "{}", ["4:3: parts.foot: needs exactly one of box, ball, has 0"]),
        ("[0, -0.5, .25]", "[0, x]", ["6:5: parts.leg.box: expected 3 entries, got 2"]),
        (" .25", " x", ["6:20: parts.leg.box[2]: expected a number, got 'x'"]),
        ("on: foot", "on: fot", ["7:5: parts.leg.on: unknown value 'fot'; did you mean 'foot'?"]),
        ("[1, 2e1]", "[]", ["2:1: sizes: expected at least 1 entries, got 0"]),
        (
            "turn: [0, 1]",
            "turn: [1, 0]",
            [
                "8:5: parts.leg.turn: expected true or false, got a list",
                "8:5: parts.leg.turn: the lower bound 1 is above the upper bound 0",
            ],
        ),
        (
            GOOD[GOOD.index("parts") :],
            "parts: [1]",
            ["3:1: parts: expected a mapping of keys to values, got a list"],
        ),
    ],
)
def test_every_fault_has_its_line_column_and_key(old, new, faults, tmp_path):
    assert old in GOOD
    with pytest.raises(BadInput) as caught:
        read(tmp_path, GOOD.replace(old, new))
    assert [str(error) for error in caught.value.errors] == [
        f"{tmp_path}/thing.yaml:{fault}" for fault in faults
    ]


def test_all_faults_come_at_once_in_their_order(tmp_path):
    text = GOOD.replace("name: on", "name: ''\nnaem: a").replace(
        "foot: {ball: 1.0}", "foot: {bal: 1}"
    )
    with pytest.raises(BadInput) as caught:
        read(tmp_path, text.replace(".25", "a").replace("[1, 2e1]", "[-1, 1]"))
    assert [(e.line, e.column) for e in caught.value.errors] == [(2, 1), (3, 9), (5, 10), (7, 20)]
