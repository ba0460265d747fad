"""What can't be done, with certificates.

- ``refusals``: by sizes and distances alone; ``free_travel``: how far a drawer opens
- ``covering``: no grasp of a continuous family, cell by cell; ``grid``: what was tried in vain
"""
