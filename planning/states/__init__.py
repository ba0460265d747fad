"""Packed states and compiled successor generators.

- ``mutex``: mutex groups; ``packing``: finite-domain variables packed into an integer
- ``space``: the state space with its successor generator
"""
