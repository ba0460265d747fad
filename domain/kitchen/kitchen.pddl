; A mobile arm that tidies a kitchen.
;
; Where things are is said relative to furniture, which never moves. Whether a piece of furniture
; is open on top or has a drawer is geometry: the scene knows it, and a placement that it rules out
; is refused there.
;
; Written in the part of PDDL that PDDLGym 0.0.7 reads too: each parameter with its own type, each
; action with parameters and a precondition, no dashes in names.
(define (domain kitchen)
  (:requirements :strips :typing :negative-preconditions)

  (:types
    furniture  ; what the base can stand at, and what carries items
    objective  ; what can be carried
    hand)

  (:predicates
    (near ?r - furniture)                   ; the base stands where the arm reaches ?r
    (grasp ?r - objective)                  ; ?r is in a hand
    (on ?obj - objective ?fur - furniture)
    (inside ?obj - objective ?fur - furniture)
    (empty ?h - hand)
    (holds ?h - hand ?obj - objective))     ; which hand, so that it is the one that opens

  ; The base leaves one place for another. As it is near one piece of furniture at a time,
  ; (not (near ?to)) says that the two differ.
  (:action navigate
    :parameters (?from - furniture ?to - furniture)
    :precondition (and (near ?from) (not (near ?to)))
    :effect (and (near ?to) (not (near ?from))))

  ; An empty hand lifts an item off the furniture; with one hand, one item at a time.
  (:action pick
    :parameters (?obj - objective ?fur - furniture ?h - hand)
    :precondition (and (near ?fur) (on ?obj ?fur) (empty ?h))
    :effect (and (grasp ?obj) (holds ?h ?obj) (not (on ?obj ?fur)) (not (empty ?h))))

  ; The hand sets its item down on top.
  (:action place
    :parameters (?obj - objective ?fur - furniture ?h - hand)
    :precondition (and (near ?fur) (grasp ?obj) (holds ?h ?obj))
    :effect (and (on ?obj ?fur) (empty ?h) (not (grasp ?obj)) (not (holds ?h ?obj))))

  ; The hand puts its item inside, where it stays. Opening and closing the drawer, and setting the
  ; item aside meanwhile, are this action's own business: its motions restore all else.
  (:action stow
    :parameters (?obj - objective ?fur - furniture ?h - hand)
    :precondition (and (near ?fur) (grasp ?obj) (holds ?h ?obj))
    :effect (and (inside ?obj ?fur) (empty ?h) (not (grasp ?obj)) (not (holds ?h ?obj))))
)
