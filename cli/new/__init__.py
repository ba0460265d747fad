"""``galley new``: files to start from, that run as they are. One file per subcommand."""

from __future__ import annotations

# Each subcommand in a sentence, in the order of the help.
COMMANDS = {
    "kitchen": "Write a folder with a scene, a domain and a task that run as they are.",
    "robot": "Write a robot file of what can be found out from a URDF.",
}

EPILOG = """examples:
  galley new kitchen my_kitchen
  galley new robot arm.urdf"""
