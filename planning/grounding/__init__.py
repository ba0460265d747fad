"""Grounding: from PDDL to the actions and facts that are reachable in the delete relaxation.

- ``schemas``: instantiates action schemas and formulas
- ``relaxation``: the relaxed reachability fixpoint
"""
