"""All environments, registered with Gymnasium (extra ``gym``; ``push`` for its windows).

    import gymnasium
    import galley.gym  # registers them

    gymnasium.make("galley/Push-v0")  # galley.pushing.environment
    gymnasium.make("galley/Finger-v0", task="push")  # galley.contact.finger.environment

or in one step, ``gymnasium.make("galley.gym:galley/Push-v0")``. An environment is imported when it
is made. ``as_gym_pusht`` registers ``gym_pusht/PushT-v0`` too, for scripts that are to stay as they
are.
"""

from __future__ import annotations

import sys
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from types import ModuleType

PUSH, FINGER = "galley/Push-v0", "galley/Finger-v0"
_PUSHING = "galley.pushing.environments"
_PEER = ModuleType("gym_pusht", "Stands for gym-pusht: see ``galley.gym.as_gym_pusht``.")


def as_gym_pusht(physics: str = "galley") -> None:
    """Let ``import gym_pusht`` and ``gymnasium.make("gym_pusht/PushT-v0")`` mean our environment.

    Args:
        physics: ``galley`` or ``upstream`` (docs/pushing.md).

    Raises:
        RuntimeError: gym-pusht is installed.
    """
    import gymnasium

    name = _PEER.__name__
    if sys.modules.get(name) is not _PEER:
        if name in sys.modules or find_spec(name) is not None:
            raise RuntimeError("gym-pusht is installed: it keeps its own gym_pusht/PushT-v0")
        sys.modules[name] = _PEER
    gymnasium.registry.pop("gym_pusht/PushT-v0", None)  # of other physics
    gymnasium.register(
        "gym_pusht/PushT-v0",
        entry_point=f"{_PUSHING}.gym_pusht:GymPushTEnv",
        max_episode_steps=300,
        kwargs={"physics": physics, "render_mode": "rgb_array"},
    )


def _register() -> None:
    import gymnasium

    gymnasium.register(
        PUSH,
        entry_point=f"{_PUSHING}.variants:make_env",
        vector_entry_point=f"{_PUSHING}.variants:make_vector_env",
        max_episode_steps=300,
    )
    gymnasium.register(
        FINGER,
        entry_point="galley.contact.finger.environment:FingerEnv",
        max_episode_steps=600,  # 30 s
    )


def _give_way() -> None:
    """Load OpenAI's ``gym`` in place of this file."""
    here = Path(__file__).resolve().parent
    spec = PathFinder.find_spec("gym", [each for each in sys.path if Path(each).resolve() != here])
    if spec is None or spec.loader is None:
        raise ModuleNotFoundError("No module named 'gym'", name="gym")
    module = sys.modules["gym"] = module_from_spec(spec)
    spec.loader.exec_module(module)


if __name__ == "gym":
    # In a checkout ``python engine.py`` has this folder on ``sys.path``, where PDDLGym's
    # ``import gym`` finds this file first.
    _give_way()
else:
    _register()
