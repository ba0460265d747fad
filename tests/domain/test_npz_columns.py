"""An npz comes back as it was written; anything else is refused in one line."""

import zipfile

import numpy as np
import pytest

from galley.domain.errors import BadInput
from galley.domain.log import Log
from galley.domain.npz_columns import read_columns, write_columns
from galley.motion.trajectory.trajectory import read_trajectories

GOOD = {"numbers": np.arange(300.0), "names": np.array(["a", "b"]), "count": np.array(3)}


def read(path):
    with read_columns(path, "is of another kind") as columns:
        return {
            "numbers": columns.numbers("numbers", (None,)),
            "names": columns.texts("names", (2,)),
            "count": columns.integers("count", ()),
        }


@pytest.fixture
def good(tmp_path):
    write_columns(tmp_path / "good.npz", GOOD)
    return tmp_path / "good.npz"


def test_columns_come_back_the_same(good):
    found = read(good)
    assert found.keys() == GOOD.keys()
    for name, values in GOOD.items():
        np.testing.assert_array_equal(found[name], values)


@pytest.mark.parametrize("reader", [read, Log.load, read_trajectories])
@pytest.mark.parametrize("kind", ["missing", "text", "cut", "npy", "other", "header"])
def test_what_is_no_such_file_is_bad_input(kind, reader, good, tmp_path):
    file = tmp_path / "file.npz"
    match kind:
        case "text":
            file.write_text("hello")
        case "cut":
            file.write_bytes(good.read_bytes()[:400])
        case "npy":
            with open(file, "wb") as stream:
                np.save(stream, np.zeros(3))
        case "header":  # of an array inside: numpy gives up in a way of its own
            with zipfile.ZipFile(good) as old, zipfile.ZipFile(file, "w") as new:
                for name in old.namelist():
                    data = old.read(name)
                    new.writestr(name, data.replace(b"}", b"(") if name == "names.npy" else data)
        case "other":
            np.savez(file, a=np.zeros(3))
    with pytest.raises(BadInput) as caught:
        reader(file)
    (error,) = caught.value.errors
    assert error.file == str(file)
    assert "\n" not in str(error)


def test_every_damaged_byte_is_bad_input_or_harmless(good, tmp_path):
    whole, refused = good.read_bytes(), 0
    for at in np.random.default_rng(1).integers(len(whole), size=150):
        damaged = bytearray(whole)
        damaged[at] ^= 0xFF
        (tmp_path / "bad.npz").write_bytes(damaged)
        try:
            read(tmp_path / "bad.npz")
        except BadInput:
            refused += 1
    assert refused > 20


@pytest.mark.parametrize(
    ("name", "values", "words"),
    [
        ("numbers", np.zeros((2, 2)), r"numbers has the wrong shape, \(2, 2\)"),
        ("numbers", np.zeros(2) + 1j, "numbers must hold real numbers, not complex128"),
        ("numbers", np.array([np.inf]), "numbers has numbers that are not finite"),
        ("names", np.zeros(2), "names must hold text, not float64"),
        ("names", np.array([{}, {}]), "names: Object arrays cannot be loaded"),
        ("count", None, "it has no count"),
    ],
)
def test_a_column_of_another_kind_is_named(name, values, words, tmp_path):
    columns = {n: v for n, v in {**GOOD, name: values}.items() if v is not None}
    np.savez(tmp_path / "file.npz", **columns)
    with pytest.raises(BadInput, match=rf"file.npz: is of another kind \({words}"):
        read(tmp_path / "file.npz")
