"""What ``gymnasium.make("galley/Push-v0", ...)`` makes, by its arguments.

- ``action``: ``pusher``, or ``joints`` (see ``joints``)
- ``compat``: None, or ``gym-pusht`` (see ``gym_pusht``)
- ``physics``: ``galley``, or with ``compat="gym-pusht"`` ``upstream``, which is pymunk

All others are those of the environment. The compiled vector has neither joints nor compat: with
``gymnasium.make_vec(..., vectorization_mode="sync")`` single environments step by turns.
"""

from __future__ import annotations

from typing import Any

from galley.planar.pushing.environment import PushEnv, PushVectorEnv
from galley.planar.pushing.environments.gym_pusht import GymPushTEnv
from galley.planar.pushing.environments.joints import JointPushEnv

ACTIONS = ("pusher", "joints")


def make_env(
    *, action: str = "pusher", compat: str | None = None, physics: str = "galley", **more: Any
) -> PushEnv | GymPushTEnv:
    """One table.

    Raises:
        ValueError: arguments that are unknown or don't go together.
    """
    if action not in ACTIONS:
        raise ValueError(f"action = {action!r}: must be one of {', '.join(ACTIONS)}")
    if compat not in (None, "gym-pusht"):
        raise ValueError(f"compat = {compat!r}: must be None or 'gym-pusht'")
    if compat is None:
        if physics != "galley":
            raise ValueError(f'physics = {physics!r}: needs compat="gym-pusht"; else galley')
        return JointPushEnv(**more) if action == "joints" else PushEnv(**more)
    if action != "pusher":
        raise ValueError(f"action = {action!r}: gym-pusht commands the pusher")
    return GymPushTEnv(physics=physics, **more)


def make_vector_env(
    num_envs: int = 1,
    *,
    action: str = "pusher",
    compat: str | None = None,
    physics: str = "galley",
    **more: Any,
) -> PushVectorEnv:
    """Many tables, stepped in one compiled call.

    Raises:
        ValueError: arguments that only a single environment has.
    """
    single = {
        "action": (action, "pusher"),
        "compat": (compat, None),
        "physics": (physics, "galley"),
    }
    for name, (value, default) in single.items():
        if value != default:
            raise ValueError(
                f'{name} = {value!r}: the compiled vector has it not; vectorization_mode="sync" has'
            )
    return PushVectorEnv(num_envs, **more)
