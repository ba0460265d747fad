; The sugar goes from one place to another; nothing here says that a door bars the way to both.
(define (problem sliding_door)
  (:domain drawers)
  (:objects
    center - furniture
    burner - stove
    countertop - surface
    gate - drawer
    sugar - objective
    h1 - hand)
  (:init (near center) (on sugar burner) (empty h1))
  (:goal (on sugar countertop)))
