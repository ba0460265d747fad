"""The kitchen for the kernel, one solved query, and the command line."""

import pytest

from galley.collision.scene_kernel import SceneKernel
from galley.studies.comparison.measures import measure
from galley.studies.comparison.methods import run_methods
from galley.studies.comparison.queries import turnaround_query
from galley.studies.comparison.summary import QueryResult


@pytest.fixture(scope="session")
def kernel(kitchen, robot):
    return SceneKernel(kitchen, robot)


@pytest.fixture(scope="session")
def query(kernel):
    return turnaround_query(kernel)


@pytest.fixture(scope="session")
def solved(kernel, shared_world, query):
    """The seed's query, all methods."""
    attempts = run_methods(kernel, shared_world, query)
    return QueryResult(query, tuple((a, measure(kernel, shared_world, query, a)) for a in attempts))
