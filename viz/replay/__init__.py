"""3D views of runs, robots and motions in the browser, made with Drake's Meshcat: files, or live.

- ``recording``: ``replay_html`` makes a self-contained page of a log; a ``ReplayPage`` is such a
  page, which notebooks display
- ``bodies``: draws a robot and a scene in Meshcat, with simplified meshes
- ``robot_page``: a robot alone, with a slider for each joint
- ``motion_page``: a motion of any arm among its obstacles, ``galley.view``
- ``loopback``: serves pages to this machine's browser
- ``live``: planning and execution as they happen
"""

from galley.viz.replay.recording import ReplayPage, replay_html

__all__ = ["ReplayPage", "replay_html"]
