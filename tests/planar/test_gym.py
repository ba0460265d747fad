"""``galley.gym``: what it registers, and that it stands in nobody's way."""

import os
from importlib.util import find_spec
from pathlib import Path

import pytest

import galley.gym
from galley.compiled.build import POLYGONS, PUSHING, ensure
from galley.tests import command_line


def python(code, path="", **more):
    """What a new process prints; ``path`` comes first in its ``PYTHONPATH``."""
    paths = os.pathsep.join(filter(None, [str(path), os.environ.get("PYTHONPATH")]))
    done = command_line.python("-c", code, env={**os.environ, "PYTHONPATH": paths}, **more)
    return done.out + done.err


MODULES = ("galley.gym", "galley.planar.pushing.environment", "galley.planar.finger.environment")


@pytest.mark.parametrize("first", MODULES)
def test_whichever_is_imported_first_registers_all(first):
    ensure(POLYGONS, PUSHING)  # said once on stderr, where nothing else is to be said
    code = f"import gymnasium, {first}\n"
    for name in (*MODULES[::-1], None):
        for ident in (galley.gym.PUSH, galley.gym.FINGER):
            code += f"gymnasium.make({f'{name}:{ident}' if name else ident!r}).reset(seed=1)\n"
    assert python(f"{code}print('made')") == "made\n"


@pytest.mark.skipif(find_spec("pddlgym") is None, reason="OpenAI's gym comes with PDDLGym")
def test_in_a_checkout_gym_is_still_openais():
    code = "import gym, gym.spaces, galley.gym; print(gym.spaces.__file__, galley.gym.PUSH)"
    spaces, ident = python(code, cwd=Path(galley.__file__).parent).split()[:2]
    assert Path(spaces).parts[-4:-1] == ("site-packages", "gym", "spaces")
    assert ident == galley.gym.PUSH


SCRIPT = """
import gymnasium as gym
import gym_pusht

env = gym.make("gym_pusht/PushT-v0", obs_type="pixels_agent_pos", observation_width=64,
               observation_height=64, max_episode_steps=3)
seen, _ = env.reset(seed=1)
print(seen["pixels"].shape, env.render().shape)
print([env.step(env.action_space.sample())[3] for _ in range(3)], env.spec.max_episode_steps)
"""


def test_scripts_for_gym_pusht_run_unchanged():
    said = python("import galley.gym; galley.gym.as_gym_pusht()" + SCRIPT)
    assert said == "(64, 64, 3) (680, 680, 3)\n[False, False, True] 3\n"


def test_an_installed_gym_pusht_keeps_its_name(tmp_path):
    (tmp_path / "gym_pusht").mkdir()
    (tmp_path / "gym_pusht" / "__init__.py").write_text("")
    for before in ("", "import gym_pusht; "):
        said = python(f"{before}import galley.gym; galley.gym.as_gym_pusht()", tmp_path)
        assert "RuntimeError: gym-pusht is installed" in said
