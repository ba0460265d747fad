"""``galley verify``: verifies a plan or a stored run. One file per subcommand."""

from __future__ import annotations

# One sentence per subcommand, in the order of the help.
COMMANDS = {
    "plan": "Verify a symbolic plan; if it is invalid, name the first wrong action and why.",
    "run": "Verify a stored run from nothing but its executed states and the scene.",
}

EPILOG = """examples:
  galley verify plan task.plan --domain domain.pddl --problem problem.pddl
  galley verify run runs/NAME"""
