"""One frozen config, from Python or from one YAML file."""

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import galley
from galley.domain.errors import BadInput
from galley.domain.parameters import parameters
from galley.planar.pushing.config import (
    ArmConfig,
    PushConfig,
    config_of_record,
    config_record,
    same_table,
)
from galley.planar.pushing.config_file import load_config, load_outline
from galley.planar.pushing.shapes import shape
from galley.planar.pushing.simulation import PushSimulation

LONG = "vertices: [[0, 0], [0.2, 0], [0.2, 0.02], [0, 0.02]]\n"  # at 45 degrees 0.16 m wide
EXAMPLES = Path(galley.__file__).parent / "examples" / "pushing"


def written(folder, text):
    path = folder / "push.yaml"
    path.write_text(text)
    return path


def test_a_seed_draws_evenly_and_one_range_does_not_move_another(tmp_path):
    text = "mass: [0.5, 2]\nshape: [T, L]\n"
    config = load_config(written(tmp_path, text))
    drawn = [config.drawn(seed) for seed in range(400)]
    masses = sorted(each.mass for each in drawn)
    even = 0.5 + 1.5 * (np.arange(400) + 0.5) / 400
    assert np.abs(np.array(masses) - even).max() < 0.15  # Kolmogorov's bound for p = 1e-3 is 0.146
    assert 150 < sum(len(each.shape.vertices) == 8 for each in drawn) < 250
    assert not drawn[0].ranges
    assert drawn[0].friction == PushConfig().friction
    more = load_config(written(tmp_path, text + "friction: [0.3, 0.7]\n"))
    assert [more.drawn(seed).mass for seed in range(5)] == [each.mass for each in drawn[:5]]
    assert config_record(config_of_record(config_record(more))) == config_record(more)
    with pytest.raises(ValueError, match="shape: a range or list is for galley push"):
        PushSimulation(replace(config, ranges={"shape": config.ranges["shape"]}))


def test_tables_are_the_same_but_for_starts_and_what_is_drawn():
    drawn = PushConfig(ranges={"mass": (1.0, 3.0)}, start_away=0.1)
    assert same_table(drawn, PushConfig())
    assert not same_table(drawn, PushConfig(friction=0.4))
    assert same_table(PushConfig(ranges={"friction": (0.1, 0.2)}), PushConfig(friction=0.4))


def test_the_shipped_example_is_read():
    config = load_config(EXAMPLES / "pushing.yaml")
    assert config.mass == 0.5
    assert config.arm.links == (0.2, 0.2, 0.2, 0.2)
    assert config.shape.vertices.tolist() == load_outline(EXAMPLES / "arrow.yaml").vertices.tolist()
    assert config.wall_stiffness == PushConfig().wall_stiffness


def test_every_parameter_may_stand_in_the_file(tmp_path):
    lines = [f"{each.name}: {each.default}" for each in parameters(PushConfig)]
    lines += ["arm:", "  links: [0.1, 0.2]"]
    lines += [f"  {each.name}: {each.default}" for each in parameters(ArmConfig)]
    config = load_config(written(tmp_path, "\n".join(lines)))
    for each in parameters(PushConfig):
        assert getattr(config, each.name) == each.default
    assert config.arm == ArmConfig(links=(0.1, 0.2))


@pytest.mark.parametrize(
    ("text", "line", "named"),
    [
        ("mass: 1\nmas: 2\n", 2, "mas: unknown key; did you mean 'mass'"),
        ("mass: 1\ncontact_stiffness: -5\n", 2, "contact_stiffness: must be at least 0, got -5"),
        ("substeps: 2.5\n", 1, "whole number"),
        ("arm:\n  links: [0.1, -1]\n", 2, "arm.links[1]: must be greater than 0"),
        ("shape: Z\n", 1, "'Z': must be one of T, L, rectangle"),
        ("mass: 1\ngoal_x: 9\n", 2, "beyond the table of 0.512 x 0.512 m"),
        ("mass: 1\nfriction: [0.7, 0.3]\n", 2, "must be the least and the most"),
        ("contact_friction: [0.3, inf]\n", 1, "must be the least and the most, finite"),
        ("mass: [-1, 1]\n", 1, "mass[0]: must be greater than 0, got -1"),
        ("mass: [1, 2, 3]\n", 1, "mass: expected at most 2 entries, got 3"),
        ("mass:\n- 1\n- heavy\n", 3, "mass[1]: expected a number, got 'heavy'"),
        ("dt: [0.01, 0.02]\n", 1, "dt: expected a number, got a list"),
        ("shape: [T, Z]\n", 1, "shape[1]: 'Z': must be one of T, L, rectangle"),
        ("goal_x: 0.445\nshape: [rectangle, long.yaml]\n", 1, "0.0108 m beyond the table"),
    ],
)
def test_errors_have_file_and_line(tmp_path, text, line, named):
    path = written(tmp_path, text)
    (tmp_path / "long.yaml").write_text(LONG)
    with pytest.raises(BadInput) as error:
        load_config(path)
    assert re.search(rf"{path}:{line}:\d+: ", str(error.value))
    assert named in str(error.value)


@pytest.mark.parametrize(
    ("last", "named"),
    [("[0, 1]", "1:1: vertices: the outline crosses"), ("[0, x]", "5:.*: expected a number")],
)
def test_a_bad_outline_file_is_named_itself(last, named, tmp_path):
    (tmp_path / "bow.yaml").write_text(f"vertices:\n- [0, 0]\n- [1, 1]\n- [1, 0]\n- {last}\n")
    with pytest.raises(BadInput, match=rf"bow\.yaml:{named}"):
        load_config(written(tmp_path, "shape: bow.yaml\n"))


@pytest.mark.parametrize(
    ("change", "named"),
    [
        ({"contact_stiffness": -1.0}, "contact_stiffness = -1"),
        ({"dt": 0.0}, "dt = 0"),
        ({"goal_y": 0.5}, "goal_y = 0.5: "),  # its centroid is on the table, it isn't
        ({"shape": "Q"}, "shape = 'Q'"),
        ({"shape": [(0, 0), (1, 0), (0, 1)]}, "shape = "),
    ],
)
def test_bad_numbers_are_named(change, named):
    with pytest.raises(ValueError, match=named):
        PushConfig(**change)


def test_the_name_of_a_shape_stands_for_it():
    given = PushConfig(shape="L").shape
    assert given.vertices.tolist() == shape("L").vertices.tolist()


def test_a_goal_may_touch_the_walls():
    box = PushConfig(shape="rectangle", goal_x=0.06, goal_y=0.03, goal_theta=0.0)
    assert box.goal == (0.06, 0.03, 0.0)
