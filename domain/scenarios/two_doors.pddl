; The sugar stands beyond a door that is shut and a larder that is open; the goal mentions neither.
(define (problem two_doors)
  (:domain drawers)
  (:objects
    center - furniture
    burner - stove
    countertop - surface
    gate larder - drawer
    sugar - objective
    h1 - hand)
  (:init (near center) (on sugar countertop) (opened larder) (empty h1))
  (:goal (on sugar burner)))
