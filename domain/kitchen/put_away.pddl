; The default task in the words of drawers.pddl: the drawer is closed at the end.
(define (problem put_away)
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
    (on sugar countertop)
    (in spam drawer)
    (not (opened drawer))))
)
