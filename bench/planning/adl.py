"""Planning tasks that need ADL (quantifiers, disjunctions, conditional effects), and dead ends.

Each family is small and tests one thing that planners easily get wrong.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from random import Random

from galley.bench.planning.tasks import Case, blocks, gripper, kitchen, problem_text

BRIEFCASE = """(define (domain briefcase) (:requirements :adl)
  (:types place thing)
  (:predicates (at ?t - thing ?p - place) (in ?t - thing) (case-at ?p - place))
  (:action move :parameters (?from ?to - place)
    :precondition (and (case-at ?from) (not (= ?from ?to)))
    :effect (and (case-at ?to) (not (case-at ?from))
      (forall (?t - thing) (when (in ?t) (and (at ?t ?to) (not (at ?t ?from)))))))
  (:action put :parameters (?t - thing ?p - place)
    :precondition (and (at ?t ?p) (case-at ?p) (not (in ?t))) :effect (in ?t))
  (:action take :parameters (?t - thing) :precondition (in ?t) :effect (not (in ?t))))
"""


def briefcase(things: int, places: int = 3, seed: int = 0) -> Case:
    """What is in the case moves with it; at the end the case is empty."""
    random = Random(f"briefcase {things} {places} {seed}")
    names, rooms = [f"t{i}" for i in range(things)], [f"p{i}" for i in range(places)]
    start = {each: random.choice(rooms) for each in names}
    goal = [f"at {each} {random.choice([r for r in rooms if r != start[each]])}" for each in names]
    return Case(
        f"briefcase-{things}x{places}",
        BRIEFCASE,
        problem_text(
            "briefcase",
            f"{' '.join(rooms)} - place {' '.join(names)} - thing",
            ["case-at p0", *(f"at {a} {b}" for a, b in start.items())],
            [*goal, "forall (?t - thing) (not (in ?t))"],
        ),
    )


MICONIC = """(define (domain miconic) (:requirements :adl)
  (:types floor passenger - object vip alone together - passenger)
  (:predicates (origin ?p - passenger ?f - floor) (wants ?p - passenger ?f - floor)
    (no-access ?p - passenger ?f - floor) (boarded ?p - passenger) (served ?p - passenger)
    (lift ?f - floor))
  (:action stop :parameters (?f - floor)
    :precondition (and (lift ?f)
      (imply (exists (?p - vip) (not (served ?p)))
        (exists (?p - vip) (and (not (served ?p)) (or (origin ?p ?f) (wants ?p ?f)))))
      (forall (?p - passenger) (imply (no-access ?p ?f) (not (boarded ?p))))
      (forall (?p - alone) (or (not (boarded ?p)) (wants ?p ?f)
        (exists (?q - together) (boarded ?q)))))
    :effect (and
      (forall (?p - passenger) (when (and (boarded ?p) (wants ?p ?f))
        (and (not (boarded ?p)) (served ?p))))
      (forall (?p - passenger) (when (and (origin ?p ?f) (not (served ?p))) (boarded ?p)))))
  (:action go :parameters (?from ?to - floor)
    :precondition (and (lift ?from) (not (= ?from ?to)))
    :effect (and (lift ?to) (not (lift ?from)))))
"""


def miconic(passengers: int, floors: int = 4, seed: int = 0) -> Case:
    """A lift with rules: important people first, nervous ones not without company."""
    random = Random(f"miconic {passengers} {floors} {seed}")
    levels = [f"f{i}" for i in range(floors)]
    init, people = ["lift f0"], []
    for index in range(passengers):
        kind = ("together", "vip", "alone", "passenger")[index % 4]
        people.append(f"p{index} - {kind}")
        start, end = random.sample(levels, 2)
        init += [f"origin p{index} {start}", f"wants p{index} {end}"]
    init.append(f"no-access p0 {random.choice(levels[1:])}")
    init = [each for each in init if each.replace("no-access", "wants") == each or
            each.replace("no-access", "wants") not in init]  # fmt: skip
    return Case(
        f"miconic-{passengers}x{floors}" + (f"-{seed}" if seed else ""),
        MICONIC,
        problem_text(
            "miconic",
            f"{' '.join(levels)} - floor {' '.join(people)}",
            init,
            ["forall (?p - passenger) (served ?p)"],
        ),
    )


FLEET = """(define (domain fleet) (:requirements :adl)
  (:types port - object vessel cargo - object boat plane cart - vessel seaport airport - port
    coast - seaport coast - airport)
  (:predicates (at ?v - (either vessel cargo) ?p - port) (in ?c - cargo ?v - vessel))
  (:action sail :parameters (?b - boat ?from ?to - seaport)
    :precondition (and (at ?b ?from) (not (at ?b ?to)))
    :effect (and (at ?b ?to) (not (at ?b ?from))))
  (:action fly :parameters (?b - plane ?from ?to - airport)
    :precondition (and (at ?b ?from) (not (at ?b ?to)))
    :effect (and (at ?b ?to) (not (at ?b ?from))))
  (:action load :parameters (?c - cargo ?v - (either boat plane) ?p - port)
    :precondition (and (at ?c ?p) (at ?v ?p) (not (exists (?d - cargo) (in ?d ?v))))
    :effect (and (in ?c ?v) (not (at ?c ?p))))
  (:action unload :parameters (?c - cargo ?v - (either boat plane) ?p - port)
    :precondition (and (in ?c ?v) (at ?v ?p)) :effect (and (at ?c ?p) (not (in ?c ?v)))))
"""


def fleet(cargo: int) -> Case:
    """``either`` in parameters and predicates; a type under two others."""
    names = [f"k{i}" for i in range(cargo)]
    return Case(
        f"fleet-{cargo}",
        FLEET,
        problem_text(
            "fleet",
            f"sea - seaport air - airport shore - coast b - boat a - plane c - cart "
            f"{' '.join(names)} - cargo",
            ["at b sea", "at a air", "at c shore", *(f"at {each} sea" for each in names)],
            [f"at {each} {('air', 'shore')[i % 2]}" for i, each in enumerate(names)],
        ),
    )


LIGHTS = """(define (domain lights) (:requirements :adl)
  (:types lamp)
  (:predicates (lit ?l - lamp) (wired ?a ?b - lamp))
  (:action press :parameters (?l - lamp) :precondition ()
    :effect (forall (?m - lamp) (when (or (= ?l ?m) (wired ?l ?m))
      (and (when (lit ?m) (not (lit ?m))) (when (not (lit ?m)) (lit ?m)))))))
"""


def lights(count: int, seed: int = 0) -> Case:
    """A row of lamps; a switch turns its lamp and the neighbours over. All are wanted off."""
    random = Random(f"lights {count} {seed}")
    names = [f"l{i}" for i in range(count)]
    init = [f"wired {a} {b}" for a, b in pairwise(names)]
    init += [f"wired {b} {a}" for a, b in pairwise(names)]
    lit = [False] * count
    for press in random.sample(range(count), (count + 1) // 2):
        for near in (press - 1, press, press + 1):
            if 0 <= near < count:
                lit[near] = not lit[near]
    init += [f"lit {name}" for name, on in zip(names, lit, strict=True) if on]
    goal = [f"not (lit {name})" for name in names]
    text = problem_text("lights", f"{' '.join(names)} - lamp", init, goal)
    return Case(f"lights-{count}" + (f"-{seed}" if seed else ""), LIGHTS, text)


LINKS = """(define (domain links) (:requirements :adl)
  (:constants hub)
  (:predicates (link ?x ?y) (mark ?x))
  (:action join :parameters (?x ?y) :precondition (or (mark ?x) (link ?y ?y))
    :effect (and (link ?x ?y) (not (link ?y ?x)) (mark ?y)))
  (:action cut :parameters (?x ?y ?z) :precondition (and (link ?x ?y) (link ?y ?z))
    :effect (and (link ?x ?z) (not (link ?x ?y)) (when (= ?x ?z) (not (mark ?x)))))
  (:action reset :parameters () :precondition (link hub hub) :effect (and (not (mark hub)))))
"""


def links(count: int) -> Case:
    """Variables that take the same object, facts with it twice, adding that wins over deleting."""
    names = [f"n{i}" for i in range(count)]
    return Case(
        f"links-{count}",
        LINKS,
        problem_text(
            "links",
            " ".join(names),
            ["mark n0"],
            ["link hub hub", "not (mark hub)", *(f"link {each} {each}" for each in names[:2]),
             "exists (?x) (and (not (mark ?x)) (not (= ?x hub)))"],
        ),
    )  # fmt: skip


TOLLS = """(define (domain tolls) (:requirements :adl :action-costs)
  (:types place)
  (:predicates (here ?p - place) (next ?a ?b - place) (seen ?p - place) (pass))
  (:functions (total-cost) - number (toll ?p - place) - number (way ?a ?b - place) - number)
  (:action walk :parameters (?a ?b - place) :precondition (and (here ?a) (next ?a ?b))
    :effect (and (not (here ?a)) (here ?b) (seen ?b) (increase (total-cost) (way ?a ?b))))
  (:action pay :parameters (?p - place) :precondition (and (here ?p) (not (pass)))
    :effect (and (pass) (increase (total-cost) (toll ?p))))
  (:action ride :parameters (?a ?b - place)
    :precondition (and (here ?a) (pass) (or (next ?a ?b) (next ?b ?a)
      (exists (?c - place) (and (next ?a ?c) (next ?c ?b)))))
    :effect (and (not (here ?a)) (here ?b) (when (not (seen ?b)) (seen ?b))
      (increase (total-cost) 1)))
  (:action look :parameters () :precondition (forall (?p - place) (seen ?p)) :effect (pass)))
"""


def tolls(places: int, seed: int = 0) -> Case:
    """Costs beside disjunctions, quantifiers and conditional effects; one action is free."""
    random = Random(f"tolls {places} {seed}")
    names = [f"p{i}" for i in range(places)]
    init = ["here p0", "seen p0", "= (total-cost) 0"]
    for a, b in pairwise(names):
        init += [f"next {a} {b}", f"= (way {a} {b}) {random.randint(1, 6)}"]
    init += [f"= (toll {name}) {random.randint(2, 9)}" for name in names]
    goal = ["pass", "here p0", "forall (?p - place) (seen ?p)"]
    text = problem_text("tolls", f"{' '.join(names)} - place", init, goal, metric=True)
    return Case(f"tolls-{places}" + (f"-{seed}" if seed else ""), TOLLS, text)


def unsolvable() -> list[Case]:
    """Tasks without a plan, for as many different reasons."""
    tidy = kitchen(2)
    lamps = ("l0", "l1", "l2")
    # Each switch turns all three over, so one lamp can't be alone.
    wires = [f"wired {a} {b}" for a in lamps for b in lamps if a != b]
    dark = [f"not (lit {each})" for each in lamps]
    alone = problem_text("lights", f"{' '.join(lamps)} - lamp", [*wires, "lit l1"], dark)
    found = {
        "no-hand": replace(tidy, problem=tidy.problem.replace("(empty h1)", "")),
        "two-places": _also(tidy, "(near burner) (near drawer)"),
        "here-and-there": _also(gripper(2), "(at b0 here)"),
        "circle": _also(blocks(3), "(on b0 b1) (on b1 b2) (on b2 b0)"),
        "no-case": _also(briefcase(2), "(not (exists (?p - place) (case-at ?p)))"),
        "lamp-alone": Case("", LIGHTS, alone),
        "cart-to-sea": _also(fleet(2), "(at c sea)"),
    }
    return [replace(each, name=f"unsolvable-{k}", solvable=False) for k, each in found.items()]


def _also(case: Case, wish: str) -> Case:
    """``case`` with ``wish`` added to its goal."""
    return replace(case, problem=case.problem.replace("(:goal (and", f"(:goal (and {wish}"))
