"""A diffusion policy of pushing, learned from demonstrations. Needs the extra ``learn`` (JAX).

- ``design``: what a policy is made of, and how it is trained
- ``data``: episodes to learn from
- ``views``: what its network sees and says; ``windows``: of episodes, to learn from
- ``diffusion``: schedule and sampling; ``network``: the U-Net
- ``training``: resumes where it was stopped; ``policy``: ``act``, and the checkpoint
- ``evaluation``: success, coverage and latency on fixed seeds
- ``pictures``: the learning curve
"""

from pathlib import Path

READY = {"ready": Path(__file__).with_name("ready.safetensors")}
"""Paths of the policies that come with Galley, by name."""
