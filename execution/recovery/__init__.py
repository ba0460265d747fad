"""What to do where a run can't go on as planned.

- ``going_on``: retreat from contact, then resume the plan or seek another
- ``observed_task``: the task as it stands, from what is seen
- ``found_places``: names for the places of items that lie where no object of the problem says
"""
