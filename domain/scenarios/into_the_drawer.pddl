; The spam goes into the drawer, which is closed in the end.
(define (problem into_the_drawer)
  (:domain drawers)

  (:objects
    center - furniture
    burner - stove
    countertop - surface
    drawer - drawer
    sugar spam - objective
    h1 - hand)

  (:init
    (near center)
    (on sugar burner)
    (on spam burner)
    (empty h1))

  (:goal (and
    (in spam drawer)
    (not (opened drawer))))
)
