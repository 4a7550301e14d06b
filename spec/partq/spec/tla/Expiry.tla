--------------------------------- MODULE Expiry --------------------------------
(***************************************************************************)
(* Messages with a time to live (RCV-15).                                   *)
(*                                                                          *)
(* Which messages bear one is a constant, `Mortal`; that it ends is an      *)
(* event of the environment, at any moment from the send on.  Clients know  *)
(* the moment (the time runs from the enqueued time), so history.over tells *)
(* it.  From then on no lock of the message begins, in a client's hand or   *)
(* in a front end's cache (Alive, in Delivery).  It goes at some time       *)
(* after: to nowhere, or (freedom "buries") to the dead-letter queue, where *)
(* no time to live counts.  A message that is locked stays until the lock   *)
(* ends.                                                                    *)
(*                                                                          *)
(* It has actions of its own and an ExpiryNext that adds them to those of   *)
(* Deferral.  No variable is added.                                         *)
(***************************************************************************)
EXTENDS Deferral

\* The environment: the time to live of m ends, whatever is down.
LifeEnds(m) ==
    /\ m \in Mortal
    /\ Stored(m) \/ InDeadLetters(m)
    /\ ~msg[m].over
    /\ msg' = [ msg EXCEPT ![m].over = TRUE ]
    /\ Record([ history EXCEPT !.over = @ \cup {m} ], Said("life ends", NoClient, m, "ok"))
    /\ UNCHANGED << faultVars, counter, home, txn, peekVars, flowVars >>

\* RCV-15: "a locked one is unaffected".  (One in a cache is held for nobody yet, and
\* that it is given out, or gone, is the same to all that clients see before.)
MayVanish(m) == msg[m].over /\ msg[m].at \in { "ready", "deferred" } /\ Serves(msg[m].part)

\* What it becomes when it goes.
Gone(m) == { Empty("done") } \cup (IF May("buries") THEN { Dead(m, "time") } ELSE {})

Vanish(m) ==
    /\ MayVanish(m)
    /\ \E r \in Gone(m) :
        /\ msg' = [ msg EXCEPT ![m] = r ]
        /\ Record(Buried(history, m, r.at = "dead"), Said("vanish", NoClient, m, "ok"))
    /\ UNCHANGED << faultVars, counter, home, txn, peekVars, flowVars >>

\* --- All of it. -----------------------------------------------------------
ExpiryNext ==
    \/ DeferralNext
    \/ \E m \in Mortal : LifeEnds(m)
    \/ \E m \in Mortal : Vanish(m)
================================================================================
