"""Actions that can't be done, with certificates.

- ``refusals``: by sizes and distances
- ``covering``: no grasp of a continuous family is possible, by branch and bound
"""
