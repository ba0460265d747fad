"""PDDL: a domain and a problem as data, and how they are read, with the place of every fault.

- ``formula``, ``model``: what a domain and a problem say
- ``syntax``: text into expressions, and a file into its sections
- ``declarations``, ``actions``: what stands in them; ``reader``: whole files
"""
