; The soup stands in a cupboard; nothing here says that its door is shut and in the way.
(define (problem behind_a_door)
  (:domain drawers)

  (:objects
    center - furniture
    burner - stove
    shelf countertop - surface
    door - drawer
    sugar spam soup - objective
    h1 - hand)

  (:init
    (near center)
    (on sugar burner)
    (on spam burner)
    (on soup shelf)
    (empty h1))

  (:goal (on soup burner))
)
