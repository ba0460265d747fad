; The soup under the wall cabinet, behind sugar and spam, goes to the right counter.
(define (problem under_cabinet)
  (:domain drawers)

  (:objects
    center - furniture
    burner - stove
    countertop left_counter - surface
    sugar spam soup - objective
    h1 - hand)

  (:init
    (near center)
    (on sugar left_counter)
    (on spam left_counter)
    (on soup left_counter)
    (empty h1))

  (:goal (on soup countertop))
)
