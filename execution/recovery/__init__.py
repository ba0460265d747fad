"""What to do where a run can't go on as planned.

- ``going_on``: retreat from contact, then resume the plan or seek another
- ``observed_task``: the task as it stands, from what is seen, with names for new places
"""
