; Five cups onto one tray.
(define (problem crammed_cups)
  (:domain drawers)

  (:objects
    center - furniture
    burner - stove
    tray right_end - surface
    soup beans corn peas plums - objective
    h1 - hand)

  (:init
    (near center)
    (on soup right_end)
    (on beans right_end)
    (on corn right_end)
    (on peas right_end)
    (on plums right_end)
    (empty h1))

  (:goal (and (on soup tray) (on beans tray) (on corn tray) (on peas tray) (on plums tray)))
)
