"""Makes demonstrations: each seed is a run of the kitchen, or an episode of pushing.

- ``kitchen``: a run of the engine as an episode
- ``pushing``: an episode of pushing as a demonstration, and back
"""
