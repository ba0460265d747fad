"""Explains why there is no plan, with a certificate that a program can check.

- ``unreachable``: a part of the goal is unreachable in the delete relaxation
- ``conflicts``, ``mutex``: parts of the goal exclude each other, by a mutex group or by exhaustive
  search
"""
