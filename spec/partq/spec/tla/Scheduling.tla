------------------------------- MODULE Scheduling ------------------------------
(***************************************************************************)
(* Messages that are scheduled for a later time (SCH).                      *)
(*                                                                          *)
(* Which messages bear a scheduled time is a constant, `Scheduled`; that    *)
(* the time comes is an event of the environment.  Such a message is sent   *)
(* as any other (Send, SendBatch, TxnSend), or by a schedule operation,     *)
(* whose answer tells the number.  From then on it stands in its partition  *)
(* with a number, is visible to peeks and to nobody else, and may be        *)
(* cancelled by that number.  Its activation is a second birth: the message *)
(* Activation[m] is appended, which is received and settled as any other.   *)
(*                                                                          *)
(* at of a scheduled message, besides those of PartitionLog:                *)
(*   scheduled   its time has not come                                      *)
(*   due         its time has come; activated at any moment from now on     *)
(*   racing      cancelled when it was due: activated all the same, or gone *)
(*               (which of them no client knows before it shows)            *)
(*   activated   appended anew, as Activation[m]                            *)
(*   done        cancelled                                                  *)
(* That its time came while it was unsent, pending or lagging is not told   *)
(* from that it comes right after: no client sees it before.                *)
(*                                                                          *)
(* It has actions of its own and a SchedulingNext that adds them to Next.   *)
(* No variable is added.                                                    *)
(***************************************************************************)
EXTENDS PartitionedQueue

\* --- Scheduling. ----------------------------------------------------------
MayBeScheduled(m) == Offers("schedule") /\ m \in Scheduled /\ MaySend(m)

\* SCH-2: the schedule operation stores m and returns its number.
Schedule(m) ==
    /\ MayBeScheduled(m)
    /\ Stores("schedule", m)

ScheduleFails(m) ==
    /\ MayBeScheduled(m)
    /\ InTheWay({m})
    /\ SendRefused("schedule", m, "refused")

ScheduleInvalid(m) ==
    /\ MayBeScheduled(m)
    /\ ~Valid(m)
    /\ Wastes({m})
    /\ SendRefused("schedule", m, "invalid")

\* Messages m and m+1 are scheduled in one request: all or nothing (KEY-7).
MayScheduleBatch(m) == MayBeScheduled(m) /\ MaySendBatch(m) /\ OfBatch(m) \subseteq Scheduled

ScheduleBatch(m) ==
    /\ MayScheduleBatch(m)
    /\ StoresBatch("schedule batch", m)

ScheduleBatchFails(m) ==
    /\ MayScheduleBatch(m)
    /\ InTheWay(OfBatch(m))
    /\ BatchRefused("schedule batch", m, "refused")

ScheduleBatchInvalid(m) ==
    /\ MayScheduleBatch(m)
    /\ BatchInvalid("schedule batch", m)

\* In the transaction: the number is told, and so given, at once; the message is visible
\* after the commit (TXN-5).  What was sent in the transaction before may be numbered
\* later than that: no source says.
TxnSchedule(m) ==
    /\ Open /\ MayBeScheduled(m)
    /\ MayJoin(m) \/ (\E q \in Partitions : MayShare(m, q))
    /\ \E p \in Partitions :
        /\ MayStore(m, p)
        /\ MayJoin(m) \/ MayShare(m, p)
        /\ msg' = [ msg EXCEPT ![m] = [ Enlisted(m, p) EXCEPT !.num = NumberNow(p, m) ] ]
        /\ counter' = CountersAfter({p})
        /\ home' = HomeAfter(m, p)
        /\ txn' = [ txn EXCEPT !.key = IF @ = NoKey THEN Key(m) ELSE @ ]
        /\ Record(NumberTold(StoredAt([ SendSeen(history, m, "enlisted", {})
                                          EXCEPT !.before[m] = AcceptedIn(history) ],
                                      m, p, NumberNow(p, m)),
                             "txn schedule", m, p, NumberNow(p, m)),
                  Said("txn schedule", NoClient, m, "ok"))
    /\ UNCHANGED << faultVars, peekVars, flowVars >>

TxnScheduleInvalid(m) ==
    /\ Open /\ MayBeScheduled(m)
    /\ TxnInvalid("txn schedule", m)

TxnScheduleFails(m) ==
    /\ Offers("transaction")
    /\ MayBeScheduled(m)
    /\ TxnFails("txn schedule", m)

\* Freedom "past": its time was over when it was sent, and it is stored as if it bore
\* none.  (Otherwise it is scheduled, and due at once.)  A schedule operation tells the
\* number that it has then.
\* (Where that is has a name of its own, for Bugs to replace.)
MayStorePast(m, p) == MayStore(m, p)
StoresPast(op, m) ==
    /\ May("past") /\ m \in Scheduled /\ MaySend(m)
    /\ Valid(m) /\ ~Repeats(m)
    /\ \E p \in Partitions :
        LET b == Activation[m]
            n == NumberNow(p, b)
            sent == TimeSeen(SendSeen(history, m, "accepted", {}), m)
        IN /\ MayStorePast(m, p)
           /\ msg' = [ msg EXCEPT ![m] = [ Empty("activated") EXCEPT !.part = p ],
                                  ![b] = [ Empty("ready") EXCEPT !.part = p, !.num = n ] ]
           /\ counter' = CountersAfter({p})
           /\ home' = HomeAfter(m, p)
           /\ Record(NumberTold(StoredAt(sent, b, p, n), op, b, p, n),
                     Said(op, NoClient, m, "ok"))
    /\ UNCHANGED << faultVars, txn, peekVars, flowVars >>

SendPast(m) == MaySend(m) /\ StoresPast("send", m)
SchedulePast(m) == MayBeScheduled(m) /\ StoresPast("schedule", m)

\* --- Activation -----------------------------------------------------------

\* The environment: the scheduled time of m comes, whatever is down.
TimeComes(m) ==
    /\ msg[m].at = "scheduled"
    /\ msg' = [ msg EXCEPT ![m].at = "due" ]
    /\ Record(TimeSeen(history, m), Said("time comes", NoClient, m, "ok"))
    /\ UNCHANGED << faultVars, counter, home, txn, peekVars, flowVars >>

\* SCH-1, SCH-5: what is due is activated, and what was cancelled then may be.
Activatable(m) == msg[m].at \in { "due", "racing" }

\* SCH-4: "appended as if enqueued now", in its partition, which has to be up; as keyless
\* messages go to any, perhaps in another (freedom "reroute").
PlacesFor(m) == IF ~Serves(msg[m].part) THEN {}
                ELSE IF May("reroute") /\ ~Keyed(m) THEN Partitions ELSE { msg[m].part }

\* SCH-4: with a new number.  (A name of its own, for Bugs to replace.)
NumberForActivation(p, m) == NumberNow(p, Activation[m])

\* SCH-6: enqueued at most once: it is scheduled no more.
AfterActivation(m) == [ Empty("activated") EXCEPT !.part = msg[m].part ]

Activate(m) ==
    /\ Activatable(m)
    /\ \E p \in PlacesFor(m) :
        LET b == Activation[m]
            n == NumberForActivation(p, m)
        IN /\ Serves(p)
           /\ msg' = [ msg EXCEPT ![m] = AfterActivation(m),
                                  ![b] = [ Empty("ready") EXCEPT !.part = p, !.num = n ] ]
           /\ counter' = CountersAfter({p})
           /\ Record(StoredAt(history, b, p, n), Said("activate", NoClient, m, "ok"))
    /\ txn' = [ txn EXCEPT !.missing = @ \/ Enlists(m) ]
    /\ UNCHANGED << faultVars, home, peekVars, flowVars >>

\* --- Cancelling, by the number that a message has while it is scheduled. ---
MayBeCancelled(m) == Offers("cancellation") /\ msg[m].at \notin { "unsent", "refused", "dropped" }

\* The number is one of a scheduled message.
IsScheduled(m) == msg[m].at \in { "scheduled", "due" }

\* SCH-3: cancelled before its time it is gone; when it is due it may be activated all
\* the same (SCH-5 MAY).
Withdrawn(m) ==
    [ Empty(IF msg[m].at = "due" THEN "racing" ELSE "done") EXCEPT !.part = msg[m].part ]

\* A cancel that was ok when m was due: the activation, if there is one, comes after it.
\* @type: ($history, Int) => $history;
DirectCancelSeen(h, m) ==
    [ CancelSeen(h, {m}) EXCEPT
        !.before[Activation[m]] = IF h.sent[Activation[m]] = "expected"
                                  THEN @ \cup AcceptedIn(h) ELSE @ ]

\* What was cancelled before may be cancelled again: no source says that it is rejected.
Cancel(m) ==
    /\ MayBeCancelled(m)
    /\ \/ /\ IsScheduled(m)
          /\ msg' = [ msg EXCEPT ![m] = Withdrawn(m) ]
       \/ /\ msg[m].at \in { "racing", "done" }
          /\ UNCHANGED msg
    /\ running /\ (msg[m].part # NoPartition => Serves(msg[m].part))
    /\ txn' = [ txn EXCEPT !.missing = @ \/ Enlists(m) ]
    /\ Record(DirectCancelSeen(history, m), Said("cancel", NoClient, m, "ok"))
    /\ UNCHANGED << faultVars, counter, home, peekVars, flowVars >>

\* SCH-4: cancelling with a number that is no longer valid, or not yet visible, is
\* rejected and changes nothing; so may be a cancel of what is due (SCH-5: it races
\* activation), or of what the open transaction cancels already (no source says).
MayReject(m) == msg[m].at # "scheduled" \/ Enlists(m)

CancelRejected(m) ==
    /\ MayBeCancelled(m)
    /\ MayReject(m)
    /\ running
    /\ Nothing("cancel", NoClient, m, "not found")

\* Why a cancel is refused in passing: a partition that is down.
MayRefuseCancel(m) ==
    \/ ~running \/ MayBeBusy
    \/ IF msg[m].part = NoPartition THEN Down # {} ELSE ~up[msg[m].part]

CancelFails(m) ==
    /\ MayBeCancelled(m)
    /\ MayRefuseCancel(m)
    /\ Nothing("cancel", NoClient, m, "refused")

\* In the transaction: m stays scheduled until the commit (TXN-5), and may be activated
\* before.  Whether TXN-7 speaks of cancels, too, no source says: either verdict.
TxnCancel(m) ==
    /\ Open /\ MayBeCancelled(m)
    /\ IsScheduled(m)
    /\ Serves(msg[m].part)
    /\ msg' = [ msg EXCEPT ![m].settling = TRUE ]
    /\ Record([ history EXCEPT !.deal.settles = @ \cup {m} ],
              Said("txn cancel", NoClient, m, "ok"))
    /\ UNCHANGED << faultVars, counter, home, txn, peekVars, flowVars >>

TxnCancelInvalid(m) ==
    /\ Open /\ MayBeCancelled(m)
    /\ IsScheduled(m)
    /\ Serves(msg[m].part)
    /\ ~SamePartition(m) \/ Mixed(m)
    /\ txn' = [ txn EXCEPT !.doubt = TRUE ]
    /\ Record(history, Said("txn cancel", NoClient, m, "invalid"))
    /\ UNCHANGED << faultVars, logVars, home, peekVars, flowVars >>

TxnCancelRejected(m) ==
    /\ Open /\ MayBeCancelled(m)
    /\ MayReject(m)
    /\ running
    /\ txn' = [ txn EXCEPT !.doubt = TRUE ]
    /\ Record(history, Said("txn cancel", NoClient, m, "not found"))
    /\ UNCHANGED << faultVars, logVars, home, peekVars, flowVars >>

TxnCancelFails(m) ==
    /\ Offers("transaction") /\ MayBeCancelled(m)
    /\ \/ /\ Open
          /\ txn.doubt \/ MayRefuseCancel(m)
          /\ txn' = [ txn EXCEPT !.doubt = TRUE ]
       \/ /\ Ended
          /\ UNCHANGED txn
    /\ Record(history, Said("txn cancel", NoClient, m, "refused"))
    /\ UNCHANGED << faultVars, logVars, home, peekVars, flowVars >>

\* --- All of it.  Each disjunct is a name, or \E over a constant set of one. ---
SchedulingNext ==
    \/ Next
    \/ \E m \in Scheduled : Schedule(m)
    \/ \E m \in Scheduled : ScheduleFails(m)
    \/ \E m \in Scheduled : ScheduleInvalid(m)
    \/ \E m \in Scheduled : ScheduleBatch(m)
    \/ \E m \in Scheduled : ScheduleBatchFails(m)
    \/ \E m \in Scheduled : ScheduleBatchInvalid(m)
    \/ \E m \in Scheduled : TxnSchedule(m)
    \/ \E m \in Scheduled : TxnScheduleInvalid(m)
    \/ \E m \in Scheduled : TxnScheduleFails(m)
    \/ \E m \in Scheduled : SendPast(m)
    \/ \E m \in Scheduled : SchedulePast(m)
    \/ \E m \in Scheduled : TimeComes(m)
    \/ \E m \in Scheduled : Activate(m)
    \/ \E m \in Scheduled : Cancel(m)
    \/ \E m \in Scheduled : CancelRejected(m)
    \/ \E m \in Scheduled : CancelFails(m)
    \/ \E m \in Scheduled : TxnCancel(m)
    \/ \E m \in Scheduled : TxnCancelInvalid(m)
    \/ \E m \in Scheduled : TxnCancelRejected(m)
    \/ \E m \in Scheduled : TxnCancelFails(m)

(***************************************************************************)
(* Fairness, for what has to happen to messages in the end.                 *)
(* Partitions that are down come up, and a killed broker is started (weak   *)
(* fairness).  What is due is activated, and what can be delivered is       *)
(* received, if that is possible again and again, however often a partition *)
(* goes down in between (strong fairness).                                  *)
(***************************************************************************)
Fairness ==
    /\ \A p \in Partitions : WF_vars(PartitionUp(p))
    /\ WF_vars(BrokerStart)
    /\ \A m \in Scheduled : SF_vars(Activate(m))
    /\ \A c \in Clients, m \in Messages : SF_vars(Receive(c, m))

FairSpec == Init /\ [][SchedulingNext]_vars /\ Fairness
================================================================================
