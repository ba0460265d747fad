; The soup stands at the back of a deep place, behind the beans and the corn.
(define (problem deep_place)
  (:domain drawers)

  (:objects
    center - furniture
    burner - stove
    cubby right_end - surface
    soup beans corn - objective
    h1 - hand)

  (:init
    (near center)
    (on soup cubby)
    (on beans cubby)
    (on corn cubby)
    (empty h1))

  (:goal (and (on soup right_end) (on beans cubby) (on corn cubby)))
)
