; A robot with several hands: what stands where one can't reach goes from hand to hand.
;
; Beside drawers.pddl, from which it has its actions: each takes the hand that it is for, and
; handover gives an item from one hand to another. Which hand reaches what is geometry.
(define (domain hands)
  (:requirements :strips :typing :negative-preconditions)

  (:types
    furniture           ; what the base can stand at
    objective           ; what can be carried
    hand
      - object
    surface             ; furniture that things stand on
    drawer              ; furniture that things lie in
      - furniture)

  (:predicates
    (near ?r - furniture)                   ; the base stands where an arm reaches ?r
    (grasp ?r - objective)                  ; ?r is in a hand
    (on ?obj - objective ?top - surface)
    (in ?obj - objective ?d - drawer)       ; whether the drawer is open or closed
    (opened ?d - drawer)                    ; at least far enough to reach in; else it is closed
    (empty ?h - hand)
    (holds ?h - hand ?obj - objective))

  ; The base leaves one place for another.
  (:action navigate
    :parameters (?from - furniture ?to - furniture)
    :precondition (and (near ?from) (not (near ?to)))
    :effect (and (near ?to) (not (near ?from))))

  ; An empty hand lifts an item off a surface.
  (:action pick
    :parameters (?obj - objective ?top - surface ?h - hand)
    :precondition (and (near ?top) (on ?obj ?top) (empty ?h))
    :effect (and (grasp ?obj) (holds ?h ?obj) (not (on ?obj ?top)) (not (empty ?h))))

  ; The hand sets its item down on a surface.
  (:action place
    :parameters (?obj - objective ?top - surface ?h - hand)
    :precondition (and (near ?top) (grasp ?obj) (holds ?h ?obj))
    :effect (and (on ?obj ?top) (empty ?h) (not (grasp ?obj)) (not (holds ?h ?obj))))

  ; One hand gives its item to another, which is empty; at no moment does nobody hold it.
  (:action handover
    :parameters (?obj - objective ?from - hand ?to - hand)
    :precondition (and (grasp ?obj) (holds ?from ?obj) (empty ?to))
    :effect (and (holds ?to ?obj) (empty ?from) (not (holds ?from ?obj)) (not (empty ?to))))

  ; An empty hand pulls the drawer open by its handle, and lets go.
  (:action open
    :parameters (?d - drawer ?h - hand)
    :precondition (and (near ?d) (empty ?h) (not (opened ?d)))
    :effect (opened ?d))

  ; An empty hand pushes the drawer shut by its handle.
  (:action close
    :parameters (?d - drawer ?h - hand)
    :precondition (and (near ?d) (empty ?h) (opened ?d))
    :effect (not (opened ?d)))

  ; An empty hand lifts an item out of an open drawer.
  (:action take_out
    :parameters (?obj - objective ?d - drawer ?h - hand)
    :precondition (and (near ?d) (opened ?d) (in ?obj ?d) (empty ?h))
    :effect (and (grasp ?obj) (holds ?h ?obj) (not (in ?obj ?d)) (not (empty ?h))))

  ; The hand sets its item down in an open drawer, which stays open.
  (:action put_in
    :parameters (?obj - objective ?d - drawer ?h - hand)
    :precondition (and (near ?d) (opened ?d) (grasp ?obj) (holds ?h ?obj))
    :effect (and (in ?obj ?d) (empty ?h) (not (grasp ?obj)) (not (holds ?h ?obj))))
)
