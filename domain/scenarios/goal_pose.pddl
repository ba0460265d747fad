; The sugar goes exactly onto its mark.
(define (problem goal_pose)
  (:domain drawers)

  (:objects
    center - furniture
    burner - stove
    mark - surface
    sugar spam - objective
    h1 - hand)

  (:init
    (near center)
    (on sugar burner)
    (on spam burner)
    (empty h1))

  (:goal (on sugar mark))
)
