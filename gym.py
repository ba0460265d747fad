"""All environments, registered with Gymnasium (extra ``planar``).

    import gymnasium
    import galley.gym  # registers them

    gymnasium.make("galley/Push-v0")  # galley.planar.pushing.environment
    gymnasium.make("galley/Finger-v0", task="push")  # galley.planar.finger.environment
    gymnasium.make("galley/Kitchen-v0")  # galley.learning.environment

or in one step, ``gymnasium.make("galley.gym:galley/Push-v0")``. An environment is imported when it
is made. ``as_gym_pusht`` also registers ``gym_pusht/PushT-v0``, so that scripts for gym-pusht run
unchanged.
"""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from types import ModuleType

PUSH, FINGER, KITCHEN = "galley/Push-v0", "galley/Finger-v0", "galley/Kitchen-v0"
_PEER = ModuleType("gym_pusht", "Replaces gym-pusht: see ``galley.gym.as_gym_pusht``.")


def as_gym_pusht() -> None:
    """Make ``import gym_pusht`` and ``gymnasium.make("gym_pusht/PushT-v0")`` use our environment.

    Raises:
        RuntimeError: gym-pusht is installed.
    """
    import gymnasium

    name, ident = _PEER.__name__, "gym_pusht/PushT-v0"
    if name not in sys.modules and find_spec(name) is None:
        sys.modules[name] = _PEER
    if sys.modules.get(name) is not _PEER:
        raise RuntimeError(f"gym-pusht is installed: it keeps its own {ident}")
    if ident not in gymnasium.registry:
        env, made = "galley.planar.pushing.gym_pusht:GymPushTEnv", {"render_mode": "rgb_array"}
        gymnasium.register(ident, env, max_episode_steps=300, kwargs=made)


def _register() -> None:
    import gymnasium

    one = "galley.planar.pushing.gym_pusht:make_env"
    many = "galley.planar.pushing.environment:PushVectorEnv"
    finger = "galley.planar.finger.environment:FingerEnv"
    gymnasium.register(PUSH, one, max_episode_steps=300, vector_entry_point=many)
    gymnasium.register(FINGER, finger, max_episode_steps=600)  # 30 s
    kitchen = "galley.learning.environment:KitchenEnv"
    gymnasium.register(KITCHEN, kitchen, max_episode_steps=2000)  # 100 s


def _load_openai_gym() -> None:
    """Load OpenAI's ``gym`` in place of this module."""
    here = Path(__file__).resolve().parent
    spec = PathFinder.find_spec("gym", [each for each in sys.path if Path(each).resolve() != here])
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError("No module named 'gym'", name="gym")
    module = sys.modules["gym"] = module_from_spec(spec)
    spec.loader.exec_module(module)


if __name__ == "gym":
    # In a checkout ``python engine.py`` has this folder on ``sys.path``, where PDDLGym's
    # ``import gym`` finds this file first.
    _load_openai_gym()
else:
    _register()
