"""Galley: task-and-motion planning for a mobile arm in a kitchen.

Import what you need from the sub-packages (``galley.domain``, ``galley.planning``,
``galley.motion``, ...). This module stays empty of heavy imports on purpose, so that
``galley plan`` starts in milliseconds.
"""

__version__ = "0.1.0"
