"""Proofs that something is impossible, with certificates.

- ``refusals``: by sizes and distances; ``free_travel``: how far a drawer opens
- ``covering``: no grasp of a continuous family is possible, by branch and bound
- ``grid``: evidence of an exhaustive search, without proof
"""
