"""What can't be done, with certificates.

- ``refusals``: by sizes and distances alone; ``free_travel``: how far a drawer opens
- ``exhaustive``: a stated grid without a solution, that has one without what is in the way
"""
