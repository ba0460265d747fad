; The spam goes into the drawer, beside what lies in it already.
(define (problem drawer_in_use)
  (:domain drawers)

  (:objects
    center - furniture
    burner - stove
    countertop - surface
    drawer - drawer
    sugar spam brick - objective
    h1 - hand)

  (:init
    (near center)
    (on sugar burner)
    (on spam burner)
    (in brick drawer)
    (empty h1))

  (:goal (and
    (in spam drawer)
    (in brick drawer)
    (not (opened drawer))))
)
