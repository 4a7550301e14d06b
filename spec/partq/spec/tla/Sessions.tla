-------------------------------- MODULE Sessions -------------------------------
(***************************************************************************)
(* An entity that requires sessions (SES).                                  *)
(*                                                                          *)
(* Each message belongs to the session whose ID it bears, which is its key  *)
(* (KEY-1); one in Sessionless bears none, and is refused.  A client        *)
(* accepts a session, by its name or the next one, and holds it until it    *)
(* closes it, or the lock ends by its time or by a fault.  Only the holder  *)
(* receives the session's messages, in order, and reads and writes its      *)
(* state.  A message that it received is locked as long as the session is.  *)
(* There is no clock, so that a renewal shows only whether the lock holds.  *)
(* Which locks a fault ends is chosen when it strikes.                      *)
(*                                                                          *)
(* It has variables and an Init of its own, so it is started on its own     *)
(* (SessionsChecked), and a SessionsNext, in which the only actions of the  *)
(* queue are those of Unchanged.                                            *)
(***************************************************************************)
EXTENDS PartitionedQueue

Session(m) == IF m \in Sessionless THEN NoKey ELSE Key(m)
SessionIDs == { Session(m) : m \in Messages } \ {NoKey}
MessagesOf(s) == { m \in Messages : Session(m) = s }

ASSUME \A m \in Messages \ Sessionless : Keyed(m)

\* What a session's state may be; NoText: empty, or never written.
NoText == "-"
Texts == { NoText, "x" }

VARIABLES
    \* Who holds the lock of each session.
    \* @type: Str -> Str;
    holder,
    \* Its state.
    \* @type: Str -> Str;
    text,
    \* Ghosts, as in ClientHistory.  The session that the last answer is about, and the
    \* state that was written, or shown.
    \* @type: {session: Str, text: Str};
    told,
    \* What is known of each session from answers: who was given its lock and has not seen
    \* it end, whether it holds for certain, and what was written last.
    \* @type: {by: Str -> Str, sure: Str -> Bool, text: Str -> Str};
    heard

sessionVars == << holder, text >>

\* An answer is about a session, or about none.
AnySession == SessionIDs \cup {NoKey}

SessionsInit ==
    /\ FaultsInit /\ LogInit /\ RoutingInit /\ TransactionsInit /\ PeekingInit
    /\ RebalancingInit /\ HistoryInit
    /\ holder = [ s \in SessionIDs |-> NoClient ]
    /\ text = [ s \in SessionIDs |-> NoText ]
    /\ told = [ session |-> NoKey, text |-> NoText ]
    /\ heard = [ by |-> [ s \in AnySession |-> NoClient ], sure |-> [ s \in AnySession |-> FALSE ],
                 text |-> text ]

SessionsView == << mechanism, sessionVars, history, heard >>

\* --- What an observer takes from an answer. -------------------------------
Accepts == { "accept", "accept next" }
\* Requests of a client in a session that it holds.
StateRequests == IF Offers("state") THEN { "write", "read" } ELSE {}
Requests == { "renew session", "close session", "receive" } \cup StateRequests
Asked == Requests \cup {"accept"}

Taken(a) == a.op \in Accepts /\ a.out = "ok"
\* The one who was given the lock of s knows, or is told, that it is over.
Ends(a, s) ==
    \/ a.op = "session over"
    \/ a.by = heard.by[s] /\ (a.out = "lost" \/ (a.op = "close session" /\ a.out = "ok"))
Holds(a, s) == a.op \in Requests /\ a.out = "ok" /\ a.by = heard.by[s]

\* A fault may have ended the lock of s: its partition is not known to be another.
MayBeStruck(a, s) ==
    \/ a.op = "kill"
    \/ /\ a.op = "partition down"
       /\ \A m \in MessagesOf(s) : MayBeAmong(history, m, history'.outage \ history.outage)

HeardAfter(a, s, t) ==
    [ by |-> [ x \in AnySession |-> IF x # s THEN heard.by[x] ELSE IF Taken(a) THEN a.by
                                    ELSE IF Ends(a, s) THEN NoClient ELSE heard.by[x] ],
      sure |-> [ x \in AnySession |->
          IF x = s THEN Taken(a) \/ Holds(a, s) \/ (heard.sure[s] /\ ~Ends(a, s))
          ELSE heard.sure[x] /\ ~MayBeStruck(a, x) ],
      text |-> [ x \in SessionIDs |-> IF x = s /\ a.op = "write" /\ a.out = "ok" THEN t
                                      ELSE heard.text[x] ] ]

\* The locks of the session's messages are over with its own; its time is over for all
\* that is locked for certain, which counts (RCV-9).
\* @type: ($history, $answer, Str) => $history;
LocksSeen(h, a, s) ==
    LET held(m) == Session(m) = s /\ \E t \in Turns : h.lock[m][t] = "held"
        over == Ends(a, s) \/ (Taken(a) /\ a.by # heard.by[s])
        counts(m) == a.op = "session over" /\ held(m) /\ CountsDeliveries
    IN [ LocksOfFlowOver(h, IF over THEN MessagesOf(s) ELSE {}) EXCEPT
           !.least = [ m \in Messages |-> IF counts(m) THEN @[m] + 1 ELSE @[m] ],
           !.most = [ m \in Messages |-> IF counts(m) THEN More(@[m]) ELSE @[m] ],
           !.buried = @ \cup { m \in Messages : msg'[m].at = "dead" } ]

Hears(s, t) ==
    IF ~Observing THEN UNCHANGED << told, heard >>
    ELSE told' = [ session |-> s, text |-> t ] /\ heard' = HeardAfter(answer', s, t)

\* Client c is answered about session s.
Answers(h, c, op, s, t, out) ==
    LET a == [ Said(op, c, 0, out) EXCEPT !.named = MessagesOf(s) ]
    IN Record(LocksSeen(h, a, s), a) /\ Hears(s, t)
\* ... and nothing happens.
Tells(c, op, s, t, out) ==
    UNCHANGED << mechanism, sessionVars >> /\ Answers(history, c, op, s, t, out)

\* --- The lock of a session ------------------------------------------------

\* The session's partition is up (its key fixes it, once it is used), or is down.
ServesSession(s) == running /\ IF home[s] = NoPartition THEN Down # Partitions ELSE up[home[s]]
MayBeDown(s) == ~running \/ MayBeBusy \/ IF home[s] = NoPartition THEN Down # {} ELSE ~up[home[s]]

\* SES-4: nobody else holds it.  One who holds it and accepts it again is refused, or not:
\* no source says.
MayAccept(c, s) == holder[s] \in { NoClient, c }
\* ... and there is something to receive.
Available(s) == holder[s] = NoClient /\ \E m \in MessagesOf(s) : msg[m].at = "ready"

Begins(c, op, s) ==
    /\ ServesSession(s)
    /\ holder' = [ holder EXCEPT ![s] = c ]
    /\ UNCHANGED << mechanism, text >>
    /\ Answers(history, c, op, s, NoText, "ok")

Accept(c, s) == MayAccept(c, s) /\ Begins(c, "accept", s)
IsHeld(s) == holder[s] # NoClient
AcceptRejected(c, s) == running /\ IsHeld(s) /\ Tells(c, "accept", s, NoText, "held")
\* SES-4: "which one is next is free".
NextSession(c, s) == Available(s) /\ Begins(c, "accept next", s)
\* With none available it times out; at any other time that is a passing error.
NoNextSession(c) == Tells(c, "accept next", NoKey, NoText, "nothing")

\* What is locked in the sessions ss.
LockedIn(ss) == { m \in Messages : Session(m) \in ss /\ msg[m].at = "locked" }

\* The locks of the sessions ss end, and their messages are back, those in `raised` counted
\* (SES-5); of these some are dead-lettered (RCV-9).
EndLocks(ss, raised) ==
    \E dead \in SUBSET (LockedIn(ss) \cap raised) :
        LET count(m) == IF m \in raised THEN Raised(msg[m].count) ELSE msg[m].count
            after(m) == IF m \in dead THEN Dead(m, "limit") ELSE GivenBack(m, count(m), FALSE)
        IN /\ \A m \in LockedIn(ss) \cap raised : after(m) \in AfterLock(m, count(m), FALSE)
           /\ msg' = [ m \in Messages |-> IF m \in LockedIn(ss) THEN after(m) ELSE msg[m] ]
           /\ holder' = [ s \in SessionIDs |-> IF s \in ss THEN NoClient ELSE holder[s] ]

\* SES-5: closing counts nothing; the time of the lock counts all that it locks.  (Names of
\* their own, for Bugs to replace.)
CountedAtClose(s) == {}
CountedAtEnd(s) == LockedIn({s})
\* SES-2: the state stays as it is when a lock ends, and whatever becomes of messages.
TextAfter(s) == text
TextMeanwhile == text

Close(c, s) ==
    /\ holder[s] = c /\ ServesSession(s)
    /\ EndLocks({s}, CountedAtClose(s))
    /\ text' = TextAfter(s)
    /\ UNCHANGED << faultVars, counter, home, txn, peekVars, flowVars >>
    /\ Answers(history, c, "close session", s, NoText, "ok")

\* The time of the lock is over.
SessionOver(s) ==
    /\ LocksExpire /\ holder[s] # NoClient
    /\ EndLocks({s}, CountedAtEnd(s))
    /\ text' = TextAfter(s)
    /\ UNCHANGED << faultVars, counter, home, txn, peekVars, flowVars >>
    /\ Answers(history, NoClient, "session over", s, NoText, "ok")

\* --- What the holder does, and who is none. -------------------------------

\* SES-1.
HoldsSession(c, s) == holder[s] = c /\ ServesSession(s)
\* SES-1: "in order": no message of the session that was never delivered is passed.
InSessionOrder(m) ==
    \/ ~msg[m].placed
    \/ \A n \in MessagesOf(Session(m)) : ~(msg[n].at = "ready" /\ msg[n].placed /\ Older(n, m))

Renew(c, s) == HoldsSession(c, s) /\ Tells(c, "renew session", s, NoText, "ok")

ReceiveIn(c, m) ==
    LET s == Session(m)
        a == Delivered("receive", c, m, msg[m].count)
    IN /\ msg[m].at = "ready" /\ HoldsSession(c, s) /\ InSessionOrder(m)
       /\ msg[m].count < MaxTries
       /\ msg' = [ msg EXCEPT ![m] = LockedFor(m, c, @.count) ]
       /\ Record(LockSeen(DeliverySeen(history, m), m, msg'[m].turn), a)
       /\ Hears(s, NoText)
       /\ UNCHANGED << faultVars, counter, home, txn, peekVars, flowVars, sessionVars >>

\* RCV-5 MAY; also of one who holds no session, or not this one.
ReceiveNone(c) == Tells(c, "receive", NoKey, NoText, "nothing")

\* SES-2.  (What is written where has a name of its own, for Bugs to replace.)
Written(s, t) == [ text EXCEPT ![s] = t ]
Write(c, s, t) ==
    /\ Offers("state") /\ HoldsSession(c, s)
    /\ text' = Written(s, t)
    /\ UNCHANGED << mechanism, holder >>
    /\ Answers(history, c, "write", s, t, "ok")
Read(c, s) ==
    /\ Offers("state") /\ HoldsSession(c, s)
    /\ Tells(c, "read", s, text[s], "ok")

\* A request in a session that c does not hold, or no more; a close is ok then, or not.
HoldsNot(c, s) == running /\ holder[s] # c
RequestRejected(c, s, op) == HoldsNot(c, s) /\ Tells(c, op, s, NoText, "lost")
CloseNothing(c, s) == HoldsNot(c, s) /\ Tells(c, "close session", s, NoText, "ok")
RequestFails(c, s, op) == MayBeDown(s) /\ Tells(c, op, s, NoText, "refused")

(***************************************************************************)
(* Faults: they may end the lock of a session whose partition they strike,  *)
(* or keep it; of what it locked each is counted, or not.                   *)
(***************************************************************************)
Strikes(ps) ==
    LET hit == { s \in SessionIDs : holder[s] # NoClient /\ home[s] \in ps \cup {NoPartition} }
    IN \E lost \in SUBSET hit : \E raised \in SUBSET LockedIn(lost) : EndLocks(lost, raised)

StrikeSeen(h, ps, op) ==
    Record([ Struck(h, ps) EXCEPT !.buried = @ \cup { m \in Messages : msg'[m].at = "dead" } ],
           Said(op, NoClient, 0, "ok"))

\* SES-2 makes no exception for faults.  (A name of its own, for Bugs to replace.)
TextAfterFault == text
SessionsDown(p) ==
    /\ Offers("outage") /\ GoesDown(p)
    /\ Strikes({p})
    /\ text' = TextAfterFault
    /\ StrikeSeen([ history EXCEPT !.outage = @ \cup {p} ], {p}, "partition down")
    /\ Hears(NoKey, NoText)
    /\ UNCHANGED << counter, home, txn, peekVars, flowVars >>

SessionsKill ==
    /\ Offers("kill") /\ IsKilled
    /\ Strikes(Partitions)
    /\ text' = TextAfterFault
    /\ StrikeSeen([ history EXCEPT !.alive = FALSE ], Partitions, "kill")
    /\ Hears(NoKey, NoText)
    /\ UNCHANGED << counter, home, txn, peekVars, flowVars >>

\* Of the queue: what changes no lock of a session.
Unchanged ==
    /\ \/ \E m \in Messages : Send(m) \/ SendFails(m) \/ SendInvalid(m)
       \/ \E c \in Clients, m \in Messages, t \in Turns :
             \/ Complete(c, m, t) \/ CompleteRejected(c, m, t) \/ CompleteFails(c, m, t)
             \/ Abandon(c, m, t) \/ AbandonRejected(c, m, t) \/ AbandonFails(c, m, t)
       \/ \E p \in Partitions : PartitionUp(p)
       \/ BrokerStart \/ Drained
    /\ UNCHANGED holder
    /\ text' = TextMeanwhile
    /\ Hears(NoKey, NoText)

\* --- All of it. -----------------------------------------------------------
SessionsNext ==
    \/ Unchanged
    \/ \E c \in Clients, s \in SessionIDs : Accept(c, s)
    \/ \E c \in Clients, s \in SessionIDs : AcceptRejected(c, s)
    \/ \E c \in Clients, s \in SessionIDs : NextSession(c, s)
    \/ \E c \in Clients : NoNextSession(c)
    \/ \E c \in Clients, s \in SessionIDs : Close(c, s)
    \/ \E s \in SessionIDs : SessionOver(s)
    \/ \E c \in Clients, s \in SessionIDs : Renew(c, s)
    \/ \E c \in Clients, m \in Messages : ReceiveIn(c, m)
    \/ \E c \in Clients : ReceiveNone(c)
    \/ \E c \in Clients, s \in SessionIDs, t \in Texts : Write(c, s, t)
    \/ \E c \in Clients, s \in SessionIDs : Read(c, s)
    \/ \E c \in Clients, s \in SessionIDs, op \in Requests : RequestRejected(c, s, op)
    \/ \E c \in Clients, s \in SessionIDs : CloseNothing(c, s)
    \/ \E c \in Clients, s \in SessionIDs, op \in Asked : RequestFails(c, s, op)
    \/ \E p \in Partitions : SessionsDown(p)
    \/ SessionsKill
================================================================================
