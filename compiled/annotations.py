"""Types and shapes of the arrays that compiled functions take, for their annotations.

The text is the shape, as jaxtyping writes it (https://docs.kidger.site/jaxtyping): ``n 3`` is an
array of n rows of three numbers. Numba reads no annotations; type checkers see an array.
"""

from typing import Annotated, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Float: TypeAlias = NDArray[np.floating[Any]]  # float32 or float64; the docstring gives the shape
Int: TypeAlias = NDArray[np.int64]
Bool: TypeAlias = NDArray[np.bool_]

Vector: TypeAlias = Annotated[Float, "n"]
Point: TypeAlias = Annotated[Float, "3"]
Points: TypeAlias = Annotated[Float, "n 3"]
Matrix: TypeAlias = Annotated[Float, "n m"]
Pose: TypeAlias = Annotated[Float, "12"]  # a rotation's nine elements by rows, then the position
Poses: TypeAlias = Annotated[Float, "n 12"]
Configuration: TypeAlias = Annotated[Float, "k"]  # a value for each joint of a group
Configurations: TypeAlias = Annotated[Float, "n k"]
Indices: TypeAlias = Annotated[Int, "n"]
Flags: TypeAlias = Annotated[NDArray[np.uint8], "n m"]  # 1 for yes, 0 for no
Transform: TypeAlias = Annotated[Float, "4 4"]  # a homogeneous matrix
Transforms: TypeAlias = Annotated[Float, "n 4 4"]
Triple: TypeAlias = tuple[float, float, float]  # a point, or a direction
Lanes: TypeAlias = Annotated[NDArray[np.float32], "16"]  # in a register: compiled.lanes
LaneTriple: TypeAlias = tuple[Lanes, Lanes, Lanes]  # 16 points
Table: TypeAlias = Annotated[Int, "rows 3"]  # addresses and shapes: collision.kernel.packed.pack
