------------------------------ MODULE Transactions -----------------------------
(***************************************************************************)
(* One transaction of the producer: sends and settlements that happen       *)
(* together at the commit, or not at all (TXN-5).                           *)
(***************************************************************************)
EXTENDS Delivery

\* @typeAlias: transaction = {state: Str, key: Str, part: Int, doubt: Bool, doomed: Bool, missing: Bool, defers: Set(Int)};
TransactionTypes == TRUE

VARIABLES
    \* @type: $transaction;
    txn

(***************************************************************************)
(* state    none, open, committed, rolled back                              *)
(* key      of its first keyed send (TXN-2)                                 *)
(* part     of its first settlement (TXN-7)                                 *)
(* doubt    the broker may have rolled it back, or may refuse to go on:     *)
(*          after a fault, and after an operation in it that was rejected   *)
(*          (readings "Transactions", "Locks")                              *)
(* doomed   it can't be committed: something in it breaks a rule and was    *)
(*          not refused at once, or a lock that it settles was lost         *)
(* missing  what it settles was settled otherwise meanwhile: the commit may *)
(*          be refused for that                                             *)
(* defers   of what it settles, what it does not complete but defers        *)
(***************************************************************************)
\* @type: (Str) => $transaction;
NoWork(state) == [ state |-> state, key |-> NoKey, part |-> NoPartition,
                   doubt |-> FALSE, doomed |-> FALSE, missing |-> FALSE, defers |-> {} ]

TransactionsInit == txn = NoWork("none")

Open == txn.state = "open"
Ended == txn.state \in { "committed", "rolled back" }

Pending == { m \in Messages : msg[m].at = "pending" }
Settling == { m \in Messages : msg[m].settling }
Involved == ({ msg[m].part : m \in Pending \cup Settling } \cup {txn.part}) \ {NoPartition}

\* TXN-1: a transactional send needs a key.  (A name of its own, for Bugs to replace.)
HasKey(m) == Keyed(m)
\* TXN-2: all its messages bear the same key.
SameKey(m) == txn.key \in { NoKey, Key(m) }

\* Without partitions neither is a rule (profiles of TXN-1 and TXN-2).
MayJoin(m) == Valid(m) /\ (Partitioned => HasKey(m) /\ SameKey(m))

\* TXN-2: "two keys that share a partition: accept either verdict".
MayShare(m, p) == /\ Partitioned /\ HasKey(m) /\ Valid(m)
                  /\ txn.key # NoKey /\ p = home[txn.key]

\* TXN-7: settling messages of two partitions is rejected at the second.
SamePartition(m) == Partitioned => txn.part \in { NoPartition, msg[m].part }

\* "A keyed and a settled partition that differ: either verdict" (reading): of
\* the first key after a settlement, and of a settlement after a key.
Apart(m) == /\ Partitioned /\ Keyed(m)
            /\ txn.key = NoKey
            /\ txn.part # NoPartition
            /\ home[Key(m)] # txn.part
Mixed(m) == Partitioned /\ txn.key # NoKey /\ home[txn.key] # msg[m].part

Enlisted(m, p) == [ Empty("pending") EXCEPT !.part = p ]

\* A message of a transaction gets its number at any moment from its send to
\* the commit; of two sends the first gets the smaller one (reading).
Unnumbered(m) == /\ msg[m].at = "pending"
                 /\ msg[m].part # NoPartition
                 /\ msg[m].num = NoNumber
MayNumberEarly(m) == /\ May("early") /\ ShowsNumbers
                     /\ Unnumbered(m)
                     /\ \A n \in Messages : n < m => ~Unnumbered(n)

UnnumberedIn(p) == { m \in Messages : Unnumbered(m) /\ msg[m].part = p }
NumberAtCommit(m) ==
    IF ~Unnumbered(m) THEN msg[m].num
    ELSE IF ~ShowsNumbers THEN m
    ELSE AdvanceBy(counter[msg[m].part],
                   Cardinality({ n \in UnnumberedIn(msg[m].part) : n < m }))
CountersAtCommit ==
    IF ShowsNumbers
    THEN [ p \in Partitions |-> AdvanceBy(counter[p], Cardinality(UnnumberedIn(p))) ]
    ELSE counter

\* What the commit makes of m, that peeks may show as before (TXN-5, reading "Transactions").
Fading(m, r) == [ r EXCEPT !.fading = TRUE, !.part = msg[m].part, !.num = msg[m].num,
                           !.count = msg[m].count, !.aside = @ \/ msg[m].aside ]

\* TXN-5: all or nothing.  `at` is where its sends are then: ready (or scheduled), or
\* lagging ("visibility after the commit's return may lag").
Committed(at) ==
    [ m \in Messages |->
        IF msg[m].at = "pending"
        THEN [ msg[m] EXCEPT !.at = IF at = "ready" THEN Arrival(m) ELSE at,
                             !.num = NumberAtCommit(m) ]
        ELSE IF ~msg[m].settling THEN msg[m]
        ELSE LET r == IF m \in txn.defers THEN SetAside(m, msg[m].count) ELSE Settled(m)
             IN IF at = "lagging" /\ MayFade THEN Fading(m, r) ELSE r ]

\* What it defers may be counted, or not.
AfterCommit(at) ==
    LET then == Committed(at)
        countable == { m \in txn.defers : msg[m].settling /\ msg[m].count < MaxDeliveryCount }
    IN { [ m \in Messages |-> IF m \in counted THEN [ then[m] EXCEPT !.count = Raised(@) ]
                              ELSE then[m] ] : counted \in SUBSET countable }

\* TXN-5: "none after rollback; settlements likewise, and after rollback the
\* same lock still settles".  A lock whose time ended meanwhile gives its
\* message back.
RolledBackMessage(m) ==
    IF msg[m].at = "pending" THEN { Empty("refused") }
    ELSE IF ~msg[m].settling THEN { msg[m] }
    ELSE IF msg[m].doubt = "expiry" THEN AfterLock(m, Raised(msg[m].count), FALSE)
    ELSE { [ msg[m] EXCEPT !.settling = FALSE ] }

\* All that may be in the place of the messages after a rollback.
RolledBack ==
    { f \in [ Messages -> UNION { RolledBackMessage(m) : m \in Messages } ] :
        \A m \in Messages : f[m] \in RolledBackMessage(m) }

\* A commit or rollback may fail: the broker rolled the transaction back, or a
\* partition that it needs is down.
MayFail == \/ txn.doubt
           \/ ~running
           \/ \E p \in Involved : ~up[p]
           \/ MayBeBusy

\* A commit alone fails also for what it was to do.
MayNotCommit == \/ MayFail
                \/ txn.doomed
                \/ txn.missing
                \/ \E m \in Settling : InDoubt(m)

\* A fault of a partition may roll back a transaction that works there; the
\* loss of a front end, or of the broker, any.
StruckBy(ps) == Open /\ \/ Involved \cap ps # {}
                        \/ txn.key # NoKey /\ home[txn.key] \in ps
InDoubtAfter(struck) == IF struck THEN [ txn EXCEPT !.doubt = TRUE ] ELSE txn
================================================================================
