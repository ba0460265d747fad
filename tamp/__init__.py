"""Task and motion planning together: plans and motions sought at once, each correcting the other.

What a run needs first:

- ``binding``: PDDL objects to bodies, regions, stances and the hand, with what can't be matched
- ``goal``: whether a goal holds in the geometry

The search, from symbols to motions and back:

- ``search``: skeletons in turns, the best first, lessons learned, the answer
- ``refine``: one plan's actions to Motions, with backtracking
- ``foresight``: what can be said of a plan before anything moves, by the room that it needs too
- ``advice``: why an action is stuck, and what to do about it
- ``lessons``: typed failures as facts, and the task that has room for them

Its no:

- ``refusal``: which lessons leave no plan, and proofs for those only suspected
"""
