"""Most of the time of these tests is JAX's compiler: here it optimises little."""

import jax
import pytest


@pytest.fixture(autouse=True, scope="module")
def quick_compilation():
    before = jax.config.values["jax_disable_most_optimizations"]
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", before)
    jax.clear_caches()  # what was compiled so has other last bits than other tests expect
