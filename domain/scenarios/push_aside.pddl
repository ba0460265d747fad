; The sugar belongs on the mark, on which a tray stands that no hand can take.
(define (problem push_aside)
  (:domain pushing)

  (:objects
    center - furniture
    burner - stove
    countertop mark - surface
    sugar tray - objective
    h1 - hand)

  (:init
    (near center)
    (on sugar burner)
    (on tray countertop)
    (empty h1))

  (:goal (on sugar mark))
)
