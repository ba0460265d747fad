"""Task and motion planning together: plans and motions sought at once, each correcting the other.

- ``binding``: PDDL objects to bodies, regions, stances and the hand, with what can't be matched
- ``goal``: whether a goal holds in the geometry
- ``search``: skeletons in turns, the best first, lessons learned, the answer
- ``refine``: one plan's actions to Motions, with backtracking
- ``feedback/``: what geometry tells the task planner
- ``refusal/``: what is said before anything moves, and the no at the end
"""
