"""``galley new``: writes files to start from. One file per subcommand."""

from __future__ import annotations

# One sentence per subcommand, in the order of the help.
COMMANDS = {
    "kitchen": "Create a folder with a scene, a domain and a task that can be run at once.",
    "robot": "Create a robot file from a URDF.",
}

EPILOG = """examples:
  galley new kitchen my_kitchen
  galley new robot arm.urdf"""
