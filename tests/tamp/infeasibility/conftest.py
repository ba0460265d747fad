"""The scene of ``tests/skills/infeasibility``, opened here too."""

from galley.tests.skills.infeasibility.conftest import opened

__all__ = ["opened"]
