--------------------------------- MODULE Faults --------------------------------
(***************************************************************************)
(* Partitions that go down and come up, and the broker that is killed and   *)
(* started.  Faults never lose accepted messages (RCV-2) and never undo a   *)
(* completion (RCV-7); what they may end is said where it lives: locks in   *)
(* Delivery, cursors in Peeking, the open transaction in Transactions.      *)
(* That a kill may end the flows says BrokerStart, in PartitionedQueue.     *)
(***************************************************************************)
EXTENDS Catalogue

VARIABLES
    \* @type: Int -> Bool;
    up,
    \* @type: Bool;
    running

faultVars == << up, running >>

FaultsInit == /\ up = [p \in Partitions |-> TRUE]
              /\ running = TRUE

Down == { p \in Partitions : ~up[p] }

\* A partition serves clients.
Serves(p) == running /\ p # NoPartition /\ up[p]

\* Reading "Outcomes": an operation may be refused as busy, and then nothing happened
\* (but a number may have been used up).  Here at any moment, also amid faults, where
\* the readings take one such refusal for no proof: Validation counts them.
MayBeBusy == May("busy")

GoesDown(p) == /\ up[p]
               /\ up' = [up EXCEPT ![p] = FALSE]
               /\ UNCHANGED running
ComesUp(p) == /\ ~up[p]
              /\ up' = [up EXCEPT ![p] = TRUE]
              /\ UNCHANGED running
IsKilled == /\ running
            /\ running' = FALSE
            /\ UNCHANGED up
IsStarted == /\ ~running
             /\ running' = TRUE
             /\ UNCHANGED up
================================================================================
