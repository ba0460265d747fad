"""Most of the time of these tests is JAX's compiler."""

import pytest


@pytest.fixture(autouse=True, scope="module")
def compiled_quickly(quick_compilation):
    """All tests of this folder."""
