"""The finger: one-dimensional touch, event by event.

- ``model``: ``Finger``, the parameters and equations of motion; ``Drag``
- ``force``: ``Profile`` of (time, force) pairs; ``Policy``, called with a ``Sense``
- ``simulation``: ``simulate`` a whole run, or a ``Simulation`` step by step
- ``trace``: the result: ``Trace``, its ``Samples`` and ``Event`` log
- ``environment``: the Gymnasium environment (extra ``planar``)
- ``pictures``: figure and film of a trace; ``window``: the arrow keys push
- ``examples``: the two demonstrations of ``galley touch``
"""

from galley.planar.finger.force import Policy, Profile
from galley.planar.finger.model import Drag, Finger
from galley.planar.finger.simulation import Simulation, Solver, Start, simulate
from galley.planar.finger.trace import Epoch, Kind, Trace

__all__ = [
    "Drag",
    "Epoch",
    "Finger",
    "Kind",
    "Policy",
    "Profile",
    "Simulation",
    "Solver",
    "Start",
    "Trace",
    "simulate",
]
