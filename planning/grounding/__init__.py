"""From PDDL to what can be reached: actions and conditions on facts.

- ``normal_form``: formulas over objects; ``schemas``: actions ready to be applied by the thousand
- ``relaxation``: what could ever become true or false
"""
