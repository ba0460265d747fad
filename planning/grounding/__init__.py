"""From PDDL to what can be reached: actions and conditions on facts.

- ``schemas``: actions ready to be applied by the thousand, formulas in normal form
- ``relaxation``: what could ever become true or false
"""
