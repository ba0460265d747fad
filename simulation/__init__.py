"""Executes Motions and judges what was executed.

- ``kinematic``: sets joint states over time and writes the Log
- ``recorder``: collects the Log
- ``validation``: re-checks a Log against the scene, sharing no code with planning
"""
