"""Public PDDL: PDDLGym's files, and domains in the style of the IPC."""

from importlib.util import find_spec
from pathlib import Path

import pytest

from galley.domain.errors import BadInput
from galley.domain.pddl.reader import read_domain, read_problem

GYM = Path(find_spec("pddlgym").origin).parent / "pddl"

CHANCE = "probabilistic"
GYM_REFUSED = {
    "derivedblocks": "section :derived is not supported",
    "easygripper": "space on both sides",
    **dict.fromkeys(("explodingblocks", "manyexplodingblockssmallpiles", "manytireworld"), CHANCE),
    **dict.fromkeys(("navigation1", "river", "tireworld"), CHANCE),
    **{f"navigation{i}": "is never closed" for i in range(2, 11)},
}
GYM_DOMAINS = sorted(file.stem for file in GYM.glob("*.pddl"))
assert set(GYM_REFUSED) < set(GYM_DOMAINS)
assert len(GYM_DOMAINS) > 80


@pytest.mark.parametrize("name", GYM_DOMAINS)
def test_pddlgyms_files_are_read(name):
    if name in GYM_REFUSED:
        with pytest.raises(BadInput) as caught:
            read_domain(GYM / f"{name}.pddl")
        assert GYM_REFUSED[name] in str(caught.value)
        return
    domain = read_domain(GYM / f"{name}.pddl")
    problems = sorted((GYM / name).glob("*.pddl"), key=lambda file: file.stat().st_size)
    for file in problems[:2]:
        assert read_problem(file, domain).goal
