------------------------------- MODULE Validation ------------------------------
(***************************************************************************)
(* Recorded histories, followed by the specification's own actions.  A      *)
(* generated module defines `Traces`; `partq.spec.validation` says what a   *)
(* trace holds, runs TLC and reads what is printed here.                    *)
(*                                                                          *)
(* A trace is a sequence of steps.  A step is what an operation did to one  *)
(* message, or in one partition, at one instant between its call and its    *)
(* return; the steps of one instant follow each other (`then`).  `aim` is   *)
(* the step to be taken next.  It is chosen first, so that the broker's own *)
(* moves are taken for it alone: what a step does not need is left to a     *)
(* later one (`...For`).  An operation of unknown outcome is a move like    *)
(* these (`Optional`): it happens where a step needs it, or never.          *)
(*                                                                          *)
(* What a history shows later of a message, its partition and its number,   *)
(* is known from the start (`place`): no choice is made that contradicts it.*)
(***************************************************************************)
EXTENDS PartitionedQueue, TLC, Sequences

CONSTANTS
    \* The traces, each a record.
    Traces,
    \* A trace of which more states than that are made is given up.
    StateLimit

VARIABLES
    trace,    \* which of the traces this is
    at,       \* the first step of `order` (by returns) that is not done
    ahead,    \* what is done already of those after it
    aim,      \* the step to be taken next; 0 at the end
    excuse,   \* the refusal that it shows is taken for a busy broker's
    spent,    \* one such refusal was taken so while a partition was down
    shaky,    \* clients whose next call may fail: a fault hit the way to the broker
    taken,    \* how often each operation of unknown outcome has happened
    tried,    \* where sends that wait may have used up a number in vain
    deal,     \* the name of the last transaction
    chosen    \* the step was just chosen, and nothing was done for it yet

progress == << trace, at, ahead, aim, excuse, spent, shaky, taken, tried, deal, chosen >>

T == Traces[trace]
E == T.steps[aim]
Here == { m \in Messages : m <= T.messages }
In(ms) == { ms[i] : i \in DOMAIN ms }
Place(m) == T.place[m]
\* The message that is shown with a number, or 0.
Owner(p, n) == LET i == n - T.base[p] IN IF i \in DOMAIN T.owner[p] THEN T.owner[p][i] ELSE 0
Placed(m) == T.place[m].num # NoNumber   \* its number is known

(***************************************************************************)
(* What takes the place of the specification's own operators.               *)
(***************************************************************************)

TraceKey(m) == T.keys[m]
TraceValid(m) == m \notin T.conflicting

\* Histories do not send in a fixed order.
AnySend(m) == msg[m].at = "unsent"

\* The sends of a batch: not just two.
TraceBatch(m) == In(E.ms)

\* A lock is known by the step in which it was given.
TurnByStep(t) == aim
TraceHandedOver(m, c) == [ msg[m] EXCEPT !.at = "locked", !.by = c, !.turn = aim,
                             !.placed = IF HasFlows THEN @ ELSE FALSE ]
TraceCached(m) == [ msg[m] EXCEPT !.at = "cached", !.turn = 0 ]

\* The same, without two reasons at a time: TLC would follow each, of every message.
TraceBeyond(m, p, from) == /\ Visible(m)
                           /\ msg[m].part = p
                           /\ IF from[p] = NoNumber THEN TRUE ELSE Before(from[p], msg[m].num)

TraceChoices(m) == IF Keyed(m) /\ home[Key(m)] # NoPartition
                   THEN { home[Key(m)] } \cap T.allowed[m]
                   ELSE T.allowed[m]

\* No message bears this number, though a later one is shown: it was used up by
\* something that came to nothing, or by a message that is never shown.
Missing(p, n) == /\ n >= T.floor[p] /\ n < T.top[p]
                 /\ n \notin DOMAIN T.owner[p]

TraceWastedNumbers(ps) == SUBSET { p \in ps : Missing(p, counter[p]) }
TraceWastes(m, count) ==
    \/ counter' = counter
    \/ \E p \in Choices(m) : \E used \in 1 .. count :
          /\ \A n \in 0 .. used - 1 : Missing(p, counter[p] + n)
          /\ counter' = [ counter EXCEPT ![p] = @ + used ]

\* Reading "Outcomes": busy at any time while nothing is down; a single time amid
\* faults.
FreeExcuse == (running /\ Down = {}) \/ E.free \/ E.who \in shaky
TraceBusy == aim # 0 /\ excuse /\ (FreeExcuse \/ ~spent)

\* The same set, without trying all functions.
TraceRolledBack ==
    LET open == { m \in Messages : Cardinality(RolledBackMessage(m)) > 1 }
        sure == [ m \in Messages |-> CHOOSE x \in RolledBackMessage(m) : TRUE ]
        ways == { f \in [ open -> UNION { RolledBackMessage(m) : m \in open } ] :
                    \A m \in open : f[m] \in RolledBackMessage(m) }
    IN IF open = {} THEN { sure }
       ELSE { [ m \in Messages |-> IF m \in open THEN f[m] ELSE sure[m] ] : f \in ways }

\* Reading "Transactions": "if it expires before the commit, the commit may be
\* rejected".
TraceMayFail == \/ txn.doubt
                \/ txn.doomed
                \/ ~running
                \/ \E p \in Involved : ~up[p]
                \/ \E m \in Settling : InDoubt(m)
                \/ MayBeBusy

TracePeekingInit == /\ cursor = T.cursors
                    /\ mislaid = [ c \in Clients |-> FALSE ]
TraceLogInit == /\ msg = [ m \in Messages |-> Empty("unsent") ]
                /\ counter = T.start

(***************************************************************************)
(* What is never contradicted.                                              *)
(***************************************************************************)
IsStored(x) == x.at \in { "pending", "lagging", "ready", "cached", "locked" }

Consistent ==
    /\ \A m \in Here : msg'[m] # msg[m] /\ IsStored(msg'[m]) =>
          /\ Place(m).part # NoPartition => msg'[m].part = Place(m).part
          /\ Placed(m) => msg'[m].num \in { NoNumber, Place(m).num }
    /\ \A p \in Partitions : \A n \in counter[p] .. counter'[p] - 1 :
          Owner(p, n) # 0 => msg'[Owner(p, n)].num = n

(***************************************************************************)
(* The steps.  Each answer is an action of the specification; where it has  *)
(* none for an answer that the readings allow, the answer is spelled out.   *)
(***************************************************************************)
Idle == UNCHANGED mechanism /\ UNCHANGED ghostVars

OneDelivery ==
    /\ Receive(E.who, E.m)
    /\ E.count # -1 => msg'[E.m].count = E.count

OneDeletion ==
    /\ ReceiveAndDelete(E.who, E.m)
    /\ E.count # -1 => \/ msg[E.m].count = E.count
                       \/ MayTurnOutLost(E.m) /\ E.count \in LostCounts(E.m)

\* A broker that is down may be said to have nothing.
FoundNothing == ReceiveNothing(E.who) \/ (~running /\ Idle)

\* Reading "Peeking": as it was before the last lock ran out or was given up.
PeekCount(m, n) ==
    \/ n = msg[m].count
    \/ n = msg[m].count - 1 /\ msg[m].at # "locked" /\ ~msg[m].placed

OnePeek ==
    /\ Peek(E.who, In(E.ms))
    /\ \A i \in DOMAIN E.ms : E.counts[i] # -1 => PeekCount(E.ms[i], E.counts[i])

PeekedNothing == PeekNothing(E.who) \/ (~running /\ Idle)

\* Mixed with a keyless message: either verdict.
OneSend ==
    /\ E.first => OneKey(E.m)
    /\ Send(E.m)

NoneStored ==
    /\ msg' = [ m \in Messages |-> IF m \in In(E.ms) THEN NotStored(m) ELSE msg[m] ]
    /\ Wastes(E.m, Len(E.ms))
    /\ UNCHANGED << faultVars, home, txn, peekVars, flowVars, ghostVars >>

SendsFail ==
    IF Len(E.ms) = 1 THEN SendFails(E.m)
    ELSE /\ \A m \in In(E.ms) : MaySend(m)
         /\ (\E n \in In(E.ms) : Blocked(n)) \/ MayBeBusy
         /\ NoneStored

SendsInvalid ==
    /\ \A m \in In(E.ms) : MaySend(m)
    /\ MayRefuseKeys(E.m) \/ \E n \in In(E.ms) : ~Valid(n)
    /\ NoneStored

\* A quota, or a size: no limits are modelled.
SendsFull == (\A m \in In(E.ms) : MaySend(m)) /\ NoneStored

SameTxn == E.txn = deal

TxnDoubt(t) == IF t.state = "open" THEN [ t EXCEPT !.doubt = TRUE ] ELSE t

TxnSendsRefused ==
    /\ \A m \in In(E.ms) : MaySend(m)
    /\ \/ ~SameTxn
       \/ Ended
       \/ Open /\ (txn.doubt \/ txn.doomed \/ (\E m \in In(E.ms) : Blocked(m)) \/ MayBeBusy \/ ~running)
    /\ msg' = [ m \in Messages |-> IF m \in In(E.ms) THEN NotStored(m) ELSE msg[m] ]
    /\ txn' = IF SameTxn THEN TxnDoubt(txn) ELSE txn
    /\ Wastes(E.m, Len(E.ms))
    /\ UNCHANGED << faultVars, home, peekVars, flowVars, ghostVars >>

TxnSendsInvalid ==
    /\ SameTxn /\ Open /\ running
    /\ \A m \in In(E.ms) : MaySend(m)
    /\ \/ \E m \in In(E.ms) : ~MayJoin(m)
       \/ MayRefuseKeys(E.m)
    /\ msg' = [ m \in Messages |-> IF m \in In(E.ms) THEN NotStored(m) ELSE msg[m] ]
    /\ txn' = TxnDoubt(txn)
    /\ Wastes(E.m, Len(E.ms))
    /\ UNCHANGED << faultVars, home, peekVars, flowVars, ghostVars >>

OneTxnSend == SameTxn /\ (TxnSend(E.m) \/ TxnSendLetPass(E.m))

\* RCV-14: all locks of a request are of one partition.
Together == HasFlows \/ \A m, n \in In(E.ms) : MaySettleBoth(m, n)

OneSettlement ==
    /\ E.first => Together
    /\ CASE E.op = "complete" -> Complete(E.who, E.m, E.lock)
         [] E.op = "abandon" -> Abandon(E.who, E.m, E.lock)
         [] E.op = "txn complete" -> SameTxn /\ TxnComplete(E.who, E.m, E.lock)

Locks == { << E.ms[i], E.locks[i] >> : i \in DOMAIN E.ms }
IsHeld(lock) == HeldBy(E.who, lock[1], lock[2])
Held == { lock \in Locks : IsHeld(lock) }

\* RCV-8: a lock that ended, or that nobody was given; a lock that a fault put in
\* doubt, of which the rejection says that it is lost; RCV-14.
SettlementLost ==
    /\ running
    /\ \/ /\ \/ E.unknown
             \/ \E lock \in Locks : ~IsHeld(lock)
             \/ \E lock \in Held : Enlists(lock[1])
             \/ ~HasFlows /\ \E x, y \in Held : ~MaySettleBoth(x[1], y[1])
          /\ UNCHANGED msg
       \/ \E lock \in Held :
             /\ MayTurnOutLost(lock[1])
             /\ ~msg[lock[1]].settling
             /\ \E n \in LostCounts(lock[1]) : \E r \in AfterLock(lock[1], n, HasFlows) :
                   msg' = [ msg EXCEPT ![lock[1]] = r ]
    /\ UNCHANGED << faultVars, counter, home, peekVars, flowVars, ghostVars >>

SettlementFails ==
    /\ \/ MayBeBusy
       \/ ~running
       \/ \E lock \in Held : ~Serves(msg[lock[1]].part)
       \/ Down # {} /\ (E.unknown \/ Locks # Held)
    /\ UNCHANGED << msg, faultVars, counter, home, peekVars, flowVars, ghostVars >>

SettlementRefused ==
    /\ \/ E.error = "lost" /\ SettlementLost
       \/ E.error = "passing" /\ SettlementFails
    /\ UNCHANGED txn

\* In a transaction: also for what became of it.
TxnSettlementRefused ==
    \/ /\ \/ E.error = "lost" /\ SettlementLost
          \/ E.error = "passing" /\ SettlementFails
       /\ txn' = IF SameTxn THEN TxnDoubt(txn) ELSE txn
    \/ /\ \/ ~SameTxn
          \/ Ended
          \/ Open /\ (txn.doubt \/ txn.doomed)
       /\ txn' = IF SameTxn THEN TxnDoubt(txn) ELSE txn
       /\ UNCHANGED << logVars, faultVars, home, peekVars, flowVars, ghostVars >>
    \/ /\ E.error = "lost" /\ SameTxn /\ Open /\ running
       /\ \E lock \in Held : Serves(msg[lock[1]].part) /\ (~SamePartition(lock[1]) \/ Mixed(lock[1]))
       /\ txn' = TxnDoubt(txn)
       /\ UNCHANGED << logVars, faultVars, home, peekVars, flowVars, ghostVars >>

\* No clock, so a renewal needs the lock and tells that a fault did not end it.
Renewal ==
    /\ HeldBy(E.who, E.m, E.lock)
    /\ Serves(msg[E.m].part)
    /\ msg' = [ msg EXCEPT ![E.m].doubt = IF @ = "fault" THEN "no" ELSE @ ]
    /\ UNCHANGED << faultVars, counter, home, txn, peekVars, flowVars, ghostVars >>

\* One transaction after the other.  A former one that nobody ended is rolled back
\* by then: nothing is asked in it any more.
Begins ==
    /\ running
    /\ IF Open THEN msg' \in RolledBack ELSE UNCHANGED msg
    /\ txn' = NoWork("open")
    /\ UNCHANGED << faultVars, counter, home, peekVars, flowVars, ghostVars >>
BeginFails == (~running \/ Down # {} \/ MayBeBusy) /\ Idle

Commits == /\ SameTxn
           /\ Commit
           /\ \A m \in Pending : msg'[m].at = "lagging"
CommitRefused == IF SameTxn THEN CommitFails \/ CommitRejected ELSE Idle
RollbackRefused == IF SameTxn THEN RollbackFails \/ RollbackRejected ELSE Idle
RollsBack == SameTxn /\ Rollback

\* Found empty, but for what a transaction that nobody ended holds, and for
\* partitions that are down.
FoundEmpty ==
    /\ running
    /\ \A m \in Here : msg[m].at \in { "lagging", "ready", "cached", "locked" } => ~Serves(msg[m].part)
    /\ Idle

Taken ==
    CASE E.op = "send" -> OneSend
      [] E.op = "send fails" -> SendsFail
      [] E.op = "send invalid" -> SendsInvalid
      [] E.op = "send full" -> SendsFull
      [] E.op = "txn send" -> OneTxnSend
      [] E.op = "txn send refused" -> TxnSendsRefused
      [] E.op = "txn send invalid" -> TxnSendsInvalid \/ TxnSendsRefused
      [] E.op = "receive" -> OneDelivery
      [] E.op = "delete" -> OneDeletion
      [] E.op = "receive nothing" -> FoundNothing
      [] E.op = "receive fails" -> ReceiveFails(E.who)
      [] E.op = "peek" -> OnePeek
      [] E.op = "peek nothing" -> PeekedNothing
      [] E.op = "peek fails" -> PeekFails(E.who)
      [] E.op \in { "complete", "abandon", "txn complete" } -> OneSettlement
      [] E.op = "settlement refused" -> SettlementRefused
      [] E.op = "txn settlement refused" -> TxnSettlementRefused
      [] E.op = "renew" -> Renewal
      [] E.op = "begin" -> Begins
      [] E.op = "begin fails" -> BeginFails
      [] E.op = "commit" -> Commits
      [] E.op = "commit refused" -> CommitRefused
      [] E.op = "rollback" -> RollsBack
      [] E.op = "rollback refused" -> RollbackRefused
      [] E.op = "partition down" -> PartitionDown(E.part)
      [] E.op = "partition up" -> PartitionUp(E.part)
      [] E.op = "kill" -> BrokerKill
      [] E.op = "start" -> BrokerStart
      [] E.op = "front end lost" -> FrontendLost(E.who)
      [] E.op = "drained" -> FoundEmpty
      [] OTHER -> FALSE

(***************************************************************************)
(* Which step is next.                                                      *)
(***************************************************************************)
RECURSIVE Beyond1(_, _)
Beyond1(n, done) == IF n > Len(T.order) THEN n
                    ELSE IF T.order[n] \in done THEN Beyond1(n + 1, done) ELSE n

ExcusesOf(step) == IF step # 0 /\ T.steps[step].passing THEN BOOLEAN ELSE { FALSE }

Chosen(n, done) == IF n > Len(T.order) THEN { 0 } ELSE T.window[n] \ done

MovesOn ==
    /\ IF E.then # 0
       THEN aim' = E.then /\ UNCHANGED << at, ahead >>
       ELSE LET done == ahead \cup { E.head }
                next == Beyond1(at, done)
            IN /\ at' = next
               /\ ahead' = done \ { T.order[n] : n \in at .. next - 1 }
               /\ aim' \in Chosen(next, ahead')
    /\ excuse' \in ExcusesOf(aim')
    /\ spent' = (spent \/ (excuse /\ ~FreeExcuse))
    /\ shaky' = IF E.op = "kill" THEN Clients
                ELSE IF E.op = "front end lost" THEN shaky \cup { E.who }
                ELSE shaky \ { E.who }
    /\ deal' = IF E.op = "begin" THEN E.txn ELSE deal
    /\ chosen' = TRUE
    /\ UNCHANGED << trace, taken, tried >>

(***************************************************************************)
(* Steps that change nothing, and can be taken now: whatever explains the   *)
(* trace explains it also with these taken at once, so that they are not    *)
(* chosen late.  (A peek moves the cursor that it alone uses; a lock that   *)
(* is not held never is again.)                                             *)
(***************************************************************************)
Changeless(step) ==
    LET S == T.steps[step] IN
    CASE S.op = "receive nothing" -> running
      [] S.op = "peek nothing" -> running /\ ~mislaid[S.who] /\ NothingBeyond(cursor[S.who])
      [] S.op = "peek" ->
            /\ ~mislaid[S.who]
            /\ LET p == msg[S.m].part IN
                /\ Serves(p)
                /\ OldestOf(In(S.ms), p, cursor[S.who])
            /\ \A i \in DOMAIN S.ms : S.counts[i] \in { -1, msg[S.ms[i]].count }
      [] S.op = "settlement refused" ->
            /\ S.error = "lost" /\ running
            /\ \A i \in DOMAIN S.ms : NotHeld(S.ms[i], S.locks[i])
      [] OTHER -> FALSE

\* Another step is to be taken first.
Deferred ==
    /\ chosen
    /\ E.head = aim
    /\ \E s \in T.window[at] \ (ahead \cup { aim }) :
          Changeless(s) /\ (s < aim \/ ~Changeless(aim))

Follow == Taken /\ (Consistent = TRUE) /\ MovesOn

(***************************************************************************)
(* The broker's own moves, where the step needs them.                       *)
(***************************************************************************)
Waits == chosen' = FALSE /\ UNCHANGED << trace, at, ahead, aim, excuse, spent, shaky, deal >>
Delivers1 == E.op \in { "receive", "delete" }
Peeks1 == E.op \in { "peek", "peek nothing" }

\* n stands in the way of m: it is older, and free.
InWay(n, m) == /\ msg[m].at = "ready" /\ msg[m].placed
               /\ msg[n].at = "ready" /\ msg[n].placed
               /\ Older(n, m)

CountTooLow(m) ==
    \/ Delivers1 /\ m = E.m /\ E.count # -1 /\ msg[m].count < E.count
    \/ E.op = "peek" /\ \E i \in DOMAIN E.ms : E.ms[i] = m /\ msg[m].count < E.counts[i]

\* It might be dead-lettered when this lock ends.
AtMaximum(m) == msg[m].count + 1 >= MaxDeliveryCount

ExpireFor(m) ==
    \/ CountTooLow(m)
    \/ Delivers1 /\ m = E.m /\ E.count = -1 /\ msg[m].at = "locked"
    \/ /\ E.op \in { "settlement refused", "txn settlement refused" }
       /\ \E i \in DOMAIN E.ms : E.ms[i] = m /\ E.locks[i] = msg[m].turn
    \/ /\ E.txn # "" /\ E.error # ""
       /\ msg[m].settling
    \/ (Peeks1 \/ E.op = "drained") /\ m \notin In(E.ms) /\ AtMaximum(m)
    \/ E.op = "partition down" /\ m \in E.cached /\ msg[m].at = "locked"

LockFor(m) ==
    \/ CountTooLow(m)
    \/ Delivers1 /\ InWay(m, E.m)
    \/ E.op = "partition down" /\ (m \in E.cached \/ \E x \in E.cached : InWay(m, x))
    \/ (Peeks1 \/ E.op = "drained") /\ m \notin In(E.ms) /\ AtMaximum(m) /\ msg[m].at = "ready"

AppearFor ==
    \/ \E m \in In(E.ms) : msg[m].at = "lagging"

\* The partition's next number is that of m, and the step needs the one after it.
NumberFor(m) ==
    /\ Unnumbered(m)
    /\ LET p == msg[m].part IN
        /\ IF Placed(m) THEN Place(m).num = counter[p] ELSE Missing(p, counter[p])
        /\ \/ E.op \in { "send", "send fails", "txn send refused", "commit" } /\ E.m # m
           \/ /\ ~Placed(m)  \* it comes to nothing
              /\ E.op \in { "rollback", "rollback refused", "commit refused", "begin",
                             "partition down", "kill" }

\* Where it is not known what number a partition began with, the first that is
\* shown says.
BeginAt(p) ==
    /\ counter[p] < T.floor[p]
    /\ Owner(p, T.floor[p]) # 0
    /\ LET m == Owner(p, T.floor[p]) IN
        \/ msg[m].at = "pending"
        \/ E.op = "send" /\ E.m = m
    /\ counter' = [ counter EXCEPT ![p] = T.floor[p] ]
    /\ UNCHANGED << faultVars, msg, home, txn, peekVars, flowVars, ghostVars >>

\* A keyless send that waits was tried in a partition that is down (ROUTE-6).
TriedAt(u, p) ==
    /\ << u, p >> \notin tried
    /\ Missing(p, counter[p])
    /\ counter' = [ counter EXCEPT ![p] = @ + 1 ]
    /\ tried' = tried \cup { << u, p >> }
    /\ UNCHANGED << faultVars, msg, home, txn, peekVars, flowVars, ghostVars, taken >>

Own ==
    /\ UNCHANGED << taken, tried >>
    /\ \/ \E m \in Here : ExpireFor(m) /\ Expire(m)
       \/ \E m \in Here : CachingFrontends /\ LockFor(m) /\ Prefetch(m)
       \/ AppearFor /\ Appear
       \/ \E m \in Here : NumberFor(m) /\ NumberEarly(m)

Waiting == { u \in T.window[at] \cup T.optional[at] : u \notin ahead /\ T.steps[u].keyless }

Tries ==
    /\ E.op = "partition up"
    /\ ~up[E.part]
    /\ \E u \in Waiting : TriedAt(u, E.part)

(***************************************************************************)
(* Operations of unknown outcome.                                           *)
(***************************************************************************)

\* Nothing shows m any more.
NeverShown(m) == T.last[m] = 0 \/ T.last[m] < at \/ T.order[T.last[m]] \in ahead

GoneFor(m) ==
    /\ NeverShown(m)
    /\ \/ Delivers1 /\ InWay(m, E.m)
       \/ Peeks1 /\ m \notin In(E.ms) /\ Visible(m)
       \/ E.op = "drained" /\ Stored(m)
       \/ m \in In(E.ms)

Touches(m) == m \in In(E.ms) \/ (E.txn # "" /\ msg[m].settling)

Oldest1(c, p, k) ==
    LET beyond == { m \in Here : Beyond(m, p, cursor[c]) }
    IN { m \in beyond : Cardinality({ n \in beyond : Before(msg[n].num, msg[m].num) }) < k }

\* A request that came to nothing, or stored what is never shown, used up a number.
Wasted(u, U) ==
    /\ E.op \in { "send", "commit", "drained" }
    /\ taken[u] < Len(U.ms)
    /\ \E p \in T.allowed[U.m] :
        /\ Missing(p, counter[p])
        /\ counter' = [ counter EXCEPT ![p] = @ + 1 ]
    /\ UNCHANGED << faultVars, msg, home, txn, peekVars, flowVars, ghostVars >>

Optional1(u, U) ==
    CASE U.op = "receive" ->
            /\ taken[u] < U.max
            /\ \E m \in Here : LockFor(m) /\ Receive(U.who, m)
      [] U.op = "delete" ->
            /\ taken[u] < U.max
            /\ \E m \in Here : GoneFor(m) /\ ReceiveAndDelete(U.who, m)
      [] U.op = "peek" ->
            /\ taken[u] = 0 /\ Peeks1 /\ E.who = U.who
            /\ \E p \in Partitions : \E k \in 1 .. U.max :
                  /\ Oldest1(U.who, p, k) # {}
                  /\ Peek(U.who, Oldest1(U.who, p, k))
      [] U.op = "send" -> Wasted(u, U)
      [] U.op = "txn send" ->
            \/ Wasted(u, U)
            \/ /\ taken[u] = 0 /\ U.txn = deal /\ Open /\ E.txn = deal
               /\ txn' = [ txn EXCEPT !.doubt = TRUE ]
               /\ UNCHANGED << logVars, faultVars, home, peekVars, flowVars, ghostVars >>
      [] U.op \in { "complete", "abandon" } ->
            /\ taken[u] = 0
            /\ Touches(U.m) \/ (U.op = "complete" /\ GoneFor(U.m))
            /\ IF U.op = "complete" THEN Complete(U.who, U.m, U.lock) ELSE Abandon(U.who, U.m, U.lock)
      [] U.op = "txn complete" ->
            /\ taken[u] = 0 /\ U.txn = deal /\ Open
            /\ Touches(U.m) \/ E.txn = deal \/ GoneFor(U.m)
            /\ \/ TxnComplete(U.who, U.m, U.lock)
               \/ /\ txn' = [ txn EXCEPT !.doubt = TRUE ]
                  /\ UNCHANGED << logVars, faultVars, home, peekVars, flowVars, ghostVars >>
      [] U.op = "commit" ->
            /\ taken[u] = 0 /\ U.txn = deal /\ Open
            /\ \/ Commit /\ \A m \in Pending : msg'[m].at = "lagging"
               \/ /\ msg' \in RolledBack
                  /\ txn' = NoWork("rolled back")
                  /\ UNCHANGED << faultVars, counter, home, peekVars, flowVars, ghostVars >>
      [] U.op = "rollback" ->
            taken[u] = 0 /\ U.txn = deal /\ Open /\ Rollback
      [] OTHER -> FALSE

Optional ==
    /\ \E u \in T.optional[at] :
        /\ Optional1(u, T.steps[u])
        /\ taken' = [ taken EXCEPT ![u] = @ + 1 ]
    /\ UNCHANGED tried

(***************************************************************************)
(* All of it.                                                               *)
(***************************************************************************)
TraceInit ==
    /\ trace \in DOMAIN Traces
    /\ at = 1 /\ ahead = {}
    /\ aim \in Chosen(1, {})
    /\ excuse \in ExcusesOf(aim)
    /\ spent = FALSE /\ shaky = {} /\ tried = {} /\ deal = "" /\ chosen = TRUE
    /\ taken = [ u \in T.optionals |-> 0 ]
    /\ Init

TraceNext ==
    /\ aim # 0
    /\ ~Deferred
    /\ \/ Follow
       \/ (Own \/ Optional) /\ (Consistent = TRUE) /\ Waits
       \/ Tries /\ (Consistent = TRUE) /\ Waits
       \/ (\E p \in Partitions : BeginAt(p)) /\ UNCHANGED << taken, tried >> /\ Waits

(***************************************************************************)
(* What is printed: of each trace the furthest that it was followed (its    *)
(* `at`), and whether it was given up.  Registers 3n, 3n+1 of TLC hold the  *)
(* furthest and the number of states of trace n.                            *)
(***************************************************************************)
Watched ==
    LET deepest == 3 * trace
        count == 3 * trace + 1
        n == TLCGet(count) + 1
    IN /\ TLCSet(count, n)
       /\ IF at > TLCGet(deepest)
          THEN TLCSet(deepest, at) /\ PrintT(<< "at", trace, at, n >>)
          ELSE TRUE
       /\ IF n = StateLimit THEN PrintT(<< "gave up", trace, at, n >>) ELSE TRUE
       /\ n < StateLimit
       /\ aim = 0 \/ TLCGet(deepest) <= Len(T.order)

ASSUME \A n \in DOMAIN Traces : TLCSet(3 * n, 0) /\ TLCSet(3 * n + 1, 0)
================================================================================
