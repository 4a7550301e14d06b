------------------------------ MODULE ClientHistory ----------------------------
(***************************************************************************)
(* What clients have seen so far, and with flows what the broker tells of   *)
(* them.  Requirements speak of nothing else: the module Requirements       *)
(* extends this one and none of the mechanism's, so it can't even name a    *)
(* lock's holder.                                                           *)
(*                                                                          *)
(* `answer` is the last thing that was seen: an operation with its whole    *)
(* answer, or an event.  `history` is what is remembered of all before.     *)
(* With Observing = FALSE both stay as they were.                           *)
(*                                                                          *)
(* Three things are recorded when they happen, though clients learn of them *)
(* only afterwards: where a message is stored (any later observation shows  *)
(* it; of an activation this is when), that a front end fetched a message (its lock's clock was running,   *)
(* RCV-13), and that such a lock ended (the next delivery's count).         *)
(*                                                                          *)
(* With flows no client sees a partition (REB-15).  There the broker's own  *)
(* record is used: `place` and `shown` (KEY-8, REB-2, REB-3, REB-18),       *)
(* `duty`, as assignment events tell it, with "waiting", of which none      *)
(* tells, `timer`, and which locks end with a flow or a handoff.            *)
(***************************************************************************)
EXTENDS Catalogue

\* @typeAlias: place = {part: Int, num: Int};
\* @typeAlias: deal = {state: Str, sends: Set(Int), settles: Set(Int), defers: Set(Int), fading: Set(Int), seen: Bool, trouble: Bool};
\* @typeAlias: history = {sent: Int -> Str, place: Int -> $place, before: Int -> Set(Int), skips: Int -> Set(Int), shown: Int -> Set({part: Int, seq: Int}), lock: Int -> (Int -> Str), turn: Int -> Int, holder: Int -> Str, consumed: Set(Int), buried: Set(Int), dismissed: Set(Int), aside: Set(Int), over: Set(Int), unseen: Set(Int), free: Set(Int), least: Int -> Int, most: Int -> Int, outage: Set(Int), alive: Bool, deal: $deal, walks: Str -> Set(Set(Int)), bound: Set(Str), standby: Set(Str), returned: Set(Str), was: Set(Str), duty: Int -> (Str -> Str), timer: Bool, delay: Bool, cancelled: Bool};
\* @typeAlias: answer = {op: Str, by: Str, m: Int, ms: Set(Int), turn: Int, counts: Int -> Int, waiting: Set(Int), deferred: Set(Int), named: Set(Int), reasons: Int -> Str, out: Str, beat: Bool};
ClientHistoryTypes == TRUE

VARIABLES
    \* @type: $history;
    history,
    \* @type: $answer;
    answer

ghostVars == << history, answer >>

(***************************************************************************)
(* sent      no, accepted, refused, enlisted (in the open transaction),     *)
(*           duplicate (accepted, and to be dropped: DUP-1); of             *)
(*           an activation: expected (the scheduled time has come),         *)
(*           accepted (it has been seen), cancelled (before its time)       *)
(* place     the partition and number that it was stored with               *)
(* before    messages of which the send had returned when its send began;   *)
(*           of an activation: when its time came                           *)
(* skips     partitions in which its send may have used up a number that it *)
(*           does not bear (SEQ-4 ?), with the freedom "gaps"               *)
(* shown     what answers showed: partition and sequence number             *)
(* lock      of each lock of it: none, held, doubt (a fault may have ended  *)
(*           it), ended                                                     *)
(* turn      which of its locks was begun last                              *)
(* holder    with flows: to whom that was given, until it ends              *)
(* consumed  completed, or received and deleted; of a scheduled one:        *)
(*           cancelled, or its activation has been seen                     *)
(* buried    moved to the dead-letter queue                                 *)
(* dismissed   of these, what a client dead-lettered that held it           *)
(* aside     deferred, and no more than that: not completed, nor buried     *)
(* over      its time to live has ended                                     *)
(* unseen    a front end holds it, and no client was given it               *)
(* free      its position is free: a lock gave it back                      *)
(* least, most   bounds of its delivery count                               *)
(* outage, alive   partitions that are down; whether the broker runs        *)
(* deal      the transaction, as clients know it (txn is the broker's       *)
(*           record): none, open, committed, rolled back; what was          *)
(*           done in it; whether one of its messages has been seen since;   *)
(*           whether something befell it that may have ended it; what it    *)
(*           settled and peeks may show as it was before (TXN-5)            *)
(* walks     what the walk of each client's cursor has returned; several    *)
(*           possibilities where a fault may have reset it                  *)
(* bound, standby, was, returned   flows; those that went before (not those *)
(*           that a kill ended), and of these the ones bound again          *)
(* duty, timer   the broker's own record: what assignment events say, and   *)
(*           whether the rebalance delay is running                         *)
(* delay, cancelled   whether clients know of a reason for that delay;      *)
(*           whether handoffs were cancelled (REB-9 ?; only Reach asks)     *)
(***************************************************************************)
\* @type: $answer;
NoAnswer == [ op |-> "-", by |-> NoClient, m |-> 0, ms |-> {}, turn |-> 0,
              counts |-> [ m \in Messages |-> 0 ], waiting |-> {}, deferred |-> {}, named |-> {},
              reasons |-> [ m \in Messages |-> "-" ], out |-> "-", beat |-> FALSE ]

\* How clients may send: one message, several, in the transaction.  The schedule
\* operations are those whose answer tells the number (SCH-2).
SendOps == { "send", "schedule" }
BatchOps == { "batch", "schedule batch" }
TxnSendOps == { "txn send", "txn schedule" }
ScheduleOps == { "schedule", "schedule batch", "txn schedule" }
CancelOps == { "cancel", "txn cancel" }
\* How they settle.
Settlements == { "complete", "abandon", "defer", "dead letter" }
TxnSettlements == { "txn complete", "txn defer" }
DeadSettlements == { "complete dead", "abandon dead" }
TxnOps == TxnSendOps \cup TxnSettlements \cup { "txn cancel", "commit", "rollback" }

HistoryInit ==
    /\ answer = NoAnswer
    /\ history =
        [ sent |-> [ m \in Messages |-> "no" ],
          place |-> [ m \in Messages |-> [ part |-> NoPartition, num |-> NoNumber ] ],
          before |-> [ m \in Messages |-> {} ],
          skips |-> [ m \in Messages |-> {} ],
          shown |-> [ m \in Messages |-> {} ],
          lock |-> [ m \in Messages |-> [ t \in Turns |-> "none" ] ],
          turn |-> [ m \in Messages |-> BeforeFirstTurn ],
          holder |-> [ m \in Messages |-> NoClient ],
          consumed |-> {}, buried |-> {}, dismissed |-> {}, aside |-> {}, over |-> {}, unseen |-> {}, free |-> {},
          least |-> [ m \in Messages |-> 0 ], most |-> [ m \in Messages |-> 0 ],
          outage |-> {}, alive |-> TRUE,
          deal |-> [ state |-> "none", sends |-> {}, settles |-> {}, defers |-> {}, fading |-> {},
                     seen |-> FALSE, trouble |-> FALSE ],
          walks |-> [ c \in Clients |-> { {} } ],
          bound |-> {}, standby |-> {}, returned |-> {}, was |-> {},
          duty |-> [ p \in Partitions |-> [ c \in Clients |-> "none" ] ],
          timer |-> FALSE, delay |-> FALSE, cancelled |-> FALSE ]

(***************************************************************************)
(* What an observer takes from an answer by itself, whatever the action     *)
(* that gave it says.  h is the history with the answer in it.              *)
(***************************************************************************)

\* The partition of m may be among those: that of its key is, as far as answers showed
\* it, or its own.
\* @type: ($history, Int, Set(Int)) => Bool;
MayBeAmong(h, m, ps) ==
    \A n \in Messages : n = m \/ (Keyed(m) /\ KeyOf[n] = KeyOf[m]) =>
        { o.part : o \in h.shown[n] } \subseteq ps

\* What may end the open transaction, or keep it from its commit: an operation in it
\* that is not ok, a fault where it works, whatever befalls what it settles.
\* @type: ($history, $answer) => Bool;
Troubles(h, a) ==
    LET work == h.deal.sends \cup h.deal.settles IN
    \/ a.op \in TxnOps /\ a.out # "ok"
    \/ a.op \in { "kill", "front end lost" }
    \/ a.op = "partition down" /\ \E m \in work : MayBeAmong(h, m, h.outage)
    \/ a.op \notin TxnOps /\ a.ms \cap h.deal.settles # {}

\* y comes after every message of its partition that the walk `w` returned.
\* @type: ($history, Set(Int), Int) => Bool;
PastWalk(h, w, y) ==
    \A x \in w : h.place[x].part = h.place[y].part
                    => Before(h.place[x].num, h.place[y].num)

\* A peek finds that m, which a commit removed or deferred, is not there as before: it shows
\* nothing, or a younger one of the partition, without it, or shows it as deferred.
\* @type: ($history, $answer, Int) => Bool;
FindsGone(h, a, m) ==
    /\ a.op = "peek" /\ a.out # "refused" /\ h.alive
    /\ \/ m \in a.deferred \cap h.aside
       \/ /\ m \notin a.ms /\ h.place[m].part \notin h.outage
          /\ \A w \in history.walks[a.by] : PastWalk(h, w, m) \/ \E x \in a.ms : ~PastWalk(h, w, x)
          /\ a.ms = {} \/ \E x \in a.ms : h.place[x].part = h.place[m].part /\ PastWalk(h, {m}, x)

\* A lock of m begins: a client is given it, or (RCV-13) a front end holds it first.
\* @type: ($answer, Int) => Bool;
LockBegins(a, m) ==
    \/ a.op = "prefetch" /\ a.m = m
    \/ a.op = "receive" /\ a.out = "ok" /\ a.m = m /\ m \notin history.unseen
    \/ a.op = "receive deferred" /\ m \in a.ms
TokenAfter(t) == IF t = 1 /\ Offers("stale") THEN 2 ELSE 1

\* @type: ($history, $answer, Int) => Str;
HolderOf(h, a, m) ==
    IF \A t \in Turns : h.lock[m][t] \notin { "held", "doubt" } THEN NoClient
    ELSE IF a.op = "receive" /\ a.out = "ok" /\ a.m = m THEN a.by
    ELSE h.holder[m]

\* @type: ($history, $answer) => $history;
Noticed(h, a) ==
    [ h EXCEPT
        !.deal.trouble = h.deal.state = "open" /\ (@ \/ Troubles(h, a)),
        !.deal.fading = { m \in @ : ~FindsGone(h, a, m) },
        !.turn = [ m \in Messages |->
            IF m \in h.consumed \cup h.buried THEN BeforeFirstTurn
            ELSE IF LockBegins(a, m) THEN TokenAfter(@[m]) ELSE @[m] ],
        !.holder = IF HasFlows THEN [ m \in Messages |-> HolderOf(h, a, m) ] ELSE @ ]

\* The beat alternates, so that an answer given twice is two steps and no stutter,
\* of which [A]_ghostVars would say nothing.
\* @type: ($history, $answer) => Bool;
Record(h, a) == IF Observing
                THEN history' = Noticed(h, a) /\ answer' = [ a EXCEPT !.beat = ~answer.beat ]
                ELSE UNCHANGED ghostVars

\* @type: (Str, Str, Int, Str) => $answer;
Said(op, by, m, out) ==
    [ NoAnswer EXCEPT !.op = op, !.by = by, !.m = m, !.ms = IF m = 0 THEN {} ELSE {m},
                      !.out = out ]

(***************************************************************************)
(* How a history grows.  Each operator takes a history and gives the longer *)
(* one, so that they can be composed.                                       *)
(***************************************************************************)
\* @type: ($history) => Set(Int);
AcceptedIn(h) == { m \in Messages : h.sent[m] = "accepted" }

\* DUP-1: m was sent before under the same ID and key, and accepted to be stored, within
\* the window.
\* @type: ($history, Int) => Bool;
IsDuplicate(h, m) == \E n \in AcceptedIn(h) : IsCopy(n, m) /\ ~WindowIsOver(n, m)

\* @type: ($history, Int, Str, Set(Int)) => $history;
SendSeen(h, m, sent, skips) ==
    [ h EXCEPT !.sent[m] = IF sent = "accepted" /\ IsDuplicate(h, m) THEN "duplicate" ELSE sent,
               !.before[m] = AcceptedIn(h) \cup
                   (IF sent = "enlisted" THEN h.deal.sends ELSE {}),
               !.skips[m] = IF May("gaps") THEN skips ELSE {},
               !.deal.sends = IF sent = "enlisted" THEN @ \cup {m} ELSE @ ]

\* @type: ($history, Int, Int, Int) => $history;
StoredAt(h, m, p, n) == [ h EXCEPT !.place[m] = [ part |-> p, num |-> n ] ]

\* An answer shows that m is in partition p with number n.
\* @type: ($history, Int, Int, Int) => $history;
NumberSeen(h, m, p, n) ==
    [ h EXCEPT !.shown[m] = @ \cup { [ part |-> p,
                    seq |-> IF ShowsNumbers THEN SequenceNumber(p, n) ELSE 0 ] } ]

\* SCH-2: "the schedule operation ... returns the sequence number".
\* @type: ($history, Str, Int, Int, Int) => $history;
NumberTold(h, op, m, p, n) == IF op \in ScheduleOps THEN NumberSeen(h, m, p, n) ELSE h

\* Messages are seen, by a delivery or a peek.  Those that were scheduled are so no more
\* once they are seen activated.  A message of the transaction that is seen says that
\* all of them are visible.
\* @type: ($history, Set(Int)) => $history;
MessagesSeen(h, ms) ==
    LET born == ms \cap Activations
        from == { Origins[m] : m \in born }
        sent == (ms \cup from) \cap h.deal.sends # {}
        all == [ h EXCEPT !.deal.seen = @ \/ sent, !.deal.fading = IF sent THEN {} ELSE @ ]
    IN IF born = {} THEN all
       ELSE [ all EXCEPT !.sent = [ m \in Messages |-> IF m \in born THEN "accepted"
                                                       ELSE @[m] ],
                         !.consumed = @ \cup from ]

\* A message is observed in partition p with number n.
\* @type: ($history, Int, Int, Int) => $history;
Seen(h, m, p, n) == MessagesSeen(NumberSeen(h, m, p, n), {m})

\* The scheduled time of m has come: from now on it may be activated.
\* @type: ($history, Int) => $history;
TimeSeen(h, m) ==
    IF h.sent[m] # "accepted" \/ h.sent[Activation[m]] # "no" THEN h
    ELSE [ h EXCEPT !.sent[Activation[m]] = "expected",
                    !.before[Activation[m]] = AcceptedIn(h) ]

\* The scheduled messages ms are cancelled: for good, if their time has not come
\* (SCH-3); else they may be activated all the same (SCH-5).
\* @type: ($history, Set(Int)) => $history;
CancelSeen(h, ms) ==
    LET births == { Activation[m] : m \in ms } IN
    [ h EXCEPT !.consumed = @ \cup ms,
               !.sent = [ m \in Messages |-> IF m \in births /\ @[m] = "no" THEN "cancelled"
                                             ELSE @[m] ] ]

\* A client is given lock t of m.  Earlier locks that were in doubt ended.
\* @type: ($history, Int, Int) => $history;
LockSeen(h, m, t) ==
    [ h EXCEPT !.lock[m] = [ u \in Turns |-> IF u = t THEN "held"
                             ELSE IF @[u] = "doubt" THEN "ended" ELSE @[u] ],
               !.unseen = @ \ {m},
               !.free = IF HasFlows THEN @ ELSE @ \cup {m} ]

\* @type: ($history, Int) => $history;
Consumed(h, m) ==
    [ h EXCEPT !.consumed = @ \cup {m}, !.unseen = @ \ {m}, !.aside = @ \ {m},
               !.lock[m] = [ u \in Turns |-> IF @[u] \in {"held", "doubt"}
                                             THEN "ended" ELSE @[u] ] ]

\* No count of the scope is above this, so a bound need not grow beyond it; where nothing is
\* counted there is none.
More(n) == IF n > MaxTries \/ ~CountsDeliveries THEN n ELSE n + 1

\* Lock t of m ended by abandon or expiry, which counts.  `most` grew before if
\* the lock was in doubt.
\* @type: ($history, Int, Int, Bool) => $history;
LockEnded(h, m, t, certain) ==
    [ h EXCEPT !.lock[m][t] = "ended",
               !.free = @ \cup {m},
               !.least[m] = IF certain /\ CountsDeliveries THEN @ + 1 ELSE @,
               !.most[m] = IF h.lock[m][t] = "doubt" THEN @ ELSE More(@) ]

\* @type: ($history, Int) => $history;
UnseenEnded(h, m) ==
    [ h EXCEPT !.unseen = @ \ {m}, !.free = @ \cup {m}, !.most[m] = More(@) ]

\* The time of a lock is over that the open transaction settles: the lock may
\* hold until the transaction ends, or not (reading "Transactions").
\* @type: ($history, Int, Int) => $history;
TimeOver(h, m, t) == [ h EXCEPT !.lock[m][t] = "doubt", !.most[m] = More(@) ]

\* It was found lost.  That it may have been counted was known when it came in doubt.
\* @type: ($history, Int, Int) => $history;
LockOver(h, m, t) == [ h EXCEPT !.lock[m][t] = "ended" ]

\* Dead-lettered or not, as `dead` says.
\* @type: ($history, Int, Bool) => $history;
Buried(h, m, dead) ==
    IF dead THEN MessagesSeen([ h EXCEPT !.buried = @ \cup {m}, !.aside = @ \ {m} ], {m}) ELSE h

\* The holder of lock t deferred m: whether that counts is not known.
\* @type: ($history, Int, Int) => $history;
DeferSeen(h, m, t) == [ LockEnded(h, m, t, FALSE) EXCEPT !.aside = @ \cup {m} ]

\* A fault strikes partitions `ps`: what was held there is in doubt, and may
\* have been counted.
\* @type: ($history, Set(Int)) => $history;
Struck(h, ps) ==
    LET hit == { m \in Messages : /\ h.place[m].part \in ps
                                  /\ \E t \in Turns : h.lock[m][t] = "held" }
    IN [ h EXCEPT
           !.lock = [ m \in Messages |-> IF m \notin hit THEN h.lock[m] ELSE
                        [ t \in Turns |-> IF h.lock[m][t] = "held" THEN "doubt"
                                          ELSE h.lock[m][t] ] ],
           !.most = [ m \in Messages |-> IF m \in hit THEN More(h.most[m])
                                         ELSE h.most[m] ] ]

\* A fault that may have reset every cursor.
\* @type: ($history) => $history;
CursorsStruck(h) ==
    [ h EXCEPT !.walks = [ c \in Clients |-> h.walks[c] \cup { {} } ] ]

\* The walks that explain an answer of ms, longer by it.
\* @type: ($history, Str, Set(Int)) => Set(Set(Int));
WalksAfter(h, c, ms) ==
    { w \cup ms : w \in { v \in h.walks[c] : \A m \in ms : PastWalk(h, v, m) } }
================================================================================
