"""Most of the time of these tests is JAX's compiler."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import pytest

import galley

EXAMPLE = Path(galley.__file__).parent / "examples" / "contact" / "virtual_contacts.py"


@pytest.fixture(autouse=True, scope="module")
def compiled_quickly(quick_compilation):
    """All tests of this folder."""


@pytest.fixture(scope="module")
def example():
    """The names of the example of NumPy alone."""
    return SimpleNamespace(**runpy.run_path(str(EXAMPLE)))
