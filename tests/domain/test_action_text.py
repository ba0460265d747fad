"""Actions in words: the shipped domains read well, and a domain of one's own is told plainly."""

from itertools import product
from pathlib import Path

import pytest
import yaml

from galley.domain.action_text import in_words, plural
from galley.domain.pddl.reader import read_task
from galley.domain.scene.reader import load_scene
from galley.domain.shipped import KITCHEN, SCENARIOS, TEMPLATES

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def kitchen():
    return load_scene(KITCHEN / "kitchen.yaml")


@pytest.mark.parametrize(
    ("action", "words"),
    [
        ("(navigate center burner)", "drive from the center to the burner"),
        ("(pick sugar burner h1)", "pick up the sugar box from the burner"),
        ("(place spam countertop h1)", "put the potted meat can on the countertop"),
        ("(stow sugar drawer h1)", "stow the sugar box in the drawer"),
        ("(take_out sugar drawer h1)", "take the sugar box out of the drawer"),
        # Actions of one's own, and objects that the scene does not know.
        ("(slice sugar)", "slice the sugar box"),
        ("(stack_on sugar spam h1)", "stack the sugar box on the potted meat can"),
        (
            "(pour-out sugar spam burner)",
            "pour out: the sugar box, the potted meat can, the burner",
        ),
    ],
)
def test_what_the_kitchens_actions_are_called(kitchen, action, words):
    assert in_words(action, kitchen) == words
    assert in_words("(pick sugar burner h1)") == "pick: sugar, burner, h1"  # without a scene


def test_a_region_inside_furniture_is_called_as_the_furniture():
    scene = load_scene(TEMPLATES / "kitchen" / "kitchen.yaml")
    assert in_words("(stow tea drawer h1)", scene) == "stow the tea box in the drawer"


@pytest.mark.parametrize(
    ("scene", "action", "words"),
    [
        ("swap_scene.yaml", "(place sugar red h1)", "put the sugar box on the red mat"),
        (
            DOCS / "wiping" / "wiping.yaml",
            "(wipe sponge patch h1)",
            "wipe the patch with the sponge",
        ),
    ],
)
def test_things_are_called_what_the_scene_calls_them(scene, action, words):
    assert in_words(action, load_scene(SCENARIOS / scene)) == words


@pytest.mark.parametrize("path", sorted(SCENARIOS.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_action_of_the_scenarios_is_a_plain_sentence(path):
    scenario = yaml.safe_load(path.read_text())
    if "galley_scenario" not in scenario:
        pytest.skip("a scene")

    def shipped(key, default):
        name = scenario.get(key, default)
        return SCENARIOS / name if (SCENARIOS / name).exists() else KITCHEN / name

    scene = load_scene(shipped("scene", "kitchen.yaml"))
    domain, problem = read_task(shipped("domain", "kitchen.pddl"), shipped("problem", "task.pddl"))
    for schema in domain.actions:
        for objects in product(problem.objects, repeat=len(schema.parameters)):
            if all(
                domain.is_a(each.type, variable.types)
                for each, variable in zip(objects, schema.parameters, strict=True)
            ):
                names = [each.name for each in objects]
                words = in_words(f"({schema.name} {' '.join(names)})", scene)
                assert words.replace(" ", "").isalpha(), words  # no underscore, colon or comma
                assert words.count("the ") == len(names) - names.count("h1"), words


def test_a_number_agrees_with_its_noun():
    assert [plural(n, "action") for n in (0, 1, 2)] == ["0 actions", "1 action", "2 actions"]
    assert [plural(n, "recovery") for n in (1, 2)] == ["1 recovery", "2 recoveries"]
