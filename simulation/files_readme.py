"""The text that stands beside motions written for a real arm."""

README = """\
Motions of a mobile Panda, planned by Galley
=============================================

Run the motions in the order of motions.json. Each entry names a file beside it.
All units are SI: m, rad, s, N. Poses are x, y, z, qx, qy, qz, qw.

Files of kind "trajectory" (arm and base)
-----------------------------------------
CSV with a header. A row every 1/rate s (rate_Hz in motions.json), the last one at the exact end:

  time [s], then for each joint: NAME position, NAME velocity, NAME acceleration

Every motion begins and ends at rest, and the next one begins where it ends. The set-points keep
the limits listed under "groups" in motions.json, so that they can be streamed to a position or
impedance controller as they are. The base is holonomic: x and y in m and the heading in rad, in
the world's frame, so it needs a localisation that knows this frame. Files whose group is
base+arm move both at once.

Files of kind "gripper"
-----------------------
CSV with one row: the width between the fingers (m), the speed with which it changes (m/s), and the
force (N). "move" goes to that width. "grasp" closes until the fingers hold something, and then
presses with the force; the width is what is expected between the fingers then.

What motions.json says of each motion
-------------------------------------
  guard        stop early when the force against "direction" (a unit vector in the world) exceeds
               "force"; "speed" is the most at which the hand may move meanwhile; null: none.
               The thresholds of the whole run stand under "thresholds", with units.
  holds        what the hand has hold of: an item, or a joint of the furniture by its handle.
  may_touch    pairs of links, items and furniture that may touch. Any other contact is a fault:
               stop.
  hand_at_end  where the hand (hand_link) is to be when the motion is over, in the world and in the
               frame of the arm's first link, panda_link0. Compare before going on.
  scene_joints_at_end  how far drawers and doors are to be open then (m or rad).

What these files are not
------------------------
A safety system. Nobody has run them on your arm: check the start pose, begin at a fraction of the
speed, and keep a hand on the stop button. Where the world is not as it was thought to be, the
motions that follow no longer fit: observe, and plan anew.
"""
