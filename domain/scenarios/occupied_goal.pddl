; The sugar belongs on the mat, on which the spam stands; where that goes does not matter.
(define (problem occupied_goal)
  (:domain drawers)

  (:objects
    center - furniture
    burner - stove
    mat countertop - surface
    sugar spam - objective
    h1 - hand)

  (:init
    (near center)
    (on sugar burner)
    (on spam mat)
    (empty h1))

  (:goal (on sugar mat))
)
