"""A diffusion policy for pushing, learned from demonstrations. Needs the extra ``learn`` (JAX).

- ``design``: parameters of a policy and of its training
- ``data``: episodes to learn from
- ``views``: the network's features and targets; ``windows``: samples of episodes to learn from
- ``diffusion``: schedule and sampling; ``network``: the U-Net
- ``training``: resumes after an interruption; ``policy``: ``act``, and the checkpoint
- ``evaluation``: success, coverage and latency on fixed seeds
- ``pictures``: the learning curve
"""

from pathlib import Path

READY = {"ready": Path(__file__).with_name("ready.safetensors")}
"""Paths of the policies that come with Galley, by name."""
