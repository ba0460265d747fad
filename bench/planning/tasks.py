"""Planning tasks of any size, made from a seed: kitchens and classics in STRIPS, some with costs.

The same arguments always give the same text. Tests and benchmarks share them; tasks beyond STRIPS
are in ``adl.py``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from random import Random

KITCHEN_DOMAIN = files("galley.domain").joinpath("kitchen", "kitchen.pddl").read_text()
# Pyperplan knows no negative conditions. Without this one a drive may end where it began: the
# states are the same.
POSITIVE_KITCHEN = KITCHEN_DOMAIN.replace("(and (near ?from) (not (near ?to)))", "(near ?from)")
FURNITURE = ("countertop", "burner", "drawer", "center", "shelf", "table", "sink", "bench")


@dataclass(frozen=True)
class Case:
    """A planning task as two texts.

    Attributes:
        name: names the task and its size: ``kitchen-4x5``.
        domain: the domain in PDDL.
        problem: the problem in PDDL.
        solvable: whether a plan exists.
    """

    name: str
    domain: str
    problem: str
    solvable: bool = True

    def write(self, folder: Path) -> tuple[Path, Path]:
        """Writes both texts into ``folder`` and says where they are."""
        paths = folder / f"{self.name}-domain.pddl", folder / f"{self.name}.pddl"
        for path, text in zip(paths, (self.domain, self.problem), strict=True):
            path.write_text(text, encoding="utf-8")
        return paths


def problem_text(
    domain: str, objects: str, init: Iterable[str], goal: Iterable[str], metric: bool = False
) -> str:
    """A problem; ``init`` and ``goal`` without their outer parentheses."""
    return (
        f"(define (problem p) (:domain {domain})\n  (:objects {objects})\n"
        f"  (:init {' '.join(f'({each})' for each in init)})\n"
        f"  (:goal (and {' '.join(f'({each})' for each in goal)}))\n"
        + ("  (:metric minimize (total-cost))\n" if metric else "")
        + ")\n"
    )


def kitchen(items: int, furniture: int = 4, seed: int = 0) -> Case:
    """Items scattered over surfaces, each wanted on another; every third in the drawer."""
    random = Random(f"kitchen {items} {furniture} {seed}")
    places = FURNITURE[:furniture]
    surfaces = [each for each in places if each != "drawer"]
    names = [f"item{i}" for i in range(items)]
    start = {each: random.choice(surfaces) for each in names}
    goal = []
    for index, each in enumerate(names):
        if index % 3 == 2:
            goal.append(f"inside {each} drawer")
        else:
            elsewhere = [place for place in surfaces if place != start[each]]
            goal.append(f"on {each} {random.choice(elsewhere)}")
    return Case(
        f"kitchen-{items}x{furniture}" + (f"-{seed}" if seed else ""),
        KITCHEN_DOMAIN,
        problem_text(
            "kitchen",
            f"{' '.join(places)} - furniture {' '.join(names)} - objective h1 - hand",
            ["near center", *(f"on {a} {b}" for a, b in start.items()), "empty h1"],
            goal,
        ),
    )


GRIPPER = """(define (domain gripper) (:requirements :strips :typing)
  (:types room ball hand)
  (:predicates (robot ?r - room) (at ?b - ball ?r - room) (free ?h - hand)
    (carry ?b - ball ?h - hand))
  (:action move :parameters (?from - room ?to - room) :precondition (robot ?from)
    :effect (and (robot ?to) (not (robot ?from))))
  (:action pick :parameters (?b - ball ?r - room ?h - hand)
    :precondition (and (at ?b ?r) (robot ?r) (free ?h))
    :effect (and (carry ?b ?h) (not (at ?b ?r)) (not (free ?h))))
  (:action drop :parameters (?b - ball ?r - room ?h - hand)
    :precondition (and (carry ?b ?h) (robot ?r))
    :effect (and (at ?b ?r) (free ?h) (not (carry ?b ?h)))))
"""


def gripper(balls: int, hands: int = 2) -> Case:
    """All balls to the other room."""
    names = [f"b{i}" for i in range(balls)]
    grips = [f"h{i}" for i in range(hands)]
    return Case(
        f"gripper-{balls}",
        GRIPPER,
        problem_text(
            "gripper",
            f"here there - room {' '.join(names)} - ball {' '.join(grips)} - hand",
            ["robot here", *(f"at {b} here" for b in names), *(f"free {h}" for h in grips)],
            [f"at {b} there" for b in names],
        ),
    )


BLOCKS = """(define (domain blocks) (:requirements :strips)
  (:predicates (on ?x ?y) (ontable ?x) (clear ?x) (handempty) (holding ?x))
  (:action pick-up :parameters (?x) :precondition (and (clear ?x) (ontable ?x) (handempty))
    :effect (and (holding ?x) (not (ontable ?x)) (not (clear ?x)) (not (handempty))))
  (:action put-down :parameters (?x) :precondition (holding ?x)
    :effect (and (clear ?x) (ontable ?x) (handempty) (not (holding ?x))))
  (:action stack :parameters (?x ?y) :precondition (and (holding ?x) (clear ?y))
    :effect (and (on ?x ?y) (clear ?x) (handempty) (not (holding ?x)) (not (clear ?y))))
  (:action unstack :parameters (?x ?y) :precondition (and (on ?x ?y) (clear ?x) (handempty))
    :effect (and (holding ?x) (clear ?y) (not (on ?x ?y)) (not (clear ?x)) (not (handempty)))))
"""


def blocks(count: int, seed: int = 0) -> Case:
    """Random towers into one random tower."""
    random = Random(f"blocks {count} {seed}")
    names = [f"b{i}" for i in range(count)]
    random.shuffle(names)
    init = ["handempty"]
    below = ""
    for name in names:
        if below and random.random() < 0.6:
            init.append(f"on {name} {below}")
        else:
            init += [f"clear {below}"] if below else []
            init.append(f"ontable {name}")
        below = name
    init.append(f"clear {below}")
    covered = {each.split()[2] for each in init if each.startswith("on ")}
    init = [i for i in init if not (i.startswith("clear") and i.split()[1] in covered)]
    goal = random.sample(names, count)
    stacked = [f"on {a} {b}" for a, b in pairwise(goal)]
    name = f"blocks-{count}" + (f"-{seed}" if seed else "")
    return Case(name, BLOCKS, problem_text("blocks", " ".join(sorted(names)), init, stacked))


LOGISTICS = """(define (domain logistics) (:requirements :strips :typing)
  (:types city place mover package - object truck plane - mover airport - place)
  (:predicates (in-city ?p - place ?c - city) (at ?m - mover ?p - place)
    (lies ?k - package ?p - place) (in ?k - package ?m - mover))
  (:action load :parameters (?k - package ?m - mover ?p - place)
    :precondition (and (lies ?k ?p) (at ?m ?p)) :effect (and (in ?k ?m) (not (lies ?k ?p))))
  (:action unload :parameters (?k - package ?m - mover ?p - place)
    :precondition (and (in ?k ?m) (at ?m ?p)) :effect (and (lies ?k ?p) (not (in ?k ?m))))
  (:action drive :parameters (?t - truck ?from - place ?to - place ?c - city)
    :precondition (and (at ?t ?from) (in-city ?from ?c) (in-city ?to ?c))
    :effect (and (at ?t ?to) (not (at ?t ?from))))
  (:action fly :parameters (?p - plane ?from - airport ?to - airport)
    :precondition (at ?p ?from) :effect (and (at ?p ?to) (not (at ?p ?from)))))
"""


def logistics(packages: int, cities: int = 2, seed: int = 0) -> Case:
    """Packages between cities: by truck to the airport, by plane, by truck to the door."""
    random = Random(f"logistics {packages} {cities} {seed}")
    towns = [f"c{i}" for i in range(cities)]
    places = [f"{kind}{i}" for i in range(cities) for kind in ("air", "shop")]
    init = [f"in-city {each} c{each.lstrip('airshop')}" for each in places]
    init += [f"at t{i} shop{i}" for i in range(cities)] + ["at p0 air0"]
    names = [f"k{i}" for i in range(packages)]
    goal = []
    for name in names:
        start, end = random.sample(places, 2)
        init.append(f"lies {name} {start}")
        goal.append(f"lies {name} {end}")
    objects = (
        f"{' '.join(towns)} - city {' '.join(f'air{i}' for i in range(cities))} - airport "
        f"{' '.join(f'shop{i}' for i in range(cities))} - place p0 - plane "
        f"{' '.join(f't{i}' for i in range(cities))} - truck {' '.join(names)} - package"
    )
    return Case(
        f"logistics-{packages}x{cities}",
        LOGISTICS,
        problem_text("logistics", objects, init, goal),
    )


TRANSPORT = """(define (domain transport) (:requirements :strips :typing :action-costs)
  (:types place car)
  (:predicates (road ?a - place ?b - place) (ferry ?p - place) (parked ?c - car ?p - place)
    (aboard ?c - car) (vacant))
  (:functions (miles ?a - place ?b - place) - number (total-cost) - number)
  (:action sail :parameters (?from - place ?to - place)
    :precondition (and (ferry ?from) (road ?from ?to))
    :effect (and (ferry ?to) (not (ferry ?from)) (increase (total-cost) (miles ?from ?to))))
  (:action board :parameters (?c - car ?p - place)
    :precondition (and (parked ?c ?p) (ferry ?p) (vacant))
    :effect (and (aboard ?c) (not (parked ?c ?p)) (not (vacant)) (increase (total-cost) 2)))
  (:action debark :parameters (?c - car ?p - place)
    :precondition (and (aboard ?c) (ferry ?p))
    :effect (and (parked ?c ?p) (vacant) (not (aboard ?c)))))
"""


def transport(cars: int, places: int = 4, seed: int = 0, unit: float = 1) -> Case:
    """A ferry on a ring of ports with a few short cuts; the distances are multiples of ``unit``."""
    random = Random(f"transport {cars} {places} {seed}")
    ports = [f"p{i}" for i in range(places)]
    legs = {(i, (i + 1) % places) for i in range(places)}
    legs.add(tuple(random.sample(range(places), 2)))
    init = ["ferry p0", "vacant", "= (total-cost) 0"]
    for a, b in sorted({frozenset(leg) for leg in legs}, key=sorted):
        miles = f"{random.randint(1, 9) * unit:g}"
        for x, y in ((a, b), (b, a)):
            init += [f"road p{x} p{y}", f"= (miles p{x} p{y}) {miles}"]
    names = [f"c{i}" for i in range(cars)]
    goal = []
    for name in names:
        start, end = random.sample(ports, 2)
        init.append(f"parked {name} {start}")
        goal.append(f"parked {name} {end}")
    objects = f"{' '.join(ports)} - place {' '.join(names)} - car"
    name = f"transport-{cars}x{places}" + (f"-{seed}" if seed else "")
    name += f"-unit{unit:g}" if unit != 1 else ""
    return Case(name, TRANSPORT, problem_text("transport", objects, init, goal, metric=True))
