--------------------------------- MODULE Traced --------------------------------
(***************************************************************************)
(* Behaviours as traces, for partq spec simulate: `scope` tells, in every   *)
(* state, what a reader must know of the constants.                         *)
(***************************************************************************)
EXTENDS MC

\* @typeAlias: scope = {KeyOf: Int -> Str, TwoKeys: Set(Int), PeekMax: Int, MaxDeliveryCount: Int, FirstNumber: Int, Modulus: Int, Profile: Set(Str)};
TracedTypes == TRUE

VARIABLES
    \* @type: $scope;
    scope,
    \* The last step of a walk changed nothing (a refusal, an empty answer).
    \* @type: Bool;
    idle

TracedInit ==
    /\ Init
    /\ scope = [ KeyOf |-> KeyOf, TwoKeys |-> TwoKeys, PeekMax |-> PeekMax,
                 MaxDeliveryCount |-> MaxDeliveryCount, FirstNumber |-> FirstNumber,
                 Modulus |-> Modulus, Profile |-> Profile ]
    /\ idle = FALSE

TracedNext == Next /\ UNCHANGED << scope, idle >>

\* A random walk would spend most of its steps on refusals, for there are more
\* ways to be refused than to be served.  So no two steps in a row that change
\* nothing; the walk ends where no others are left.
WalkNext ==
    /\ Next
    /\ idle' = (mechanism' = mechanism)
    /\ ~(idle /\ idle')
    /\ UNCHANGED scope
================================================================================
