"""Plans to try, the best first: each a skeleton to which geometry must still give motions."""

from __future__ import annotations

from collections.abc import Iterator

from galley.domain.failure import Failure, FailureKind
from galley.planning import GroundAction, Limits, Plan, Task, plans, search

FEWEST = 20_000  # states searched for a plan with fewest actions, before any plan will do
ANY = 200_000  # states searched for any plan, where that is too many
MORE = 20_000  # states searched for further plans
REORDERED = 50  # plans kept that differ from others by the order of their actions only


class Skeletons(Iterator[tuple[GroundAction, ...]]):
    """The plans of one task in order of cost, without detours; mere reorderings come last.

    Large tasks begin with any plan that a greedy search finds: a shortest one would take too long.

    Attributes:
        failure: why there is none, or no further one; None while there may be more.
        complete: whether ``failure`` says that there is no plan at all.
    """

    def __init__(self, task: Task, nodes: int | None = None) -> None:
        self.task = task
        self.failure: Failure | None = None
        self.complete = False
        self._nodes = nodes
        self._plans = self._all()

    def __iter__(self) -> Skeletons:
        return self

    def __next__(self) -> tuple[GroundAction, ...]:
        """The next plan.

        Raises:
            StopIteration: there is none within the limits; ``failure`` says why.
        """
        return next(self._plans)

    def _all(self) -> Iterator[tuple[GroundAction, ...]]:
        first = shortest(self.task, self._nodes)
        if isinstance(first, Failure):
            self.failure = first
            self.complete = first.kind is not FailureKind.BUDGET
            return
        seen = {_content(first.actions)}
        yield first.actions
        further = plans(self.task, Limits(nodes=MORE if self._nodes is None else self._nodes))
        reordered: list[tuple[GroundAction, ...]] = []
        for plan in further:
            content = _content(plan.actions)
            if plan.actions == first.actions or _has_detour(self.task, plan.actions):
                continue
            if content not in seen:
                seen.add(content)
                yield plan.actions
            elif len(reordered) < REORDERED:
                reordered.append(plan.actions)
        # Geometry may allow one order only: two places one behind the other, say.
        yield from reordered
        self.failure = further.failure


def shortest(task: Task, nodes: int | None = None) -> Plan | Failure:
    """A plan with fewest actions where that is quick to find, else some plan.

    Args:
        task: the ground task.
        nodes: states that each search may expand; None: as many as are worth while.
    """
    plan = search(task, "bfs", Limits(nodes=FEWEST if nodes is None else nodes))
    if isinstance(plan, Failure) and plan.kind is FailureKind.BUDGET:
        return search(task, "gbfs", Limits(nodes=ANY if nodes is None else nodes))
    return plan


def _content(actions: tuple[GroundAction, ...]) -> tuple[GroundAction, ...]:
    """What two plans have in common that differ only in the order of their actions."""
    return tuple(sorted(actions))


def _has_detour(task: Task, actions: tuple[GroundAction, ...]) -> bool:
    """Whether some action can be left out, or one does what two in a row do."""
    known = {operator.action: operator for operator in task.operators}
    plan = [known[action] for action in actions]
    states = [task.init]
    for operator in plan:
        states.append(operator.apply(states[-1]))
    for k in range(len(plan)):
        if k + 2 < len(states):
            here, there = states[k], states[k + 2]
            if any(o.applicable(here) and o.apply(here) == there for o in task.operators):
                return True
        state = states[k]
        for operator in plan[k + 1 :]:
            if not operator.applicable(state):
                break
            state = operator.apply(state)
        else:
            if task.is_goal(state):
                return True
    return False
