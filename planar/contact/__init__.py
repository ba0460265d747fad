"""Contact in the plane: penalty forces at virtual contacts, implicit steps, gradients of it all.

Needs the extra ``planar`` (JAX), which is loaded by the first use of a name of this package;
``prediction`` needs none of it.

- ``shapes``: signed distance functions; ``bodies``: ``Body2D``, ``Contact``, ``World``
- ``virtual_contacts``: where two bodies touch; ``forces``: how hard
- ``steps``: BDF1 and BDF2; ``simulation``: ``simulate``, ``value_and_gradient``
- ``fitting``: parameters from an observed trajectory; ``throw``: forces that throw a ball
- ``setup``: a world with all that a run needs: ``demonstrations``, or a ``scene`` from a file
- ``prediction``: ``predict_push``, how a body on a plane moves when it is pushed slowly (no JAX)
- ``record``: a run as plain arrays; ``pictures``: its figure and film

For use as a library::

    from galley.planar.contact import Body2D, Circle, HalfPlane, World, simulate

    world = World([Body2D(Circle(0.5), mass=1.0, pose=(0.0, 1.0, 0.0)), Body2D(HalfPlane())])
    trajectory = simulate(world, h=1 / 60, n=100)
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from galley.planar.contact.bodies import Body2D, Contact, Points, Support, World
    from galley.planar.contact.fitting import Fit, fit
    from galley.planar.contact.forces import Contacts
    from galley.planar.contact.shapes import (
        Box,
        Circle,
        HalfPlane,
        Moved,
        Polygon,
        Rounded,
        Shape,
        regular_polygon,
    )
    from galley.planar.contact.simulation import Failure, Trajectory, simulate, value_and_gradient
    from galley.planar.contact.steps import Scheme

_WHERE = {
    "bodies": ("Body2D", "Contact", "Points", "Support", "World"),
    "fitting": ("Fit", "fit"),
    "forces": ("Contacts",),
    "shapes": (
        "Box",
        "Circle",
        "HalfPlane",
        "Moved",
        "Polygon",
        "Rounded",
        "Shape",
        "regular_polygon",
    ),
    "simulation": ("Failure", "Trajectory", "simulate", "value_and_gradient"),
    "steps": ("Scheme",),
}

__all__ = [
    "Body2D",
    "Box",
    "Circle",
    "Contact",
    "Contacts",
    "Failure",
    "Fit",
    "HalfPlane",
    "Moved",
    "Points",
    "Polygon",
    "Rounded",
    "Scheme",
    "Shape",
    "Support",
    "Trajectory",
    "World",
    "fit",
    "regular_polygon",
    "simulate",
    "value_and_gradient",
]


def __getattr__(name: str) -> Any:
    """Imports on first use.

    Raises:
        ImportError: JAX or Equinox is missing; the message says how to install them.
    """
    for module, names in _WHERE.items():
        if name in names:
            from importlib import import_module
            from importlib.util import find_spec

            if missing := [each for each in ("jax", "equinox") if find_spec(each) is None]:
                raise ImportError(f"needs {', '.join(missing)}: pip install 'galley-tamp[planar]'")
            return getattr(import_module(f"{__name__}.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
