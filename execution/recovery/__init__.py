"""Recovery: retreat from contact, then resume the plan or replan.

- ``observed_task``: the user's task from an observed State on
- ``plans``: plans with their motions: to be executed, interrupted, after a recovery
- ``replanning``: how to reach the goal from an observed State, and what of it does not hold in one
"""
