; The spam lies in the lower drawer, and the drawer above stands open.
(define (problem open_above)
  (:domain drawers)

  (:objects
    center - furniture
    burner - stove
    countertop - surface
    drawer lower - drawer
    sugar spam - objective
    h1 - hand)

  (:init
    (near center)
    (on sugar burner)
    (in spam lower)
    (opened drawer)
    (empty h1))

  (:goal (on spam countertop))
)
