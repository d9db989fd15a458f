-------------------------- MODULE IdempotentProducer --------------------------
(***************************************************************************)
(* How a producer without a transactional id moves its epoch (KIP-360).    *)
(*                                                                         *)
(* Any broker gives it a producer id at epoch 0; after that nobody knows   *)
(* its epoch but itself and the partitions it writes to. Several batches   *)
(* may be in flight to a partition. An answer may be lost; then the batch  *)
(* is sent again, and the partition appends it once. A batch that fails    *)
(* for good leaves a gap in the sequence that nothing can fill: to go on,  *)
(* the producer bumps its epoch by itself and begins again at sequence 0.  *)
(* At the last epoch it asks for another producer id.                      *)
(*                                                                         *)
(* What becomes of the batches in flight at a bump is up to the client     *)
(* (constant Client):                                                      *)
(*                                                                         *)
(*   "kip_360"     a batch keeps the epoch and sequence it was first sent  *)
(*                 with; when one fails, all behind it in its partition    *)
(*                 fail, too, and the bump waits for those before it       *)
(*   "java"        the batches in flight to the partition that failed are  *)
(*                 numbered again under the new epoch and sent again; the  *)
(*                 other partitions finish in the old one                  *)
(*   "librdkafka"  all that is not acknowledged, in every partition, is    *)
(*                 sent again under the new epoch                          *)
(*   "resets"      clients before KIP-360: as "java", but the epoch stays  *)
(*                                                                         *)
(* The partition appends a batch that was sent again under a new epoch: it *)
(* cannot know that it has the same records already.                       *)
(*                                                                         *)
(* It follows TransactionManager and Sender of the Java client, and        *)
(* ProducerState for what a partition knows. Left out: batches that are    *)
(* split, retries by the application, replicas of the partitions.          *)
(***************************************************************************)
EXTENDS ProducerState, FiniteSets, Sequences

\* @typeAlias: batch = {partition: PARTITION, id: Int, epoch: Int, first: Int, last: Int, record: Int};

\* @type: Set(PRODUCER);
CONSTANT Producers

\* What the clients do with batches in flight at a bump, see above.
\* @type: Str;
CONSTANT Client

\* TRUE: a partition remembers a producer for as long as that may write. FALSE: it may forget one
\* (producer.id.expiration.ms), and takes any sequence from it afterwards.
\* @type: Bool;
CONSTANT KeepsState

\* TRUE: a batch that its producer gave up may arrive all the same.
\* @type: Bool;
CONSTANT LateBatches

\* How many batches may be in flight to a partition: max.in.flight.requests.per.connection.
\* @type: Int;
CONSTANT MaxInFlight

\* The largest epoch: 32767. Without a transactional id it is used like any other.
\* @type: Int;
CONSTANT MaxEpoch

ASSUME Client \in {"kip_360", "java", "librdkafka", "resets"}
ASSUME {KeepsState, LateBatches} \subseteq BOOLEAN
ASSUME MaxInFlight > 0 /\ MaxEpoch > 0 /\ MaxSequence >= MaxInFlight

-----------------------------------------------------------------------------
\* The producer id and epoch of each producer; -1 before it has one.
\* @type: PRODUCER -> {id: Int, epoch: Int};
VARIABLE identity

\* The producer id and epoch that each producer writes to a partition with, and its next sequence there.
\* @type: PRODUCER -> PARTITION -> {id: Int, epoch: Int, next: Int};
VARIABLE numbering

\* Batches that are sent and not answered, in the order of sending. Each has one record; `record` is its content.
\* @type: PRODUCER -> PARTITION -> Seq($batch);
VARIABLE inFlight

\* The partitions for whose sake each producer is about to bump its epoch.
\* @type: PRODUCER -> Set(PARTITION);
VARIABLE failing

\* Java: the partitions to which a batch was given up and nobody knows whether it arrived.
\* @type: PRODUCER -> Set(PARTITION);
VARIABLE unresolved

\* Batches on their way.
\* @type: Set($batch);
VARIABLE network

\* What each partition holds, in the order of offsets.
\* @type: PARTITION -> Seq($batch);
VARIABLE log

\* Records that were sent, and those of them that their producer was told were written.
\* @type: Int;
VARIABLE sent
\* @type: Set(Int);
VARIABLE acknowledged

\* The last producer id that was given out in the cluster.
\* @type: Int;
VARIABLE issuedIds

producerVars == <<identity, numbering, inFlight, failing, unresolved, sent, acknowledged, issuedIds>>
vars         == <<logVars, remembered, log, network, producerVars>>

-----------------------------------------------------------------------------
Init ==
    /\ InitLogs
    /\ log = [p \in Partitions |-> <<>>]
    /\ identity = [i \in Producers |-> [id |-> -1, epoch |-> -1]]
    /\ numbering = [i \in Producers |-> [p \in Partitions |-> [id |-> -1, epoch |-> -1, next |-> 0]]]
    /\ inFlight = [i \in Producers |-> [p \in Partitions |-> <<>>]]
    /\ failing = [i \in Producers |-> {}] /\ unresolved = [i \in Producers |-> {}]
    /\ network = {}
    /\ sent = 0 /\ acknowledged = {}
    /\ issuedIds = 0

-----------------------------------------------------------------------------
(***************************************************************************)
(* The producer.                                                           *)
(***************************************************************************)

\* InitProducerId without a transactional id: a producer id that nobody has had, at epoch 0.
Start(i) ==
    \* enabling conditions
    /\ identity[i].id = -1
    \* state changes
    /\ issuedIds' = issuedIds + 1
    /\ identity' = [identity EXCEPT ![i] = [id |-> issuedIds + 1, epoch |-> 0]]
    /\ UNCHANGED <<logVars, remembered, log, network, numbering, inFlight, failing, unresolved, sent, acknowledged>>

\* The sequence at which a producer begins an epoch.
FirstSequence == 0

\* A batch of one record, with the next sequence. A partition that is behind the producer's epoch takes the new one when
\* nothing is in flight to it.
Send(i, p) ==
    LET current == numbering[i][p].id = identity[i].id /\ numbering[i][p].epoch = identity[i].epoch
        first   == IF current THEN numbering[i][p].next ELSE FirstSequence
        batch   == [partition |-> p, id |-> identity[i].id, epoch |-> identity[i].epoch, first |-> first,
                    last |-> first, record |-> sent + 1]
    IN  \* enabling conditions
        /\ identity[i].id # -1
        /\ p \notin failing[i] \cup unresolved[i]
        /\ Len(inFlight[i][p]) < MaxInFlight
        /\ current \/ inFlight[i][p] = <<>>
        \* state changes
        /\ sent' = sent + 1
        /\ inFlight' = [inFlight EXCEPT ![i][p] = Append(@, batch)]
        /\ network' = network \cup {batch}
        /\ numbering' = [numbering EXCEPT ![i][p] =
                            [id |-> batch.id, epoch |-> batch.epoch, next |-> Advanced(first, 1)]]
        /\ UNCHANGED <<logVars, remembered, log, identity, failing, unresolved, acknowledged, issuedIds>>

Without(batches, n) == SubSeq(batches, 1, n - 1) \o SubSeq(batches, n + 1, Len(batches))

\* What is left in flight when the n-th batch has failed: KIP-360 has all that follow fail with it.
LeftInFlight(batches, n) == IF Client = "kip_360" THEN SubSeq(batches, 1, n - 1) ELSE Without(batches, n)

\* The oldest batch is given up (delivery.timeout.ms). The Java client waits for what is in flight behind it, which may
\* show that it was written after all.
GiveUp(i, p) ==
    \* enabling conditions
    /\ inFlight[i][p] # <<>>
    \* state changes
    /\ inFlight' = [inFlight EXCEPT ![i][p] = LeftInFlight(@, 1)]
    /\ network' = IF LateBatches THEN network ELSE network \ {Head(inFlight[i][p])}
    /\ IF Client = "java"
       THEN unresolved' = [unresolved EXCEPT ![i] = @ \cup {p}] /\ UNCHANGED failing
       ELSE failing' = [failing EXCEPT ![i] = @ \cup {p}] /\ UNCHANGED unresolved
    /\ UNCHANGED <<logVars, remembered, log, identity, numbering, sent, acknowledged, issuedIds>>

\* Nothing is in flight any more, and nothing has shown it.
Resolve(i, p) ==
    \* enabling conditions
    /\ p \in unresolved[i]
    /\ inFlight[i][p] = <<>>
    \* state changes
    /\ unresolved' = [unresolved EXCEPT ![i] = @ \ {p}]
    /\ failing' = [failing EXCEPT ![i] = @ \cup {p}]
    /\ UNCHANGED <<logVars, remembered, log, network, identity, numbering, inFlight, sent, acknowledged, issuedIds>>

\* The producer id and epoch after a local bump; after the last epoch a new producer id.
NextIdentity(i) ==
    IF Client = "resets" THEN identity[i]
    ELSE IF identity[i].epoch < MaxEpoch THEN [identity[i] EXCEPT !.epoch = @ + 1]
    ELSE [id |-> issuedIds + 1, epoch |-> 0]

\* The partitions whose batches in flight are numbered again. (KIP-360: those that failed have none.)
NumberedAgain(i) == IF Client = "librdkafka" THEN Partitions ELSE failing[i]

\* The same records under another identity, from the first sequence on.
Numbered(batches, as) ==
    [n \in DOMAIN batches |->
        [batches[n] EXCEPT !.id = as.id, !.epoch = as.epoch, !.first = Advanced(FirstSequence, n - 1),
                           !.last = Advanced(FirstSequence, n - 1)]]

\* KIP-360 waits for what is in flight before the batch that failed.
MayBump(i) == failing[i] # {} /\ (Client = "kip_360" => \A p \in failing[i] : inFlight[i][p] = <<>>)

\* The producer bumps its epoch, tells nobody, and sends again what it has not given up.
Bump(i) ==
    LET as    == NextIdentity(i)
        again == [p \in NumberedAgain(i) |-> Numbered(inFlight[i][p], as)]
    IN  \* enabling conditions
        /\ MayBump(i)
        \* state changes
        /\ identity' = [identity EXCEPT ![i] = as]
        /\ issuedIds' = IF as.id > issuedIds THEN as.id ELSE issuedIds
        /\ inFlight' = [inFlight EXCEPT ![i] = [p \in Partitions |-> IF p \in DOMAIN again THEN again[p] ELSE @[p]]]
        /\ numbering' = [numbering EXCEPT ![i] =
                [p \in Partitions |->
                    IF p \in DOMAIN again
                    THEN [id |-> as.id, epoch |-> as.epoch, next |-> Advanced(FirstSequence, Len(again[p]))]
                    ELSE @[p]]]
        /\ network' = network \cup UNION {{again[p][n] : n \in DOMAIN again[p]} : p \in DOMAIN again}
        /\ failing' = [failing EXCEPT ![i] = {}]
        /\ unresolved' = [unresolved EXCEPT ![i] = @ \ NumberedAgain(i)]
        /\ UNCHANGED <<logVars, remembered, log, sent, acknowledged>>

-----------------------------------------------------------------------------
(***************************************************************************)
(* The partition, and its answer.                                          *)
(***************************************************************************)

\* The partition has this batch, and answers as if it had appended it now. (A leader looks among the newest five, which
\* are all that a client may have in flight.)
IsDuplicate(b) ==
    /\ Remembers(b.partition, b.id)
    /\ appendedEpoch[b.partition][b.id] = b.epoch
    /\ \E n \in DOMAIN log[b.partition] :
        /\ log[b.partition][n].id = b.id
        /\ log[b.partition][n].epoch = b.epoch
        /\ log[b.partition][n].first = b.first

\* What the leader makes of a batch. From a producer that it does not remember it takes any sequence.
Decide(b) ==
    IF ~Remembers(b.partition, b.id) THEN "NONE"
    ELSE IF b.epoch < appendedEpoch[b.partition][b.id] THEN "INVALID_PRODUCER_EPOCH"
    ELSE IF IsDuplicate(b) THEN "DUPLICATE"
    ELSE IF Follows(b) THEN "NONE"
    ELSE "OUT_OF_ORDER_SEQUENCE_NUMBER"

\* The place in flight of the batch with these records; 0 when it is none.
PlaceOf(i, b) ==
    LET places == {n \in DOMAIN inFlight[i][b.partition] : inFlight[i][b.partition][n].record = b.record}
    IN  IF places = {} THEN 0 ELSE CHOOSE n \in places : TRUE

\* A batch arrives and is appended, or was before.
Arrive(b) ==
    \* enabling conditions
    /\ b \in network
    /\ Decide(b) \in {"NONE", "DUPLICATE"}
    \* state changes
    /\ IF Decide(b) = "NONE"
       THEN /\ AppendBatch(b, -1)
            /\ log' = [log EXCEPT ![b.partition] = Append(@, b)]
       ELSE UNCHANGED <<logVars, remembered, log>>
    /\ \/ UNCHANGED <<network, producerVars>>   \* the answer is lost, and the batch sent again
       \/ \E i \in Producers :
            /\ PlaceOf(i, b) # 0
            /\ inFlight' = [inFlight EXCEPT ![i][b.partition] = Without(@, PlaceOf(i, b))]
            /\ acknowledged' = acknowledged \cup {b.record}
            /\ network' = network \ {b}
            /\ UNCHANGED <<identity, numbering, failing, unresolved, sent, issuedIds>>

\* A batch is refused and its producer hears of it. Out of order is what comes behind a batch that is still on its way:
\* only of the oldest in flight the Java client takes it for a gap.
Refuse(i, b) ==
    LET p == b.partition
        n == PlaceOf(i, b)
    IN  \* enabling conditions
        /\ b \in network
        /\ Decide(b) \in {"OUT_OF_ORDER_SEQUENCE_NUMBER", "INVALID_PRODUCER_EPOCH"}
        /\ n # 0
        /\ inFlight[i][p][n] = b   \* not an answer to what was numbered again since
        /\ Client = "java" => n = 1
        \* state changes
        /\ network' = network \ {b}
        /\ inFlight' = [inFlight EXCEPT ![i][p] =
                IF Client # "kip_360" /\ Decide(b) = "OUT_OF_ORDER_SEQUENCE_NUMBER" THEN @ ELSE LeftInFlight(@, n)]
        /\ failing' = [failing EXCEPT ![i] = @ \cup {p}]
        /\ UNCHANGED <<logVars, remembered, log, identity, numbering, unresolved, sent, acknowledged, issuedIds>>

\* A batch is refused for what it holds (INVALID_RECORD), whatever its sequence.
RefuseRecords(i, b) ==
    LET p == b.partition
        n == PlaceOf(i, b)
    IN  \* enabling conditions
        /\ b \in network
        /\ n # 0
        /\ inFlight[i][p][n] = b
        /\ \A m \in DOMAIN log[p] : log[p][m].record # b.record
        \* state changes
        /\ network' = network \ {b}
        /\ inFlight' = [inFlight EXCEPT ![i][p] = LeftInFlight(@, n)]
        /\ failing' = [failing EXCEPT ![i] = @ \cup {p}]
        /\ UNCHANGED <<logVars, remembered, log, identity, numbering, unresolved, sent, acknowledged, issuedIds>>

\* The partition forgets a producer that has been silent for long enough.
Forget(p, id) ==
    \* enabling conditions
    /\ ~KeepsState
    /\ Remembers(p, id)
    \* state changes
    /\ remembered' = [remembered EXCEPT ![p] = @ \ {id}]
    /\ UNCHANGED <<logVars, log, network, producerVars>>

-----------------------------------------------------------------------------
Next ==
    \/ \E i \in Producers :
        \/ Start(i)
        \/ Bump(i)
        \/ \E p \in Partitions : Send(i, p) \/ GiveUp(i, p) \/ Resolve(i, p)
        \/ \E b \in network : Refuse(i, b) \/ RefuseRecords(i, b)
    \/ \E b \in network : Arrive(b)
    \/ \E p \in Partitions : \E id \in remembered[p] : Forget(p, id)

Spec == Init /\ [][Next]_vars

\* The types above, for TLC.
TypeOK ==
    /\ \A i \in Producers :
        /\ identity[i].id \in {-1} \cup 1..issuedIds /\ identity[i].epoch \in -1..MaxEpoch
        /\ \A p \in Partitions : numbering[i][p].next \in 0..MaxSequence /\ Len(inFlight[i][p]) <= MaxInFlight
    /\ \A p \in Partitions : logEnd[p] = Len(log[p]) /\ remembered[p] \subseteq DOMAIN appendedEpoch[p]
    /\ acknowledged \subseteq 1..sent

=============================================================================
