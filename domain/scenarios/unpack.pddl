; What lies in the drawer goes onto the counter over it; the drawer is closed in the end.
(define (problem unpack)
  (:domain drawers)

  (:objects
    center - furniture
    left_counter - surface
    drawer - drawer
    spam brick - objective
    h1 - hand)

  (:init
    (near center)
    (in spam drawer)
    (in brick drawer)
    (empty h1))

  (:goal (and
    (on spam left_counter)
    (on brick left_counter)
    (not (opened drawer))))
)
