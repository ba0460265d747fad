"""Recovery: retreat from contact, then resume the plan or replan.

- ``observed_task``: the user's task, with an observed State as its initial one
- ``plans``: a plan with its motions, an interrupted plan, and the plan after a recovery
- ``replanning``: plans from an observed State, and evaluates the goal in one
"""
