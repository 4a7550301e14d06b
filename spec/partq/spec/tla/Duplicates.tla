------------------------------- MODULE Duplicates ------------------------------
(***************************************************************************)
(* Messages that bear the ID of another one (DUP).                          *)
(*                                                                          *)
(* Which IDs messages bear is a constant, `Ids`; which of them are sent     *)
(* when the window of all earlier ones is over is another, `AfterWindow`.   *)
(* A message of which a copy counts (Repeats, in PartitionLog) is accepted  *)
(* and dropped, whether it is sent or scheduled: its state is "dropped",    *)
(* and remembers nothing.  What was stored counts whatever became of it.    *)
(*                                                                          *)
(* Batches and transactions are left out: of two copies in one batch, or    *)
(* one in an open transaction, no source says which is the duplicate.       *)
(*                                                                          *)
(* It has actions of its own and a DuplicatesNext that adds them to those   *)
(* of Scheduling.  No variable is added.                                    *)
(***************************************************************************)
EXTENDS Scheduling

\* Nothing is stored of m where it would be, and nowhere else is it known for a duplicate
\* (ROUTE-5).  It may use up a number (SEQ-4 ?).
MayDrop(m, p) == MayStore(m, p)
NotKept(m) ==
    /\ Valid(m)
    /\ \E p \in Partitions : \E used \in WastedNumbers({p} \cup TriedBefore(m)) :
        /\ MayDrop(m, p)
        /\ counter' = CountersAfter(used)
        /\ home' = HomeAfter(m, p)
    /\ msg' = [ msg EXCEPT ![m] = Empty("dropped") ]
    /\ UNCHANGED << faultVars, peekVars, flowVars >>

\* A request by the operation `op` to store a duplicate: ok, and nothing is stored.
Drops(op, m) ==
    /\ Repeats(m) /\ NotKept(m)
    /\ Record(SendSeen(history, m, "accepted", Partitions), Said(op, NoClient, m, "ok"))
    /\ UNCHANGED txn

SendDuplicate(m) ==
    /\ MaySend(m)
    /\ Drops("send", m)

ScheduleDuplicate(m) ==
    /\ MayBeScheduled(m)
    /\ Drops("schedule", m)

\* --- All of it. -----------------------------------------------------------
DuplicatesNext ==
    \/ SchedulingNext
    \/ \E m \in Messages : SendDuplicate(m)
    \/ \E m \in Scheduled : ScheduleDuplicate(m)
================================================================================
