"""Mutated scene files give a Scene or BadInput, never anything else."""

import random
import re

import numpy as np

from galley.domain.errors import BadInput
from galley.domain.scene.model import Scene
from galley.domain.scene.reader import load_scene
from galley.tests.domain.scene.test_extended import CHILD


def mutated(text: str, rng: random.Random) -> str:
    """One to three small changes: of a number, a word, a line, the indentation, a bracket."""
    lines = text.splitlines()
    for _ in range(rng.randint(1, 3)):
        k = rng.randrange(len(lines))
        change = rng.randrange(8)
        if change == 0:
            del lines[k]
        elif change == 1:
            lines.insert(k, lines[rng.randrange(len(lines))])
        elif change == 2:
            lines[k] = " " * rng.randint(0, 6) + lines[k].lstrip()
        elif change == 3:
            new = rng.choice(["-1", "0", ".nan", "1e400", "'x'", "[]", "{}", "null", "~", "-.inf"])
            lines[k] = re.sub(r"-?\d+(\.\d+)?", new, lines[k], count=1)
        elif change == 4:
            lines[k] = re.sub(
                r"\b[a-z_]+\b", rng.choice(["body", "xyz", "world", "q"]), lines[k], count=1
            )
        elif change == 5 and lines[k]:
            at = rng.randrange(len(lines[k]))
            lines[k] = lines[k][:at] + rng.choice("[]{}:,-#&*!|>%@`\"'\0é\t") + lines[k][at + 1 :]
        elif change == 6 and lines[k]:
            at = rng.randrange(len(lines[k]))
            lines[k] = lines[k][:at]
        else:
            other = rng.randrange(len(lines))
            lines[k], lines[other] = lines[other], lines[k]
        if not lines:
            return ""
    return "\n".join(lines) + "\n"


def outcome(tmp_path, text):
    try:
        (tmp_path / "scene.yaml").write_text(text)
        return load_scene(tmp_path / "scene.yaml")
    except BadInput as error:
        return error


def test_mutated_extensions_give_a_scene_or_bad_input_and_nothing_else(small_text, tmp_path):
    (tmp_path / "base.yaml").write_text(small_text)
    (tmp_path / "grasps.yaml").write_text(
        "- {name: a, width: 0.05, xyz: [0, 0, 0], rpy: [0, 0, 0]}"
    )
    child = CHILD.replace("    mass: 0.1\n", "    mass: 0.1\n    grasps: grasps.yaml\n")
    rng = random.Random(2)
    found = [outcome(tmp_path, mutated(child, rng)) for _ in range(120)]
    scenes = [scene for scene in found if isinstance(scene, Scene)]
    assert 3 < len(scenes) < 117
    for scene in scenes:
        assert all(np.isfinite(item.X_WI).all() and (item.size > 0).all() for item in scene.items)
    known = {str(tmp_path / name) for name in ("scene.yaml", "base.yaml", "grasps.yaml")}
    assert {error.file for f in found if isinstance(f, BadInput) for error in f.errors} <= known
