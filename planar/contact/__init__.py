"""Contact in the plane: penalty forces at virtual contacts, implicit steps, gradients of runs.

Needs the extra ``planar`` (JAX).

- ``shapes``: signed distance functions; ``bodies``: ``Body2D``, ``Contact``, ``World``
- ``virtual_contacts``: where two bodies touch; ``forces``: how hard
- ``steps``: BDF1 and BDF2; ``simulation``: ``simulate``, ``value_and_gradient``
- ``setup``: a world with all that a run needs, from ``demonstrations`` or a ``scene`` file
- ``record``: a run as plain arrays; ``pictures``: its figure and film

For use as a library::

    from galley.planar.contact import Body2D, Circle, HalfPlane, World, simulate

    world = World([Body2D(Circle(0.5), mass=1.0, pose=(0.0, 1.0, 0.0)), Body2D(HalfPlane())])
    trajectory = simulate(world, h=1 / 60, n=100)

Raises:
    ImportError: JAX or Equinox is missing; the message says how to install them.
"""

try:
    from galley.planar.contact.bodies import Body2D, Contact, Points, Support, World
    from galley.planar.contact.forces import Contacts
    from galley.planar.contact.shapes import (
        Box,
        Circle,
        HalfPlane,
        Moved,
        Polygon,
        Rounded,
        Shape2D,
        regular_polygon,
    )
    from galley.planar.contact.simulation import (
        PlanarTrajectory,
        StepFailure,
        simulate,
        value_and_gradient,
    )
    from galley.planar.contact.steps import Scheme
except ModuleNotFoundError as error:
    raise ImportError(f"needs {error.name}: pip install 'galley-tamp[planar]'") from None

__all__ = [
    "Body2D",
    "Box",
    "Circle",
    "Contact",
    "Contacts",
    "HalfPlane",
    "Moved",
    "PlanarTrajectory",
    "Points",
    "Polygon",
    "Rounded",
    "Scheme",
    "Shape2D",
    "StepFailure",
    "Support",
    "World",
    "regular_polygon",
    "simulate",
    "value_and_gradient",
]
