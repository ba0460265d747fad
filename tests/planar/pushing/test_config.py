"""One frozen config, from Python or from one YAML file."""

import re
from pathlib import Path

import pytest

import galley
from galley.domain.errors import BadInput
from galley.domain.parameters import parameters
from galley.planar.pushing.config import ArmConfig, PushConfig
from galley.planar.pushing.config_file import load_config, load_outline
from galley.planar.pushing.shapes import shape

EXAMPLES = Path(galley.__file__).parent / "examples" / "pushing"


def written(folder, text):
    path = folder / "push.yaml"
    path.write_text(text)
    return path


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
    ],
)
def test_errors_have_file_and_line(tmp_path, text, line, named):
    path = written(tmp_path, text)
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
