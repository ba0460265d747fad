; Soup and spam on one coaster, which has no room for both.
(define (problem too_small)
  (:domain drawers)

  (:objects
    center - furniture
    burner - stove
    coaster countertop - surface
    sugar spam soup - objective
    h1 - hand)

  (:init
    (near center)
    (on sugar burner)
    (on spam burner)
    (on soup countertop)
    (empty h1))

  (:goal (and
    (on soup coaster)
    (on spam coaster)))
)
