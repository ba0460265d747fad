"""Proofs that single actions can't be done, with certificates.

- ``refusals``: from sizes and distances alone
- ``covering``: no grasp of a continuous family is possible, by branch and bound
- ``passage``: the base can't get to a stance, from areas in the plane
"""
