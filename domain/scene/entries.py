"""Types and models that the entries of scene files and robot files share."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from galley.domain.frames import Array, frozen, rotation_rpy, transform
from galley.domain.yaml_models import LARGEST, FileModel, Length, Triple

_Rate = Annotated[float, Field(ge=1e-3, le=LARGEST, allow_inf_nan=False)]  # slower, it takes hours
Rates = Annotated[tuple[_Rate, ...], Length(3)]
Rates2 = Annotated[tuple[_Rate, ...], Length(2)]


def about(text: str, default: Any = None) -> Any:
    """A field for an optional key, with the description that editors show."""
    return Field(default, description=text)


def needed(text: str) -> Any:
    """A field for a required key, with the description that editors show."""
    return Field(description=text)


class Posed(FileModel):
    """A pose; the entry that has it defines the frame."""

    xyz: Triple = about("position, m", (0.0, 0.0, 0.0))
    rpy: Triple = about("rotation about the fixed x, then y, then z, rad", (0.0, 0.0, 0.0))

    @property
    def X(self) -> Array:
        """The pose as a transform (4, 4)."""
        R = rotation_rpy(*self.rpy) if self.given("rpy") else None
        return frozen(transform(R, self.xyz))
