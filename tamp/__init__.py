"""Task-and-motion planning: a bilevel search over plans and their motions.

- ``task``: ``TampTask``, the problem as one value
- ``binding``: binds PDDL objects to the scene, and checks the task
- ``search``: plans (skeletons) in turns, best first; learns constraints from failures
- ``refine``: refines one plan to motions, with backtracking
- ``infeasibility/``: feasibility checks before refinement, and proofs of infeasibility
- ``feedback/``: failure analysis, and constraints for the task planner
- ``checks``: checks the plan in PDDLGym, and the final motions in Drake
- ``record``: what a search tried and learned, for the report
"""
