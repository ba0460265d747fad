; Four items onto a tray that is too small for them.
(define (problem four_too_many)
  (:domain drawers)

  (:objects
    center - furniture
    burner - stove
    tray right_end - surface
    sugar spam soup brick - objective
    h1 - hand)

  (:init
    (near center)
    (on sugar burner)
    (on spam burner)
    (on soup right_end)
    (on brick right_end)
    (empty h1))

  (:goal (and
    (on sugar tray)
    (on spam tray)
    (on soup tray)
    (on brick tray)))
)
