"""The schema of a model's parameters: each has a unit, bounds and a sentence.

A model is a frozen dataclass whose fields are made by ``parameter``, and which calls ``check`` in
``__post_init__``. Command-line options and error messages are derived from the same schema.
"""

from __future__ import annotations

import math
from dataclasses import Field, dataclass, field, fields
from typing import Any


@dataclass(frozen=True)
class Quantity:
    """A kind of number.

    Attributes:
        unit: SI unit; ``"1"`` for a ratio.
        low: lower bound.
        high: upper bound, which is allowed itself.
        above: whether a value must be greater than ``low``; otherwise ``low`` is allowed.
        infinite: whether ``inf`` is allowed.
    """

    unit: str
    low: float = -math.inf
    high: float = math.inf
    above: bool = False
    infinite: bool = False

    @property
    def rule(self) -> str:
        """The rule for values, for messages, such as ``a number from 0 to 1``."""
        if self.low == -math.inf:
            text = "a finite number"
        elif self.high < math.inf:
            text = f"a number from {self.low:g} to {self.high:g}"
        else:
            text = f"a number {'greater than' if self.above else 'from'} {self.low:g}"
        return f"{text}, or inf" if self.infinite else text

    def checked(self, name: str, value: Any) -> float:
        """``value`` as a float.

        Raises:
            ValueError: it is no number, or out of bounds; the message begins with ``name``.
        """
        try:
            number = float(value)
        except (TypeError, ValueError, OverflowError):
            number = math.nan
        good = self.low <= number <= self.high and not (self.above and number == self.low)
        if not good or (math.isinf(number) and not self.infinite):
            unit = "" if self.unit == "1" else f" {self.unit}"
            raise ValueError(f"{name} = {value}{unit}: must be {self.rule}")
        return number


MASS = Quantity("kg", 0.0, above=True)
MASS_OR_WALL = Quantity("kg", 0.0, above=True, infinite=True)
FORCE = Quantity("N")
FORCE_LIMIT = Quantity("N", 0.0)
GAP = Quantity("m", 0.0)
TIME = Quantity("s")
DURATION = Quantity("s", 0.0, above=True)
SPEED = Quantity("m/s")
RATIO = Quantity("1", 0.0, 1.0)
TOLERANCE = Quantity("1", 0.0, above=True)
LINEAR_DRAG = Quantity("N s/m", 0.0)
QUADRATIC_DRAG = Quantity("N s^2/m^2", 0.0)
LENGTH = Quantity("m", 0.0, above=True)
INERTIA = Quantity("kg m^2", 0.0, above=True)
STIFFNESS = Quantity("N/m", 0.0, above=True)
CONTACT_DAMPING = Quantity("N s/m^2", 0.0)  # of a force proportional to penetration
VISCOSITY = Quantity("N s/m", 0.0)
FRICTION = Quantity("1", 0.0)
SLIP_SPEED = Quantity("m/s", 0.0, above=True)


def parameter(default: float, quantity: Quantity, about: str) -> Any:
    """A dataclass field with a quantity and one sentence about it."""
    return field(default=default, metadata={"quantity": quantity, "about": about})


def parameters(model: Any) -> tuple[Field[Any], ...]:
    """The fields of a dataclass that were made by ``parameter``, in order."""
    return tuple(each for each in fields(model) if "quantity" in each.metadata)


def check(model: Any) -> None:
    """Convert the parameters of a frozen dataclass instance to floats within their bounds.

    Raises:
        ValueError: a value is no number or out of bounds; the message has parameter and value.
    """
    for own in parameters(model):
        value = own.metadata["quantity"].checked(own.name, getattr(model, own.name))
        object.__setattr__(model, own.name, value)  # the dataclass is frozen
