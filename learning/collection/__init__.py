"""Makes demonstrations: each seed is a run of the kitchen, or an episode of pushing.

- ``kitchen``: a run of the engine as an episode
- ``recording``: what is kept of a run of the kitchen
- ``pushing``: an episode of pushing as a demonstration, and back
"""
