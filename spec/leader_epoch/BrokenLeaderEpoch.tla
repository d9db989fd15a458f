------------------------- MODULE BrokenLeaderEpoch -------------------------
(***************************************************************************)
(* Planted faults. Each operator is a fault, and takes the place of an     *)
(* operator of the specification: manifest.json says of which, and which   *)
(* definition TLC then finds violated.                                     *)
(***************************************************************************)
EXTENDS MCLeaderEpoch

\* A client of the proposal does not compare the maximum.
MaximumNotCompared(c, image) == FALSE

\* A deletion does not increase the counter of partition epochs.
DeletionNotCounted ==
    /\ Deletion
    /\ Newest.topicId # 0
    /\ Write([NoTopic EXCEPT !.maxPartitionEpoch = Newest.maxPartitionEpoch])
    /\ UNCHANGED <<brokerEpoch, issuedIds, logVars, keptElsewhere, clientVars>>

\* A client commits the epoch after the one of the last record it read.
EpochsMadeUp(c, n) == position[c][n].leaderEpoch + 1

\* The coordinator accepts every topic id.
CommittedIdNotCompared(c, n) == "NONE"

\* A client of the proposal does not compare the partition epoch of an answer with that of its offset.
AnswersNotCompared(c, b, n) == FALSE

\* Offsets of the proposal are stored without their partition epoch.
StoredWithoutPartitionEpoch(c, n, id, epoch) ==
    LET at == position[c][n]
    IN  [set |-> TRUE, offset |-> at.offset, leaderEpoch |-> epoch, partitionEpoch |-> -1, topicId |-> id,
         incarnation |-> at.incarnation, record |-> at.record]

\* A partition that is added to a topic gets the newest partition epoch once more.
ExpansionNotCounted ==
    IF Newest.topicId = 0 THEN Newest.maxPartitionEpoch + 1 ELSE Newest.maxPartitionEpoch

\* The counter of partition epochs starts again when the topic is deleted.
PartitionEpochsStartAgain ==
    /\ Deletion
    /\ Newest.topicId # 0
    /\ Write(NoTopic)
    /\ UNCHANGED <<brokerEpoch, issuedIds, logVars, keptElsewhere, clientVars>>

\* The second election uses the first leader epoch again.
LeaderEpochStartsAgain(p, length) ==
    /\ p \in DOMAIN leaderEpoch
    /\ length = Len(log[p]) \/ UncleanElections
    /\ Write([Newest EXCEPT !.leaderEpoch = With(@, p, IF @[p] = 1 THEN 0 ELSE @[p] + 1)])
    /\ log' = [log EXCEPT ![p] = SubSeq(@, 1, length)]
    /\ checkpoint' = [checkpoint EXCEPT ![p] = Assigned(@, leaderEpoch'[p], length)]
    /\ UNCHANGED <<brokerEpoch, issuedIds, keptElsewhere, clientVars>>

\* Every second registration of a broker gets epoch 0.
BrokerEpochStartsAgain(b) ==
    /\ BrokersRestart
    /\ Write(Newest)
    /\ brokerEpoch' = [brokerEpoch EXCEPT ![b] = IF @ > 0 THEN 0 ELSE Len(metadataLog)]
    /\ UNCHANGED <<issuedIds, logVars, keptElsewhere, clientVars>>

\* A leader that was deposed after the first record continues to write at its epoch.
DeposedLeaderWrites(p) ==
    /\ p \in DOMAIN leaderEpoch
    /\ log' = [log EXCEPT ![p] = Append(@, IF Len(@) = 1 THEN 0 ELSE leaderEpoch[p])]
    /\ UNCHANGED <<controllerVars, checkpoint, applied, offsetVars, clientVars>>

\* A leader appends at an epoch that it was not given.
LeaderTakesAnEpoch(p) ==
    /\ p \in DOMAIN leaderEpoch
    /\ log' = [log EXCEPT ![p] = Append(@, leaderEpoch[p] + 1)]
    /\ UNCHANGED <<controllerVars, checkpoint, applied, offsetVars, clientVars>>

\* The entries that a truncation contradicts stay in the checkpoint.
CheckpointNotTruncated(entries, epoch, start) ==
    Append(entries, [leaderEpoch |-> epoch, startOffset |-> start])

\* A leader does not compare the epoch of the last record that was fetched.
DivergenceNotReported(c, p, n) == FALSE

\* A shipped client accepts every answer.
LeaderEpochsNotCompared(c, image, n) == TRUE

\* An old client is refused by the rule for new ones.
OldClientsRefused(c, image) ==
    IF \E n \in Numbers : OlderPartition(c, image, n) \/ OlderMaximum(c, image) THEN {} ELSE Numbers

\* A client compares only leader epochs, whatever the topic id (KAFKA-12257).
TopicIdsNotCompared(c, image, n) ==
    Has(image, n) => ~cache[c][n].known \/ LeaderEpochIn(image, n) >= cache[c][n].leaderEpoch

\* A client of the proposal accepts only answers with a larger maximum.
EqualMaximumRefused(c, image) == image.maxPartitionEpoch <= cachedMaxPartitionEpoch[c]

=============================================================================
