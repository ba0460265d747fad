"""Read YAML files of pushing: the config of a simulation, and outlines of bodies.

A config::

    shape: T          # or L, rectangle, a file of vertices beside this one
    mass: 0.5         # kg; every parameter of PushConfig may stand here
    friction: [0.3, 0.7]  # for collect, eval and film: a value for each seed
    goal_theta: 0.0
    arm:              # optional: every parameter of ArmConfig
      links: [0.2, 0.2, 0.2]

An outline::

    vertices:  # in m, around the outline in either direction
      - [0.00, 0.00]
      - [0.12, 0.04]
      - [0.00, 0.08]
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import AfterValidator, BeforeValidator, Field, create_model

from galley.domain.shipped import shipped_file
from galley.domain.yaml_models import FileModel, Pair, Positive, Word, YamlFile, parameter_fields
from galley.planar.geometry.polygon import SimplePolygon
from galley.planar.pushing.config import RANGED, ArmConfig, PushConfig
from galley.planar.pushing.shapes import SHAPES, shape

_ENDINGS = (".yaml", ".yml")


def _outline(vertices: tuple[Any, ...]) -> tuple[Any, ...]:
    SimplePolygon(np.array(vertices).reshape(-1, 2))
    return vertices


def _shape(name: str) -> str:
    if name not in SHAPES and not name.endswith(_ENDINGS):
        known = ", ".join(SHAPES)
        raise ValueError(f"'{name}': must be one of {known}, or a .yaml file of vertices")
    return name


def _some(kind: Any, most: int) -> Any:
    """The field of a value or of a list of up to ``most`` values."""
    listed = BeforeValidator(lambda value: value if isinstance(value, list) else [value])
    return Annotated[tuple[kind, ...], listed, Field(min_length=1, max_length=most)], None


_fields = parameter_fields(PushConfig)
_Vertices = Annotated[tuple[Pair, ...], AfterValidator(_outline)]
_Arm: Any = create_model(
    "_Arm",
    __base__=FileModel,
    links=(Annotated[tuple[Positive, ...], Field(min_length=1)], ()),
    **parameter_fields(ArmConfig),
)
_Config: Any = create_model(
    "_Config",
    __base__=FileModel,
    shape=_some(Annotated[Word, AfterValidator(_shape)], 99),
    arm=(_Arm, None),
    **_fields | {name: _some(_fields[name][0], 2) for name in RANGED},
)


class _OutlineFile(FileModel):
    vertices: _Vertices


def load_config(path: str | Path) -> PushConfig:
    """A config from a YAML file; parameters that it leaves out have their defaults.

    Raises:
        BadInput: an unknown key, or a value out of its bounds; messages have file and line.
    """
    file = YamlFile(path)
    values = file.read(_Config).given()
    if "arm" in values:
        values["arm"] = ArmConfig(**values["arm"].given())
    ranges = {name: values.pop(name) for name in ("shape", *RANGED) if name in values}
    if "shape" in ranges:
        outlines = [outline(name, file.path.parent) for name in ranges["shape"]]
        ranges["shape"] = [polygon.vertices.tolist() for polygon in outlines]
    try:
        return PushConfig(ranges=ranges, **values)
    except ValueError as error:  # checks of several keys: substeps, a goal beyond the table
        file.fault((str(error).split(" = ")[0],), str(error))
        raise file.bad_input() from None


def outline(name: str, folder: Path | str = "") -> SimplePolygon:
    """A shipped outline by its name, or the outline of a file in a folder.

    Raises:
        BadInput: as ``load_outline``. ValueError: it is neither; the message lists the names.
    """
    return shape(name) if _shape(name) in SHAPES else load_outline(shipped_file(name, folder))


def load_outline(path: str | Path) -> SimplePolygon:
    """The outline in a YAML file; see the module.

    Raises:
        BadInput: the file isn't an outline, or not a simple polygon; the message has file and line.
    """
    return SimplePolygon(np.array(YamlFile(path).read(_OutlineFile).vertices))
