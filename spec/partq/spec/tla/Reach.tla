---------------------------------- MODULE Reach --------------------------------
(***************************************************************************)
(* Interesting states.  Each operator says that one of them is never        *)
(* reached; TLC must refute it (Reach*.cfg).  A requirement that holds only *)
(* because nothing happens would be found out here.                         *)
(***************************************************************************)
EXTENDS Scheduling, Expiry, Requirements

\* The entity is drained after all messages were accepted (RCV-2 is judged).
NeverDrained == ~(answer.op = "drained" /\ Accepted = Messages)

\* A younger message is consumed while a front end holds an older one (RCV-3, RCV-5).
NeverOvertaken == ~(\E x, y \in Messages :
    OlderPlace(x, y) /\ x \in history.unseen /\ y \in history.consumed)

\* A message is delivered again though its lock's end was not counted (a fault).
NeverUncounted == ~(answer.op = "receive" /\ answer.out = "ok"
    /\ history.most[answer.m] > 0 /\ answer.counts[answer.m] = 0)

\* A lock that a fault put in doubt turns out to have been kept.
NeverKept == ~(answer.op = "complete" /\ answer.out = "ok"
    /\ history.most[answer.m] > history.least[answer.m])

\* ... and to be lost.
NeverLost == ~(answer.op = "complete" /\ answer.out = "lost")

\* A client is given a dead letter of each reason, and the dead-letter queue is emptied.
NeverDismissed == ~(answer.op = "receive dead" /\ answer.m \in history.dismissed)
NeverGivenUp == ~(answer.op = "receive dead" /\ answer.out = "ok" /\ answer.reasons[answer.m] = "limit")
NeverDeadDrained == ~(answer.op = "dead drained" /\ history.buried = Messages)

\* A message that was deferred is received by number, given back, and received so again.
NeverAsideAgain == ~(answer.op = "receive deferred" /\ \E m \in answer.ms : history.least[m] > 0)

\* To defer is no delivery; to defer is one; it exhausts the message.
NeverAsideUncounted == ~(answer.op = "receive deferred" /\ \E m \in answer.ms :
    answer.counts[m] < history.most[m])
NeverAsideCounted == ~(answer.op = "receive deferred" /\ \E m \in answer.ms :
    answer.counts[m] > history.least[m])
NeverAsideBuried == ~(answer.op = "defer" /\ history.buried # {})

\* One answer holds two deferred messages; a younger one is consumed before an older that
\* is deferred (RCV-3); a call names two partitions; a peek shows what is locked as deferred.
NeverTwoByNumber == ~(answer.op = "receive deferred" /\ Cardinality(answer.ms) = 2)
NeverOvertakenAside == ~(\E x, y \in Messages :
    OlderPlace(x, y) /\ x \in history.aside /\ y \in history.consumed)
NeverAcross == ~(answer.op = "receive deferred" /\ answer.out = "invalid")
NeverShownAside == ~(answer.op = "peek" /\ \E m \in answer.deferred : HeldLock(m))

\* A commit defers, and the message is received by number; a fault ends such a lock.
NeverTxnAside == ~(answer.op = "receive deferred" /\ answer.ms \cap history.deal.defers # {})
NeverLostAside == ~(answer.op = "receive deferred" /\ answer.out = "ok"
    /\ \E m \in answer.ms : history.most[m] > history.least[m] + 1)

\* The entity is empty though nobody took a message, for its time to live had ended; one is
\* completed after that; one is given out of a cache after that.
NeverExpired == ~(answer.op = "drained" /\ history.over \ history.consumed # {})
NeverCompletedLate == ~(answer.op = "complete" /\ answer.out = "ok" /\ answer.m \in history.over)
NeverGivenLate == ~(answer.op = "receive" /\ answer.out = "ok" /\ answer.m \in history.over)

\* A peek shows a message whose time to live has ended; another leaves it out.
NeverShownLate == ~(answer.op = "peek" /\ answer.ms \cap history.over # {})
NeverLeftOut == ~(answer.op = "peek" /\ answer.out = "nothing"
    /\ \E m \in history.over : msg[m].at = "ready")

\* What is over moves to the dead-letter queue, and is received there.
NeverBuriedLate == ~(answer.op = "receive dead" /\ answer.out = "ok"
    /\ answer.reasons[answer.m] = "time")

\* A message is delivered with the maximum count, and one is dead-lettered there (RCV-9).
NeverAtMaximum == ~(answer.op = "receive" /\ answer.out = "ok"
    /\ answer.counts[answer.m] = MaxDeliveryCount)
NeverBuried == history.buried = {}

\* A keyless message is accepted while a partition is down (ROUTE-6).
NeverEvaded == ~(answer.op = "send" /\ answer.out = "ok" /\ history.outage # {}
    /\ ~Keyed(answer.m))

\* Two messages of one partition are shown, and a number between them is missing (SEQ-4 ?).
NeverGap == ~(\E m, n \in Messages : \E o \in history.shown[m], q \in history.shown[n] :
    o.part = q.part /\ Missing(NumberIn(o.seq), NumberIn(q.seq), o.part) # {})

\* A number before the roll-over and one after it are shown (SEQ-5).
NeverRolled == ~(\E m, n \in Messages : \E o \in history.shown[m], q \in history.shown[n] :
    o.part = q.part /\ m \in history.before[n] /\ o.seq > q.seq)

\* The commit has returned, and its sends are not visible yet (TXN-5).
NeverLagging == ~(history.deal.state = "committed" /\ \E m \in Messages : msg[m].at = "lagging")

\* A peek shows as active what a commit deferred, and nobody was given since (TXN-5).
NeverFading == ~(answer.op = "peek" /\ \E m \in (answer.ms \cap history.aside) \ answer.deferred :
    ~MaybeHeld(m))

\* A message numbered in a transaction is older than one that was delivered before it was visible.
NeverOvertookTxn == ~(history.deal.state = "committed" /\ \E x \in history.deal.sends :
    \E y \in history.consumed : OlderPlace(x, y) /\ msg[x].at = "ready")

\* A commit is refused, and the transaction had not ended.
NeverUndone == ~(answer.op = "commit" /\ answer.out = "refused" /\ history.deal.state = "open")

\* Two keys that share a partition are committed in one transaction (TXN-2).
NeverTwoKeys == ~(history.deal.state = "committed" /\ \E m, n \in history.deal.sends :
    KeyOf[m] # KeyOf[n])

\* A lock's time ends in a transaction, the message goes to another client, and the commit fails.
NeverDoomed == ~(answer.op = "commit" /\ answer.out = "refused"
    /\ \E m \in history.deal.settles : msg[m].at = "locked" /\ msg[m].by = "c2")

\* A transaction is committed that both sent and settled.
NeverBoth == ~(history.deal.state = "committed"
    /\ history.deal.sends # {} /\ history.deal.settles # {})

\* After a fault a peek begins again, and shows a message a second time.
NeverAgain == ~(answer.op = "peek" /\ \E c \in Clients : answer.by = c /\
    Cardinality(history.walks[c]) > 1)

\* A walk reaches all messages, of both partitions, and then returns none (PEEK-5).
NeverWalked == ~(answer.op = "peek" /\ answer.out = "nothing"
    /\ history.walks[answer.by] = { Messages }
    /\ \E m, n \in Messages : ~SamePlace(m, n))

\* A peek shows a message as scheduled, and an active one behind it (SCH-2, PEEK-7).
NeverScheduled == ~(answer.op = "peek" /\ answer.waiting # {} /\ answer.waiting # answer.ms)

\* A message is delivered after its time, behind one that was sent after it (SCH-1, SCH-4).
NeverActivated == ~(\E m \in Scheduled : \E x \in Messages :
    /\ m \in history.before[x] /\ OlderPlace(x, Activation[m])
    /\ HeldLock(Activation[m]))

\* A message is cancelled before its time, and the entity is empty (SCH-3).
NeverCancelledForGood == ~(answer.op = "drained"
    /\ \E m \in Scheduled : history.sent[Activation[m]] = "cancelled")

\* Cancelling with the number of a message that is activated is rejected (SCH-4).
NeverOldNumber == ~(answer.op = "cancel" /\ answer.out = "not found"
    /\ history.sent[Activation[answer.m]] = "accepted")

\* A cancel is ok, and the message is activated all the same (SCH-5 MAY).
NeverRaced == ~(\E m \in Scheduled \cap history.consumed :
    msg[m].at = "activated" /\ history.sent[Activation[m]] = "expected")

\* A scheduled message is completed after its activation, and the entity is empty (SCH-6).
NeverOnce == ~(answer.op = "drained" /\ Activations \cap history.consumed # {})

\* A message scheduled in the past is told the number that it is delivered with.
NeverPast == ~(\E m \in Scheduled : history.shown[m] = {} /\ HeldLock(Activation[m])
    /\ PlaceOf(m).num = NoNumber)

\* A keyless message is activated in another partition.
NeverRerouted == ~(\E m \in Scheduled : PlaceOf(Activation[m]).part # NoPartition
    /\ ~SamePlace(m, Activation[m]))

\* A transaction is committed that scheduled one message and cancelled another.
NeverTxnScheduled == ~(history.deal.state = "committed"
    /\ history.deal.sends \cap Scheduled # {} /\ history.deal.settles \cap Scheduled # {})

\* Two flows have a partition each, at rest, and both were given messages.
NeverShared == ~(AtRest /\ \E c, d \in Clients : c # d /\ Load(c) = 1 /\ Load(d) = 1
    /\ GivenTo(c) # {} /\ GivenTo(d) # {})

\* The handoff time ends, and the new flow is delivered what the old one held.
NeverTimeOver == ~(answer.op = "receive" /\ answer.out = "ok" /\ history.was = {}
    /\ history.lock[answer.m][1] = "ended" /\ history.lock[answer.m][2] = "held")

\* A standby takes over a partition that was being handed to the flow that goes.
NeverTakenOver == ~(answer.op = "unbind" /\ \E p \in Partitions, s \in Clients :
    duty[p][s] = "waiting" /\ s # answer.by /\ history.was = { answer.by })

\* A flow that came back has a share again (REB-10).
NeverReturned == ~(AtRest /\ \E c \in history.returned : Load(c) >= 1)

\* A bind cancels a handoff (REB-9 ?).
NeverCancelled == ~history.cancelled

\* An unbind of a flow that never was there is answered ok, while another is bound.
NeverGone == ~(answer.op = "unbind" /\ answer.out = "ok" /\ answer.by \notin history.was
    /\ history.bound # {})

\* The flows are kept over a kill, and a message is delivered after it; and: they are ended.
NeverKeptFlows == ~(answer.op = "receive" /\ answer.out = "ok" /\ answer.m \notin history.free
    /\ history.was = {} /\ history.bound = {answer.by}
    /\ \E t \in Turns : history.lock[answer.m][t] = "ended")
NeverEndedFlows == ~(answer.op = "start" /\ history.was = {} /\ history.bound = {}
    /\ \E m \in Messages : history.lock[m][1] = "ended")
================================================================================
