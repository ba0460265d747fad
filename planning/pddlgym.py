"""The kitchen's domains as environments of PDDLGym.

    from galley.planning.pddlgym import register

    register()
    env = pddlgym.make("PDDLEnvKitchen-v0")

``PDDLEnvDrawers-v0`` is the domain whose drawers are opened and closed by actions of their own.
PDDLGym reads a domain and every ``.pddl`` file of a folder as a problem of it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from galley.domain.files import read_text, write_atomically
from galley.domain.pddl.model import ActionSchema
from galley.domain.pddl.reader import read_domain
from galley.domain.shipped import KITCHEN

DOMAINS = {"PDDLEnvKitchen-v0": "kitchen", "PDDLEnvDrawers-v0": "drawers"}


def lay_out(
    folder: Path | str, name: str = "kitchen", operators_as_actions: bool = False
) -> tuple[Path, Path]:
    """Writes a domain and its problems as PDDLGym's ``PDDLEnv`` takes them.

    Args:
        folder: exists; ``NAME.pddl`` and a folder ``NAME`` of problems are written to it.
        name: ``kitchen`` or ``drawers``.
        operators_as_actions: whether ``PDDLEnv`` will be told so. Otherwise it takes for actions
            predicates that preconditions ask for, which are added to the domain.

    Returns:
        ``domain_file`` and ``problem_dir`` of ``PDDLEnv``.
    """
    shipped = read_domain(KITCHEN / f"{name}.pddl")
    domain, problems = Path(folder) / f"{name}.pddl", Path(folder) / name
    problems.mkdir(exist_ok=True)
    text = read_text(shipped.file)
    if not operators_as_actions:
        text = _with_action_predicates(text, shipped.actions)
    # PDDLGym misses a comment at the end without a final newline.
    write_atomically(domain, text + "\n")
    for file in sorted(KITCHEN.glob("*.pddl")):
        text = read_text(file)
        if f"(:domain {shipped.name})" in text:
            write_atomically(problems / file.name, text + "\n")
    return domain, problems


def _with_action_predicates(text: str, actions: Sequence[ActionSchema]) -> str:
    """A domain in the dialect of PDDLGym's own ones: each action is a predicate too."""
    names = " ".join(each.name for each in actions)
    declared = ""
    for each in actions:
        typed = " ".join(f"{v.name} - {v.types[0]}" for v in each.parameters)
        declared += f"\n    ({each.name} {typed})"
        asked = f"({each.name} {' '.join(v.name for v in each.parameters)})"
        head = rf"(\(:action {each.name}\s[^)]*\)\s*:precondition \(and)"
        text = re.sub(head, rf"\1 {asked}", text)
    return text.replace("(:predicates", f"; (:actions {names})\n  (:predicates{declared}", 1)


def environment(name: str, **options: Any) -> Any:
    """A ``PDDLEnv`` of a domain; ``options`` are those of ``PDDLEnv``."""
    from pddlgym.core import PDDLEnv

    with TemporaryDirectory(prefix="galley-pddlgym-") as folder:  # read when it is constructed
        as_actions = options.get("operators_as_actions", False)
        domain, problems = lay_out(folder, name, as_actions)
        return PDDLEnv(str(domain), str(problems), **options)


def register() -> None:
    """Registers ``DOMAINS`` with PDDLGym; what is registered already stays.

    Raises:
        ImportError: PDDLGym is not installed.
    """
    import pddlgym  # noqa: F401  # registers its own environments first
    from gym.envs.registration import register as register_with_gym
    from gym.envs.registration import registry

    for ident, name in DOMAINS.items():
        if ident not in registry:
            options = {"name": name, "operators_as_actions": True, "dynamic_action_space": True}
            register_with_gym(id=ident, entry_point=f"{__name__}:environment", kwargs=options)
