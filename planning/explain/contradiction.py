"""Two parts of a goal that exclude each other, told before any search.

One may be the other's negation, or both may be of one mutex group. Then the certificate is that
group: exactly one of its facts holds at the start, and every action that makes one true takes
another away that it needs; hence at most one ever holds. (Every action, that is, which could be
applied if nothing were ever taken away; the others never are.)
"""

from __future__ import annotations

from galley.domain.failure import Failure, FailureKind
from galley.domain.pddl.formula import Fact
from galley.planning.operators import bits_of
from galley.planning.task import Task

_SHOWN = 4  # facts of a group in a message


def explain_contradiction(task: Task) -> Failure | None:
    """The failure for the first two facts of the goal that never hold together; None: none found.

    Only facts that the goal asks for outright are looked at (those of a conjunction or ``forall``
    too), not the choices of a disjunction. None does not mean that the goal can be reached.

    Returns:
        A failure whose certificate has ``conflict``, the two; its ``reason`` is ``mutex``, with
        ``group``, facts of which at most one ever holds; or it is ``opposite`` where one of the two
        is the other's negation.
    """
    wanted = _wanted(task)
    for _, condition in task.goals:
        for bit in bits_of(condition.neg & sum(wanted)):
            return _opposite(_names(task, [bit])[0])
    if not _may_share_a_group([task.facts[bit.bit_length() - 1] for bit in wanted]):
        return None
    # Late: most goals need no groups, and then a small task does without this module.
    from galley.planning.states.mutex import mutex_groups

    place = {bit: position for position, bit in enumerate(wanted)}
    asked = sum(wanted)
    found: tuple[list[int], int] | None = None
    for group in sorted(mutex_groups(task), key=int.bit_count):
        pair = sorted(place[bit] for bit in bits_of(group & asked))[:2]
        if len(pair) == 2 and (found is None or pair < found[0]):
            found = pair, group
    if found is None:
        return None
    pair, group = found
    return _failure(_names(task, bits_of(group)), _names(task, [wanted[i] for i in pair]))


def _wanted(task: Task) -> list[int]:
    """The bits of the facts that the goal asks for, in the goal's order."""
    found: dict[int, None] = {}
    for _, condition in task.goals:
        found.update(dict.fromkeys(bits_of(condition.pre)))
    return list(found)


def _names(task: Task, bits: list[int]) -> list[str]:
    return [str(task.facts[bit.bit_length() - 1]) for bit in bits]


def _may_share_a_group(facts: list[Fact]) -> bool:
    """Whether a group could hold two of the facts, going by their objects alone.

    The facts of a group agree in all objects but one of each at most (see ``mutex``). That rules
    out many a usual goal, such as two items in two places, at no cost.
    """
    met: set[tuple[str, ...]] = set()
    for fact in facts:
        ordered = tuple(sorted(fact.args))
        rests = {ordered, *(ordered[:i] + ordered[i + 1 :] for i in range(len(ordered)))}
        if not met.isdisjoint(rests):
            return True
        met |= rests
    return False


def _opposite(fact: str) -> Failure:
    conflict = [fact, f"(not {fact})"]
    return Failure(
        FailureKind.CONTRADICTION,
        f"no plan exists: the goal asks for {fact} and for {conflict[1]}",
        objects=tuple(conflict),
        certificate={"reason": "opposite", "conflict": conflict},
    )


def _failure(group: list[str], conflict: list[str]) -> Failure:
    # The two first, then what else is in the group.
    listed = [*conflict, *(fact for fact in group if fact not in conflict)]
    shown = ", ".join(listed[:_SHOWN])
    more = len(listed) - _SHOWN
    if more > 0:
        shown += f" and {more} more"
    one, other = conflict
    return Failure(
        FailureKind.CONTRADICTION,
        f"no plan exists: all reachable states have at most one of {shown} at a time, so none has "
        f"{one} and {other} together",
        objects=(one, other),
        certificate={"reason": "mutex", "group": group, "conflict": conflict},
    )
