"""PDDL actions as English: ``(pick sugar burner h1)``, "pick up the sugar box from the burner"."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # commands that need no scene start without numpy
    from galley.domain.scene.model import Binding, Scene

_ACTIONS = {
    ("navigate", "furniture", "furniture"): "drive from {0} to {1}",
    ("pick", "item", "furniture", "hand"): "pick up {0} from {1}",
    ("place", "item", "furniture", "hand"): "put {0} on {1}",
    ("stow", "item", "furniture", "hand"): "stow {0} in {1}",
    ("push", "item", "furniture", "furniture", "hand"): "push {0} from {1} to {2}",
    ("push_aside", "item", "furniture", "hand"): "push {0} aside on {1}",
    ("handover", "item", "hand", "hand"): "hand {0} over from {1} to {2}",
    ("take_out", "item", "furniture", "hand"): "take {0} out of {1}",
    ("put_in", "item", "furniture", "hand"): "put {0} into {1}",
    ("open", "furniture", "hand"): "open {0}",
    ("close", "furniture", "hand"): "close {0}",
    ("cook", "item", "furniture"): "cook {0} on {1}",
    ("wash", "item", "furniture"): "wash {0} in {1}",
    ("wipe", "item", "furniture", "hand"): "wipe {1} with {0}",
}
"""Sentences for an action's name and the kinds of its arguments in the scene."""

_PREPOSITION = re.compile("at|behind|beside|by|from|into?|near|off|on|onto|over|to|under")


def in_words(action: str, scene: Scene | None = None) -> str:
    """An action as an English clause, without a capital letter and a full stop.

    Known actions have sentences of their own. Any other is its name and then its arguments; two
    arguments are joined by the preposition in which the name ends: ``(stack_on cup saucer)`` is
    "stack cup on saucer". The hand is left out where the robot has only one.

    Args:
        action: ``(name object ...)``, with or without parentheses.
        scene: says what the objects are; without it, they are called by their PDDL names.
    """
    name, *objects = action.strip().removeprefix("(").removesuffix(")").split() or [""]
    bindings = {binding.object: binding for binding in scene.bindings} if scene else {}
    kinds = [bindings[object_].kind if object_ in bindings else "" for object_ in objects]
    nouns = [_noun(object_, bindings.get(object_)) for object_ in objects]
    if scene is not None and scene.robot.hands:
        hands = {binding.object: f"the {binding.target} hand" for binding in scene.bindings}
        every = zip(objects, kinds, nouns, strict=True)
        nouns = [hands[object_] if kind == "hand" else noun for object_, kind, noun in every]
    known = _ACTIONS.get((name, *kinds))
    if known is not None:
        clause = known.format(*nouns)
    else:
        clause = _clause(name, [n for n, k in zip(nouns, kinds, strict=True) if k != "hand"])
    if scene is not None and scene.robot.hands and kinds.count("hand") == 1:
        clause += f" with {nouns[kinds.index('hand')]}"
    return clause


def _clause(name: str, nouns: list[str]) -> str:
    """An unknown action's name and its arguments."""
    verb, *rest = _spaced(name).split() or [""]
    if len(nouns) == 2 and rest and _PREPOSITION.fullmatch(rest[-1]):
        return " ".join([verb, *rest[:-1], nouns[0], rest[-1], nouns[1]])
    colon = ":" if len(nouns) > 1 else ""
    return f"{' '.join([verb, *rest])}{colon} {', '.join(nouns)}".strip()


def _noun(name: str, binding: Binding | None) -> str:
    """The noun for an object, such as "the sugar box"; its PDDL name if the scene doesn't have it.

    Items are named as in the scene. Furniture has its label, or its PDDL name, completed by the
    region's (``blue`` on ``blue_mat`` is "the blue mat", ``drawer_inside`` stays "the drawer").
    """
    if binding is None or binding.kind == "hand":
        return name
    words = _spaced(binding.target if binding.kind == "item" else name)
    if binding.kind == "furniture":
        region = _spaced(binding.region or "").removesuffix(" inside")
        words = binding.label or (region if region.startswith(words + " ") else words)
    numbered = re.search(r"(\d|\b\w)$", words)  # "box 2", "shelf B"
    return words if numbered or words.startswith(("the ", "a ")) else f"the {words}"


def _spaced(name: str) -> str:
    return " ".join(re.split(r"[_\-\s]+", name)).strip()


def plural(number: int, noun: str) -> str:
    """A number with its noun: ``1 state``, ``2 states``, ``2 recoveries``."""
    return f"{number} {noun if number == 1 else re.sub('y$', 'ie', noun) + 's'}"
