"""Sweeps: order, whatever the number of workers, and what a lost worker costs."""

import multiprocessing
import operator
import sys
from functools import partial

import pytest

from galley.domain.errors import BadInput
from galley.sweeps import LostJob, sweep

# A job is a call of something in the standard library: any worker can import it.
FIRST_IS_SLOW = [
    partial(eval, f"__import__('time').sleep({seconds}) or {value}")
    for seconds, value in ((0.5, 10), (0.0, 11), (0.0, 12), (0.1, 13), (0.0, 14))
]


@pytest.mark.parametrize("workers", [1, 2])
def test_results_come_in_the_order_of_the_jobs(workers):
    heard = []
    found = sweep(
        operator.call, FIRST_IS_SLOW, workers, progress=lambda k, result: heard.append((k, result))
    )
    assert found == [10, 11, 12, 13, 14]
    assert sorted(heard) == list(enumerate(found))
    if workers > 1:
        assert heard[0] != (0, 10), "the slow job was waited for"


@pytest.mark.parametrize("workers", [1, 2])
def test_a_job_that_raises_does_not_stop_the_others(workers):
    jobs = [partial(int, "7"), partial(int, "seven"), partial(int, "8")]
    first, lost, last = sweep(operator.call, jobs, workers)
    assert (first, last) == (7, 8)
    assert isinstance(lost, LostJob)
    assert lost.why == "ValueError: invalid literal for int() with base 10: 'seven'"
    assert "Traceback" in lost.trace


def test_a_worker_that_dies_takes_only_its_own_job_along():
    jobs = [partial(int, "1"), partial(eval, "__import__('os')._exit(7)"), partial(int, "2")]
    first, lost, last = sweep(operator.call, jobs, 2)
    assert (first, last) == (1, 2)
    assert lost == LostJob("its worker process died")
    assert multiprocessing.active_children() == []


def test_an_unsendable_result_is_lost_and_the_worker_goes_on():
    jobs = [partial(eval, "lambda: 0"), partial(int, "1"), partial(int, "2"), partial(int, "3")]
    found = sweep(operator.call, jobs, 2)
    assert found[1:] == [1, 2, 3]
    assert "can't be sent" in found[0].why


def test_an_interrupt_ends_the_workers_and_keeps_what_was_told():
    heard = {}

    def stop(index, result):
        heard[index] = result
        raise KeyboardInterrupt

    jobs = [partial(int, "5"), partial(eval, "__import__('time').sleep(3600)")]
    with pytest.raises(KeyboardInterrupt):
        sweep(operator.call, jobs, 2, progress=stop)
    assert heard == {0: 5}
    assert multiprocessing.active_children() == []


def test_no_jobs_and_wrong_requests():
    assert sweep(operator.call, []) == []
    with pytest.raises(ValueError, match="no engine 'threads', there are process, ray"):
        sweep(operator.call, [], engine="threads")
    with pytest.raises(ValueError, match="at least one worker"):
        sweep(operator.call, [], 0)


def test_without_ray_the_error_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)  # an import of it fails now
    with pytest.raises(BadInput, match=r"pip install 'galley-tamp\[ray\]'"):
        sweep(operator.call, FIRST_IS_SLOW, 2, engine="ray")


def test_ray_gives_the_same_and_survives_the_same():
    pytest.importorskip("ray.exceptions")
    jobs = [*FIRST_IS_SLOW, partial(int, "seven"), partial(eval, "__import__('os')._exit(7)")]
    here = sweep(operator.call, jobs, 2)
    there = sweep(operator.call, jobs, 2, engine="ray")
    assert there[:5] == here[:5] == [10, 11, 12, 13, 14]
    assert there[5].why == here[5].why
    assert isinstance(there[6], LostJob)
