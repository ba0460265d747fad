"""``galley verify``: judge a plan or a stored run again. One file per subcommand."""

from __future__ import annotations

# Each subcommand in a sentence, in the order of the help.
COMMANDS = {
    "plan": "Verify a symbolic plan; if it fails, name the first wrong action and the reason.",
    "run": "Verify a stored run again, from its executed states and the scene alone.",
}

EPILOG = """examples:
  galley verify plan task.plan --domain domain.pddl --problem problem.pddl
  galley verify run runs/NAME"""
