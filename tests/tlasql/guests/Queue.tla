---- MODULE Queue ----
(* A queue with acknowledgements: a bag of what is under way, and names that are bound again further in. *)
EXTENDS Integers, Sequences, FiniteSets, Bags
CONSTANTS Msg, Consumer, MaxTries
VARIABLES queue, inflight, net
ToSet(s) == {s[i] : i \in DOMAIN s}
fresh(e) == e.tries < MaxTries
Fresh == {e.id : e \in ToSet(SelectSeq(queue, fresh))}
Once == \A i, j \in 1 .. Len(queue) : i # j => queue[i].id # queue[j].id
InflightOnce == \A c, d \in DOMAIN inflight : c # d => {e.id : e \in inflight[c]} \cap {e.id : e \in inflight[d]} = {}
Known == BagToSet(net) \subseteq Msg /\ IsABag(net)
Copies == \A m \in Msg : CopiesIn(m, net) <= 2
Size == BagCardinality(net) <= 3
Added == \A m \in BagToSet(net) : CopiesIn(m, net (+) SetToBag({m})) = CopiesIn(m, net) + 1
Removed == \A m \in Msg : (net (-) SetToBag({m})) \sqsubseteq net /\ (BagIn(m, net) \/ net (-) SetToBag({m}) = net)
Empty == net = EmptyBag \/ \E m \in Msg : BagIn(m, net)
Deliver == \E m \in Msg : net' = net (-) SetToBag({m})
Send == \E m \in Msg : net' = net (+) SetToBag({m})
Moved == Deliver \/ Send
Receive(c) == /\ queue # << >> /\ queue' = Tail(queue)
              /\ inflight' = [inflight EXCEPT ![c] = @ \union {[Head(queue) EXCEPT !.tries = @ + 1]}]
Retry(id) == \E i \in DOMAIN queue : queue[i].id = id /\ queue' = Append(queue, [queue[i] EXCEPT !.tries = @ + 1])
Served == [][(\E c \in Consumer : Receive(c)) \/ \E id \in Fresh : Retry(id) /\ UNCHANGED inflight]_<<queue, inflight>>
THEOREM [](Once /\ InflightOnce /\ Known /\ Copies /\ Size /\ Added /\ Removed /\ Empty) /\ [][Moved]_net /\ Served
====
