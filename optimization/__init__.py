"""How to get there well, with pydrake.

- ``shortest``: the seed's quadratic program
"""
