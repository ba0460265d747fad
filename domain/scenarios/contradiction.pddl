; One item can't be in two places.
(define (problem contradiction)
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
    (on sugar countertop)
    (on sugar burner)
    (in spam drawer)))
)
