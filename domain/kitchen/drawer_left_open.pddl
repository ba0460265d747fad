; The spam is cooked where it stands, then put into the drawer, which stays open for what comes next.
(define (problem drawer_left_open)
  (:domain drawers)

  (:objects
    burner - stove
    countertop - surface
    drawer - drawer
    center - furniture
    sugar spam - objective
    h1 - hand)

  (:init
    (near center)
    (on sugar burner)
    (on spam burner)
    (empty h1))

  (:goal (and
    (cooked spam)
    (opened drawer)
    (in spam drawer)))
)
