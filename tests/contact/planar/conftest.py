"""Most of the time of these tests is JAX's compiler: here it optimises little."""

import jax
import pytest


@pytest.fixture(autouse=True, scope="package")
def quick_compilation():
    before = jax.config.values["jax_disable_most_optimizations"]
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", before)
