"""3D views of runs, robots and motions in the browser, by Drake's Meshcat: files, or live.

- ``recording``: ``replay_html``, a log as one self-contained page, and ``Replay``, that page
  as a value that notebooks display
- ``bodies``: robot and scene as Meshcat's objects, with simplified meshes
- ``robot_page``: a robot alone, with a slider for each joint
- ``motion_page``: a motion of any arm among its obstacles, ``galley.view``
- ``loopback``: serves pages to this machine's browser
- ``live``: planning and execution as they happen
"""

from galley.viz.replay.recording import Replay, replay_html

__all__ = ["Replay", "replay_html"]
