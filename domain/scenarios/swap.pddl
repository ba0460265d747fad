; The sugar and the spam change places, with free worktop beside them.
(define (problem swap)
  (:domain drawers)

  (:objects
    center - furniture
    blue red aside - surface
    sugar spam - objective
    h1 - hand)

  (:init
    (near center)
    (on sugar blue)
    (on spam red)
    (empty h1))

  (:goal (and
    (on sugar red)
    (on spam blue)))
)
