"""Task and motion planning together: symbols bound to the scene, plans refined to motions.

- ``binding``: PDDL objects to bodies, regions, stances and the hand, with what can't be matched
- ``refine``: a plan's actions to Motions, with backtracking over earlier choices
"""
