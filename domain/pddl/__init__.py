"""PDDL domains and problems, and their parser. Every error has a line and a column.

- ``model``, ``formula``: domains and problems, conditions and effects, as data
- ``reader``: reads domain and problem files
- ``syntax``: s-expressions and sections of a file
- ``declarations``, ``actions``: the contents of the sections
- ``texts``: files for problems that are given as text
"""
