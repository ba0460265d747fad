"""Compilation with Numba; machine code is cached on disk, so that only the first start compiles.

- ``jit``: the decorators of compiled functions, and the cache folder
- ``build``: compiles ahead of time, in child processes
- ``lanes``: a vector type; ``native``: addresses of arrays and functions, for compiled functions
- ``annotations``: types and shapes of their arguments

Compiled functions are in modules called ``*_kernel.py`` or folders called ``kernel``. Those import
Numba, so they are imported late.
"""
