"""Malformed files are rejected quickly, in one line that names file and column."""

import json
import shutil
from functools import reduce
from operator import getitem

import numpy as np
import pytest

from galley.cli import main
from galley.domain.log import Log
from galley.results.schema import REPORT, mismatch
from galley.tests.effort import quick_first
from galley.tests.validation.mutations import part


@pytest.fixture(scope="module")
def columns(good, tmp_path_factory):
    """Of a few motions."""
    file = tmp_path_factory.mktemp("short") / "states.npz"
    part(good, 0, 3).save(file)
    with np.load(file) as data:
        return {name: data[name] for name in data.files}


@pytest.fixture
def folder(run_folder, tmp_path, columns):
    """A run's folder, its log cut short."""
    shutil.copytree(run_folder, tmp_path / "run")
    np.savez_compressed(tmp_path / "run" / "states.npz", **columns)
    return tmp_path / "run"


@pytest.fixture
def check(folder, columns, capsys):
    """``check(**columns)``: exit status and stderr of a run in whose log these are replaced."""

    def run(**changed):
        left = {k: v for k, v in (columns | changed).items() if v is not None}
        np.savez_compressed(folder / "states.npz", **left)
        status = main(["verify", "run", str(folder)])
        return status, capsys.readouterr().err

    return run


def refused(answer, *words):
    status, err = answer
    assert status == 2
    assert "Traceback" not in err
    assert len(err.strip().splitlines()) <= 3
    assert "states.npz" in err
    for word in words:
        assert word in err


@pytest.mark.parametrize("name", quick_first(6, sorted(Log.__dataclass_fields__)))
def test_a_column_of_another_type_shape_or_none_is_named(check, columns, name):
    good = columns[name]
    text = good.dtype.kind == "U"
    strange = [
        *([] if name == "others" else [None]),  # runs of one hand had no such column once
        np.ones(good.shape) if text else np.full(good.shape, "x"),
        np.asarray(good)[None],
        np.full(good.shape, 1j),
        np.array([{}], dtype=object),
    ]
    if not text:
        strange.append(np.full(good.shape, True))
    for values in strange:
        refused(check(**{name: values}), name)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("q", lambda q: q[:, :-1]),
        ("items", lambda items: items[:, :1]),
        ("velocity", lambda velocity: np.zeros((0, 12))),
        ("ends", lambda ends: ends[:-1]),
        ("contact_pair", lambda pair: pair[:-1]),
        ("contact_pair", lambda pair: pair + 10**6),
        ("contact_step", lambda step: step - 1),
        ("held", lambda held: held + 50),
        ("others", lambda others: np.zeros((3, 1), dtype=np.int64)),
        ("others", lambda others: np.zeros((len(others), 1), dtype=np.int64)),
        ("motion", lambda motion: motion - 10**12),
        ("declared", lambda rows: np.array([["-1", "a", "b"]])),
        ("names", lambda names: names[:0]),
        ("period", lambda period: np.array(-1.0)),
    ],
)
def test_a_column_that_does_not_fit_is_named(check, columns, name, change):
    answer = check(**{name: change(columns[name])})
    refused(answer)
    assert name in answer[1] or name in ("declared", "names")


@pytest.mark.parametrize("command", ["verify run", "report", "replay"])
@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("time", lambda time: time[::-1]),
        ("q", lambda q: np.where(np.arange(q.shape[1]) == 3, np.nan, q)),
        ("items", lambda items: np.zeros_like(items)),
        ("duration", lambda duration: np.array(1e300)),
    ],
)
def test_what_can_not_be_drawn_or_judged_is_refused_when_it_is_read(
    folder, columns, capsys, command, name, change
):
    np.savez_compressed(folder / "states.npz", **columns | {name: change(columns[name])})
    status = main([*command.split(), str(folder)])
    refused((status, capsys.readouterr().err), name)


def leaves(value, path=()):
    """Each value in JSON data that holds no others, with the keys that lead there."""
    parts = value.items() if isinstance(value, dict) else ()
    parts = enumerate(value[:1]) if isinstance(value, list) else parts
    below = [leaf for key, each in parts for leaf in leaves(each, (*path, key))]
    return below or [(path, value)]


def test_each_value_of_another_type_is_named_by_its_key(run_folder):
    report = json.loads((run_folder / "report.json").read_text())
    free = ("options", "video", "versions", "inputs", "files", "skills")
    found = [(path, good) for path, good in leaves(report) if path[0] not in free]
    assert len(found) > 70
    for path, good in found:
        for strange in ({"a": []}, [{}], "text", True, float("nan")):
            if isinstance(strange, type(good)) or (good in ([], None) and strange != "text"):
                continue
            made = json.loads(json.dumps(report))
            *above, last = path
            reduce(getitem, above, made)[last] = strange
            what = mismatch(made, REPORT, "")
            key = "".join(f"[{k}]" if isinstance(k, int) else f".{k}" for k in path)[1:]
            assert what.startswith(f"'{key}' must be ") or good is None, (key, strange, what)
