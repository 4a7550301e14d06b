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

\* A request by the operation `op` to store a duplicate: ok, where it would be stored,
\* and nothing is.  It may use up a number (SEQ-4 ?).
Drops(op, m) ==
    /\ Valid(m) /\ Repeats(m)
    /\ \E p \in Partitions : \E used \in WastedNumbers({p} \cup TriedBefore(m)) :
        /\ MayStore(m, p)
        /\ counter' = CountersAfter(used)
        /\ home' = HomeAfter(m, p)
    /\ msg' = [ msg EXCEPT ![m] = Empty("dropped") ]
    /\ Record(SendSeen(history, m, "accepted", Partitions), Said(op, NoClient, m, "ok"))
    /\ UNCHANGED << faultVars, txn, peekVars, flowVars >>

SendDuplicate(m) ==
    /\ MaySend(m)
    /\ Drops("send", m)

ScheduleDuplicate(m) ==
    /\ MayBeScheduled(m)
    /\ Drops("schedule", m)

(***************************************************************************)
(* All of it.                                                               *)
(***************************************************************************)
DuplicatesNext ==
    \/ SchedulingNext
    \/ \E m \in Messages : SendDuplicate(m)
    \/ \E m \in Scheduled : ScheduleDuplicate(m)
================================================================================
