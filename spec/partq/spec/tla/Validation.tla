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
(* is known from the start (`place`), and so is which assignments are told  *)
(* of (`events`): no choice is made that contradicts them.                  *)
(***************************************************************************)
EXTENDS Deferral, Duplicates, Sessions, TLC, Sequences

CONSTANTS
    \* The traces, each a record.
    Traces,
    \* The requirements that bind the family: what no rule forbids is allowed.
    Rules,
    \* A trace of which more states than that are found is given up.
    StateLimit,
    \* How many states of a trace are followed that have as much of it done: the first
    \* that are found.
    Width,
    \* Whether likely ways alone are followed; a search that leaves out others rejects nothing.
    Hasty,
    \* How much of a trace can be done, at the most.
    Longest

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
    deal,     \* the name of the transaction that `txn` is
    others,   \* the other open ones, by name
    settles,  \* what open ones settle: message, step, transaction
    untold,   \* of each partition what no event has told of yet, and how many were heard
    chosen    \* the step was just chosen, and nothing was done for it yet

T == Traces[trace]
E == T.steps[aim]
Here == { m \in Messages : m <= T.messages }
In(ms) == { ms[i] : i \in DOMAIN ms }
Place(m) == T.place[m]
\* The message that is shown with a number, or 0.
Owner(p, n) == LET i == n - T.base[p] IN IF i \in DOMAIN T.owner[p] THEN T.owner[p][i] ELSE 0
Placed(m) == T.place[m].num # NoNumber   \* its number is known
Done(k) == IF k < at THEN TRUE ELSE T.order[k] \in ahead
\* Nothing shows m any more; the step that is taken shows it, or a later one.
NeverShown(m) == Done(T.last[m])
ShownLater(m) == ~NeverShown(m) /\ T.order[T.last[m]] # E.head

(***************************************************************************)
(* The dead-letter queue.  A message lies there in its partition, under the *)
(* number and for the reason that it is shown with.  It is certainly there  *)
(* once it was shown; nobody is told when it came.                          *)
(***************************************************************************)
TraceDead(m, why) == [ Empty("dead") EXCEPT !.reason = why, !.part = msg[m].part, !.num = msg[m].num,
                         !.fading = @ \/ (InDeadLetters(m) /\ msg[m].fading) ]
Arrived(m) == \E k \in T.graves[m].shown : Done(k)
IsThere(m) == InDeadLetters(m) /\ (Arrived(m) \/ m \in In(E.ms))
LooksAtTheDead == E.op \in { "peek dead", "peek nothing dead" }
TraceNum(m) == IF LooksAtTheDead THEN T.graves[m].number ELSE msg[m].num
TraceFades(m) == ~LooksAtTheDead /\ msg[m].fading /\ ~Visible(m)

(***************************************************************************)
(* A scheduled message is two here, too; what it is activated as is shown   *)
(* later or not.                                                            *)
(***************************************************************************)
Birth(m) == T.births[m]
TraceArrival(m) == IF Birth(m) = 0 THEN "ready" ELSE "scheduled"
TraceMayBeScheduled(m) == Birth(m) # 0 /\ MaySend(m)
BirthLater(m) == Birth(m) # 0 /\ ~(Done(T.last[Birth(m)]) /\ \A k \in T.graves[Birth(m)].shown : Done(k))

(***************************************************************************)
(* Duplicates.  The messages of one ID and key are known (`copies`), and by *)
(* the times of their sends of which the window certainly is not over       *)
(* (`repeats`).                                                             *)
(***************************************************************************)
\* What a transaction may send still counts, or not (reading "Duplicates").
TraceRepeats(m) == \E n \in T.repeats[m] : WasStored(n) /\ msg[n].at # "pending"
MayRepeat(m) == \E n \in T.copies[m] : WasStored(n)

(***************************************************************************)
(* Sessions.  On an entity that requires them no message is received        *)
(* outside of one, and its lock ends with that of its session.  Which locks *)
(* a fault ends is chosen when it strikes.                                  *)
(***************************************************************************)
TraceSession(m) == T.sessions[m]
Everything == Messages
Lacking(ms) == \E m \in ms : m \in T.lacking
\* Reading "Partition faults": also one that is down, as `ServesAnyway`.
TraceServesSession(s) == running
\* Whether one with nothing to receive comes next no source says.
TraceAvailable(s) ==
    holder[s] = NoClient /\ \E m \in MessagesOf(s) : Visible(m) \/ msg[m].at = "lagging"
TraceInSessionOrder(m) ==
    \/ ~msg[m].placed
    \/ \A n \in MessagesOf(Session(m)) :
          ~(msg[n].at = "ready" /\ msg[n].placed /\ Alive(n) /\ Older(n, m))
\* TXN-4: a second session is refused, whichever partition it is in.
TraceMayShare(m, p) == /\ ~T.required /\ Partitioned /\ HasKey(m) /\ Valid(m)
                       /\ txn.key # NoKey /\ p = home[txn.key]

\* A front end that is lost may take the sessions of its client with it.
LosesSessions(ss) == \E lost \in SUBSET { s \in ss : holder[s] # NoClient } :
                        \E raised \in SUBSET LockedIn(lost) : EndLocks(lost, raised)

InSession(m) == msg[m].at = "ready" /\ Alive(m) /\ HoldsSession(E.who, E.session) /\ Session(m) = E.session

\* RCV-15: what is over stays or goes, which makes no difference, for a peek may leave it
\* out, it is in nobody's way, and an entity found empty need not have shown it.
TraceInOrder(m) == \/ ~msg[m].placed
                   \/ \A n \in Messages :
                         ~(msg[n].at = "ready" /\ msg[n].placed /\ Alive(n) /\ Older(n, m))

Activates(m) ==
    /\ running
    /\ \E p \in IF Keyed(m) THEN { msg[m].part } ELSE T.allowed[Birth(m)] :
        /\ Serves(p)
        /\ msg' = [ msg EXCEPT ![m] = AfterActivation(m),
                       ![Birth(m)] = [ Empty("ready") EXCEPT !.part = p, !.num = NumberNow(p, m) ] ]
        /\ counter' = CountersAfter({p})
    /\ txn' = [ txn EXCEPT !.missing = @ \/ Enlists(m) ]
    /\ UNCHANGED << faultVars, home, peekVars, flowVars, ghostVars >>

\* Its time had come when it was sent: stored as if it bore none.
StoredPast(m) ==
    /\ m \in T.past /\ MaySend(m) /\ Valid(m) /\ ~Repeats(m)
    /\ \E p \in Partitions :
        /\ MayStore(m, p)
        /\ msg' = [ msg EXCEPT ![m] = [ Empty("activated") EXCEPT !.part = p ],
                       ![Birth(m)] = [ Empty("ready") EXCEPT !.part = p, !.num = NumberNow(p, m) ] ]
        /\ counter' = CountersAfter({p})
        /\ home' = HomeAfter(m, p)
    /\ UNCHANGED << faultVars, txn, peekVars, flowVars, ghostVars >>

\* --- What takes the place of the specification's own operators. -----------

TraceKey(m) == T.keys[m]
\* KEY-3; where that is no rule, either verdict.
TwoKeyed(ms) == \E m \in ms : m \in T.conflicting
TraceValid(m) == m \notin T.lacking /\ ("KEY-3" \in Rules => ~TwoKeyed({m}))

\* Histories do not send in a fixed order.
AnySend(m) == msg[m].at = "unsent"

\* The sends of a batch: not just two.
TraceBatch(m) == In(E.ms)

\* REB-3: what was not acknowledged "goes back to its place".
KeepsPlaces == "REB-3" \in Rules
TraceCountsDeliveries == "RCV-9" \in Rules

\* A lock is known by the step in which it was given.
TurnByStep(t) == aim
TraceHandedOver(m, c) == [ msg[m] EXCEPT !.at = "locked", !.by = c, !.turn = aim,
                             !.placed = @ /\ KeepsPlaces ]
TraceLockedFor(m, c, n) == [ TraceHandedOver(m, c) EXCEPT !.count = n, !.doubt = "no",
                               !.settling = FALSE ]

\* A family without flows that keeps places gives a lost lock back first (`Comeback`).
GivesBackFirst == KeepsPlaces /\ ~HasFlows
TraceMayTurnOutLost(m) == InDoubt(m) /\ Serves(msg[m].part) /\ ~GivesBackFirst
TraceCached(m) == [ msg[m] EXCEPT !.at = "cached", !.turn = 0 ]

\* Whether a lock that a fault ended counts, where no count of m is shown any more and it is
\* far from the maximum, makes no difference.
TraceLostCounts(m) ==
    IF msg[m].doubt # "fault" THEN { Raised(msg[m].count) }
    ELSE IF msg[m].count + T.times[m] < MaxDeliveryCount /\ \A c \in In(T.counts[m]) : Done(c.at)
    THEN { msg[m].count }
    ELSE { msg[m].count, Raised(msg[m].count) }

\* The same, without two reasons at a time: TLC would follow each, of every message.
TraceBeyond(m, p, from) ==
    /\ (IF LooksAtTheDead THEN IsThere(m) ELSE Visible(m) \/ Fades(m)) = TRUE
    /\ msg[m].part = p
    /\ IF from[p] = NoNumber THEN TRUE ELSE Before(from[p], Num(m))

TraceChoices(m) == IF Keyed(m) /\ home[Key(m)] # NoPartition
                   THEN { home[Key(m)] } \cap T.allowed[m]
                   ELSE T.allowed[m]

\* One of each partition's set: all functions to these.
RECURSIVE Product(_, _)
Product(sets, n) == IF n = 0 THEN { << >> }
                    ELSE { Append(f, x) : f \in Product(sets, n - 1), x \in sets[n] }
Functions(sets) == { [ p \in Partitions |-> f[p] ] : f \in Product(sets, PartitionCount) }

\* No message bears this number, though a later one is shown: it was used up by
\* something that came to nothing, or by a message that is never shown.
Missing(p, n) == /\ n >= T.floor[p] /\ n < T.top[p]
                 /\ n \notin DOMAIN T.owner[p]

TraceWastedNumbers(ps) == SUBSET { p \in ps : Missing(p, counter[p]) }
TraceWastesIn(ps, count) ==
    counter' \in Functions([ p \in Partitions |->
        { counter[p] } \cup IF p \notin ps THEN {} ELSE
            { n \in counter[p] + 1 .. counter[p] + count :
                \A k \in counter[p] .. n - 1 : Missing(p, k) } ])

\* Reading "Outcomes": busy at any time while nothing is down; a single time amid
\* faults.
FreeExcuse == (running /\ Down = {}) \/ E.free \/ E.who \in shaky
TraceBusy == aim # 0 /\ excuse /\ (FreeExcuse \/ ~spent)

SettlesInTxn == { "txn complete", "txn abandon", "txn dead letter", "txn defer" }

\* Reading "Partition faults": what a partition that is down delivers, shows or settles
\* all the same breaks no row.
ServesAnyway == aim # 0 /\ E.op \in { "receive", "receive deferred", "delete", "peek", "complete",
                                      "abandon", "defer", "dead letter", "renew", "peek dead" }
                                        \cup SettlesInTxn
TraceServes(p) == running /\ p # NoPartition /\ (up[p] \/ ServesAnyway)

(***************************************************************************)
(* Transactions.  The specification has one.  Here `txn` is that of the     *)
(* step, and the others wait (`SwitchesTo`).  What is pending says itself   *)
(* which one sent it (`within`); what is settled is settled in one alone.   *)
(***************************************************************************)
Settles(m, t) == \E x \in settles : x[1] = m /\ x[3] = t
Within(m, t) == \/ msg[m].at = "pending" /\ T.within[m] = t
                \/ msg[m].settling /\ Settles(m, t)
Does(m, op) == << m, op, deal >> \in settles
SettledElsewhere(m) == \E x \in settles : x[1] = m /\ x[3] # deal
TracePending == { m \in Messages : msg[m].at = "pending" /\ T.within[m] = deal }
TraceSettling == { m \in Messages : msg[m].settling /\ Settles(m, deal) }
TraceUnnumberedIn(p) == { m \in TracePending : Unnumbered(m) /\ msg[m].part = p }
TraceMayNumberEarly(m) ==
    Unnumbered(m) /\ \A n \in Messages : n < m /\ T.within[n] = T.within[m] => ~Unnumbered(n)
TraceDoomedBy(m) == IF msg[m].settling /\ Settles(m, deal) THEN [ txn EXCEPT !.doomed = TRUE ] ELSE txn

\* All that may be after transaction t is rolled back, without trying all functions.
RolledBackIn(m, t) == IF Within(m, t) THEN RolledBackMessage(m) ELSE { msg[m] }
RolledBackAll(t) ==
    LET open == { m \in Messages : Cardinality(RolledBackIn(m, t)) > 1 }
        sure == [ m \in Messages |-> CHOOSE x \in RolledBackIn(m, t) : TRUE ]
        ways == { f \in [ open -> UNION { RolledBackIn(m, t) : m \in open } ] :
                    \A m \in open : f[m] \in RolledBackIn(m, t) }
    IN IF open = {} THEN { sure }
       ELSE { [ m \in Messages |-> IF m \in open THEN f[m] ELSE sure[m] ] : f \in ways }
TraceRolledBack == RolledBackAll(deal)

\* What the step did to the other ones, by the operation `op`, or "": what they settle is
\* settled otherwise, or lost; a fault struck them.
OthersAfter(op) ==
    [ t \in DOMAIN others |->
        LET lost == \E x \in settles : x[3] = t /\ ~msg'[x[1]].settling
            parts == { msg[m].part : m \in { n \in Here : Within(n, t) } } \cup { others[t].part }
                        \cup IF others[t].key = NoKey THEN {} ELSE { home[others[t].key] }
            struck == op \in { "kill", "front end lost" } \/ (Down' \ Down) \cap parts # {}
            mild == op \in { "", "complete", "cancel" } /\ \A x \in settles : msg'[x[1]].at # "dead"
        IN [ others[t] EXCEPT !.doubt = @ \/ struck, !.missing = @ \/ (lost /\ mild),
                              !.doomed = @ \/ (lost /\ ~mild) ] ]
OpenOnes == IF Open THEN DOMAIN others \cup {deal} ELSE DOMAIN others
RecordOf(t) == IF t = deal THEN txn ELSE others[t]

\* A transaction may also give back.  What is beyond the maximum then is dead-lettered;
\* what is at it may be (`Exhausted`).
GivenBackAtCommit(m) == LET n == Raised(msg[m].count)
                        IN IF n > MaxDeliveryCount THEN Dead(m, "limit") ELSE GivenBack(m, n, FALSE)
TraceCommitted(where) ==
    [ m \in Messages |->
        IF m \in TracePending THEN [ msg[m] EXCEPT !.at = where, !.num = NumberAtCommit(m) ]
        ELSE IF m \notin TraceSettling THEN msg[m]
        ELSE IF Does(m, "txn abandon") THEN GivenBackAtCommit(m)
        ELSE LET r == IF IsScheduled(m) THEN Withdrawn(m)
                      ELSE IF Does(m, "txn dead letter") THEN Dismissed(m)
                      ELSE IF m \in txn.defers THEN SetAside(m, msg[m].count) ELSE Settled(m)
             IN IF ShownLater(m) THEN Fading(m, r) ELSE r ]

TracePeekingInit == /\ cursor = T.cursors
                    /\ mislaid = [ c \in Clients |-> FALSE ]
TraceLogInit == /\ msg = [ m \in Messages |-> Empty(IF m \in T.born THEN "unborn" ELSE "unsent") ]
                /\ counter = T.start

(***************************************************************************)
(* Assignments.  An event tells that a partition and a flow are a pair from *)
(* now on; "unassigned" ends it.  What changes is remembered until an event *)
(* tells of it, and no choice is made that contradicts the events to come.  *)
(* The last ones may be missing: they may be late.                          *)
(***************************************************************************)
None == [ who |-> NoClient, state |-> "unassigned", may |-> FALSE ]
Pair(row) == LET c == CHOOSE c \in DOMAIN row : row[c] \in { "ready", "paused", "unbound" }
             IN IF \A d \in DOMAIN row : row[d] \in { "none", "waiting" } THEN None
                ELSE [ who |-> c, state |-> row[c], may |-> row[c] = "paused" ]

\* The events that tell of a change.  A pause need not be told of (`may`), nor what
\* becomes of a flow that is paused.
Changes(old, new) ==
    LET before == Pair(old)
        after == Pair(new)
    IN IF before = after THEN << >>
       ELSE (IF before # None /\ before.who # after.who
             THEN << [ before EXCEPT !.state = "unassigned", !.may = FALSE ] >> ELSE << >>)
         \o (IF after = None THEN << >>
             ELSE << [ after EXCEPT !.may = @ \/ (before.state = "paused" /\ after.state = "unbound") ] >>)

\* What became of the pair of a flow that a kill ended need not be told.
EndedByKill(row) ==
    LET pair == Pair(row)
    IN IF pair = None THEN << >>
       ELSE << [ pair EXCEPT !.state = "unbound", !.may = TRUE ],
               [ pair EXCEPT !.state = "unassigned", !.may = TRUE ] >>

TellsOf(event, change) == event.who = change.who /\ event.state = change.state

\* These changes of partition p agree with its events from the n-th on.
RECURSIVE Agrees(_, _, _)
Agrees(changes, p, n) ==
    IF changes = << >> \/ n > Len(T.events[p]) THEN TRUE
    ELSE \/ TellsOf(T.events[p][n], Head(changes)) /\ Agrees(Tail(changes), p, n + 1)
         \/ Head(changes).may /\ Agrees(Tail(changes), p, n)

\* The changes that are left when this event has told of the first, or of one that
\* only such come before as need not be told of.
RECURSIVE HearsOf(_, _)
HearsOf(changes, event) ==
    IF changes = << >> THEN FALSE
    ELSE TellsOf(event, Head(changes)) \/ (Head(changes).may /\ HearsOf(Tail(changes), event))
RECURSIVE Left(_, _)
Left(changes, event) == IF TellsOf(event, Head(changes)) THEN Tail(changes)
                        ELSE Left(Tail(changes), event)

Told(p, row) == untold[p].changes \o Changes(duty[p], row)
MayBe(p, row) == T.observed => Agrees(Told(p, row), p, untold[p].heard + 1)

TraceDistributions ==
    LET heirs == [ p \in Partitions |->
            { c \in Owners : MayBe(p, IF c = NoClient THEN NoDuty ELSE DutyFor(p, c)) } ]
    IN { f \in Functions(heirs) : Even(f) }
TraceDutiesWithout(c, s) ==
    Functions([ p \in Partitions |-> { row \in DutyWithout(p, c, s) : MayBe(p, row) } ])

\* What is to be told of after a step that changes duties.
TellsLater == IF T.observed
         THEN /\ untold' = [ p \in Partitions |-> [ untold[p] EXCEPT !.changes = Told(p, duty'[p]) ] ]
              /\ (\A p \in Partitions : MayBe(p, duty'[p])) = TRUE
         ELSE untold' = untold

\* --- What is never contradicted. ------------------------------------------
\* It might be dead-lettered when this lock ends.
AtMaximum(m) == msg[m].count + 1 >= MaxDeliveryCount

DeadLater(m) == \E k \in T.graves[m].shown : ~Done(k) /\ T.order[k] # E.head

\* What is shown later is not gone.  What is not, and may be dead-lettered when its lock
\* ends, is: it is in the way of others, and no good to any.
FitsWhatIsShown(m) ==
    /\ ShownLater(m) =>
          /\ msg'[m].at \in { "done", "dead", "activated", "racing", "dropped" } => msg'[m].fading
          /\ \A c \in In(T.counts[m]) : msg'[m].count <= c.most \/ Done(c.at)
    /\ msg'[m].at \in { "done", "dropped" } => ~DeadLater(m) /\ ~BirthLater(m)
    /\ msg'[m].at = "dead" => T.graves[m].why \in { "-", msg'[m].reason }
    /\ ~(/\ msg[m].at \in { "locked", "cached" } /\ msg'[m].at \in { "ready", "deferred" }
         /\ NeverShown(m) /\ AtMaximum(m) /\ ~msg[m].settling)

AtHand == { "lagging", "ready", "cached", "locked", "deferred", "scheduled", "due" }
IsStored(x) == x.at = "pending" \/ x.at \in AtHand

Consistent ==
    /\ \A m \in Here : msg'[m] # msg[m] => FitsWhatIsShown(m)
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
Else == UNCHANGED << faultVars, counter, home, txn, peekVars, flowVars, ghostVars >>

OneDelivery ==
    /\ Receive(E.who, E.m)
    /\ E.count # -1 => msg'[E.m].count = E.count

\* By a flow, of which the specification does not speak.
FlowDeletes(c, m) ==
    /\ running
    /\ MayReceive(c, msg[m].part)
    /\ MayLock(m) \/ MayTurnOutLost(m)
    /\ msg' = [ msg EXCEPT ![m] = Settled(m) ]
    /\ Else

Deletes(c, m) == IF HasFlows THEN FlowDeletes(c, m) ELSE ReceiveAndDelete(c, m)

OneDeletion ==
    /\ Deletes(E.who, E.m)
    /\ E.count # -1 => \/ msg[E.m].count = E.count
                       \/ MayTurnOutLost(E.m) /\ E.count \in LostCounts(E.m)

\* Reading "Peeking": as it was before the last lock ran out or was given up.
PeekCount(m, n) ==
    \/ n = msg[m].count
    \/ n = msg[m].count - 1 /\ msg[m].at # "locked" /\ ~msg[m].placed

\* PEEK-7, reading "Deferral": while a lock holds what is deferred, either.
ShownAs(m, state) == CASE state = "deferred" -> msg[m].aside
                       [] state = "active" -> msg[m].at # "deferred" \/ msg[m].fading
                       [] state = "scheduled" -> Birth(m) # 0
                       [] OTHER -> TRUE

\* Of a peek that nobody was told the answer of nothing is known.
TraceShownAsDeferred(ms) ==
    { IF E.op # "peek" \/ ms # In(E.ms) THEN {}
      ELSE { E.ms[i] : i \in { k \in DOMAIN E.ms : E.states[k] = "deferred" } } }

OnePeek ==
    /\ Peek(E.who, In(E.ms))
    /\ \A i \in DOMAIN E.ms : /\ E.counts[i] # -1 => PeekCount(E.ms[i], E.counts[i])
                              /\ ShownAs(E.ms[i], E.states[i])

\* As `Drops`, also where the window may be over.
Dropped(m) == MaySend(m) /\ MayRepeat(m) /\ NotKept(m) /\ UNCHANGED ghostVars

\* A duplicate in a transaction is found when it is sent, or at the commit.
TxnDropped(m) == /\ Open /\ MayJoin(m) /\ Dropped(m)
                 /\ txn' = [ txn EXCEPT !.key = IF @ = NoKey THEN Key(m) ELSE @ ]
DropsAtCommit(m) == /\ m \in TracePending /\ MayRepeat(m)
                    /\ msg' = [ msg EXCEPT ![m] = Empty("dropped") ]
                    /\ Else
NoneIsCopy == \A m \in TracePending : ~Repeats(m) /\ T.repeats[m] \cap TracePending = {}

\* Mixed with a keyless message: either verdict.
OneSend ==
    /\ E.first /\ "KEY-7" \in Rules => OneKey(E.m)
    /\ Send(E.m) \/ StoredPast(E.m) \/ (Dropped(E.m) /\ txn' = txn)

NoneStored ==
    /\ msg' = [ m \in Messages |-> IF m \in In(E.ms) THEN NotStored(m) ELSE msg[m] ]
    /\ UNCHANGED << faultVars, txn, peekVars, flowVars, ghostVars >>

SendsFail == (\A m \in In(E.ms) : MaySend(m)) /\ InTheWay(In(E.ms)) /\ NoneStored

SendsRefused == NoneStored /\ Wastes(In(E.ms))

SendsInvalid ==
    /\ \A m \in In(E.ms) : MaySend(m)
    /\ MayRefuseKeys(E.m) \/ TwoKeyed(In(E.ms)) \/ Lacking(In(E.ms))
    /\ SendsRefused

\* A quota, or a size: no limits are modelled.
SendsFull == (\A m \in In(E.ms) : MaySend(m)) /\ SendsRefused

SameTxn == E.txn = deal

TxnDoubt(t) == IF t.state = "open" THEN [ t EXCEPT !.doubt = TRUE ] ELSE t

TxnSendsRefused ==
    /\ \A m \in In(E.ms) : MaySend(m)
    /\ \/ ~SameTxn
       \/ Ended
       \/ Open /\ (txn.doubt \/ txn.doomed \/ (\E m \in In(E.ms) : Blocked(m)) \/ MayBeBusy \/ ~running)
    /\ msg' = [ m \in Messages |-> IF m \in In(E.ms) THEN NotStored(m) ELSE msg[m] ]
    /\ txn' = IF SameTxn THEN TxnDoubt(txn) ELSE txn
    /\ Wastes(In(E.ms))
    /\ UNCHANGED << faultVars, peekVars, flowVars, ghostVars >>

TxnSendsInvalid ==
    /\ SameTxn /\ Open /\ running
    /\ \A m \in In(E.ms) : MaySend(m)
    /\ \/ \E m \in In(E.ms) : ~MayJoin(m) \/ Apart(m)
       \/ MayRefuseKeys(E.m) \/ TwoKeyed(In(E.ms)) \/ Lacking(In(E.ms))
    /\ msg' = [ m \in Messages |-> IF m \in In(E.ms) THEN NotStored(m) ELSE msg[m] ]
    /\ txn' = TxnDoubt(txn)
    /\ Wastes(In(E.ms))
    /\ UNCHANGED << faultVars, peekVars, flowVars, ghostVars >>

\* TXN-9: it may have as many messages as it may have.
TxnFull ==
    /\ running
    /\ txn' = IF SameTxn THEN TxnDoubt(txn) ELSE txn
    /\ UNCHANGED << faultVars, peekVars, flowVars, ghostVars >>
TxnSendsFull == /\ TxnFull
                /\ msg' = [ m \in Messages |-> IF m \in In(E.ms) THEN NotStored(m) ELSE msg[m] ]
                /\ Wastes(In(E.ms))

OneTxnSend == SameTxn /\ (TxnSend(E.m) \/ TxnSendLetPass(E.m) \/ TxnDropped(E.m))

\* RCV-14: all locks of a request are of one partition.
OfOne == "RCV-14" \notin Rules \/ \A m, n \in In(E.ms) : MaySettleBoth(m, n)

TxnSettlement(c, m, t, op) == IF op = "txn defer" THEN TxnDefer(c, m, t) ELSE TxnComplete(c, m, t)
DeadHeld(m, lock) == msg[m].at = "dead locked" /\ msg[m].turn = lock

OneSettlement ==
    /\ E.first => OfOne
    /\ CASE E.op = "complete" -> Complete(E.who, E.m, E.lock)
         [] E.op = "abandon" -> Abandon(E.who, E.m, E.lock)
         [] E.op = "dead letter" -> DeadLetter(E.who, E.m, E.lock)
         [] E.op = "defer" -> Defer(E.who, E.m, E.lock)
         [] E.op = "complete dead" -> DeadHeld(E.m, E.lock) /\ CompleteDead(msg[E.m].by, E.m)
         [] E.op = "abandon dead" -> DeadHeld(E.m, E.lock) /\ AbandonDead(msg[E.m].by, E.m)
         [] E.op \in SettlesInTxn ->
                SameTxn /\ ~SettledElsewhere(E.m) /\ TxnSettlement(E.who, E.m, E.lock, E.op)

\* Where RCV-8 is no rule a lost lock may settle all the same, or be said to.
SettledAnyhow ==
    /\ "RCV-8" \notin Rules
    /\ ~HeldBy(E.who, E.m, E.lock)
    /\ \/ Idle
       \/ E.op = "complete" /\ Stored(E.m) /\ msg' = [ msg EXCEPT ![E.m] = Settled(E.m) ] /\ Else
       \/ /\ E.op = "abandon" /\ msg[E.m].at = "locked"
          /\ \E r \in AfterLock(E.m, Raised(msg[E.m].count), FALSE) : msg' = [ msg EXCEPT ![E.m] = r ]
          /\ Else

Locks == { << E.ms[i], E.locks[i], E.users[i] >> : i \in DOMAIN E.ms }
Holds1(lock) == HeldBy(lock[3], lock[1], lock[2]) \/ DeadHeld(lock[1], lock[2])
Held == { lock \in Locks : Holds1(lock) }

\* RCV-8: a lock that ended, or that nobody was given; a lock that a fault put in
\* doubt, of which the rejection says that it is lost; RCV-14.
SettlementLost ==
    /\ running
    /\ \/ /\ \/ E.unknown
             \/ \E lock \in Locks : ~Holds1(lock)
             \/ \E lock \in Held : Enlists(lock[1])
             \/ "RCV-14" \in Rules /\ \E x, y \in Held : ~MaySettleBoth(x[1], y[1])
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
    \/ /\ E.error = "lost" /\ SameTxn /\ Open /\ running  \* TXN-7, also where that partition is down
       /\ \E lock \in Held : ~SamePartition(lock[1]) \/ Mixed(lock[1])
       /\ txn' = TxnDoubt(txn)
       /\ UNCHANGED << logVars, faultVars, home, peekVars, flowVars, ghostVars >>

\* No clock, so a renewal needs the lock and tells that a fault did not end it.
Renewal ==
    /\ HeldBy(E.who, E.m, E.lock)
    /\ Serves(msg[E.m].part)
    /\ msg' = [ msg EXCEPT ![E.m].doubt = IF @ = "fault" THEN "no" ELSE @ ]
    /\ UNCHANGED << faultVars, counter, home, txn, peekVars, flowVars, ghostVars >>

TxnBegins ==
    /\ running
    /\ txn' = NoWork("open")
    /\ UNCHANGED << faultVars, logVars, home, peekVars, flowVars, ghostVars >>
BeginFails == (~running \/ Down # {} \/ MayBeBusy) /\ Idle

CommitsLate == NoneIsCopy /\ Commit /\ \A m \in Pending : msg'[m].at = "lagging"
Commits == SameTxn /\ CommitsLate
CommitRefused == IF SameTxn THEN CommitFails \/ CommitRejected ELSE Idle
RollbackRefused == IF SameTxn THEN RollbackFails \/ RollbackRejected ELSE Idle
RollsBack == SameTxn /\ Rollback

\* A connection ends, and its client's locks with it, or not (reading "Locks").
LinkLost ==
    /\ msg' = [ m \in Messages |-> IF msg[m].at = "locked" /\ msg[m].by = E.who
                                    THEN [ msg[m] EXCEPT !.doubt = "fault" ] ELSE msg[m] ]
    /\ Else

\* A flow goes, whether or not it was there (reading "Flows"); also while the broker is
\* down, of which no action of the specification speaks.
GoesWhileDown(c, s) ==
    /\ ~running
    /\ flow[c] # "off"
    /\ flow' = [ d \in Clients |-> IF d = c THEN "off" ELSE IF d = s THEN "active" ELSE flow[d] ]
    /\ msg' = MessagesWithout(c)
    /\ duty' \in DutiesWithout(c, s)
    /\ delay' \in IF s = NoClient THEN DelayWithout(c, duty') ELSE { delay }
    /\ UNCHANGED << faultVars, counter, home, txn, peekVars, ghostVars >>

Goes(c) ==
    \/ Unbind(c)
    \/ \E s \in Clients : Takeover(c, s)
    \/ (flow[c] = "standby" \/ Standbys = {}) /\ GoesWhileDown(c, NoClient)
    \/ flow[c] = "active" /\ \E s \in Standbys : GoesWhileDown(c, s)
FlowGoes ==
    \/ Goes(E.who)
    \/ UnbindNothing(E.who)
    \/ flow[E.who] = "off" /\ ~running /\ Idle

\* Of a client's flows, which end together, any goes first: a standby need not take over.
FlowIsLost == IF \E c \in In(E.users) : flow[c] # "off" THEN \E c \in In(E.users) : Goes(c) ELSE Idle

RefusedInPassing == E.error = "passing" /\ (MayBeBusy \/ ~running) /\ Idle
BindIsRefused == RefusedInPassing \/ (E.error # "passing" /\ BindRejected(E.who))
UnbindIsRefused == RefusedInPassing \/ (flow[E.who] = "off" /\ Idle)

Assigned == (HearsOf(untold[E.part].changes, E) = TRUE) /\ Idle

\* Found empty, but for what a transaction that nobody ended holds, and for
\* partitions that are down.
FoundEmpty ==
    /\ running
    /\ \A m \in Here : msg[m].at \in AtHand => MayLeaveOut(m) \/ ~Serves(msg[m].part)
    /\ \A m \in Here : Fades(m) /\ ShownLater(m) => ~Serves(msg[m].part)
    /\ Idle

\* RCV-10: messages that are received by number, one after the other; and a call refused.
TakesAside(c, m, counts) ==
    /\ running
    /\ MayTakeAside(m) /\ Alive(m)
    /\ \E n \in CountsAside(m) \cap counts : msg' = [ msg EXCEPT ![m] = LockedFor(m, c, n) ]
    /\ txn' = DoomedBy(m)
    /\ UNCHANGED << faultVars, counter, home, peekVars, flowVars, ghostVars >>
OneTaken == TakesAside(E.who, E.m, IF E.count = -1 THEN CountsAside(E.m) ELSE { E.count })

ByNumberRefused ==
    /\ (\/ E.error = "lost" /\ running /\ (IF E.unknown THEN TRUE ELSE \E m \in In(E.ms) : MayRefuseNumber(m))
        \/ E.error = "passing" /\ (\/ MayBeBusy \/ ~running \/ (E.unknown /\ Down # {})
                                   \/ \E m \in In(E.ms) : ~Serves(msg[m].part))) = TRUE
    /\ Idle

\* SCH-4, SCH-5: a number that is no scheduled message's, or may be no more.
CancelMayFail ==
    \/ E.error = "lost" /\ running /\ (IF E.unknown \/ E.m \in T.mortal THEN TRUE ELSE MayReject(E.m))
    \/ E.error = "passing" /\ (IF E.unknown THEN MayBeBusy \/ ~running \/ Down # {} ELSE MayRefuseCancel(E.m))
CancelRefused == (CancelMayFail = TRUE) /\ Idle
TxnCancelRefused ==
    /\ (\/ CancelMayFail
        \/ ~SameTxn \/ Ended \/ (Open /\ (txn.doubt \/ txn.doomed))
        \/ E.error = "lost" /\ ~E.unknown /\ (~SamePartition(E.m) \/ Mixed(E.m))) = TRUE
    /\ txn' = IF SameTxn THEN TxnDoubt(txn) ELSE txn
    /\ UNCHANGED << logVars, faultVars, home, peekVars, flowVars, ghostVars >>

\* What a holder dead-lettered came there by then; what was delivered too often may not, unless
\* the queue was found empty before (reading "Dead letters").
NoneDead ==
    /\ running
    /\ \A m \in Here : /\ InDeadLetters(m)
                       /\ Arrived(m) \/ msg[m].reason = "holder" \/ (E.state = "emptied" /\ m \notin T.mortal)
                       => ~Serves(msg[m].part)
    /\ Idle

DeletesDead(m) == running /\ MayLockDead(m) /\ msg' = [ msg EXCEPT ![m] = Settled(m) ] /\ Else

\* What clients ask for in sessions, and the faults that strike their locks.
SessionSteps == Accepts \cup (Requests \ { "receive" }) \cup { "accept refused", "next refused", "request refused", "delete in session",
                                            "receive in session" }
Strike == { "partition down", "kill", "front end lost" }
OneInSession(after) ==
    /\ InSession(E.m) /\ InSessionOrder(E.m)
    /\ E.count # -1 => msg[E.m].count = E.count
    /\ msg' = [ msg EXCEPT ![E.m] = after ]
    /\ Else /\ UNCHANGED sessionVars

InSessions ==
    CASE E.op = "accept" -> Accept(E.who, E.session)
      [] E.op = "accept next" -> NextSession(E.who, E.session)
      [] E.op = "accept refused" ->
            \/ E.error = "lost" /\ AcceptRejected(E.who, E.session)
            \/ E.error = "passing" /\ RequestFails(E.who, E.session, "accept")
      [] E.op = "next refused" -> (MayBeBusy \/ ~running \/ Down # {}) /\ Idle /\ UNCHANGED sessionVars
      [] E.op = "renew session" -> Renew(E.who, E.session)
      [] E.op = "close session" -> Close(E.who, E.session) \/ CloseNothing(E.who, E.session)
      [] E.op = "write" -> Write(E.who, E.session, E.state)
      [] E.op = "read" -> (E.state = "" \/ text[E.session] = E.state) /\ Read(E.who, E.session)
      [] E.op = "request refused" ->
            \/ E.error = "lost" /\ RequestRejected(E.who, E.session, "receive")
            \/ E.error = "passing" /\ RequestFails(E.who, E.session, "receive")
      [] E.op = "receive in session" -> OneInSession(LockedFor(E.m, E.who, msg[E.m].count))
      [] E.op = "delete in session" -> OneInSession(Settled(E.m))

Struck1 ==
    CASE E.op = "partition down" /\ up[E.part] ->
            /\ GoesDown(E.part) /\ Strikes({ E.part })
            /\ txn' = InDoubtAfter(StruckBy({ E.part }))
            /\ UNCHANGED peekVars
      [] E.op = "kill" /\ running ->
            /\ IsKilled /\ Strikes(Partitions)
            /\ txn' = InDoubtAfter(Open) /\ mislaid' = AllMislaid /\ UNCHANGED cursor
      [] E.op = "front end lost" ->
            /\ LosesSessions({ s \in SessionIDs : E.unknown \/ holder[s] = E.who })
            /\ txn' = InDoubtAfter(Open) /\ mislaid' = AllMislaid /\ UNCHANGED << cursor, faultVars >>
      [] OTHER -> Idle /\ UNCHANGED holder

Answered ==
    CASE E.op = "send" -> OneSend
      [] E.op = "send fails" -> SendsFail
      [] E.op = "send invalid" -> SendsInvalid
      [] E.op = "send full" -> SendsFull
      [] E.op = "txn send" -> OneTxnSend
      [] E.op = "txn schedule" -> SameTxn /\ (TxnSchedule(E.m) \/ TxnSendLetPass(E.m) \/ TxnDropped(E.m))
      [] E.op = "cancel" -> Cancel(E.m)
      [] E.op = "cancel refused" -> CancelRefused
      [] E.op = "txn cancel" -> SameTxn /\ TxnCancel(E.m)
      [] E.op = "txn cancel refused" -> TxnCancelRefused
      [] E.op = "txn send refused" -> TxnSendsRefused
      [] E.op = "txn send full" -> TxnSendsFull
      [] E.op = "txn full" -> TxnFull /\ UNCHANGED << logVars, home >>
      [] E.op = "txn send invalid" -> TxnSendsInvalid \/ TxnSendsRefused
      [] E.op = "receive" -> OneDelivery
      [] E.op = "receive deferred" -> OneTaken
      [] E.op = "by number refused" -> ByNumberRefused
      [] E.op = "delete" -> OneDeletion
      [] E.op = "receive nothing" -> ReceiveNothing(E.who)
      [] E.op = "receive fails" -> ReceiveFails(E.who)
      [] E.op \in { "peek", "peek dead" } -> OnePeek
      [] E.op \in { "peek nothing", "peek nothing dead" } -> PeekNothing(E.who)
      [] E.op = "receive dead" -> ReceiveDead(E.who, E.m)
      [] E.op = "delete dead" -> DeletesDead(E.m)
      [] E.op = "peek fails" -> PeekFails(E.who)
      [] E.op \in { "complete", "abandon" } -> OneSettlement \/ SettledAnyhow
      [] E.op \in SettlesInTxn \cup { "dead letter", "defer", "complete dead", "abandon dead" } ->
            OneSettlement
      [] E.op = "settlement refused" -> SettlementRefused
      [] E.op = "txn settlement refused" -> TxnSettlementRefused
      [] E.op = "renew" -> Renewal
      [] E.op = "renew dead" -> DeadHeld(E.m, E.lock) /\ Idle
      [] E.op = "begin" -> TxnBegins
      [] E.op = "begin fails" -> BeginFails
      [] E.op = "commit" -> Commits
      [] E.op = "commit refused" -> CommitRefused
      [] E.op = "rollback" -> RollsBack
      [] E.op = "rollback refused" -> RollbackRefused
      [] E.op = "partition down" -> PartitionDown(E.part) \/ (~up[E.part] /\ Idle)
      [] E.op = "partition up" -> PartitionUp(E.part) \/ (up[E.part] /\ Idle)
      [] E.op = "kill" -> BrokerKill \/ (~running /\ Idle)
      [] E.op = "start" -> BrokerStart \/ (running /\ Idle)
      [] E.op = "front end lost" -> FrontendLost(E.who)
      [] E.op = "link lost" -> LinkLost
      [] E.op = "bind" -> Bind(E.who)
      [] E.op = "bind refused" -> BindIsRefused
      [] E.op = "unbind" -> FlowGoes
      [] E.op = "flow lost" -> FlowIsLost
      [] E.op = "unbind refused" -> UnbindIsRefused
      [] E.op = "assigned" -> Assigned
      [] E.op = "drained" -> FoundEmpty
      [] E.op = "drained dead" -> NoneDead
      [] OTHER -> FALSE

\* --- Which step is next. --------------------------------------------------
RECURSIVE Beyond1(_, _)
Beyond1(n, done) == IF n > Len(T.order) THEN n
                    ELSE IF T.order[n] \in done THEN Beyond1(n + 1, done) ELSE n

ExcusesOf(step) == IF step # 0 /\ T.steps[step].passing THEN BOOLEAN ELSE { FALSE }

\* What has to be done before step h is: it is one of `done`, or before the n-th.
PriorDone(h, n, done) == LET prior == T.steps[h].prior
                         IN prior = 0 \/ prior \in done \/ T.rank[prior] < n

Chosen(n, done) == IF n > Len(T.order) THEN { 0 }
                   ELSE { h \in T.window[n] \ done : PriorDone(h, n, done) }

\* Two sends that come to the same in either order: they are in two partitions and, where
\* numbers are shown, of two keys.
Swaps(h, g) ==
    LET A == T.steps[h]
        B == T.steps[g]
    IN /\ A.op = "send" /\ B.op = "send"
       /\ IF HasFlows THEN T.allowed[A.m] \cap T.allowed[B.m] = {}
          ELSE /\ ~A.keyless /\ ~B.keyless
               /\ NoPartition \notin { Place(A.m).part, Place(B.m).part }
               /\ Place(A.m).part # Place(B.m).part

\* Such are taken in the order of their numbers: this one might have come before the step
\* that is done.
OutOfOrder(h, next) ==
    /\ h < E.head /\ h \in T.window[at] /\ PriorDone(h, at, ahead)
    /\ T.optional[next] = T.optional[at]
    /\ Swaps(h, E.head)

MovesOn ==
    /\ IF E.then # 0
       THEN aim' = E.then /\ UNCHANGED << at, ahead >>
       ELSE LET done == ahead \cup { E.head }
                next == Beyond1(at, done)
            IN /\ at' = next
               /\ ahead' = done \ { T.order[n] : n \in at .. next - 1 }
               /\ aim' \in { h \in Chosen(next, ahead') : h = 0 \/ ~OutOfOrder(h, next) }
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
(* is not held never is again; a lost front end excuses its client's calls  *)
(* alone.)                                                                  *)
(***************************************************************************)
NoneFades == \A m \in Here : ~msg[m].fading
OneIsOver(S) == S.unknown \/ \E i \in DOMAIN S.ms : NotHeld(S.ms[i], S.locks[i])

Changeless(step) ==
    LET S == T.steps[step] IN
    CASE S.op = "receive nothing" -> running
      [] S.op = "peek nothing" ->
            running /\ ~mislaid[S.who] /\ NoneFades /\ NothingBeyond(cursor[S.who])
      [] S.op = "peek" ->
            /\ ~mislaid[S.who] /\ NoneFades
            /\ LET p == msg[S.m].part IN
                /\ Serves(p)
                /\ OldestOf(In(S.ms), p, cursor[S.who])
            /\ \A i \in DOMAIN S.ms : /\ S.counts[i] \in { -1, msg[S.ms[i]].count }
                                      /\ ShownAs(S.ms[i], S.states[i])
      [] S.op = "settlement refused" ->
            /\ S.error = "lost" /\ running
            /\ OneIsOver(S)
      [] S.op = "receive fails" -> HasFlows /\ flow[S.who] = "off"
      [] S.op = "assigned" -> HearsOf(untold[S.part].changes, S)
      [] S.op = "front end lost" ->
            /\ mislaid = AllMislaid /\ txn = InDoubtAfter(Open)
            /\ \A t \in DOMAIN others : others[t].doubt
            /\ ~T.required
            /\ \A s \in T.window[at] \ ahead :
                  T.steps[s].who # S.who \/ T.steps[s].op = "front end lost"
      [] OTHER -> FALSE

\* Of sends to one partition that of what was shown first came first, most likely.
LikelyBefore(s, t) ==
    LET A == T.steps[s]
        B == T.steps[t]
    IN /\ A.op = "send" /\ B.op = "send"
       /\ T.sight[A.m] < T.sight[B.m]
       /\ T.allowed[A.m] = T.allowed[B.m]

\* Another step is to be taken first.
Deferred ==
    /\ chosen
    /\ E.head = aim
    /\ ~LooksAtTheDead  \* then `Beyond` is of the dead
    /\ \E s \in T.window[at] \ (ahead \cup { aim }) :
          /\ PriorDone(s, at, ahead)
          /\ \/ Changeless(s) /\ (s < aim \/ ~Changeless(aim))
             \/ Hasty /\ LikelyBefore(s, aim)

\* What open transactions settle.
Enlisted1(step) ==
    settles' = { x \in settles \cup IF step.op \in SettlesInTxn \cup { "txn cancel" } /\ ~SettledElsewhere(step.m)
                                   THEN { << step.m, step.op, step.txn >> } ELSE {} : msg'[x[1]].settling }
EnlistsNothing == settles' = { x \in settles : msg'[x[1]].settling }

Heard ==
    CASE E.op = "assigned" ->
            untold' = [ untold EXCEPT ![E.part].changes = Left(@, E), ![E.part].heard = @ + 1 ]
      [] E.op = "start" ->
            untold' = IF duty' = duty THEN untold
                    ELSE [ p \in Partitions |-> [ untold[p] EXCEPT !.changes = EndedByKill(duty[p]) ] ]
      [] OTHER -> TellsLater

Answered1 ==
    IF E.op \in SessionSteps THEN InSessions
    ELSE IF T.required /\ E.op \in Strike
         THEN Struck1 /\ UNCHANGED << text, counter, home, flowVars, ghostVars >>
    ELSE Answered /\ UNCHANGED sessionVars

\* Whether a transaction that settles nothing, and is asked for nothing any more, is open
\* after a refusal makes no difference.
IsOver == (E.final /\ E.error # "" /\ TraceSettling = {}) => ~(Open /\ txn'.state = "open")

Follow ==
    /\ E.txn \notin DOMAIN others
    /\ Answered1 /\ (E.op \in { "commit refused", "rollback refused" } => IsOver)
    /\ (Consistent = TRUE) /\ MovesOn /\ Enlisted1(E) /\ Heard
    /\ others' = IF E.op = "begin" THEN [ t \in OpenOnes |-> RecordOf(t) ] ELSE OthersAfter(E.op)

\* --- The broker's own moves, where the step needs them. -------------------
Waits == chosen' = FALSE /\ TellsLater /\ UNCHANGED << trace, at, ahead, aim, excuse, spent, shaky, deal >>
Delivers1 == E.op \in { "receive", "receive deferred", "delete", "receive in session", "delete in session" }
Peeks1 == E.op \in { "peek", "peek nothing" }

\* n stands in the way of m: it is older, and free.
InWay(n, m) == /\ msg[m].at = "ready" /\ msg[m].placed
               /\ msg[n].at = "ready" /\ msg[n].placed /\ Alive(n)
               /\ Older(n, m)

\* m is shown among the dead, and is not there yet.
Buries(m) == /\ E.op \in { "peek dead", "receive dead", "delete dead" }
             /\ \E i \in DOMAIN E.ms : /\ E.ms[i] = m /\ ~InDeadLetters(m)
                                       /\ \A k \in 1 .. i - 1 : InDeadLetters(E.ms[k])
MayBeWorn(m) == msg[m].count + T.unseen >= MaxDeliveryCount
WearsOut(m) == Buries(m) /\ T.graves[m].why \in { "-", "limit" }

\* What is needed of several messages is done in their order, which makes no difference.
CountTooLow(m) ==
    \/ WearsOut(m) /\ msg[m].count < MaxDeliveryCount /\ MayBeWorn(m)
    \/ Delivers1 /\ m = E.m /\ E.count # -1 /\ msg[m].count < E.count
    \/ E.op = "peek" /\ \E i \in DOMAIN E.ms :
          /\ E.ms[i] = m /\ msg[m].count < E.counts[i]
          /\ \A k \in 1 .. i - 1 : msg[E.ms[k]].count >= E.counts[k]

\* m has to be gone: it was not found, or a peek that shows a younger one leaves it out.
Comes(n, m) == msg[n].part < msg[m].part \/ Older(n, m)
MayStay(m) == ~(msg[m].at \in AtHand /\ Serves(msg[m].part)) \/ MayLeaveOut(m)
InSight(m) == /\ Visible(m) /\ Serves(msg[m].part) /\ ~MayLeaveOut(m)
              /\ mislaid[E.who] \/ Beyond(m, msg[m].part, cursor[E.who])
HasToGo(m) ==
    \/ E.op = "drained" /\ ~MayStay(m) /\ \A n \in Here : Comes(n, m) => MayStay(n)
    \/ E.op = "peek nothing" /\ InSight(m) /\ (mislaid[E.who] \/ \A n \in Here : Comes(n, m) => ~InSight(n))
    \/ E.op = "peek" /\ m \notin In(E.ms) /\ ~MayLeaveOut(m) /\ \E n \in In(E.ms) : Older(m, n)

\* A settlement by its lock is refused, and needs one that ended.
IsRefused(m) ==
    /\ E.op \in { "settlement refused", "txn settlement refused" }
    /\ ~OneIsOver(E)
    /\ \E i \in DOMAIN E.ms : E.ms[i] = m /\ E.locks[i] = msg[m].turn

ExpireDeadFor(m) == IsRefused(m) \/ (E.op \in { "receive dead", "delete dead" } /\ m = E.m)

ExpireFor(m) ==
    \/ CountTooLow(m)
    \/ Delivers1 /\ m = E.m /\ E.count = -1 /\ msg[m].at = "locked"
    \/ WearsOut(m)
    \/ IsRefused(m)
    \/ /\ E.txn # "" /\ E.error # ""
       /\ msg[m].settling /\ Settles(m, E.txn)
    \/ HasToGo(m) /\ (MayBeWorn(m) \/ m \in T.mortal)
    \/ E.op = "partition down" /\ m \in E.cached /\ msg[m].at = "locked"

LockFor(m) ==
    \/ CountTooLow(m)
    \/ Delivers1 /\ InWay(m, E.m)
    \/ \E x \in Here : WearsOut(x) /\ InWay(m, x)
    \/ E.op = "partition down" /\ (m \in E.cached \/ \E x \in E.cached : InWay(m, x))
    \/ HasToGo(m) /\ MayBeWorn(m) /\ msg[m].at = "ready" /\ (Hasty => m \notin T.mortal)
    \/ HasToGo(m) /\ m \in T.mortal /\ ~NeverShown(m)

\* A lock that its client's connection took with it.
ComebackFor(m) == /\ GivesBackFirst /\ InDoubt(m)
                  /\ m \in In(E.ms) /\ (Delivers1 \/ E.op = "settlement refused")
Comeback(m) == msg' = [ msg EXCEPT ![m] = GivenBack(m, msg[m].count, TRUE) ] /\ Else

\* When it goes to the dead letters is the broker's (reading "Dead letters"): when its last
\* lock ends, or at any time after.
ExhaustedFor(m) == /\ \/ HasToGo(m) \/ WearsOut(m)
                      \/ E.op = "by number refused" /\ E.error = "lost" /\ m \in In(E.ms)
                   /\ msg[m].at \in { "ready", "deferred" } /\ msg[m].count >= MaxDeliveryCount
Exhausted(m) == msg' = [ msg EXCEPT ![m] = Dead(m, "limit") ] /\ Else

LifeEndsFor(m) == /\ m \in T.mortal
                  /\ \/ HasToGo(m) \/ (Delivers1 /\ InWay(m, E.m))
                     \/ E.op = "by number refused" /\ E.error = "lost" /\ m \in In(E.ms)
TimeBuriesFor(m) == m \in T.mortal /\ Buries(m) /\ T.graves[m].why \in { "-", "time" }

LifeEnds(m) == /\ Stored(m) /\ ~msg[m].over
               /\ msg' = [ msg EXCEPT ![m].over = TRUE ]
               /\ Else
TimeBuries(m) == /\ msg[m].at \in { "ready", "cached", "deferred" }
                 /\ msg' = [ msg EXCEPT ![m] = Dead(m, "time") ]
                 /\ Else

\* What changes the flows finds what was due before it done, or not.
ChangesFlows == E.op \in { "bind", "unbind", "flow lost", "kill" }

\* An event that tells of what has not happened yet, a delivery by a flow that
\* partition p is not ready for, a lock that a handoff ended.
HandoffFor(p) ==
    \/ ChangesFlows
    \/ E.op = "assigned" /\ E.part = p /\ ~HearsOf(untold[p].changes, E)
    \/ Delivers1 /\ msg[E.m].part = p /\ duty[p][E.who] # "ready"
    \/ E.op = "settlement refused" /\ ~OneIsOver(E) /\ \E m \in In(E.ms) : msg[m].part = p
RebalanceFor == E.op # "settlement refused" /\ \E p \in Partitions : HandoffFor(p)

\* The next number of partition p is that of m; the step needs one beside that of m.
HasNext(m, p) == IF Placed(m) THEN Place(m).num = counter[p] ELSE Missing(p, counter[p])
NeedsNumbers(m) ==
    \/ E.op \in { "send", "send fails", "txn send refused", "txn schedule", "commit" } /\ E.m # m
    \/ \E b \in In(E.ms) \ { m } : msg[b].at = "unborn"

\* A scheduled message is activated where the step shows it so, or shows it no more as
\* scheduled, or needs a number after that of its activation, or is refused for it.
BirthNeeded(m) ==
    /\ Birth(m) # 0
    /\ \/ Birth(m) \in In(E.ms)
       \/ E.op = "partition down" /\ Birth(m) \in E.cached
       \/ E.op = "commit refused" /\ Enlists(m)
       \/ /\ Birth(m) \notin In(E.ms)
          /\ LET p == Place(Birth(m)).part
             IN HasNext(Birth(m), IF p = NoPartition THEN msg[m].part ELSE p)
          /\ NeedsNumbers(Birth(m))
ActivateFor(m) == \/ Activatable(m) /\ BirthNeeded(m)
                  \/ msg[m].at = "scheduled" /\ (IF BirthNeeded(m) THEN TRUE ELSE HasToGo(m))
TimeComesFor(m) ==
    \/ E.op \in { "cancel refused", "txn cancel refused" } /\ m \in In(E.ms)
    \/ E.op = "cancel" /\ m = E.m /\ BirthLater(m)
    \/ E.op = "commit" /\ Enlists(m) /\ BirthLater(m)

\* All that was committed together: what another transaction committed may lag still.
AppearFor(m) == /\ msg[m].at = "lagging"
                /\ m \in In(E.ms) \/ (E.op = "drained" /\ HasToGo(m)) \/ BirthNeeded(m)
SettledIn(m, t) == \E k \in DOMAIN T.steps :
    T.steps[k].txn = t /\ T.steps[k].m = m /\ T.steps[k].op \in SettlesInTxn \cup { "txn cancel" }
AppearWith(m) ==
    /\ running
    /\ msg' = [ n \in Messages |->
            IF msg[n].at = "lagging" /\ T.within[n] = T.within[m] THEN [ msg[n] EXCEPT !.at = Arrival(n) ]
            ELSE IF msg[n].fading /\ SettledIn(n, T.within[m]) THEN Faded(n) ELSE msg[n] ]
    /\ Else

\* Of messages that come to nothing in transactions the one that does so first uses up a number.
FirstInVain(m) ==
    T.vain[m] # 0 => \A n \in Here :
        T.vain[n] \in 1 .. T.vain[m] - 1 => ~(Unnumbered(n) /\ msg[n].part = msg[m].part)

\* The partition's next number is that of m, and the step needs the one after it.
NumberFor(m) ==
    /\ Unnumbered(m)
    /\ Hasty => FirstInVain(m)
    /\ LET p == msg[m].part IN
        /\ HasNext(m, p)
        /\ \/ NeedsNumbers(m)
           \/ /\ ~Placed(m)  \* it comes to nothing
              /\ E.op \in { "rollback", "rollback refused", "commit refused", "partition down", "kill" }

\* `NumberEarly`, whichever transaction it is.
Numbers1(m) ==
    /\ MayNumberEarly(m) /\ Serves(msg[m].part)
    /\ msg' = [ msg EXCEPT ![m].num = counter[msg[m].part] ]
    /\ counter' = CountersAfter({ msg[m].part })
    /\ UNCHANGED << faultVars, home, txn, peekVars, flowVars, ghostVars >>

\* Where it is not known what number a partition began with, the first that is
\* shown says.
BeginAt(p) ==
    /\ counter[p] < T.floor[p]
    /\ Owner(p, T.floor[p]) # 0
    /\ LET m == Owner(p, T.floor[p]) IN
        \/ msg[m].at = "pending"
        \/ E.op \in { "send", "txn schedule" } /\ E.m = m
        \/ msg[m].at = "unborn" /\ (IF m \in In(E.ms) THEN TRUE ELSE NeedsNumbers(m))
    /\ counter' = [ counter EXCEPT ![p] = T.floor[p] ]
    /\ UNCHANGED << faultVars, msg, home, txn, peekVars, flowVars, ghostVars >>

\* A keyless send that waits was tried in a partition that is down (ROUTE-6).
TriedAt(u, p) ==
    /\ << u, p >> \notin tried
    /\ Missing(p, counter[p])
    /\ counter' = [ counter EXCEPT ![p] = @ + 1 ]
    /\ tried' = tried \cup { << u, p >> }
    /\ UNCHANGED << faultVars, msg, home, txn, peekVars, flowVars, ghostVars, sessionVars, taken >>

\* The transaction is committed, or was.
DropsFor == \/ E.op = "commit" /\ SameTxn
            \/ \E u \in T.optional[at] : /\ T.steps[u].op = "commit" /\ taken[u] = 0
                                         /\ T.steps[u].txn = deal

\* TXN-9: it has lasted for its time, and may be rolled back, though nobody is told.
TimeIsUp == /\ E.error # "" /\ E.txn \in E.late /\ SameTxn /\ Open /\ ~txn.doubt
            /\ txn' = [ txn EXCEPT !.doubt = TRUE ]
            /\ UNCHANGED << logVars, faultVars, home, peekVars, flowVars, ghostVars >>

Own ==
    /\ UNCHANGED << taken, tried >>
    /\ UNCHANGED sessionVars
    /\ \/ \E m \in Here : ~T.required /\ ExpireFor(m) /\ Expire(m)
                                /\ (E.op = "drained" /\ AtMaximum(m) => msg'[m].at \notin { "ready", "deferred" })
       \/ \E m \in Here : CachingFrontends /\ ~T.required /\ LockFor(m) /\ Prefetch(m)
       \/ \E m \in Here : AppearFor(m) /\ AppearWith(m)
       \/ \E m \in Here : NumberFor(m) /\ Numbers1(m)
       \/ TimeIsUp
       \/ DropsFor /\ \E m \in Here : DropsAtCommit(m)
       \/ \E m \in Here : ComebackFor(m) /\ Comeback(m)
       \/ \E m \in Here : ExhaustedFor(m) /\ Exhausted(m)
       \/ \E m \in Here : ExpireDeadFor(m) /\ ExpireDead(m)
       \/ \E m \in Here : ActivateFor(m) /\ Activates(m)
       \/ \E m \in Here : LifeEndsFor(m) /\ LifeEnds(m)
       \/ \E m \in Here : TimeBuriesFor(m) /\ TimeBuries(m)
       \/ \E m \in Here : TimeComesFor(m) /\ TimeComes(m)
       \/ HasFlows /\ RebalanceFor /\ Rebalance
       \/ HasFlows /\ \E p \in Partitions : HandoffFor(p) /\ (Handoff(p) \/ HandoffTimeout(p))

\* The time of a session's lock is over, where the step is about the session, or shows that.
SessionOverFor(s) == E.session = s \/ \E m \in LockedIn({s}) : ExpireFor(m)
SessionEnds == /\ \E s \in SessionIDs : SessionOverFor(s) /\ SessionOver(s)
               /\ UNCHANGED << taken, tried >>

Waiting == { u \in T.window[at] \cup T.optional[at] : u \notin ahead /\ T.steps[u].keyless }

Tries ==
    /\ E.op = "partition up"
    /\ ~up[E.part]
    /\ \E u \in Waiting : TriedAt(u, E.part)

\* --- Operations of unknown outcome. ---------------------------------------

GoneFor(m) ==
    /\ NeverShown(m)
    /\ \/ Delivers1 /\ InWay(m, E.m)
       \/ Peeks1 /\ m \notin In(E.ms) /\ Visible(m)
       \/ E.op = "drained" /\ HasToGo(m)
       \/ m \in In(E.ms)

GoneDeadFor(m) == /\ LooksAtTheDead \/ E.op = "drained dead"
                  /\ m \notin In(E.ms) /\ InDeadLetters(m)

\* m was received by number, unseen.
TakenFor(m) ==
    \/ CountTooLow(m) \/ WearsOut(m) \/ (HasToGo(m) /\ MayBeWorn(m))
    \/ E.op = "by number refused" /\ m \in In(E.ms)
    \/ E.op = "peek" /\ \E i \in DOMAIN E.ms : E.ms[i] = m /\ E.states[i] = "active"

Touches(m) == m \in In(E.ms) \/ (E.txn # "" /\ msg[m].settling)

Oldest1(c, p, k, gone) ==
    LET beyond == { m \in Here \ gone : Beyond(m, p, cursor[c]) }
    IN { m \in beyond : Cardinality({ n \in beyond : Before(msg[n].num, msg[m].num) }) < k }

\* A request that came to nothing, or stored what is never shown, used up a number.
Wasted(u, U) ==
    /\ E.op \in { "send", "commit", "drained" }
    /\ taken[u] < Len(U.ms) * (IF Birth(U.m) = 0 THEN 1 ELSE 2)
    /\ \E p \in T.allowed[U.m] :
        /\ Missing(p, counter[p])
        /\ counter' = [ counter EXCEPT ![p] = @ + 1 ]
    /\ UNCHANGED << faultVars, msg, home, txn, peekVars, flowVars, ghostVars >>

\* A flow that came or went unnoticed makes a difference to such a step.
FlowsMatter == E.op \in { "assigned", "bind", "bind refused", "unbind refused", "receive",
                          "delete", "receive fails", "settlement refused" }

OptionalInSession(u, U) ==
    CASE U.op = "receive in session" ->
            /\ taken[u] < U.max
            /\ \E m \in MessagesOf(U.session) : LockFor(m) /\ Alive(m) /\ ReceiveIn(U.who, m)
      [] U.op = "delete in session" ->
            /\ taken[u] < U.max
            /\ \E m \in MessagesOf(U.session) :
                  /\ GoneFor(m) /\ Alive(m) /\ msg[m].at = "ready"
                  /\ HoldsSession(U.who, U.session) /\ InSessionOrder(m)
                  /\ msg' = [ msg EXCEPT ![m] = Settled(m) ] /\ Else /\ UNCHANGED sessionVars
      [] OTHER ->
            /\ taken[u] = 0
            /\ CASE U.op = "accept" -> E.session = U.session /\ Accept(U.who, U.session)
                 [] U.op = "accept next" -> E.session \in SessionIDs /\ NextSession(U.who, E.session)
                 [] U.op = "close session" ->
                        /\ E.session = U.session \/ \E m \in LockedIn({ U.session }) : m \in In(E.ms)
                        /\ Close(U.who, U.session)
                 [] U.op = "write" ->
                        E.op = "read" /\ E.session = U.session /\ Write(U.who, U.session, U.state)
                 [] OTHER -> FALSE

Optional1(u, U) ==
    CASE U.op = "receive" ->
            /\ taken[u] < U.max
            /\ \E m \in Here : LockFor(m) /\ Receive(U.who, m)
      [] U.op = "receive deferred" ->
            /\ taken[u] < Len(U.ms)
            /\ \E m \in In(U.ms) : TakenFor(m) /\ TakesAside(U.who, m, CountsAside(m))
      [] U.op = "delete" ->
            /\ taken[u] < U.max
            /\ \E m \in Here : GoneFor(m) /\ Deletes(U.who, m)
      [] U.op = "peek" ->
            /\ taken[u] = 0 /\ Peeks1 /\ E.who = U.who
            /\ \E p \in Partitions : \E k \in 1 .. U.max : \E gone \in { {}, { m \in Here : Fades(m) } } :
                  /\ Oldest1(U.who, p, k, gone) # {}
                  /\ Peek(U.who, Oldest1(U.who, p, k, gone))
      [] U.op = "send" -> Wasted(u, U)
      [] U.op = "cancel" -> taken[u] = 0 /\ GoneFor(U.m) /\ Cancel(U.m)
      [] U.op \in { "txn send", "txn schedule" } ->
            \/ Wasted(u, U)
            \/ /\ taken[u] = 0 /\ U.txn = deal /\ Open /\ E.txn = deal
               /\ txn' = [ txn EXCEPT !.doubt = TRUE ]
               /\ UNCHANGED << logVars, faultVars, home, peekVars, flowVars, ghostVars >>
      [] U.op \in { "complete", "abandon", "dead letter", "defer" } ->
            /\ taken[u] = 0
            /\ Touches(U.m) \/ (U.op \in { "complete", "dead letter" } /\ GoneFor(U.m))
            /\ CASE U.op = "complete" -> Complete(U.who, U.m, U.lock)
                 [] U.op = "abandon" -> Abandon(U.who, U.m, U.lock)
                 [] U.op = "defer" -> Defer(U.who, U.m, U.lock)
                 [] OTHER -> DeadLetter(U.who, U.m, U.lock)
      [] U.op = "complete dead" ->
            taken[u] = 0 /\ GoneDeadFor(U.m) /\ DeadHeld(U.m, U.lock) /\ CompleteDead(msg[U.m].by, U.m)
      [] U.op = "delete dead" ->
            taken[u] < U.max /\ \E m \in Here : GoneDeadFor(m) /\ DeletesDead(m)
      [] U.op \in SessionSteps -> OptionalInSession(u, U)
      [] U.op = "bind" -> taken[u] = 0 /\ FlowsMatter /\ Bind(U.who)
      [] U.op \in { "unbind", "flow lost" } -> taken[u] = 0 /\ FlowsMatter /\ Goes(U.who)
      [] U.op \in SettlesInTxn \cup { "txn cancel" } ->
            /\ taken[u] = 0 /\ U.txn = deal /\ Open
            /\ Touches(U.m) \/ E.txn = deal \/ GoneFor(U.m)
            /\ \/ IF U.op = "txn cancel" THEN TxnCancel(U.m) ELSE TxnSettlement(U.who, U.m, U.lock, U.op)
               \/ /\ txn' = [ txn EXCEPT !.doubt = TRUE ]
                  /\ UNCHANGED << logVars, faultVars, home, peekVars, flowVars, ghostVars >>
      [] U.op = "commit" ->
            /\ taken[u] = 0 /\ U.txn = deal /\ Open
            /\ \/ CommitsLate
               \/ /\ msg' \in RolledBack
                  /\ txn' = NoWork("rolled back")
                  /\ UNCHANGED << faultVars, counter, home, peekVars, flowVars, ghostVars >>
      [] U.op = "rollback" ->
            taken[u] = 0 /\ U.txn = deal /\ Open /\ Rollback
      [] OTHER -> FALSE

Optional ==
    /\ \E u \in T.optional[at] :
        /\ Optional1(u, T.steps[u])
        /\ IF T.steps[u].op \in SessionSteps THEN TRUE ELSE UNCHANGED sessionVars
        /\ Enlisted1(T.steps[u])
        /\ others' = OthersAfter(T.steps[u].op)
        /\ taken' = [ taken EXCEPT ![u] = @ + 1 ]
    /\ UNCHANGED tried

\* What is settled in this transaction another one has given back.
OtherRolledBack(t) ==
    /\ E.op \in SettlesInTxn /\ Settles(E.m, t)
    /\ others[t].doubt \/ t \in E.late
    /\ msg' \in RolledBackAll(t)
    /\ Else
    /\ others' = [ x \in DOMAIN others \ {t} |-> others[x] ]
    /\ settles' = { x \in settles : x[3] # t }

\* Another transaction is that of the step, or of one that may have happened.
SwitchesTo(t) ==
    /\ t \in DOMAIN others
    /\ txn' = others[t] /\ deal' = t
    /\ others' = [ x \in OpenOnes \ {t} |-> RecordOf(x) ]
    /\ UNCHANGED << logVars, faultVars, home, peekVars, flowVars, ghostVars, sessionVars, trace, at, ahead, aim,
                    excuse, spent, shaky, taken, tried, settles, untold, chosen >>
MayHaveBeen == { T.steps[u].txn : u \in { v \in T.optional[at] : taken[v] = 0 } } \ { "", E.txn }

\* --- All of it. -----------------------------------------------------------
TraceInit ==
    /\ trace \in DOMAIN Traces
    /\ at = 1 /\ ahead = {}
    /\ aim \in Chosen(1, {})
    /\ excuse \in ExcusesOf(aim)
    /\ spent = FALSE /\ shaky = {} /\ tried = {} /\ deal = "" /\ settles = {} /\ chosen = TRUE
    /\ others = [ t \in {} |-> NoWork("none") ]
    /\ untold = [ p \in Partitions |-> [ changes |-> << >>, heard |-> 0 ] ]
    /\ taken = [ u \in T.optionals |-> 0 ]
    /\ SessionsInit

TraceNext ==
    /\ aim # 0
    /\ UNCHANGED << told, heard >>
    /\ IF E.txn \in DOMAIN others /\ MayHaveBeen \cap DOMAIN others = {} THEN SwitchesTo(E.txn) ELSE
       \/ Follow
       \/ Optional /\ (Consistent = TRUE) /\ Waits
       \/ (Own \/ Tries) /\ (Consistent = TRUE) /\ EnlistsNothing /\ others' = OthersAfter("") /\ Waits
       \/ T.required /\ SessionEnds /\ (Consistent = TRUE) /\ EnlistsNothing /\ others' = OthersAfter("") /\ Waits
       \/ /\ \E p \in Partitions : BeginAt(p)
          /\ UNCHANGED << taken, tried, settles, others, sessionVars >> /\ Waits
       \/ /\ \E t \in DOMAIN others : OtherRolledBack(t) /\ (Consistent = TRUE)
          /\ UNCHANGED << taken, tried, sessionVars >> /\ Waits
       \/ \E t \in MayHaveBeen \cup {E.txn} : SwitchesTo(t)

(***************************************************************************)
(* Which states are followed.  A narrow search goes on from the first        *)
(* `Width` states alone that have as much of the trace done: what it        *)
(* accepts is explained, and where it left out any it rejects nothing.       *)
(*                                                                          *)
(* What is printed: of each trace the furthest that it was followed (its    *)
(* `at`), whether it was given up, or searched in part.  Registers of TLC   *)
(* hold of trace n the furthest, the number of its states, whether any were *)
(* left out, and how many there are of each level.                          *)
(***************************************************************************)
Register(n, k) == n * (Longest + 5) + k
Furthest == Register(trace, 0)
Count == Register(trace, 1)
LeftOut == Register(trace, 2)
Level == Register(trace, 3 + T.before[at] + Cardinality(UNION { h .. T.ends[h] : h \in ahead })
                           + IF aim = 0 THEN 0 ELSE aim - E.head)

InTheWidth ==
    \/ TLCGet(Level) < Width
    \/ /\ TLCGet(LeftOut) = 0
       /\ TLCSet(LeftOut, 1) /\ PrintT(<< "in part", trace, at, TLCGet(Count) >>)
       /\ FALSE

Followed == 1  \* the register of whether the state that was watched last is followed
Watched == /\ TLCSet(Followed, FALSE)
           /\ TLCGet(Count) < StateLimit
           /\ IF aim = 0 THEN TRUE
              ELSE ~Deferred /\ TLCGet(Furthest) <= Len(T.order) /\ InTheWidth
           /\ TLCSet(Followed, TRUE)

\* An invariant, for that is looked at once a state; also of one that is not followed.
Counted ==
    TLCGet(Followed) =>
        LET n == TLCGet(Count) + 1 IN
        /\ TLCSet(Count, n)
        /\ TLCSet(Level, TLCGet(Level) + 1)
        /\ IF at > TLCGet(Furthest)
           THEN TLCSet(Furthest, at) /\ PrintT(<< "at", trace, at, n >>)
           ELSE TRUE
        /\ IF n = StateLimit THEN PrintT(<< "gave up", trace, at, n >>) ELSE TRUE

ASSUME \A n \in DOMAIN Traces : \A k \in 0 .. Longest + 4 : TLCSet(Register(n, k), 0)
================================================================================
