"""bench/readme.py finds in the documents what it is to replace, and replaces nothing else."""

import re
import sys

import pytest

from galley.bench import readme
from galley.bench.readme import CONTENTS, ROOT

DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
TEMPLATES = [
    (document, row)
    for part in ("captions", "tables")
    for document, rows in CONTENTS[part].items()
    for row in rows
]


@pytest.mark.parametrize(("document", "row"), TEMPLATES)
def test_each_figure_stands_in_its_document(document, row):
    text = (ROOT / document).read_text()
    same, rows = readme.fill(text, row, {})
    assert same == text
    assert rows
    marked = {name: f"<{name}>" for name, *_ in rows}
    changed, _ = readme.fill(text, row, marked)
    assert all(each in changed for each in marked.values())
    # Only what was between the template's words has changed.
    olds = {new: old for (_, old, *_), new in zip(rows, marked.values(), strict=True)}
    assert re.sub(r"<\w+>", lambda found: olds.get(found[0], found[0]), changed) == text


def test_each_line_of_output_stands_in_its_document():
    for document, lines in CONTENTS["texts"].items():
        for begins, command in lines:
            assert (ROOT / document).read_text().count(begins) == 1, begins
            assert command in readme.COMMANDS


def test_each_picture_has_a_command_or_a_reason():
    shown = set()
    for document in DOCUMENTS:
        for link in re.findall(r"\]\((\S+?\.(?:png|jpg|gif|mp4))\)", document.read_text()):
            shown.add(str((document.parent / link).resolve().relative_to(ROOT)))
    made, by_hand = CONTENTS["pictures"], CONTENTS["by_hand"]
    assert shown == {*made, *by_hand}
    assert all((ROOT / name).exists() for name in shown)
    assert all(told["of"] in readme.COMMANDS for told in made.values())


def test_what_was_not_measured_stays_and_needs_a_date():
    text = "| arm | 3 ms; OMPL 54 ms (22 May), roboplan\n9 ms |"
    template = "| arm | {arm} ms; OMPL {ompl}, roboplan {roboplan} |"
    changed, rows = readme.fill(text, template, {"arm": "2"})
    assert changed == text.replace("3 ms", "2 ms")
    assert [row[3] for row in rows] == ["changed", "stays", "WITHOUT DATE"]
    with pytest.raises(ValueError, match="stands 0 times"):
        readme.fill(text, "| leg | {leg} ms", {"leg": "2"})


def test_an_unknown_group_ends_in_one_line(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["readme.py", "--only", "texts,poems"])
    with pytest.raises(SystemExit) as ended:
        readme.main()
    assert ended.value.code == 2
    said = capsys.readouterr().err
    assert said == "readme.py: --only: no 'poems', there are texts, pictures, rates, times\n"


def test_pictures_differ_by_their_pixels(tmp_path):
    image = readme.Image.new("RGB", (20, 10), (10, 20, 30))
    image.save(tmp_path / "a.png")
    image.quantize().save(tmp_path / "b.png")
    assert readme.difference(tmp_path / "a.png", tmp_path / "b.png") == 0.0
    image.paste((40, 20, 30), (0, 0, 10, 10))
    image.save(tmp_path / "b.png")
    assert readme.difference(tmp_path / "a.png", tmp_path / "b.png") == pytest.approx(5.0)
    image.resize((10, 10)).save(tmp_path / "b.png")
    assert readme.difference(tmp_path / "a.png", tmp_path / "b.png") == 255.0


def test_following_one_pick_goes_down_through_ten_files():
    text = (ROOT / "docs" / "follow_one_pick.md").read_text()
    stops = re.findall(r"^\*\*(\d+)\. \[(\S+)\.py\]\(\S+\): `([\w.]+)`\*\*", text, re.MULTILINE)
    assert [int(number) for number, *_ in stops] == [*range(1, 11)]
    for k, (_, path, name) in enumerate(stops):
        source = (ROOT / f"{path}.py").read_text()
        assert re.search(rf"(def|class) {name.split('.')[-1]}\b", source), (path, name)
        imported = set(re.findall(r"from galley\.([\w.]+) import", source))
        assert not imported & {before.replace("/", ".") for _, before, _ in stops[:k]}, path
