------------------------------ MODULE Requirements -----------------------------
(***************************************************************************)
(* The requirements of the catalogue, one operator each, named after its    *)
(* ID.  They speak of what ClientHistory remembers, and of nothing else.    *)
(*                                                                          *)
(* [](P) holds in every state.  [][A]_ghostVars holds of every step: then   *)
(* answer' is what was seen in that step, history what was known before,    *)
(* history' what is known now.  Each is one formula, so that TLC names it.  *)
(* Those that end in _Eventually speak of what has to happen in the end.    *)
(***************************************************************************)
EXTENDS ClientHistory

Accepted == AcceptedIn(history)
Refused == { m \in Messages : history.sent[m] = "refused" }
PlaceOf(m) == history.place[m]
SamePlace(x, y) == PlaceOf(x).part = PlaceOf(y).part
ShownPartitions(m) == { o.part : o \in history.shown[m] }
ShownNumbers(m) == { o.seq : o \in history.shown[m] }

HeldLock(m) == \E t \in Turns : history.lock[m][t] = "held"
MaybeHeld(m) == \E t \in Turns : history.lock[m][t] \in { "held", "doubt" }

\* What is there for certain: accepted, and not completed, deleted, or dead-lettered, nor
\* over while no client holds it.
Live == Accepted \ (history.consumed \cup history.buried
                     \cup { m \in history.over : ~HeldLock(m) })

\* Reading "Peeking": certainly live and visible.  What a transaction sent may lag
\* until one of its messages has been seen; what is in a partition, or a broker, that is
\* down is not seen.
Visibly(m) == /\ history.alive
              /\ m \in history.deal.sends => history.deal.seen
              /\ PlaceOf(m).part \notin history.outage

\* Scheduled messages that nobody cancelled and whose time has come: they may have been
\* activated, and no client has seen that yet.
Overdue == { m \in Live \cap Scheduled : history.sent[Activation[m]] = "expected" }

CertainlyVisible == { m \in Live \ Overdue : Visibly(m) }

OlderPlace(x, y) == /\ SamePlace(x, y)
                    /\ PlaceOf(x).num # NoNumber /\ PlaceOf(y).num # NoNumber
                    /\ Before(PlaceOf(x).num, PlaceOf(y).num)

\* It was settled in the transaction, which may be open still: whether another
\* settlement by its lock is accepted no source says.
MaySettleAlready(m) == m \in history.deal.settles /\ history.deal.state = "open"

\* A lock that was held ends, or comes in doubt, for a reason.
EndsForAReason(m) ==
    \/ answer'.op \in Settlements \cup DeadSettlements /\ answer'.m = m /\ answer'.out = "ok"
    \/ answer'.op = "complete both" /\ m \in answer'.ms
    \/ answer'.op \in { "close session", "session over" } /\ m \in answer'.named
    \/ answer'.op \in { "expire", "expire dead" } /\ answer'.m = m /\ LocksExpire
    \/ answer'.op = "commit" /\ m \in history.deal.settles
    \/ answer'.op = "partition down" /\ PlaceOf(m).part \in history'.outage \ history.outage
    \/ answer'.op = "kill"
    \/ answer'.op = "unbind" /\ answer'.by = history.holder[m]
    \/ /\ answer'.op = "handoff" /\ answer'.out = "time over"
       /\ history.duty[PlaceOf(m).part][history.holder[m]] = "paused"

\* The step delivers a message, or shows some.
Delivers == answer'.op \in { "receive", "delete" } /\ answer'.out = "ok"
ByNumber == answer'.op = "receive deferred" /\ answer'.out = "ok"
FromDead == answer'.op = "receive dead" /\ answer'.out = "ok"
Hands == Delivers \/ ByNumber \/ FromDead
Peeks == answer'.op = "peek" /\ answer'.out # "refused"
PeeksDead == answer'.op = "peek dead"
Shows == Hands \/ Peeks \/ PeeksDead
Settles == answer'.op \in Settlements \cup TxnSettlements

\* The instant at which a message is taken out of its partition: received, or
\* fetched by a front end (then its lock's clock shows it: RCV-13).
Takes == \/ answer'.op = "prefetch"
         \/ Delivers /\ answer'.m \notin history.unseen

\* Whatever bears the key of one of these messages was shown in one partition.
\* @type: (Set(Int)) => Bool;
Pinned(ms) ==
    \A m \in ms, n \in Messages : Keyed(m) /\ KeyOf[m] = KeyOf[n] =>
        Cardinality(ShownPartitions(m) \cup ShownPartitions(n)) <= 1

\* --- KEY ------------------------------------------------------------------

\* KEY-2 (A): "else the partition key property" is the key: messages that bear
\* the same partition key are together.
KEY_2 == [](AzurePartitions => Pinned(Messages))

\* KEY-3 (A, K): session ID and partition key both set and different: rejected as
\* invalid, nothing stored.
KEY_3 == [](AzurePartitions => \A m \in TwoKeys :
    /\ history.sent[m] # "accepted"
    /\ history.shown[m] = {})

\* KEY-7 (D, I): "a batch whose messages carry different keys is rejected whole".
\* That one is all or nothing shows elsewhere: of an accepted batch in RCV-2, of a
\* refused one in RCV-1.
KEY_7 == [][ answer'.op \in BatchOps /\ answer'.out = "ok" /\ AzurePartitions =>
    \A m, n \in answer'.ms : Keyed(m) /\ Keyed(n) => KeyOf[m] = KeyOf[n] ]_ghostVars

\* KEY-8 (S): the key is QUEUE_PARTITION_KEY: messages that bear the same one are
\* together.
KEY_8 == [](HasFlows => Pinned(Messages))

\* KEY-9 (A, S): "what the rules allow is not refused for good": an answer of
\* invalid has a reason among KEY-3, SES-3, KEY-7, TXN-1, TXN-2, RCV-14 and TXN-7, is
\* about a flow that is bound already, or is not, or about a first key where the
\* transaction settles already (reading "Transactions": either verdict); one of not
\* found is about a message that is scheduled no more, or may be so.
KEY_9 == [][ answer'.out \in { "invalid", "not found" } =>
    LET m == answer'.m
        keys == { KeyOf[n] : n \in history.deal.sends }
        places == { PlaceOf(n).part : n \in history.deal.sends \cup history.deal.settles }
    IN \/ answer'.op \in CancelOps /\ (m \notin CertainlyVisible \/ MaySettleAlready(m))
       \/ answer'.op \in SendOps /\ m \in TwoKeys \cup Sessionless
       \/ /\ answer'.op \in BatchOps /\ AzurePartitions
          /\ \E a, b \in answer'.ms : KeyOf[a] # KeyOf[b]
       \/ answer'.op \in BatchOps /\ answer'.ms \cap TwoKeys # {}
       \/ /\ answer'.op \in TxnSendOps
          /\ \/ m \in TwoKeys
             \/ Partitioned /\ (~Keyed(m) \/ keys \ { KeyOf[m] } # {})
             \/ Partitioned /\ keys = {} /\ history.deal.settles # {}
       \/ answer'.op = "complete both" /\ AzurePartitions
            /\ \E a, b \in answer'.ms : ~SamePlace(a, b)
       \/ answer'.op = "bind" /\ answer'.by \in history.bound
       \/ answer'.op = "unbind" /\ answer'.by \notin history.bound
       \/ /\ answer'.op = "receive deferred"
          /\ \/ Partitioned /\ \E a, b \in answer'.named : ~SamePlace(a, b)
             \/ \E n \in answer'.named :
                    n \notin history.aside \/ MaybeHeld(n) \/ n \in history.over
       \/ answer'.op \in TxnSettlements \cup { "txn cancel" } /\ Partitioned
            /\ places \ { NoPartition, PlaceOf(m).part } # {} ]_ghostVars

\* --- ROUTE ----------------------------------------------------------------

\* ROUTE-1 (A, S): "messages with equal keys are stored in the same partition, for
\* the life of the entity, across restarts and faults".
ROUTE_1 == [](Pinned(Messages))

\* ROUTE-2 (A, S): "the partition of a keyed message is a function of the key
\* alone".  Which function it is, nobody may assert.
ROUTE_2 == [](\A k \in Keys : \E p \in Partitions :
    \A m \in Messages : KeyOf[m] = k =>
        \A o \in history.shown[m] : o.part = p)

\* What an operation sends; a commit all that was sent in the transaction.
Sends == IF answer'.op = "commit" THEN history.deal.sends
         ELSE IF answer'.op \in SendOps \cup BatchOps \cup TxnSendOps THEN answer'.ms
         ELSE {}

\* ROUTE-5 (A): keyed send while its partition is down: "an error to the sender,
\* nothing stored, no other partition used".
ROUTE_5 == [][
    /\ answer'.out = "ok" =>
            \A m \in Sends, n \in Messages :
                Keyed(m) /\ KeyOf[m] = KeyOf[n] =>
                    ShownPartitions(n) \cap history.outage = {}
    /\ Shows => \A m \in answer'.ms : Keyed(m) => m \notin Refused ]_ghostVars

\* ROUTE-6 (A): keyless send while the chosen partition is down: "stored in
\* another; the send succeeds" (judged where no operation is refused in passing).
ROUTE_6 == [][ /\ answer'.op \in SendOps \cup BatchOps /\ answer'.out = "refused"
               /\ (\A m \in answer'.ms : ~Keyed(m)) /\ ~May("busy")
               => history.outage = Partitions \/ ~history.alive ]_ghostVars

\* A fault may be the reason: a partition is down that the operation may need, or
\* (ROUTE-8) all of them.
NeedsDown(ms) == \E m \in ms : MayBeAmong(history, m, history.outage)
OwnMayBeDown ==
    IF answer'.op \in SendOps \cup BatchOps \cup TxnSendOps
    THEN \E m \in answer'.ms : IF Keyed(m) THEN NeedsDown({m}) ELSE history.outage = Partitions
    ELSE IF answer'.op \in { "commit", "rollback" }
         THEN \/ history.outage = Partitions
              \/ NeedsDown(history.deal.sends \cup history.deal.settles)
    ELSE ShownPartitions(answer'.m) \subseteq history.outage

\* An operation in the transaction that nothing stands in the way of but a fault: nothing
\* befell the transaction before, and what it is to commit may be committed (else the
\* broker may have found that out, and rolled it back).
Untroubled ==
    /\ history.deal.state = "open" /\ ~history.deal.trouble
    /\ answer'.op = "txn cancel" => answer'.m \in CertainlyVisible
    /\ answer'.op \in TxnSettlements \cup { "txn cancel" } => answer'.m \notin history.deal.settles
    /\ \A m \in history.deal.sends : m \notin TwoKeys /\ (Partitioned => Keyed(m))

\* ROUTE-7 (A): "faults are isolated: operations on other partitions go on": a send,
\* a settlement, a commit or a rollback is refused only while some partition is down, and
\* the operation's own is not known to be up; of several messages, that of one of them;
\* of a keyless message, all are down.
ROUTE_7 == [][ /\ \/ answer'.op \in SendOps \cup BatchOps \cup Settlements
                  \/ answer'.op = "cancel" /\ answer'.m \in CertainlyVisible
                  \/ answer'.op \in TxnOps /\ Untroubled
               /\ answer'.out = "refused"
               /\ history.alive /\ ~May("busy")
               => history.outage # {} /\ OwnMayBeDown ]_ghostVars

\* ROUTE-8 (A): "no partition up: an error, nothing stored", at a commit as at a send;
\* nothing is settled then, either.
ROUTE_8 == [][ /\ answer'.out = "ok"
               /\ \/ Sends # {}
                  \/ Settles
                  \/ answer'.op = "commit" /\ history.deal.settles \ history.consumed # {}
               => history.outage # Partitions /\ history.alive ]_ghostVars

\* --- SEQ ------------------------------------------------------------------

\* SEQ-1 (M): every accepted message bears a number, unique in its entity.
SEQ_1 == [](ShowsNumbers =>
    \A m, n \in Messages : m # n => ShownNumbers(m) \cap ShownNumbers(n) = {})

\* SEQ-2 (M, I): "the top 16 bits name the partition: constant for a partition,
\* distinct between partitions".
SEQ_2 == [](ShowsNumbers /\ Partitioned =>
    \A m, n \in Messages : \A o \in history.shown[m], q \in history.shown[n] :
        (o.part = q.part) <=> (TagIn(o.seq) = TagIn(q.seq)))

\* SEQ-3 (M): "if send a returned before send b was called and both are in one
\* partition, seq(a) < seq(b)".
SEQ_3 == [](ShowsNumbers =>
    \A b \in Messages : \A a \in history.before[b] :
        \A o \in history.shown[a], q \in history.shown[b] :
            o.part = q.part => Before(NumberIn(o.seq), NumberIn(q.seq)))

\* The numbers strictly between those of a and b that no message was seen with.
Between(a, b) ==
    { k \in Numbers : Before(a, b) /\ 0 < Distance(a, k) /\ Distance(a, k) < Distance(a, b) }
Missing(a, b, p) ==
    { k \in Between(a, b) :
        \A m \in Messages : SequenceNumber(p, k) \notin ShownNumbers(m) }

\* Sends and activations that may each have used up one of them: there, and not shown
\* yet; come to nothing; tried there in vain (SEQ-4 ?).
MayHaveUsed(p) ==
    { m \in Messages :
        \/ /\ history.sent[m] \in { "accepted", "expected" }
           /\ PlaceOf(m).part = p /\ history.shown[m] = {}
        \/ May("gaps") /\ p \in history.skips[m]
        \/ /\ m \in history.deal.sends /\ history.shown[m] = {}
           /\ PlaceOf(m).part \in { p, NoPartition } }

\* @type: ({part: Int, seq: Int}, {part: Int, seq: Int}) => Bool;
Explained(o, q) ==
    \/ Distance(NumberIn(o.seq), NumberIn(q.seq)) <= 1
    \/ Cardinality(Missing(NumberIn(o.seq), NumberIn(q.seq), o.part))
        <= Cardinality(MayHaveUsed(o.part))

\* SEQ-4 (M, I): gap-free within a partition, but for what may have used a number.
SEQ_4 == [](ShowsNumbers =>
    \A m, n \in Messages : \A o \in history.shown[m], q \in history.shown[n] :
        o.part = q.part => Explained(o, q))

\* SEQ-5 (M): "the counter rolls over to zero": numbers stay within their bits (they
\* do not run into those of the partition), and from the last to zero is no gap.
SEQ_5 == [](ShowsNumbers =>
    \A m, n \in Messages : \A o \in history.shown[m], q \in history.shown[n] :
        /\ o.seq - SequenceNumber(o.part, 0) \in Numbers
        /\ o.part = q.part /\ m \in history.before[n] /\ o.seq > q.seq
              => Explained(o, q) /\ Before(NumberIn(o.seq), NumberIn(q.seq)))

\* SEQ-6 (M, I): "lock, abandon, expiry and defer keep the number".
SEQ_6 == [](\A m \in Messages : Cardinality(ShownNumbers(m)) <= 1)

\* --- RCV ------------------------------------------------------------------

\* RCV-1 (A): "no phantom: what is received was sent".
RCV_1 == [][ Shows => \A m \in answer'.ms :
    history.sent[Origins[m]] \in { "accepted", "enlisted" } ]_ghostVars

\* RCV-2 (A): "no loss: an accepted message stays ... until completed, deleted on
\* receive or expired"; judged after a drain.
RCV_2 == [][
    /\ answer'.op = "drained" => Live = {}
    /\ answer'.op = "dead drained" => history.buried \subseteq history.consumed ]_ghostVars

\* RCV-2 (A): "an accepted message stays receivable": it is received in the end, or is
\* gone, if faults end, the broker goes on and clients receive.
Received(m) == \/ \E t \in Turns : history.lock[m][t] # "none"
               \/ m \in history.consumed \cup history.buried
RCV_2_Eventually ==
    <>[](history.outage = {} /\ history.alive) =>
        \A m \in Messages : m \in Accepted ~> Received(m)

\* RCV-3 (M, D): "first deliveries from one partition follow its sequence numbers;
\* a later message overtakes only one that is locked ... redelivery position is
\* free".
RCV_3 == [][ Takes /\ ~HasFlows /\ answer'.m \notin history.free =>
    \A x \in CertainlyVisible \ Scheduled :
        OlderPlace(x, answer'.m) =>
            x \in history.free \cup history.unseen \/ MaybeHeld(x) ]_ghostVars

\* RCV-6 (A): "between lock and its end nobody else receives the message"; and a
\* lock that holds settles, ends for a reason only, and with flows is its flow's
\* alone (reading "Locks").
RCV_6 == [][
    /\ Hands => \A m \in answer'.ms : ~HeldLock(m)
    /\ Settles /\ answer'.out = "lost" /\ ~MaySettleAlready(answer'.m) =>
            history.lock[answer'.m][answer'.turn] # "held"
    /\ \A m \in Messages, t \in Turns :
            history.lock[m][t] = "held" /\ history'.lock[m][t] # "held" => EndsForAReason(m)
    /\ HasFlows /\ Settles /\ answer'.out = "ok" =>
            answer'.by = history.holder[answer'.m] ]_ghostVars

\* RCV-7 (A): "a completed, or received-and-deleted, message is never delivered
\* again".
RCV_7 == [][ Hands => answer'.ms \cap history.consumed = {} ]_ghostVars

\* RCV-8 (D): "settling or renewing with a lost lock is rejected, and changes
\* nothing"; so is one by a lock that nobody was given (reading "Locks"): each lock has
\* a token of its own, or a lost one would settle.  At a commit it is lost that was
\* dead-lettered (reading "Transactions").
RCV_8 == [][ ~HasFlows /\ answer'.out = "ok" =>
    /\ answer'.op \in { "receive", "receive deferred" } => \A m \in answer'.ms :
            history'.lock[m][history'.turn[m]] = "held"
    /\ Settles => history.lock[answer'.m][answer'.turn] \in { "held", "doubt" }
    /\ answer'.op = "commit" => history.deal.settles \cap history.buried = {}
    /\ answer'.op = "complete both" => \A m \in answer'.ms : MaybeHeld(m)
    /\ answer'.op \in DeadSettlements => MaybeHeld(answer'.m) ]_ghostVars

\* The reason that m is in the dead-letter queue, as far as it is known.
\* @type: (Int, Str) => Bool;
IsWhy(m, why) ==
    IF m \in history.dismissed THEN why = "holder"
    ELSE \/ why = "limit" /\ history.most[m] >= MaxDeliveryCount
         \/ why = "time" /\ m \in history.over

\* RCV-9 (D): "abandon and lock expiry raise the delivery count by one; beyond the
\* maximum the message moves to the dead-letter queue with its reason"; its holder may
\* say so before, and what is over may move there, too (reading "Expiry").
RCV_9 == [][
    /\ (Delivers \/ ByNumber) /\ CountsDeliveries => \A m \in answer'.ms :
            LET n == answer'.counts[m] IN
            /\ history.least[m] <= n /\ n <= history.most[m]
            /\ n <= MaxDeliveryCount
            /\ m \notin history.buried
    /\ FromDead \/ PeeksDead => \A m \in answer'.ms :
            m \in history.buried /\ IsWhy(m, answer'.reasons[m])
    /\ \A m \in history'.buried : \/ history'.most[m] >= MaxDeliveryCount
                                  \/ m \in history'.dismissed \cup history'.over ]_ghostVars

\* RCV-10 (A20, I): "a deferred message is delivered only by its sequence number; one call
\* may not name numbers of different partitions".
RCV_10 == [][
    /\ Delivers => answer'.m \notin history.aside
    /\ ByNumber => answer'.ms \subseteq answer'.named \cap history.aside
    /\ answer'.op = "receive deferred" /\ answer'.out \in { "ok", "nothing" } /\ Partitioned =>
            \A m, n \in answer'.named : SamePlace(m, n) ]_ghostVars

\* What a message is to a client of a queue without partitions.  (What is scheduled is no
\* message yet: its activation is.)
\* @type: (Int) => Str;
FlatState(m) == IF m \in Scheduled THEN "absent"
                ELSE IF m \in history.consumed \cup history.buried THEN "gone"
                ELSE IF MaybeHeld(m) THEN "locked"
                ELSE IF m \in history.aside THEN "aside"
                ELSE IF history.sent[m] \in { "accepted", "expected" } THEN "there"
                ELSE "absent"

Flat == INSTANCE FlatQueue WITH
    at <- [ m \in Messages |-> FlatState(m) ],
    held <- { m \in Messages : HeldLock(m) },
    loose <- history.free \cup history.unseen,
    unsure <- history.over \cup { m \in Messages : history.sent[m] = "expected" }
                \cup (IF history.deal.seen THEN {} ELSE history.deal.sends),
    ahead <- [ m \in Messages |-> { x \in history.before[m] : Keyed(m) /\ KeyOf[x] = KeyOf[m] } ],
    said <- answer

\* RCV-12 (A): "every client-visible behaviour of a partitioned entity, partition
\* identity aside, is one that a non-partitioned entity (with free order across
\* keys) allows".
RCV_12 == [][ ~HasFlows => Flat!Next ]_ghostVars

\* RCV-15 (D): "a message is not delivered once its time to live ended; a locked one is
\* unaffected until its lock ends.  A dead-letter queue has no time to live."
RCV_15 == [][
    /\ Takes => answer'.m \notin history.over
    /\ ByNumber => answer'.ms \cap history.over = {}
    /\ Settles /\ answer'.out = "lost" /\ answer'.m \in history.over
              /\ ~MaySettleAlready(answer'.m) =>
            history.lock[answer'.m][answer'.turn] # "held"
    /\ answer'.op = "dead drained" =>
            history.buried \cap history.over \subseteq history.consumed ]_ghostVars

\* RCV-14 (I): "one settlement request naming locks of different partitions is
\* rejected".
RCV_14 == [][ answer'.op = "complete both" /\ answer'.out = "ok" /\ AzurePartitions =>
    \A m, n \in answer'.ms : SamePlace(m, n) ]_ghostVars

\* --- TXN ------------------------------------------------------------------

\* TXN-1 (A): "a transactional send needs a key; without: invalid operation" (at
\* the commit at the latest: reading "Keys").
TXN_1 == [](Partitioned /\ history.deal.state = "committed" =>
    \A m \in history.deal.sends : Keyed(m))

\* TXN-2 (A, I): "all its messages bear the same key ... two keys that share a
\* partition: accept either verdict".
TXN_2 == [](Partitioned => \A m, n \in history.deal.sends :
    Keyed(m) /\ Keyed(n) /\ KeyOf[m] # KeyOf[n]
        /\ PlaceOf(m).part # NoPartition /\ PlaceOf(n).part # NoPartition
    => SamePlace(m, n))

\* TXN-5 (D, K): "no send of it is visible before commit, all are after, none after
\* rollback; settlements likewise, and after rollback the same lock still
\* settles".  Reading: it becomes visible all at once; what it removed peeks may show as it
\* was until one does not, or a client was shown what it sent.
TXN_5 == [][
    /\ Shows => \A m \in answer'.ms :
            Origins[m] \in history.deal.sends => history.deal.state = "committed"
    /\ Peeks => \A x \in history.deal.sends \cap CertainlyVisible :
            \A y \in answer'.ms : OlderPlace(x, y) =>
                x \in answer'.ms \/ \E w \in history.walks[answer'.by] :
                    \E z \in w : x = z \/ OlderPlace(x, z)
    /\ Peeks => LET gone == answer'.ms \cap history.deal.settles \cap history.consumed IN
            /\ gone \subseteq history.deal.fading
            /\ gone = {} \/ answer'.ms \cap history.deal.sends = {}
    /\ Delivers /\ answer'.m \in history.deal.settles =>
            history.deal.state # "committed"
    /\ Settles /\ answer'.out = "lost" /\ answer'.m \in history.deal.settles
              /\ ~MaySettleAlready(answer'.m) =>
            history.lock[answer'.m][answer'.turn] # "held" ]_ghostVars

\* TXN-7 (K): "settling messages of two partitions in one transaction: rejected at
\* the second".
TXN_7 == [](Partitioned =>
    \A m, n \in history.deal.settles \ Scheduled : SamePlace(m, n))

\* TXN-8 (A): "a key pins the message whether or not a transaction is used".
TXN_8 == [](Pinned(history.deal.sends))

\* TXN-10 (D): "a transaction ends once: after a commit or rollback that was ok no
\* further operation, commit or rollback in it succeeds".
TXN_10 == [][ /\ answer'.op \in TxnOps
              /\ answer'.out = "ok"
              => history.deal.state = "open" ]_ghostVars

\* --- PEEK -----------------------------------------------------------------

\* The walk w explains an answer of ms: it goes on, shows nothing that is gone, and
\* in its partition no live, older, visible message is left out.
\* @type: (Set(Int), Set(Int)) => Bool;
Oldest(w, ms) ==
    /\ ms \cap (history.consumed \cup history.buried) \subseteq history.deal.fading
    /\ \A m \in ms : PastWalk(history, w, m)
    /\ \A m \in ms : \A x \in CertainlyVisible :
          OlderPlace(x, m) /\ PastWalk(history, w, x) => x \in ms

\* PEEK-1 (A): "returns the oldest messages from the cursor on, by sequence
\* number".
PEEK_1 == [][ Peeks /\ ~Partitioned =>
    \E w \in history.walks[answer'.by] : Oldest(w, answer'.ms) ]_ghostVars

\* PEEK-2 (A): "every answer is the oldest of some partition from the cursor on:
\* within one answer and one partition no live, older, visible message is skipped".
PEEK_2 == [][ Peeks /\ Partitioned =>
    \E w \in history.walks[answer'.by] : Oldest(w, answer'.ms) ]_ghostVars

\* PEEK-4 (A, I): "at most the number asked ... none although messages match is a
\* violation" (at the first peek of a cursor).
PEEK_4 == [][
    /\ Peeks \/ PeeksDead => Cardinality(answer'.ms) <= PeekMax
    /\ Peeks /\ answer'.ms = {} /\ history.walks[answer'.by] = { {} } => CertainlyVisible = {}
    /\ PeeksDead /\ answer'.ms = {} => history.buried \subseteq history.consumed ]_ghostVars

\* PEEK-5 (A): "repeated peeks reach every live message, then return none"; no
\* message comes twice in one walk.
PEEK_5 == [][ Peeks =>
    /\ \E w \in history.walks[answer'.by] : w \cap answer'.ms = {}
    /\ answer'.ms = {} =>
          \E w \in history.walks[answer'.by] :
              \A x \in CertainlyVisible : ~PastWalk(history, w, x) ]_ghostVars

\* PEEK-6 (A, K): "peek changes nothing: no lock, no delivery count, no order": a
\* peek shows no count above what locks explain, whoever peeked before.
PEEK_6 == [][ Peeks => \A m \in answer'.ms :
    answer'.counts[m] <= history.most[m] ]_ghostVars

\* PEEK-7 (M, D): "active, locked, deferred and scheduled messages are visible with their
\* state": what a client holds, or deferred, is not left out; what waits for its time is
\* shown as scheduled, what was deferred as deferred (while a lock holds it, or not), and
\* nothing else is.
PEEK_7 == [][ Peeks =>
    /\ answer'.waiting = answer'.ms \cap Scheduled
    /\ answer'.deferred \subseteq answer'.ms \cap (history.aside \cup history.deal.fading)
    /\ \A m \in (answer'.ms \cap history.aside) \ answer'.deferred :
            MaybeHeld(m) \/ m \in history.deal.fading
    /\ \E w \in history.walks[answer'.by] : \A m \in answer'.ms : \A x \in CertainlyVisible :
        (HeldLock(x) \/ x \in history.aside) /\ OlderPlace(x, m) /\ PastWalk(history, w, x)
            => x \in answer'.ms ]_ghostVars

\* --- SCH: Activation[m] is what m becomes when it is activated. -----------

\* SCH-1 (M): "not receivable before its time".  (As long as it is scheduled it is m;
\* when its time has come its activation is expected.)
SCH_1 == [][
    /\ Delivers => answer'.m \notin Scheduled
    /\ Shows => \A m \in answer'.ms \cap Activations : history.sent[m] # "no" ]_ghostVars

\* SCH-1 (M): "eventually receivable after (any delay)": it is seen activated, or
\* somebody cancels it, if the broker is given its turns and clients receive.
SCH_1_Eventually == \A m \in Scheduled : m \in Overdue ~> m \notin Overdue

\* SCH-2 (M): "either of two ways: a send that bears a scheduled time, or the schedule
\* operation, which returns the sequence number.  Both have a number while scheduled,
\* found by peek too": the operation tells one number (for a duplicate: which, no source
\* says), no answer shows another, and peeks leave out nothing that is scheduled.
SCH_2 == [][
    /\ answer'.op \in ScheduleOps /\ answer'.out = "ok" => \A m \in answer'.ms :
        history'.sent[m] # "duplicate" =>
            Cardinality(history'.shown[m] \cup history'.shown[Activation[m]]) = 1
    /\ \A m \in Scheduled : Cardinality(history'.shown[m]) <= 1
    /\ Peeks => \E w \in history.walks[answer'.by] :
            \A x \in CertainlyVisible \cap Scheduled : PastWalk(history, w, x) =>
                answer'.ms # {} /\ \A m \in answer'.ms : OlderPlace(x, m) => x \in answer'.ms
    /\ Peeks /\ answer'.ms = {} /\ history.walks[answer'.by] = { {} } =>
            \A m \in Overdue : ~Visibly(m) ]_ghostVars

\* SCH-3 (M): "cancel before activation deletes it for good": nobody sees it again who
\* cancelled it before its time.
SCH_3 == [][ Shows => \A m \in answer'.ms :
    /\ m \in Activations => history.sent[m] # "cancelled"
    /\ m \in Scheduled \ history.deal.fading => history.sent[Activation[m]] # "cancelled" ]_ghostVars

\* SCH-4 (M, I): "on activation it is appended as if enqueued now, with a new number; the
\* old number is no longer valid: cancelling with it is rejected": the number is another
\* one, after all that was accepted before its time came, or before a cancel that was ok
\* all the same; once it is seen activated no cancel is ok, and no peek finds it
\* scheduled.
SCH_4 == [][
    /\ \A m \in Scheduled : \A o \in history'.shown[Activation[m]] :
          /\ o \notin history'.shown[m]
          /\ \A x \in history'.before[Activation[m]] : \A q \in history'.shown[x] :
                o.part = q.part => Before(NumberIn(q.seq), NumberIn(o.seq))
    /\ answer'.op \in CancelOps /\ answer'.out = "ok" =>
          history.sent[Activation[answer'.m]] # "accepted"
    /\ Peeks => \A m \in answer'.ms \cap Scheduled :
          history'.sent[Activation[m]] # "accepted" ]_ghostVars

\* SCH-6 (M): "enqueued at most once: there is no recurrence": it is seen activated with
\* one number, and not delivered again when it has been completed.
SCH_6 == [][ \A m \in Scheduled :
    /\ Cardinality(history'.shown[Activation[m]]) <= 1
    /\ Delivers => ~(answer'.m = Activation[m] /\ answer'.m \in history.consumed) ]_ghostVars

(***************************************************************************)
(* REB: a pair of a partition and a flow begins and ends by assignment      *)
(* events, which history.duty tells.                                        *)
(***************************************************************************)

AssignedTo(p) == { c \in Clients : history.duty[p][c] \in { "ready", "paused", "unbound" } }
\* @type: ($history, Int, Str) => Bool;
Carries(h, p, c) == h.duty[p][c] \in { "ready", "paused" }
Load(c) == Cardinality({ p \in Partitions : Carries(history, p, c) })
ActiveFlows == history.bound \ history.standby

\* Reading "Flows": delay and handoff time have passed, and nothing is paused.
AtRest == /\ ~history.delay
          /\ \A p \in Partitions, c \in Clients :
                history.duty[p][c] \notin { "paused", "waiting" }

\* REB-1 (S): "at any time a partition is assigned to at most one flow".
REB_1 == [](\A p \in Partitions : Cardinality(AssignedTo(p)) <= 1)

\* REB-2 (S): "a message is delivered only to the flow that its partition is
\* assigned to".
REB_2 == [][ Delivers /\ HasFlows =>
    answer'.by \in AssignedTo(PlaceOf(answer'.m).part) ]_ghostVars

\* REB-3 (S): "order is kept within a partition, through handoffs too: what a flow
\* that went, or was paused beyond the handoff time, had not acknowledged goes
\* back to its place and is delivered before younger messages".
REB_3 == [][ Delivers /\ HasFlows /\ answer'.m \notin history.free =>
    \A x \in Live :
        OlderPlace(x, answer'.m) => x \in history.free \/ MaybeHeld(x) ]_ghostVars

\* REB-4 (S, D): "a bind while C < P starts the delay, then a rebalance that
\* includes the new flow": the delay runs after the bind, and at rest the flow has its
\* share.  What ends the delay is a rebalance (or that the broker starts anew, without
\* flows), and nothing else.
REB_4 == [][
    /\ history.timer /\ ~history'.timer =>
            answer'.op = "rebalance" \/ (answer'.op = "start" /\ history'.bound = {})
    /\ answer'.op = "bind" /\ answer'.out = "ok"
              /\ Cardinality(history.bound) < PartitionCount => history'.timer
    /\ AtRest => \A c \in ActiveFlows : Load(c) >= 1 ]_ghostVars

\* REB-5 (S): "a bind while C >= P starts none: the flow is a standby and carries
\* no load".
REB_5 == [][
    /\ \A c \in history'.standby, p \in Partitions : ~Carries(history', p, c)
    /\ answer'.op = "rebalance" => history.delay ]_ghostVars

\* REB-6 (S, D): "when an active flow goes and a standby exists, the standby takes
\* over its partitions at once".  (Also one that was being handed off to a flow that
\* has gone; not one that another flow waits for.)
REB_6 == [][ answer'.op = "unbind" /\ answer'.by \in ActiveFlows
             /\ history.standby # {} =>
    \E s \in history.standby \ history'.standby :
        \A p \in Partitions :
            \/ history.duty[p][answer'.by] = "ready"
            \/ /\ history.duty[p][answer'.by] = "paused"
               /\ \A d \in Clients : history.duty[p][d] # "waiting"
            => history'.duty[p][s] = "ready" ]_ghostVars

\* REB-7 (S, D): "when an active flow goes and no standby exists, its partitions
\* stay unbound until the rebalance delay ends", which begins then.  (Not one that was being handed
\* off: its successor waits already.)
REB_7 == [][
    /\ answer'.op = "unbind" /\ answer'.by \in ActiveFlows
           /\ history.standby = {} =>
            \A p \in Partitions : history.duty[p][answer'.by] = "ready" =>
                history'.duty[p][answer'.by] = "unbound" /\ history'.timer
    /\ \A p \in Partitions, c \in Clients :
            /\ history.duty[p][c] = "unbound"
            /\ history'.duty[p][c] # "unbound"
            /\ \A d \in Clients : history.duty[p][d] # "waiting"
            => answer'.op \in { "rebalance", "start" } ]_ghostVars

\* REB-9 (S, D): "restart before the delay ends, without the mapping: at its end
\* the broker rebalances": until then the flow that is back gets nothing.
REB_9 == [][ answer'.op = "bind" =>
    \A p \in Partitions :
        history'.duty[p][answer'.by] = history.duty[p][answer'.by] ]_ghostVars

\* REB-10 (S): "return after the delay ended: a second rebalance": at rest a flow
\* that came back has its share.
REB_10 == [](AtRest =>
    \A c \in history.returned \cap ActiveFlows : Load(c) >= 1)

\* REB-11 (S): "never returns: at the end of the delay the remaining flows have all
\* its partitions".
REB_11 == [](AtRest /\ ActiveFlows # {} => \A p \in Partitions :
    AssignedTo(p) # {} /\ AssignedTo(p) \subseteq ActiveFlows)

\* REB-11 (S): that end comes: when no flow binds or goes any more, nor the broker, each
\* partition is ready at one of them, and stays so.
REB_11_Eventually == \A flows \in SUBSET Clients \ {{}} :
    <>[](history.bound = flows /\ history.alive) =>
        <>[](\A p \in Partitions : \E c \in flows : history.duty[p][c] = "ready")

\* REB-12 (D): "after a rebalance every active flow holds the same number of
\* partitions, +-1".
REB_12 == [](AtRest => \A c, d \in ActiveFlows : Load(c) - Load(d) \in { -1, 0, 1 })

\* REB-13 (S, D): "paused (assigned, being handed off: nothing new delivered)",
\* "unbound (assigned, flow gone)": deliveries through ready pairs only.
REB_13 == [][
    /\ Delivers /\ HasFlows =>
            LET p == PlaceOf(answer'.m).part IN
            answer'.by \in AssignedTo(p) => history.duty[p][answer'.by] = "ready"
    /\ \A p \in Partitions, c \in Clients :
            Carries(history', p, c) => c \in history'.bound ]_ghostVars

\* REB-14 (D): "the new one starts when the old one's unacknowledged messages are
\* settled or the handoff time ends; only then may they be redelivered".
REB_14 ==
    [][ \A p \in Partitions : \A n \in Clients :
        /\ history.duty[p][n] \notin { "ready", "paused" }
        /\ history'.duty[p][n] = "ready"
        /\ ~(answer'.op = "handoff" /\ answer'.out = "time over")
        => \A m \in Messages : PlaceOf(m).part = p => ~\E t \in Turns :
                history'.lock[m][t] = "held" ]_ghostVars

\* REB-18 (S): "a partition may serve many keys; a key has one partition".
REB_18 == [](HasFlows => \A k \in Keys :
    Cardinality(UNION { ShownPartitions(m) : m \in { n \in Messages : KeyOf[n] = k } }) <= 1)
================================================================================
