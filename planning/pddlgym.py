"""The kitchen's domains as environments of PDDLGym.

    from galley.planning.pddlgym import register

    register()
    env = pddlgym.make("PDDLEnvKitchen-v0")

``PDDLEnvDrawers-v0`` is the domain whose drawers are opened and closed by actions of their own.
PDDLGym reads a domain and every ``.pddl`` file of a folder as a problem of it.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from galley.domain.files import read_text, write_atomically
from galley.domain.shipped import KITCHEN

DOMAINS = {"PDDLEnvKitchen-v0": "kitchen", "PDDLEnvDrawers-v0": "drawers"}


def lay_out(folder: Path | str, name: str = "kitchen") -> tuple[Path, Path]:
    """Writes a domain and its problems as PDDLGym's ``PDDLEnv`` takes them.

    Args:
        folder: exists; ``NAME.pddl`` and a folder ``NAME`` of problems are written to it.
        name: ``kitchen`` or ``drawers``.

    Returns:
        ``domain_file`` and ``problem_dir`` of ``PDDLEnv(..., operators_as_actions=True)``.
    """
    domain, problems = Path(folder) / f"{name}.pddl", Path(folder) / name
    problems.mkdir(exist_ok=True)
    # PDDLGym misses a comment at the end without a final newline.
    write_atomically(domain, read_text(KITCHEN / f"{name}.pddl") + "\n")
    for file in sorted(KITCHEN.glob("*.pddl")):
        text = read_text(file)
        if f"(:domain {name})" in text:
            write_atomically(problems / file.name, text + "\n")
    return domain, problems


def environment(name: str, **options: Any) -> Any:
    """A ``PDDLEnv`` of a domain; ``options`` are those of ``PDDLEnv``."""
    from pddlgym.core import PDDLEnv

    with TemporaryDirectory(prefix="galley-pddlgym-") as folder:  # read when it is constructed
        return PDDLEnv(*map(str, lay_out(folder, name)), **options)


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
