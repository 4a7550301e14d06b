---------------------------- MODULE PartitionedQueue ---------------------------
(***************************************************************************)
(* The queue: every action of clients, broker and environment, composed of  *)
(* what the modules of the mechanisms say.                                  *)
(*                                                                          *)
(* An action of a client has as parameters what the client asked and the    *)
(* whole answer.  What the answer does not show (a partition, a number, how *)
(* far a fault reached) is chosen inside by \E.  All parameters range over  *)
(* constant sets, so that Next can be written out with one label for every  *)
(* instance: partq spec compare does that, from its text.                   *)
(*                                                                          *)
(* An operation happens at one instant (reading "Time": at one instant in   *)
(* each partition that it touches; here it touches one).                    *)
(***************************************************************************)
EXTENDS Rebalancing, ClientHistory

mechanism == << up, running, msg, counter, home, txn, cursor, mislaid,
                flow, duty, delay >>
vars == << mechanism, ghostVars >>

Init == /\ FaultsInit
        /\ LogInit
        /\ RoutingInit
        /\ TransactionsInit
        /\ PeekingInit
        /\ RebalancingInit
        /\ HistoryInit

\* Nothing happens: a refusal ("refused" is a passing error, as busy, unavailable or
\* timeout), an answer that nothing is there, an event that only tells.
Nothing(op, by, m, out) == /\ UNCHANGED mechanism
                           /\ Record(history, Said(op, by, m, out))

\* --- Sending --------------------------------------------------------------

\* SEQ-4 ?: up to `count` numbers of each of these partitions are used up.
\* @type: (Set(Int), Int) => Bool;
WastesIn(ps, count) ==
    \E used \in [ Partitions -> 0 .. (IF May("gaps") /\ ShowsNumbers THEN count ELSE 0) ] :
        /\ \A p \in Partitions \ ps : used[p] = 0
        /\ counter' = [ p \in Partitions |-> AdvanceBy(counter[p], used[p]) ]

\* One message of each key.
OneOfEachKey(ms) == { m \in ms : \A n \in ms : n < m => Key(n) # Key(m) }

\* A request that comes to nothing may use up a number for each of its messages ms:
\* in the partition of its key; of a keyless one in any, and in each that is down
\* (reading "Sequence numbers").  p is the partition of one of them, the others' are
\* known before.
WastesAt(p, ms) ==
    WastesIn({p} \cup { home[Key(m)] : m \in { n \in ms : Keyed(n) } }
                 \cup UNION { TriedBefore(m) : m \in ms }, Cardinality(ms))

\* A number that was used up fixes the partition of the key, as a first use does.
HomeIfUsed(m, p) == IF counter'[p] = counter[p] THEN home ELSE HomeAfter(m, p)

Wastes(ms) == \E m \in OneOfEachKey(ms) : \E p \in Choices(m) :
                 /\ WastesAt(p, ms)
                 /\ home' = HomeIfUsed(m, p)

\* Why a request to send ms is refused in passing: the partition of a key is down,
\* which fixes that partition, unless all are; or nothing of it is tried by key.
InTheWay(ms) ==
    \/ /\ running
       /\ \E m \in ms : \E p \in Choices(m) :
             /\ Keyed(m) /\ BlockedAt(m, p)
             /\ WastesAt(p, ms)
             /\ home' = IF Down = Partitions THEN HomeIfUsed(m, p) ELSE HomeAfter(m, p)
    \/ /\ ~running \/ MayBeBusy \/ \E m \in ms : ~Keyed(m) /\ Blocked(m)
       /\ Wastes(ms)

\* A message that the producer sends by the operation `op` is accepted, and stored in a
\* partition that is up.
Stores(op, m) ==
    /\ Valid(m) /\ ~Repeats(m)
    /\ \E p \in Partitions : \E tried \in WastedNumbers(TriedBefore(m)) :
        /\ MayStore(m, p)
        /\ msg' = [ msg EXCEPT ![m] = [ Empty(Arrival(m)) EXCEPT
                        !.part = p, !.num = NumberNow(p, m) ] ]
        /\ counter' = CountersAfter({p} \cup tried)
        /\ home' = HomeAfter(m, p)
        /\ Record(NumberTold(StoredAt(SendSeen(history, m, "accepted", TriedBefore(m)),
                                      m, p, NumberNow(p, m)),
                             op, m, p, NumberNow(p, m)),
                  Said(op, NoClient, m, "ok"))
    /\ UNCHANGED << faultVars, txn, peekVars, flowVars >>

\* Nothing is stored.
SendRefused(op, m, out) ==
    /\ msg' = [ msg EXCEPT ![m] = NotStored(m) ]
    /\ Record(SendSeen(history, m, "refused", Partitions), Said(op, NoClient, m, out))
    /\ UNCHANGED << faultVars, txn, peekVars, flowVars >>

Send(m) ==
    /\ MaySend(m)
    /\ Stores("send", m)

\* The send fails for good reason: a fault is in its way (ROUTE-5, ROUTE-8), or
\* the broker is busy.  Nothing is stored; a number may have been used up (SEQ-4 ?).
SendFails(m) ==
    /\ MaySend(m)
    /\ InTheWay({m})
    /\ SendRefused("send", m, "refused")

\* KEY-3: session ID and partition key are both set and differ: rejected as
\* invalid, nothing stored.
SendInvalid(m) ==
    /\ MaySend(m)
    /\ ~Valid(m)
    /\ Wastes({m})
    /\ SendRefused("send", m, "invalid")

\* --- A batch: messages m and m+1 in one request. --------------------------
OfBatch(m) == { m, m + 1 }
BatchKeys(m) == { Key(n) : n \in OfBatch(m) }
MaySendBatch(m) == /\ Offers("batches")
                   /\ m + 1 \in Messages \ Activations
                   /\ MaySend(m)

\* KEY-7: "a batch whose messages carry different keys is rejected whole".  Whether
\* a keyless one may go with a keyed one no source says: either verdict.
OneKey(m) == AzurePartitions => Cardinality(BatchKeys(m) \ {NoKey}) <= 1
MayRefuseKeys(m) == AzurePartitions /\ Cardinality(BatchKeys(m)) > 1

BatchSaid(op, m, out) == [ Said(op, NoClient, m, out) EXCEPT !.ms = OfBatch(m) ]

\* Where a message of a batch is.  (A name of its own, for Bugs to replace.)
InBatch(m) == Arrival(m)

\* The batch is accepted.  ROUTE-9 MAY: a keyless one lands in one partition, or
\* not.  Its messages are numbered in any order (reading "Sequence numbers").
StoresBatch(op, m) ==
    /\ \A n \in OfBatch(m) : Valid(n)
    /\ OneKey(m)
    /\ \E p, q \in Partitions : \E order \in BOOLEAN :
        LET n == m + 1
            first == IF order THEN m ELSE n
            rank(x) == IF p = q /\ x # first THEN 1 ELSE 0
            number(x, where) == AdvanceBy(NumberNow(where, m), rank(x))
        IN
        /\ MayStore(m, p) /\ MayStore(n, q)
        /\ Keyed(m) /\ Key(m) = Key(n) => p = q
        /\ p # q => order
        /\ msg' = [ msg EXCEPT
              ![m] = [ Empty(InBatch(m)) EXCEPT !.part = p, !.num = number(m, p) ],
              ![n] = [ Empty(InBatch(n)) EXCEPT !.part = q, !.num = number(n, q) ] ]
        /\ counter' = IF ~ShowsNumbers THEN counter
                      ELSE [ x \in Partitions |-> AdvanceBy(counter[x],
                                (IF x = p THEN 1 ELSE 0) + (IF x = q THEN 1 ELSE 0)) ]
        /\ home' = [ k \in Keys |-> IF k = Key(m) THEN p
                                    ELSE IF k = Key(n) THEN q ELSE home[k] ]
        /\ LET sent == [ SendSeen(SendSeen(history, m, "accepted", TriedBefore(m)),
                                  n, "accepted", TriedBefore(n))
                         EXCEPT !.before[n] = AcceptedIn(history) ]
               there == StoredAt(StoredAt(sent, m, p, number(m, p)), n, q, number(n, q))
           IN Record(NumberTold(NumberTold(there, op, m, p, number(m, p)),
                                op, n, q, number(n, q)),
                     BatchSaid(op, m, "ok"))
    /\ UNCHANGED << faultVars, txn, peekVars, flowVars >>

SendBatch(m) ==
    /\ MaySendBatch(m)
    /\ StoresBatch("batch", m)

\* All or nothing: both are refused.
BatchRefused(op, m, out) ==
    /\ msg' = [ msg EXCEPT ![m] = NotStored(m), ![m + 1] = NotStored(m + 1) ]
    /\ Record(SendSeen(SendSeen(history, m, "refused", Partitions), m + 1, "refused", Partitions),
              BatchSaid(op, m, out))
    /\ UNCHANGED << faultVars, txn, peekVars, flowVars >>

SendBatchFails(m) ==
    /\ MaySendBatch(m)
    /\ InTheWay(OfBatch(m))
    /\ BatchRefused("batch", m, "refused")

\* A batch is refused as invalid.
BatchInvalid(op, m) ==
    /\ MayRefuseKeys(m) \/ (\E n \in OfBatch(m) : ~Valid(n))
    /\ Wastes(OfBatch(m))
    /\ BatchRefused(op, m, "invalid")

SendBatchInvalid(m) ==
    /\ MaySendBatch(m)
    /\ BatchInvalid("batch", m)

\* --- Receiving ------------------------------------------------------------

\* @type: ($history, Int) => $history;
DeliverySeen(h, m) == Seen(h, m, msg[m].part, msg[m].num)
Delivered(op, c, m, n) == [ Said(op, c, m, "ok") EXCEPT !.counts[m] = n ]

\* A transaction that settles m by a lock that turns out lost can't be committed.
DoomedBy(m) == IF msg[m].settling THEN [ txn EXCEPT !.doomed = TRUE ] ELSE txn

\* Client c receives m with a lock: out of its partition, out of a front end's
\* cache, or after the lock of it that a fault struck turned out to be lost.
Receive(c, m) ==
    /\ running
    /\ MayReceive(c, msg[m].part)
    /\ \/ /\ MayLock(m)
          /\ msg' = [ msg EXCEPT ![m] = LockedFor(m, c, msg[m].count) ]
       \/ /\ InCache(m)
          /\ msg' = [ msg EXCEPT ![m] = HandedOver(m, c) ]
       \/ /\ MayGiveAnew(m)
          /\ \E n \in CountsAnew(m) : msg' = [ msg EXCEPT ![m] = LockedFor(m, c, n) ]
    /\ txn' = DoomedBy(m)
    /\ Record(LockSeen(DeliverySeen(history, m), m, msg'[m].turn),
              Delivered("receive", c, m, msg'[m].count))
    /\ UNCHANGED << faultVars, counter, home, peekVars, flowVars >>

\* Client c receives m, and the broker forgets it (RCV-7).
ReceiveAndDelete(c, m) ==
    /\ Offers("delete")
    /\ running
    /\ MayReceive(c, msg[m].part)
    /\ MayLock(m) \/ InCache(m) \/ MayGiveAnew(m)
    /\ \E n \in IF InDoubt(m) THEN CountsAnew(m) ELSE { msg[m].count } :
          Record(Consumed(DeliverySeen(history, m), m), Delivered("delete", c, m, n))
    /\ msg' = [ msg EXCEPT ![m] = Settled(m) ]
    /\ txn' = DoomedBy(m)
    /\ UNCHANGED << faultVars, counter, home, peekVars, flowVars >>

\* RCV-5 MAY: nothing, though messages exist; also of a broker that is down.
ReceiveNothing(c) == Nothing("receive", c, 0, "nothing")

\* The broker is down, or busy, or a partition is down: a receive asks them all
\* (of ROUTE-7 the readings speak for sends by key and for settlements alone).
\* Or the client has no flow to receive by.
ReceiveFails(c) ==
    /\ ~running \/ Down # {} \/ MayBeBusy \/ (HasFlows /\ flow[c] = "off")
    /\ Nothing("receive", c, 0, "refused")

\* --- Settling -------------------------------------------------------------

\* Client c completes m by its lock of turn t.  If the open transaction settles m, too,
\* its commit may be refused for that.
Complete(c, m, t) ==
    /\ HeldBy(c, m, t)
    /\ Serves(msg[m].part)
    /\ msg' = [ msg EXCEPT ![m] = Settled(m) ]
    /\ Record(Consumed(history, m), [ Said("complete", c, m, "ok") EXCEPT !.turn = t ])
    /\ txn' = [ txn EXCEPT !.missing = @ \/ Enlists(m) ]
    /\ UNCHANGED << faultVars, counter, home, peekVars, flowVars >>

\* Client c gives m back by its lock of turn t: the count goes up (RCV-9), its
\* position is free (RCV-3; reading "Flows").
Abandon(c, m, t) ==
    /\ Offers("abandon")
    /\ HeldBy(c, m, t)
    /\ Serves(msg[m].part)
    /\ \E r \in AfterLock(m, Raised(msg[m].count), FALSE) :
        /\ msg' = [ msg EXCEPT ![m] = r ]
        /\ Record(Buried(LockEnded(history, m, t, TRUE), m, r.at = "dead"),
                  [ Said("abandon", c, m, "ok") EXCEPT !.turn = t ])
    /\ txn' = DoomedBy(m)
    /\ UNCHANGED << faultVars, counter, home, peekVars, flowVars >>

\* RCV-8: a settlement by a lock that ended, or that nobody was given, is
\* rejected and changes nothing.  If a fault put the lock in doubt, the
\* rejection says that it is lost: the message is back, counted or not.
RejectedByLock(op, c, m, t) ==
    \/ /\ Offers("stale")
       /\ NotHeld(m, t)
       /\ UNCHANGED mechanism
       /\ Record(history, [ Said(op, c, m, "lost") EXCEPT !.turn = t ])
    \/ /\ HeldBy(c, m, t)
       /\ MayTurnOutLost(m)
       /\ \E n \in LostCounts(m) : \E r \in AfterLock(m, n, HasFlows) :
            /\ msg' = [ msg EXCEPT ![m] = r ]
            /\ Record(Buried(LockOver(history, m, t), m, r.at = "dead"),
                      [ Said(op, c, m, "lost") EXCEPT !.turn = t ])
       /\ txn' = DoomedBy(m)
       /\ UNCHANGED << faultVars, counter, home, peekVars, flowVars >>
    \/ /\ HeldBy(c, m, t)  \* the open transaction settles by it already: either verdict
       /\ Enlists(m)
       /\ UNCHANGED mechanism
       /\ Record(history, [ Said(op, c, m, "lost") EXCEPT !.turn = t ])

CompleteRejected(c, m, t) ==
    /\ running
    /\ RejectedByLock("complete", c, m, t)

AbandonRejected(c, m, t) ==
    /\ Offers("abandon")
    /\ running
    /\ RejectedByLock("abandon", c, m, t)

\* The partition, or the broker, is down, or busy: nothing happens.
SettlingFails(op, c, m, t) ==
    /\ HeldBy(c, m, t) \/ (Offers("stale") /\ ~running)
    /\ ~Serves(msg[m].part) \/ MayBeBusy
    /\ Nothing(op, c, m, "refused")

CompleteFails(c, m, t) == SettlingFails("complete", c, m, t)
AbandonFails(c, m, t) == Offers("abandon") /\ SettlingFails("abandon", c, m, t)

\* One request that settles two locks: RCV-14 rejects it if they are of different
\* partitions.
MaySettleBoth(m, n) == AzurePartitions => msg[m].part = msg[n].part
Both(c, m, n) == /\ Offers("pairs")
                 /\ m < n
                 /\ HeldBy(c, m, msg[m].turn) /\ HeldBy(c, n, msg[n].turn)
                 /\ ~InDoubt(m) /\ ~InDoubt(n)
                 /\ Serves(msg[m].part) /\ Serves(msg[n].part)
BothSaid(c, m, n, out) == [ Said("complete both", c, m, out) EXCEPT !.ms = {m, n} ]

CompleteBoth(c, m, n) ==
    /\ Both(c, m, n)
    /\ MaySettleBoth(m, n)
    /\ msg' = [ msg EXCEPT ![m] = Settled(m), ![n] = Settled(n) ]
    /\ Record(Consumed(Consumed(history, m), n), BothSaid(c, m, n, "ok"))
    /\ txn' = [ txn EXCEPT !.missing = @ \/ Enlists(m) \/ Enlists(n) ]
    /\ UNCHANGED << faultVars, counter, home, peekVars, flowVars >>

CompleteBothInvalid(c, m, n) ==
    /\ Both(c, m, n)
    /\ ~MaySettleBoth(m, n)
    /\ UNCHANGED mechanism
    /\ Record(history, BothSaid(c, m, n, "invalid"))

\* --- The broker's own moves: locks ----------------------------------------

\* The time of a lock of m is over.
Expire(m) ==
    /\ Expirable(m)
    /\ \E r \in Expired(m) :
        /\ msg' = [ msg EXCEPT ![m] = r ]
        /\ txn' = IF r.at = "dead" THEN DoomedBy(m) ELSE txn
        /\ Record(IF r.settling THEN TimeOver(history, m, msg[m].turn)
                  ELSE Buried(IF msg[m].at = "cached" THEN UnseenEnded(history, m)
                              ELSE LockEnded(history, m, msg[m].turn, ~InDoubt(m)),
                              m, r.at = "dead"),
                  Said("expire", NoClient, m, "ok"))
    /\ UNCHANGED << faultVars, counter, home, peekVars, flowVars >>

\* A front end fetches m and holds it locked; no client sees that (RCV-5).
Prefetch(m) ==
    /\ CachingFrontends
    /\ MayLock(m)
    /\ msg' = [ msg EXCEPT ![m] = Cached(m) ]
    /\ Record([ history EXCEPT !.unseen = @ \cup {m} ], Said("prefetch", NoClient, m, "ok"))
    /\ UNCHANGED << faultVars, counter, home, txn, peekVars, flowVars >>

\* --- Peeking --------------------------------------------------------------

\* PEEK-6: a peek leaves the messages as they are, but for what it finds gone.  (A name of
\* its own, for Bugs to replace.)
AfterPeek(ms, gone) == [ m \in Messages |-> IF m \in gone THEN Faded(m) ELSE msg[m] ]

PeekSeen(c, ms) ==
    [ MessagesSeen(history, ms) EXCEPT
        !.walks[c] = WalksAfter(history, c, ms),
        !.shown = [ m \in Messages |-> IF m \notin ms THEN @[m]
                    ELSE @[m] \cup { [ part |-> msg[m].part, seq |->
                        IF ShowsNumbers THEN SequenceNumber(msg[m].part, msg[m].num) ELSE 0 ] } ] ]

\* PEEK-7: those that are shown as scheduled.
ShownAsScheduled(ms) ==
    { m \in ms : msg[m].at \in { "scheduled", "due" } \/ (Fades(m) /\ m \in Scheduled) }

\* ... and as deferred: while a lock holds it, in this state or not (reading "Deferral"), or
\* a peek may show it as before the commit.
ShownAsDeferred(ms) ==
    { { m \in ms : msg[m].at = "deferred" /\ ~msg[m].fading } \cup held :
        held \in SUBSET { m \in ms : msg[m].aside /\ (msg[m].at = "locked" \/ msg[m].fading) } }

\* Client c peeks, on from its cursor, and sees the messages ms, all of one
\* partition (PEEK-3 MAY: of any).  PEEK-6: nothing changes but the cursor.
Peek(c, ms) ==
    /\ Offers("peek")
    /\ \E p \in Partitions : \E from \in CursorsOf(c) : \E deferred \in ShownAsDeferred(ms) :
        /\ Serves(p)
        /\ OldestOf(ms, p, from)
        /\ cursor' = MovedOn(c, from, p, ms)
        /\ msg' = AfterPeek(ms, FoundGone(ms, deferred, {p}, from))
        /\ Record(PeekSeen(c, ms),
                  [ NoAnswer EXCEPT !.op = "peek", !.by = c, !.ms = ms, !.out = "ok",
                     !.waiting = ShownAsScheduled(ms), !.deferred = deferred,
                     !.counts = [ m \in Messages |-> IF m \in ms THEN msg[m].count ELSE 0 ] ])
    /\ mislaid' = [ mislaid EXCEPT ![c] = FALSE ]
    /\ UNCHANGED << faultVars, counter, home, txn, flowVars >>

\* PEEK-4, PEEK-5: nothing, because nothing is left beyond the cursor; or the broker is
\* down, and nobody was asked.
PeekNothing(c) ==
    /\ Offers("peek")
    /\ \/ /\ running
          /\ \E from \in CursorsOf(c) :
                /\ NothingBeyond(from)
                /\ cursor' = [ cursor EXCEPT ![c] = from ]
                /\ msg' = AfterPeek({}, FoundGone({}, {}, Partitions \ Down, from))
          /\ mislaid' = [ mislaid EXCEPT ![c] = FALSE ]
       \/ ~running /\ UNCHANGED << msg, peekVars >>
    /\ Record(history, Said("peek", c, 0, "nothing"))
    /\ UNCHANGED << faultVars, counter, home, txn, flowVars >>

PeekFails(c) ==
    /\ Offers("peek")
    /\ ~running \/ Down # {} \/ MayBeBusy
    /\ Nothing("peek", c, 0, "refused")

\* --- The transaction ------------------------------------------------------

\* @type: ($history, Str) => $history;
DealSeen(h, state) == [ h EXCEPT !.deal.state = state ]

\* The producer begins the one transaction of a behaviour.
Begin ==
    /\ Offers("transaction")
    /\ running
    /\ txn.state = "none"
    /\ txn' = NoWork("open")
    /\ Record(DealSeen(history, "open"), Said("begin", NoClient, 0, "ok"))
    /\ UNCHANGED << faultVars, logVars, home, peekVars, flowVars >>

\* The producer sends m in the transaction.
TxnSend(m) ==
    /\ Open /\ MaySend(m)
    /\ MayJoin(m) \/ (\E q \in Partitions : MayShare(m, q))
    /\ \E p \in Partitions :
        /\ MayStore(m, p)
        /\ MayJoin(m) \/ MayShare(m, p)
        /\ msg' = [ msg EXCEPT ![m] = Enlisted(m, p) ]
        /\ home' = HomeAfter(m, p)
        /\ txn' = [ txn EXCEPT !.key = IF @ = NoKey THEN Key(m) ELSE @ ]
        /\ Record(StoredAt(SendSeen(history, m, "enlisted", {}), m, p, NoNumber),
                  Said("txn send", NoClient, m, "ok"))
    /\ UNCHANGED << faultVars, counter, peekVars, flowVars >>

\* Reading "Keys": what has to be refused may in a transaction be refused at the
\* commit; of TXN-2 alone it is said "at that operation".
TxnSendLetPass(m) ==
    /\ Open /\ MaySend(m)
    /\ running /\ Down # Partitions
    /\ ~Valid(m) \/ (Partitioned /\ ~HasKey(m))
    /\ msg' = [ msg EXCEPT ![m] = Empty("pending") ]
    /\ txn' = [ txn EXCEPT !.doomed = TRUE, !.doubt = TRUE ]
    /\ Record(SendSeen(history, m, "enlisted", {}), Said("txn send", NoClient, m, "ok"))
    /\ UNCHANGED << faultVars, counter, home, peekVars, flowVars >>

\* It enlists nothing.
TxnRefused(op, m, out) ==
    /\ msg' = [ msg EXCEPT ![m] = NotStored(m) ]
    /\ Wastes({m})
    /\ Record(SendSeen(history, m, "refused", Partitions), Said(op, NoClient, m, out))
    /\ UNCHANGED << faultVars, peekVars, flowVars >>

\* TXN-1, TXN-2, KEY-3: an invalid operation.  Whether the transaction can go on after
\* that is free (reading "Transactions").
TxnInvalid(op, m) ==
    /\ running \/ ~Valid(m)
    /\ ~MayJoin(m) \/ Apart(m)
    /\ txn' = [ txn EXCEPT !.doubt = TRUE ]
    /\ TxnRefused(op, m, "invalid")

TxnSendInvalid(m) ==
    /\ Open /\ MaySend(m)
    /\ TxnInvalid("txn send", m)

\* A fault is in the way, or the transaction was rolled back by the broker, or
\* (TXN-10) it has ended.  So it tells nothing of which partition a key has, unless a
\* number was used up there.
TxnFails(op, m) ==
    /\ \/ /\ Open
          /\ txn.doubt \/ Blocked(m) \/ MayBeBusy
          /\ txn' = [ txn EXCEPT !.doubt = TRUE ]
       \/ /\ Ended
          /\ UNCHANGED txn
    /\ TxnRefused(op, m, "refused")

TxnSendFails(m) ==
    /\ Offers("transaction")
    /\ MaySend(m)
    /\ TxnFails("txn send", m)

\* Client c settles m in the transaction, `defers` or completes it: m stays locked until
\* the end.  If a fault had put the lock in doubt, it is found to hold.
TxnSettles(op, c, m, t, defers) ==
    /\ Open
    /\ HeldBy(c, m, t)
    /\ Serves(msg[m].part)
    /\ SamePartition(m)
    /\ Enlists(m) => (m \in txn.defers) = defers
    /\ msg' = [ msg EXCEPT ![m].settling = TRUE, ![m].doubt = "no" ]
    /\ txn' = [ txn EXCEPT !.part = msg[m].part, !.defers = IF defers THEN @ \cup {m} ELSE @ ]
    /\ Record([ history EXCEPT !.deal.settles = @ \cup {m}, !.lock[m][t] = "held",
                               !.deal.defers = IF defers THEN @ \cup {m} ELSE @ ],
              [ Said(op, c, m, "ok") EXCEPT !.turn = t ])
    /\ UNCHANGED << faultVars, counter, home, peekVars, flowVars >>

TxnComplete(c, m, t) == TxnSettles("txn complete", c, m, t, FALSE)

\* TXN-7: rejected at the second partition.  Where the keys' partition and that
\* of the lock differ, either verdict (reading "Transactions").
TxnSettlingInvalid(op, c, m, t) ==
    /\ Open
    /\ HeldBy(c, m, t)
    /\ Serves(msg[m].part)
    /\ ~SamePartition(m) \/ Mixed(m)
    /\ txn' = [ txn EXCEPT !.doubt = TRUE ]
    /\ Record(history, [ Said(op, c, m, "invalid") EXCEPT !.turn = t ])
    /\ UNCHANGED << faultVars, logVars, home, peekVars, flowVars >>

TxnCompleteInvalid(c, m, t) == TxnSettlingInvalid("txn complete", c, m, t)

\* RCV-8: by a lock that ended, or was never given, nothing is enlisted.
TxnSettlingRejected(op, c, m, t) ==
    /\ Open
    /\ running
    /\ \/ /\ Offers("stale")
          /\ NotHeld(m, t)
          /\ txn' = [ txn EXCEPT !.doubt = TRUE ]
          /\ UNCHANGED msg
          /\ Record(history, [ Said(op, c, m, "lost") EXCEPT !.turn = t ])
       \/ /\ HeldBy(c, m, t)
          /\ MayTurnOutLost(m)
          /\ txn' = [ DoomedBy(m) EXCEPT !.doubt = TRUE ]
          /\ \E n \in LostCounts(m) : \E r \in AfterLock(m, n, FALSE) :
                /\ msg' = [ msg EXCEPT ![m] = r ]
                /\ Record(Buried(LockOver(history, m, t), m, r.at = "dead"),
                          [ Said(op, c, m, "lost") EXCEPT !.turn = t ])
    /\ UNCHANGED << faultVars, counter, home, peekVars, flowVars >>

TxnCompleteRejected(c, m, t) == TxnSettlingRejected("txn complete", c, m, t)

TxnSettlingFails(op, c, m, t) ==
    /\ Offers("transaction")
    /\ HeldBy(c, m, t)
    /\ \/ /\ Open
          /\ txn.doubt \/ ~Serves(msg[m].part) \/ MayBeBusy \/ Enlists(m)
          /\ txn' = [ txn EXCEPT !.doubt = TRUE ]
       \/ /\ Ended
          /\ UNCHANGED txn
    /\ Record(history, [ Said(op, c, m, "refused") EXCEPT !.turn = t ])
    /\ UNCHANGED << faultVars, logVars, home, peekVars, flowVars >>

TxnCompleteFails(c, m, t) == TxnSettlingFails("txn complete", c, m, t)

\* A message of the transaction gets its number (freedom "early").
NumberEarly(m) ==
    /\ Open
    /\ MayNumberEarly(m)
    /\ Serves(msg[m].part)
    /\ LET p == msg[m].part IN
        /\ msg' = [ msg EXCEPT ![m].num = counter[p] ]
        /\ counter' = CountersAfter({p})
        /\ Record(StoredAt(history, m, p, counter[p]), Said("number", NoClient, m, "ok"))
    /\ UNCHANGED << faultVars, home, txn, peekVars, flowVars >>

\* What clients know when the commit was ok: all was accepted, and all settled (completed,
\* deferred, cancelled).
\* @type: ($history) => $history;
CommitSeen(h) ==
    [ CancelSeen(h, h.deal.settles \cap Scheduled) EXCEPT
        !.deal.state = "committed",
        !.sent = [ m \in Messages |-> IF @[m] = "enlisted" THEN "accepted" ELSE @[m] ],
        !.place = [ m \in Messages |-> IF msg[m].at = "pending"
                        THEN [ part |-> msg[m].part, num |-> NumberAtCommit(m) ] ELSE @[m] ],
        !.deal.fading = IF MayFade THEN h.deal.settles \ h.consumed ELSE {},
        !.consumed = @ \cup (h.deal.settles \ h.deal.defers),
        !.aside = (@ \ h.deal.settles) \cup (h.deal.defers \ h.consumed),
        !.most = IF h.deal.defers = {} THEN @
                 ELSE [ m \in Messages |-> IF m \in h.deal.defers THEN More(@[m]) ELSE @[m] ],
        !.lock = [ m \in Messages |-> IF m \notin h.deal.settles THEN @[m]
                    ELSE [ t \in Turns |-> IF @[m][t] \in {"held", "doubt"}
                                           THEN "ended" ELSE @[m][t] ] ] ]

\* TXN-5: all of it happens, its partitions being up; its sends become visible at
\* once, or all together later; until then peeks may show what it settled as before.
Commit ==
    /\ Open
    /\ running
    /\ ~txn.doomed
    /\ \A p \in Involved : up[p]
    /\ \E at \in { "ready" } \cup
            (IF May("lag") /\ (Pending # {} \/ (MayFade /\ Settling # {})) THEN { "lagging" } ELSE {}) :
          msg' \in AfterCommit(at)
    /\ counter' = CountersAtCommit
    /\ txn' = NoWork("committed")
    /\ Record(CommitSeen(history), Said("commit", NoClient, 0, "ok"))
    /\ UNCHANGED << faultVars, home, peekVars, flowVars >>

\* A lock whose time ended within a transaction that came to nothing is over.
\* @type: ($history) => $history;
FailureSeen(h) ==
    [ h EXCEPT
        !.lock = [ m \in Messages |->
            IF msg[m].settling /\ msg[m].doubt = "expiry" /\ ~msg'[m].settling
            THEN [ @[m] EXCEPT ![msg[m].turn] = "ended" ] ELSE @[m] ],
        !.buried = @ \cup { m \in Messages : msg'[m].at = "dead" } ]

\* None of it happens.  The broker has rolled it back, or (refused as busy) it
\* is open still.
CommitFails ==
    /\ Open
    /\ MayNotCommit
    /\ \/ /\ msg' \in RolledBack
          /\ txn' = NoWork("rolled back")
       \/ /\ MayFail /\ ~txn.doomed
          /\ txn' = [ txn EXCEPT !.doubt = TRUE ]
          /\ UNCHANGED msg
    /\ Record(FailureSeen(history), Said("commit", NoClient, 0, "refused"))
    /\ UNCHANGED << faultVars, counter, home, peekVars, flowVars >>

\* What clients know when the rollback was ok: nothing of it happened.
\* @type: ($history) => $history;
RollbackSeen(h) ==
    [ h EXCEPT !.deal.state = "rolled back",
               !.sent = [ m \in Messages |-> IF @[m] = "enlisted" THEN "refused" ELSE @[m] ] ]

\* TXN-5: none of it happens, and what it settled is locked as before.
Rollback ==
    /\ Open
    /\ running
    /\ msg' \in RolledBack
    /\ txn' = NoWork("rolled back")
    /\ Record(RollbackSeen(FailureSeen(history)), Said("rollback", NoClient, 0, "ok"))
    /\ UNCHANGED << faultVars, counter, home, peekVars, flowVars >>

\* Refused in passing: the broker has rolled it back all the same, or it is open still.
RollbackFails ==
    /\ Open
    /\ MayFail
    /\ \/ /\ msg' \in RolledBack
          /\ txn' = NoWork("rolled back")
       \/ /\ txn' = [ txn EXCEPT !.doubt = TRUE ]
          /\ UNCHANGED msg
    /\ Record(FailureSeen(history), Said("rollback", NoClient, 0, "refused"))
    /\ UNCHANGED << faultVars, counter, home, peekVars, flowVars >>

\* TXN-10: a transaction ends once.
CommitRejected == Ended /\ Nothing("commit", NoClient, 0, "refused")
RollbackRejected == Ended /\ Nothing("rollback", NoClient, 0, "refused")

\* TXN-5: "visibility after the commit's return may lag"; all at once.  (A name of its own,
\* for Bugs to replace.)
AppearsGone(m) == Faded(m)
Appear ==
    /\ running
    /\ \E m \in Messages : msg[m].at = "lagging" \/ msg[m].fading
    /\ msg' = [ m \in Messages |-> IF msg[m].at = "lagging" THEN [ msg[m] EXCEPT !.at = Arrival(m) ]
                                   ELSE IF msg[m].fading THEN AppearsGone(m) ELSE msg[m] ]
    /\ Record(history, Said("appear", NoClient, 0, "ok"))
    /\ UNCHANGED << faultVars, counter, home, txn, peekVars, flowVars >>

\* What the broker's record of flows is after the step.
\* @type: ($history) => $history;
FlowsSeen(h) == [ h EXCEPT !.duty = duty', !.timer = delay' ]

\* Clients know by themselves what a bind is to bring (REB-4, REB-5).
\* @type: ($history, Str) => $history;
BindSeen(h, c) ==
    LET active == Cardinality(h.bound) < PartitionCount IN
    [ h EXCEPT !.bound = @ \cup {c},
               !.standby = IF active THEN @ ELSE @ \cup {c},
               !.delay = @ \/ active,
               !.returned = IF c \in h.was THEN @ \cup {c} ELSE @ ]

\* Locks of the messages ms are over, with their flow or a handoff, uncounted.
\* @type: ($history, Set(Int)) => $history;
LocksOfFlowOver(h, ms) ==
    [ h EXCEPT !.lock = [ m \in Messages |-> IF m \in ms
                            THEN [ t \in Turns |-> IF @[m][t] \in { "held", "doubt" }
                                                   THEN "ended" ELSE @[m][t] ]
                            ELSE @[m] ] ]
GivenTo(c) == { m \in Messages : msg[m].at = "locked" /\ msg[m].by = c }
\* @type: ($history) => $history;
AllLocksOver(h) == LocksOfFlowOver(h, Messages)
\* @type: ($history, Int) => $history;
HandoffOver(h, p) ==
    LocksOfFlowOver(h, UNION { Unacknowledged(p, c) : c \in Leaving(p) })
\* @type: ($history, Int) => $history;
DoubtsOver(h, p) ==
    LocksOfFlowOver(h, UNION { { m \in Unacknowledged(p, c) : InDoubt(m) } : c \in Leaving(p) })
\* @type: ($history, Str) => $history;
UnbindSeen(h, c) ==
    LET left == LocksOfFlowOver(h, GivenTo(c)) IN
    [ left EXCEPT !.bound = @ \ {c}, !.standby = @ \ {c}, !.was = @ \cup {c},
                  !.returned = @ \ {c},
                  !.delay = @ \/ (c \notin h.standby /\ h.standby = {}) ]

\* --- Faults ---------------------------------------------------------------

\* Partition p goes down: its locks, and the open transaction if that works there, are
\* in doubt.
PartitionDown(p) ==
    /\ Offers("outage")
    /\ GoesDown(p)
    /\ msg' = AfterFault({p})
    /\ txn' = InDoubtAfter(StruckBy({p}))
    /\ Record([ Struck(history, {p}) EXCEPT !.outage = @ \cup {p} ],
              Said("partition down", NoClient, 0, "ok"))
    /\ UNCHANGED << counter, home, peekVars, flowVars >>

\* Partition p comes up again, with all that was stored there.
PartitionUp(p) ==
    /\ Offers("outage")
    /\ ComesUp(p)
    /\ Record([ history EXCEPT !.outage = @ \ {p} ], Said("partition up", NoClient, 0, "ok"))
    /\ UNCHANGED << logVars, home, txn, peekVars, flowVars >>

\* The broker is killed: all locks, all cursors and the open transaction are in doubt.
BrokerKill ==
    /\ Offers("kill")
    /\ IsKilled
    /\ msg' = AfterFault(Partitions)
    /\ txn' = InDoubtAfter(Open)
    /\ mislaid' = AllMislaid
    /\ Record([ CursorsStruck(Struck(history, Partitions)) EXCEPT !.alive = FALSE ],
              Said("kill", NoClient, 0, "ok"))
    /\ UNCHANGED << counter, home, cursor, flowVars >>

\* A kill may end every flow and every assignment, or keep them (reading
\* "Flows"): found out when the broker is back.
FlowsAfterKill == [ c \in Clients |-> "off" ]
BrokerStart ==
    /\ Offers("kill")
    /\ IsStarted
    /\ \/ /\ UNCHANGED << msg, flow, duty >>
          /\ delay' = DelayKept
          /\ Record(FlowsSeen([ history EXCEPT !.alive = TRUE ]), Said("start", NoClient, 0, "ok"))
       \/ /\ HasFlows
          /\ msg' = [ m \in Messages |-> IF msg[m].at = "locked"
                            THEN GivenBack(m, msg[m].count, TRUE) ELSE msg[m] ]
          /\ flow' = FlowsAfterKill
          /\ duty' = [ p \in Partitions |-> NoDuty ]
          /\ delay' = FALSE
          /\ Record([ FlowsSeen(AllLocksOver(history)) EXCEPT !.alive = TRUE,
                            !.bound = {}, !.standby = {}, !.delay = FALSE ],
                    Said("start", NoClient, 0, "ok"))
    /\ UNCHANGED << counter, home, txn, peekVars >>

\* The front end that serves client c is lost: cursors, and the open transaction, are
\* in doubt.  Which clients and locks it served is not known (reading "Locks"), so c
\* makes no difference.  What it held in its cache is as if it were kept (Delivery).
FrontendLost(c) ==
    /\ Offers("frontend")
    /\ txn' = InDoubtAfter(Open)
    /\ mislaid' = AllMislaid
    /\ Record(CursorsStruck(history), Said("front end lost", c, 0, "ok"))
    /\ UNCHANGED << faultVars, logVars, home, cursor, flowVars >>

\* The environment received and peeked until the entity was empty, after every
\* lock and timer had ended.
Drained ==
    /\ Offers("drain")
    /\ running /\ Down = {}
    /\ \A m \in Messages : ~Stored(m) /\ ~msg[m].fading
    /\ Nothing("drained", NoClient, 0, "ok")

\* --- Flows ----------------------------------------------------------------

\* Client c binds a flow.
Bind(c) ==
    /\ HasFlows /\ running
    /\ flow[c] = "off"
    /\ flow' = [ flow EXCEPT ![c] = IF BindsActive THEN "active" ELSE "standby" ]
    /\ delay' = DelayAtBind
    /\ \/ /\ duty' = DutyAtBind(c)
          /\ Record(FlowsSeen(BindSeen(history, c)), Said("bind", c, 0, "ok"))
       \/ /\ May("cancel") /\ delay /\ BindsActive
          /\ \E p \in Partitions : MayResume(p)
          /\ duty' = [ p \in Partitions |-> IF MayResume(p) THEN Resumed(p) ELSE duty[p] ]
          /\ Record([ FlowsSeen(BindSeen(history, c)) EXCEPT !.cancelled = TRUE ],
                    Said("bind", c, 0, "ok"))
    /\ UNCHANGED << faultVars, logVars, home, txn, peekVars >>

\* Client c's flow goes: a standby, or an active one where nobody stands by.
Unbind(c) ==
    /\ HasFlows /\ running
    /\ flow[c] # "off"
    /\ flow[c] = "standby" \/ Standbys = {}
    /\ flow' = [ flow EXCEPT ![c] = "off" ]
    /\ msg' = MessagesWithout(c)
    /\ duty' \in DutiesWithout(c, NoClient)
    /\ delay' \in DelayWithout(c, duty')
    /\ Record(FlowsSeen(UnbindSeen(history, c)), Said("unbind", c, 0, "ok"))
    /\ UNCHANGED << faultVars, counter, home, txn, peekVars >>

\* A flow that is there is bound, or one that is not there goes: refused.
BindRejected(c) ==
    /\ HasFlows /\ running
    /\ flow[c] # "off"
    /\ Nothing("bind", c, 0, "invalid")

UnbindRejected(c) ==
    /\ HasFlows /\ running
    /\ flow[c] = "off"
    /\ Nothing("unbind", c, 0, "invalid")

\* The same, answered as if it had been there: no row speaks of it (reading "Flows").
UnbindNothing(c) ==
    /\ HasFlows /\ running /\ May("gone")
    /\ flow[c] = "off"
    /\ Nothing("unbind", c, 0, "ok")

\* Client c's flow goes, and the standby s takes its place at once (REB-6), also
\* where it had no partition yet (reading "Flows").
Takeover(c, s) ==
    /\ HasFlows /\ running
    /\ flow[c] = "active" /\ flow[s] = "standby"
    /\ flow' = [ flow EXCEPT ![c] = "off", ![s] = "active" ]
    /\ msg' = MessagesWithout(c)
    /\ duty' \in DutiesWithout(c, s)
    /\ delay' = DelayKept
    /\ UNCHANGED << faultVars, counter, home, txn, peekVars >>
    /\ Record(FlowsSeen([ UnbindSeen(history, c) EXCEPT !.standby = @ \ {s} ]),
              Said("unbind", c, 0, "ok"))

\* The rebalance delay ends, and the broker deals the partitions out anew.
Rebalance ==
    /\ HasFlows /\ running
    /\ delay
    /\ delay' = FALSE
    /\ duty' \in DutiesAfterRebalance
    /\ Record(FlowsSeen([ history EXCEPT !.delay = FALSE, !.cancelled = FALSE ]),
              Said("rebalance", NoClient, 0, "ok"))
    /\ UNCHANGED << faultVars, logVars, home, txn, peekVars, flow >>

\* Nothing that the old flow of partition p was given is held for certain any more: the
\* handoff ends, and the new flow starts, if it is still there.
Handoff(p) ==
    /\ HasFlows /\ running
    /\ InHandoff(p)
    /\ AllSettled(p)
    /\ msg' = MessagesAfterHandoff(p)
    /\ duty' = [ duty EXCEPT ![p] = HandedOff(p) ]
    /\ UNCHANGED << faultVars, counter, home, txn, peekVars, flow, delay >>
    /\ Record(FlowsSeen(DoubtsOver(history, p)), Said("handoff", NoClient, 0, "settled"))

\* The handoff time of partition p ends with messages unsettled.
HandoffTimeout(p) ==
    /\ HasFlows /\ running
    /\ InHandoff(p)
    /\ ~AllSettled(p)
    /\ msg' = MessagesAfterHandoff(p)
    /\ duty' = [ duty EXCEPT ![p] = HandedOff(p) ]
    /\ UNCHANGED << faultVars, counter, home, txn, peekVars, flow, delay >>
    /\ Record(FlowsSeen(HandoffOver(history, p)), Said("handoff", NoClient, 0, "time over"))

\* --- All of it.  Each disjunct is a name, or \E over constant sets of a name. ---
Next ==
    \/ \E m \in Messages : Send(m)
    \/ \E m \in Messages : SendFails(m)
    \/ \E m \in Messages : SendInvalid(m)
    \/ \E m \in Messages : SendBatch(m)
    \/ \E m \in Messages : SendBatchFails(m)
    \/ \E m \in Messages : SendBatchInvalid(m)
    \/ \E c \in Clients, m \in Messages : Receive(c, m)
    \/ \E c \in Clients, m \in Messages : ReceiveAndDelete(c, m)
    \/ \E c \in Clients : ReceiveNothing(c)
    \/ \E c \in Clients : ReceiveFails(c)
    \/ \E c \in Clients, m \in Messages, t \in Turns : Complete(c, m, t)
    \/ \E c \in Clients, m \in Messages, t \in Turns : CompleteRejected(c, m, t)
    \/ \E c \in Clients, m \in Messages, t \in Turns : CompleteFails(c, m, t)
    \/ \E c \in Clients, m \in Messages, t \in Turns : Abandon(c, m, t)
    \/ \E c \in Clients, m \in Messages, t \in Turns : AbandonRejected(c, m, t)
    \/ \E c \in Clients, m \in Messages, t \in Turns : AbandonFails(c, m, t)
    \/ \E c \in Clients, m \in Messages, n \in Messages : CompleteBoth(c, m, n)
    \/ \E c \in Clients, m \in Messages, n \in Messages : CompleteBothInvalid(c, m, n)
    \/ \E m \in Messages : Expire(m)
    \/ \E m \in Messages : Prefetch(m)
    \/ \E c \in Clients, ms \in PeekAnswers : Peek(c, ms)
    \/ \E c \in Clients : PeekNothing(c)
    \/ \E c \in Clients : PeekFails(c)
    \/ Begin
    \/ \E m \in Messages : TxnSend(m)
    \/ \E m \in Messages : TxnSendLetPass(m)
    \/ \E m \in Messages : TxnSendInvalid(m)
    \/ \E m \in Messages : TxnSendFails(m)
    \/ \E c \in Clients, m \in Messages, t \in Turns : TxnComplete(c, m, t)
    \/ \E c \in Clients, m \in Messages, t \in Turns : TxnCompleteInvalid(c, m, t)
    \/ \E c \in Clients, m \in Messages, t \in Turns : TxnCompleteRejected(c, m, t)
    \/ \E c \in Clients, m \in Messages, t \in Turns : TxnCompleteFails(c, m, t)
    \/ \E m \in Messages : NumberEarly(m)
    \/ Commit
    \/ CommitFails
    \/ Rollback
    \/ RollbackFails
    \/ CommitRejected
    \/ RollbackRejected
    \/ Appear
    \/ \E p \in Partitions : PartitionDown(p)
    \/ \E p \in Partitions : PartitionUp(p)
    \/ BrokerKill
    \/ BrokerStart
    \/ \E c \in Clients : FrontendLost(c)
    \/ Drained
    \/ \E c \in Clients : Bind(c)
    \/ \E c \in Clients : BindRejected(c)
    \/ \E c \in Clients : Unbind(c)
    \/ \E c \in Clients : UnbindRejected(c)
    \/ \E c \in Clients : UnbindNothing(c)
    \/ \E c \in Clients, s \in Clients : Takeover(c, s)
    \/ Rebalance
    \/ \E p \in Partitions : Handoff(p)
    \/ \E p \in Partitions : HandoffTimeout(p)

Spec == Init /\ [][Next]_vars

\* For what has to happen to flows in the end: a killed broker is started, the rebalance
\* delay and handoffs end.
FlowsFairSpec == /\ Spec
                 /\ WF_vars(BrokerStart) /\ WF_vars(Rebalance)
                 /\ \A p \in Partitions : WF_vars(Handoff(p)) /\ WF_vars(HandoffTimeout(p))

\* What two states have to differ in to be two states: not the last answer.
\* (TLC checks every step all the same.)
View == << mechanism, history >>
================================================================================
