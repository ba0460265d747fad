"""What a run can be asked, and its files."""

import csv

import numpy as np
import pytest

from galley.planar.finger import simulate
from galley.planar.finger.examples import EXAMPLES

COLUMNS = (
    "time [s]",
    "finger_position [m]",
    "finger_velocity [m/s]",
    "object_position [m]",
    "object_velocity [m/s]",
    "applied_force [N]",
    "sensor_constant [N]",
    "sensor_impulsive [N]",
    "epoch",
)


@pytest.fixture(scope="module")
def run():
    wall = EXAMPLES["wall"]
    return simulate(wall.finger, wall.force, wall.t_end)


def test_dense_output_has_one_value_at_each_time(run):
    """Asked in any order and any company, an instant has the same state; velocity is its slope."""
    times = np.random.default_rng(0).uniform(0.0, run.end, 200)
    together = run.at(times)
    for k in range(0, 200, 20):
        assert run.at(times[k]).finger_position[0] == together.finger_position[k]
        assert run.at(times[k]).sensor[0] == together.sensor[k]
    h = 1e-5
    calm = np.array([t for t in times if all(abs(t - e.time) > 2 * h for e in run.events)])
    slope = (run.at(calm + h).finger_position - run.at(calm - h).finger_position) / (2 * h)
    assert slope == pytest.approx(run.at(calm).finger_velocity, abs=1e-4)


def test_impulses_are_the_area_under_the_sensor(run):
    """Up to the last impact's contact time all of them have been felt."""
    times = np.linspace(0.0, run.end, 200_001)
    area = np.trapezoid(run.at(times).sensor_impulsive, times)
    assert area == pytest.approx(run.impulse(), rel=1e-3)


def test_a_csv_holds_the_samples(run, tmp_path):
    samples = run.samples(50.0)
    run.write(tmp_path / "a.csv", 50.0)
    with open(tmp_path / "a.csv") as stream:
        header, *rows = csv.reader(stream)
    assert tuple(header) == COLUMNS
    assert len(rows) == len(samples.time) == 501
    for k, name in enumerate(COLUMNS):
        expected = getattr(samples, name.partition(" ")[0])
        kind = str if name == "epoch" else float
        assert [kind(row[k]) for row in rows] == expected.tolist()


def test_the_log_of_events(run, tmp_path):
    run.write_events(tmp_path / "events.csv")
    with open(tmp_path / "events.csv") as stream:
        rows = list(csv.DictReader(stream))
    assert [row["kind"] for row in rows] == list(run.order())
    assert [float(row["impulse [N s]"]) for row in rows] == [e.impulse for e in run.events]
