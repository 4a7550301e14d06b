----------------------------- MODULE SessionsChecked ---------------------------
(***************************************************************************)
(* What is asked about Sessions, and what TLC is started on for it: its     *)
(* requirements, its wrong brokers, its interesting states, its constants.  *)
(* Sessions.toml has the questions.  As those of Requirements, properties   *)
(* speak of what answers told, and of nothing that the broker keeps.        *)
(***************************************************************************)
EXTENDS MC, Sessions

\* The session that the answer is about, and who was given its lock, as far as is known.
About == told'.session
SureOf(c) == heard.by[About] = c /\ heard.sure[About]
MayBeFree == heard.by[About] = NoClient \/ ~heard.sure[About]

\* KEY-1 (A): "session ID, where set, is the key": the messages of a session are together.
KEY_1 == [](\A s \in SessionIDs :
    Cardinality(UNION { ShownPartitions(m) : m \in MessagesOf(s) }) <= 1)

\* SES-1 (A): "all messages of a session are in one partition, received by at most one
\* holder of the session lock at a time, in order": nothing is delivered outside of its
\* session, requests are ok for the holder alone, and not rejected while it certainly is.
SES_1 == [][
    /\ \A s \in SessionIDs : Pinned(MessagesOf(s))
    /\ Delivers =>
        /\ About = Session(answer'.m)
        /\ answer'.m \notin history.free => \A x \in Live \cap MessagesOf(About) :
                OlderPlace(x, answer'.m) => x \in history.free \/ MaybeHeld(x)
    /\ answer'.op \in Requests /\ answer'.out = "ok" =>
            heard.by[About] = answer'.by \/ answer'.op = "close session"
    /\ answer'.out = "lost" => ~SureOf(answer'.by) ]_ghostVars

\* SES-2 (A): "session state read after a write by the same or the next holder returns
\* that write".
SES_2 == [][ answer'.op = "read" /\ answer'.out = "ok" =>
    told'.text = heard.text[About] ]_ghostVars

\* SES-3 (D): "a message without a session ID is rejected by a session entity".
SES_3 == [](\A m \in Sessionless : history.sent[m] # "accepted" /\ history.shown[m] = {})

\* SES-4 (D, K): "accepting a session held by another is rejected; accepting next with none
\* available times out"; and one that nobody holds is not rejected as held (KEY-9).
SES_4 == [][
    /\ answer'.op = "accept" /\ answer'.out = "ok" => MayBeFree \/ heard.by[About] = answer'.by
    /\ answer'.op = "accept next" /\ answer'.out = "ok" =>
            MayBeFree /\ Live \cap MessagesOf(About) # {}
    /\ answer'.out = "held" => heard.by[About] # NoClient ]_ghostVars

\* SES-5 (D): "session lock expiry returns its messages and raises their count; closing the
\* session returns them without": their locks settle no more, and the next delivery tells
\* the count.  (That they are delivered: RCV-2.)
SES_5 == [][
    /\ Delivers => /\ history.least[answer'.m] <= answer'.counts[answer'.m]
                   /\ answer'.counts[answer'.m] <= history.most[answer'.m]
    /\ Settles /\ answer'.out = "ok" =>
            history.lock[answer'.m][answer'.turn] # "ended" ]_ghostVars

\* --- Wrong brokers, as in Bugs. -------------------------------------------

\* Whoever asks receives, reads and writes; a later message passes an earlier one; one who
\* holds the session is told that it is lost (SES-1).
BugHoldsAny(c, s) == ServesSession(s)
BugSessionAnyOrder(m) == TRUE
BugHoldsNotEver(c, s) == running

\* The state goes with the lock, a fault, or the last message; it is written to all sessions (SES-2).
BugTextGoes(s) == [ text EXCEPT ![s] = NoText ]
BugTextKilled == [ s \in SessionIDs |-> NoText ]
BugTextOfMessages ==
    [ s \in SessionIDs |-> IF \A m \in MessagesOf(s) : msg'[m].at = "done" THEN NoText ELSE text[s] ]
BugWrittenToAll(s, t) == [ x \in SessionIDs |-> t ]

\* A message without a session ID is stored (SES-3).
BugValidWithout(m) == m \notin TwoKeys

\* A session that is held is accepted, or comes next, or one without a message; one that is
\* free is refused as held (SES-4).
BugAcceptsHeld(c, s) == TRUE
BugNextHeld(s) == \E m \in MessagesOf(s) : msg[m].at = "ready"
BugNextEmpty(s) == holder[s] = NoClient
BugIsHeldEver(s) == TRUE

\* Closing counts; the end of a lock does not; a close leaves its messages locked (SES-5).
BugCountedAtClose(s) == LockedIn({s})
BugCountedNever(s) == {}
BugEndLocksOfNone(ss, raised) ==
    UNCHANGED msg /\ holder' = [ s \in SessionIDs |-> IF s \in ss THEN NoClient ELSE holder[s] ]

\* --- Interesting states, as in Reach. -------------------------------------

\* A second client holds a session of which another was given a message; two hold one each.
NeverPassedOn == ~(\E s \in SessionIDs, m \in Messages : holder[s] = "c2" /\ msg[m].at = "ready"
                        /\ Session(m) = s /\ ~msg[m].placed /\ text[s] # NoText)
NeverTwoHolders == ~(\E s, t \in SessionIDs : holder[s] = "c1" /\ holder[t] = "c2")
\* A fault ended the lock, which its holder does not know, or kept it.
NeverLostUnknown == ~(\E s \in SessionIDs : holder[s] = NoClient /\ heard.by[s] # NoClient)
NeverKeptUnknown == ~(\E s \in SessionIDs : holder[s] # NoClient /\ ~heard.sure[s])
================================================================================
