-------------------------- MODULE LeaderEpochProps --------------------------
(***************************************************************************)
(* What must hold of leader epochs and of the incarnations of topics, and  *)
(* what KIP-232 and shipped Kafka make of metadata and offsets that are    *)
(* old.                                                                    *)
(*                                                                         *)
(* TLC checks these definitions on the behaviours of LeaderEpoch; tlasql   *)
(* compiles the same text to SQL and runs it over the history that was     *)
(* rebuilt from a cluster's logs. A comment before a marked definition     *)
(* says what it means, where it does not hold, and what the person on call *)
(* should do when it is violated.                                          *)
(*                                                                         *)
(* A topic that is deleted and created again has the name it had, and      *)
(* another id. KIP-232's partition epoch (none that Kafka stores: it is    *)
(* counted from the metadata log) names the incarnation and orders it; the *)
(* leader epoch orders what happens within one.                            *)
(***************************************************************************)
EXTENDS LeaderEpochObserved

(***************************************************************************)
(* Answers to Metadata requests. An element a is what an answer has of     *)
(* one partition, beside what the client had in its cache.                 *)
(***************************************************************************)

\* Both the answer and the cache have the partition, with epochs.
Comparable(a) == a.hasLeaderEpochs /\ a.told /\ a.cached /\ ~a.cachedGone

\* The partition epoch is older, or that is equal and the leader epoch is older.
OlderEpochs(a) ==
    \/ a.partitionEpoch < a.cachedPartitionEpoch
    \/ a.partitionEpoch = a.cachedPartitionEpoch /\ a.leaderEpoch < a.cachedLeaderEpoch

\* KIP-232 as proposed: an answer is outdated if its maximum partition epoch is older than the cache's, or if of a
\* partition that the client is interested in the partition epoch is older, or that is equal and the leader epoch older.
\* The client refuses the whole answer (OUTDATED) and asks again. The maximum orders answers that have no partition in
\* common: after a deletion there is nothing else to compare.
\*
\* Where it does not hold: no client decides by it, and no answer carries a partition epoch: which image the broker
\* answered from follows from the answer. Where several images fit it is unknown. An answer to an old client (before
\* version 9 of Metadata) carries no epoch and is not refused.
\*
\* On call: nothing to do by itself. Beside shipped_metadata_rule it says that the client took what the proposal would
\* have refused (no_older_metadata_accepted).
\* @decision("outdated_with_max", "metadataAnswers")
OutdatedWithMax(a) ==
    IF a.hasLeaderEpochs
       /\ (a.maxPartitionEpoch < a.cachedMaxPartitionEpoch \/ (Comparable(a) /\ OlderEpochs(a)))
    THEN "OUTDATED" ELSE "NONE"

\* KIP-232 without the maximum: only partition epoch and leader epoch of partitions that both sides have are compared.
\* It says what the maximum is needed for.
\*
\* Where it does not hold: no client decides by it. It accepts an answer that does not know a topic yet, and one that
\* does not know of its deletion yet (MCLeaderEpoch_without_max).
\*
\* On call: nothing to do by itself. Where it differs from outdated_with_max the answer is older as a whole, and by no
\* partition that both have.
\* @decision("outdated", "metadataAnswers")
Outdated(a) == IF Comparable(a) /\ OlderEpochs(a) THEN "OUTDATED" ELSE "NONE"

\* As shipped (Metadata.updateLatestMetadata): of each partition the client refuses (OUTDATED) an older leader epoch
\* under the topic id that it has. Another topic id always wins, and so does any id when it has none.
\*
\* Where it does not hold: it applies to answers with reliable leader epochs (version 9 of Metadata and later); others
\* are taken as they are. Clients other than the Java client have rules of their own.
\*
\* On call: a refused word does no harm: the client asks again. Many of them name a broker that is behind: look at
\* behind_ms of its answers, and at its last-applied-record-lag-ms.
\* @decision("shipped_metadata_rule", "metadataAnswers")
ShippedMetadataRule(a) ==
    IF a.hasLeaderEpochs /\ a.told /\ a.cached /\ a.sameTopicId /\ a.leaderEpoch < a.cachedLeaderEpoch
    THEN "OUTDATED" ELSE "NONE"

\* The answer is older than what the client had of the partition: it has an earlier incarnation, an earlier leader of the
\* same one, the partition after it was gone, or nothing of a partition that did not exist yet.
OlderThanCached(a) ==
    /\ a.cached
    /\ IF a.told
       THEN \/ a.partitionEpoch < a.cachedPartitionEpoch
            \/ /\ a.partitionEpoch = a.cachedPartitionEpoch
               /\ \/ a.leaderEpoch < a.cachedLeaderEpoch
                  \/ a.cachedGone /\ a.maxPartitionEpoch < a.cachedMaxPartitionEpoch
       ELSE ~a.cachedGone /\ a.maxPartitionEpoch < a.cachedPartitionEpoch

\* A client that has newer metadata of a partition does not go back to older: not to an earlier incarnation of the
\* topic, not to a leader before the one it knows, not to a topic that it knows to be gone or not to be there yet.
\*
\* Where it does not hold: shipped clients take any answer with another topic id, also an earlier one, and any answer
\* that lacks the topic (MCLeaderEpoch_shipped_older_metadata). It lasts until they ask a broker that has caught up.
\* What a client had is known of Java clients that can be told apart, while no line is missing, if they produce, or read
\* the topic by the id that they were told. Else it is unknown: an admin client keeps no metadata of topics, nor does a
\* consumer keep what listTopics() and partitionsFor() told it, and their requests look like others.
\*
\* On call: a client that goes back may find its offset out of range and reset it: look at its next fetches in the
\* report. The broker that answered is behind: `kafka-metadata-quorum.sh --bootstrap-server BROKER:9092 describe
\* --replication` shows its lag; restart it, or take it out of the clients' bootstrap servers. If the topic was
\* deleted and created again at that time, wait in future until every broker has applied the deletion.
\* @violated("a client went back to older metadata")
\* @invariant("no_older_metadata_accepted", "warning", "answer")
NoOlderMetadataAccepted == \A a \in metadataAnswers : OlderThanCached(a) => ~a.accepted

(***************************************************************************)
(* Offsets that were committed. An element c is one of them, beside the    *)
(* partition that had the name at that moment, or before a deletion of     *)
(* which the coordinator had not heard.                                    *)
(***************************************************************************)

\* KIP-232: whoever goes on from this offset is told INVALID_PARTITION_EPOCH if it is one of another incarnation than
\* the one that lives. The offset carries its epochs since it was fetched.
\*
\* Where it does not hold: the proposal refuses no commit: the error comes with the first fetch from the stored offset,
\* which may meet a later incarnation still. An offset without leader epoch is an old client's, and nothing is compared.
\* Of a commit by name it is known which incarnation its offset is of only where the client read up to there before, or
\* where the name never had another topic.
\*
\* On call: the offset points into another log. `kafka-consumer-groups.sh --bootstrap-server BROKER:9092 --describe
\* --group G` shows the live end; reset the group for this topic while it is stopped (`kafka-consumer-groups.sh
\* --bootstrap-server BROKER:9092 --group G --reset-offsets --topic T --to-earliest --execute`, or with
\* --to-datetime). How many records are skipped or read again is in the orphaned offsets of the report.
\* @decision("commit_incarnation", "committedOffsets")
CommitIncarnation(c) ==
    IF c.leaderEpoch = -1 \/ c.offsetPartitionEpoch = -1 THEN "NONE"
    ELSE IF c.offsetPartitionEpoch # c.livePartitionEpoch THEN "INVALID_PARTITION_EPOCH"
    ELSE "NONE"

\* As shipped: a commit that names a topic id which the coordinator does not have is refused (UNKNOWN_TOPIC_ID). One
\* that names the topic by its name is not looked at.
\*
\* Where it does not hold: only clients of the consumer protocol name ids, and from 4.2 on (OffsetCommit version 10).
\* From 4.3 on the broker stores the id that it has for the name, whatever the offset is of: such a commit is by id here
\* and always passes. A coordinator that has not applied the deletion yet takes the old id, which lives for it.
\*
\* On call: nothing to do for a refused one: the client has not heard of the new topic yet. If it goes on, its metadata
\* come from a broker that is behind.
\* @decision("shipped_commit_rule", "committedOffsets")
ShippedCommitRule(c) ==
    IF c.byId /\ c.topicId # c.liveTopicId THEN "UNKNOWN_TOPIC_ID" ELSE "NONE"

\* The leader epoch of a committed offset is one that the partition has had: at most that of the live partition at that
\* moment. A newer one comes from another incarnation, or from a client that makes epochs up.
\*
\* Where it does not hold: a commit by name of a consumer that read the incarnation before
\* (MCLeaderEpoch_epoch_of_before), also by id once its metadata have the new one. An offset without leader epoch (-1)
\* is not judged.
\*
\* On call: the group will find its position diverging, or past the end, and reset it by auto.offset.reset: check that
\* this is what you want before it starts again. If the topic was not created again, look at the software of the client
\* (software_name in the verdict), and whether the metadata log lost records (leader_epoch_never_falls).
\* @violated("an offset was committed with a leader epoch that the partition never had")
\* @invariant("committed_leader_epoch_bound", "critical", "commit")
CommittedLeaderEpochBound ==
    \A c \in committedOffsets : c.error = "NONE" /\ c.leaderEpoch >= 0 => c.leaderEpoch <= c.liveLeaderEpoch

\* An offset that is stored with a topic id is stored for the topic that lives: not for one of which the coordinator has
\* heard that it was deleted. One that has not heard of it yet removes the offset when it does: that commit has only
\* crossed the deletion.
\*
\* Where it does not hold: nowhere as designed, also if the coordinator is behind (MCLeaderEpoch_coordinator_behind).
\* Commits by name up to 4.2 have no id and are not judged. That the id is the live one does not show that the offset
\* is: commit_incarnation does. Unknown where nothing tells whether the coordinator had heard: the offset is still
\* there, and neither a heartbeat of its broker nor ten minutes show that the broker has applied the deletion.
\*
\* On call: fct_orphaned_offsets has it. An OffsetFetch by id is not given it, one by name gets it for the new topic,
\* until offsets.retention.minutes has passed. Delete it (`kafka-consumer-groups.sh --bootstrap-server BROKER:9092
\* --delete-offsets --group G --topic T`) while the group is stopped, and report the coordinator's release: it had
\* applied the deletion.
\* @violated("an offset was stored for a topic that had been deleted")
\* @invariant("commit_to_live_incarnation", "critical", "commit")
CommitToLiveIncarnation ==
    \A c \in committedOffsets : c.error = "NONE" /\ c.byId => c.topicId = c.liveTopicId

(***************************************************************************)
(* Fetches. An element f is the place at which a consumer goes on to read, *)
(* beside the partition that the broker, which may be behind, had under    *)
(* that name.                                                              *)
(***************************************************************************)

\* The partition epoch of the incarnation that the broker answers from: of the id that was asked, or of the name.
AnsweredFrom(f) == IF f.byId THEN f.askedPartitionEpoch ELSE f.livePartitionEpoch

\* The offset is one of an incarnation. The beginning is of none: it skips nothing in any.
OfAnIncarnation(f) == f.fetchOffset > 0 /\ f.offsetPartitionEpoch # -1

\* KIP-232 as proposed: a consumer whose offset is of another incarnation than the answer gets INVALID_PARTITION_EPOCH:
\* poll() throws, and the application decides where to go on.
\*
\* Where it does not hold: no client decides by it. An offset without leader epoch is an old client's, or was stored as
\* a bare number: nothing is compared, as before the proposal. Where an offset came from elsewhere (a seek without a
\* fetch of the group's offsets before it) it is unknown.
\*
\* On call: nothing to do by itself. Beside shipped_fetch_rule it says that the consumer read on where the proposal
\* would have stopped it (no_offset_of_earlier_incarnation).
\* @decision("fetch_incarnation", "fetchPositions")
FetchIncarnation(f) ==
    IF f.lastFetchedEpoch = -1 \/ ~OfAnIncarnation(f) THEN "NONE"
    ELSE IF f.offsetPartitionEpoch # AnsweredFrom(f) THEN "INVALID_PARTITION_EPOCH"
    ELSE "NONE"

\* As shipped: a fetch that names a topic id which the broker does not have is refused (UNKNOWN_TOPIC_ID), and so is one
\* by a name that it does not have (UNKNOWN_TOPIC_OR_PARTITION), or with an older leader epoch (FENCED_LEADER_EPOCH) or a
\* newer one (UNKNOWN_LEADER_EPOCH) than the leader's. Where the offset comes from is not looked at.
\*
\* Where it does not hold: the broker compares with what it has applied of the metadata log. That is known as far as its
\* heartbeats and answers tell; where several partitions fit that differ in this, it is unknown. In a fetch session that
\* began before the topic was deleted the answer is UNKNOWN_TOPIC_OR_PARTITION, and INCONSISTENT_TOPIC_ID when it has
\* been created again. Fetches before version 13 name no id; NOT_LEADER_OR_FOLLOWER, OFFSET_OUT_OF_RANGE and what a
\* session refuses as a whole (FETCH_SESSION_TOPIC_ID_ERROR) are decided by other things.
\*
\* On call: refusals of one moment are how clients learn of a new leader or topic. If they go on, the client's metadata
\* do not get newer: look at the broker that answers its Metadata requests.
\* @decision("shipped_fetch_rule", "fetchPositions")
ShippedFetchRule(f) ==
    IF f.byId /\ f.topicId # f.liveTopicId THEN "UNKNOWN_TOPIC_ID"
    ELSE IF f.liveLeaderEpoch = -1 THEN "UNKNOWN_TOPIC_OR_PARTITION"
    ELSE IF f.currentLeaderEpoch = -1 THEN "NONE"
    ELSE IF f.currentLeaderEpoch < f.liveLeaderEpoch THEN "FENCED_LEADER_EPOCH"
    ELSE IF f.currentLeaderEpoch > f.liveLeaderEpoch THEN "UNKNOWN_LEADER_EPOCH"
    ELSE "NONE"

\* No consumer reads an incarnation of a topic at an offset of another one. If one does, it skips the records before
\* that offset, which it has never seen, and nobody is told.
\*
\* Where it does not hold: a shipped consumer keeps its offset when the topic gets another id. If the new log has
\* records of the same leader epoch up to that offset, it goes on as if nothing had happened
\* (MCLeaderEpoch_shipped_4_3_skips); if it has fewer, it goes on at their end, which OffsetForLeaderEpoch tells it.
\* Offset 0, an answer that reports a divergence and one with an error are no reading. Where an offset came from
\* elsewhere it is unknown, unless the name never had another topic.
\*
\* On call: this consumer has not read the records of the live topic from its log start to fetch_offset. Stop the
\* group and reset it for this topic (`kafka-consumer-groups.sh --bootstrap-server BROKER:9092 --group G
\* --reset-offsets --topic T --to-earliest --execute`); it then reads again what is behind fetch_offset. When a topic
\* has to be created again, stop its consumers and delete their offsets first, or give the new topic another name.
\* @violated("a consumer read a topic at an offset of its earlier incarnation")
\* @invariant("no_offset_of_earlier_incarnation", "critical", "fetch")
NoOffsetOfEarlierIncarnation ==
    \A f \in fetchPositions :
        f.error = "NONE" /\ f.divergingEpoch = -1 /\ OfAnIncarnation(f) => f.offsetPartitionEpoch = AnsweredFrom(f)

(***************************************************************************)
(* The metadata log. A partition p is one of one incarnation.              *)
(***************************************************************************)

\* No two partitions have one partition epoch: it names a partition of one incarnation in the whole cluster, as a topic
\* id and a number do.
\*
\* Where it does not hold: KIP-232's counter is in no record; it is counted from the log's beginning. Where that is not
\* captured, and no snapshot goes back to it, partition epochs are unknown.
\*
\* On call: the metadata log creates the same partition twice, or the rebuilt history is wrong. Print the records of
\* both (`kafka-dump-log.sh --cluster-metadata-decoder --files SEGMENT`); if they are as the verdict says, keep the
\* log and its snapshots of all controllers and report them.
\* @violated("two partitions have one partition epoch")
\* @invariant("partition_epochs_unique", "critical", "partition")
PartitionEpochsUnique ==
    \A epoch \in DOMAIN partitionsWith : \A p \in partitionsWith[epoch] : \A q \in partitionsWith[epoch] : p = q

\* A topic that is created again has a larger partition epoch than the one of that name before: so the newer of two
\* incarnations can be told.
\*
\* Where it does not hold: it is counted from the metadata log, and unknown where that does not go back to its
\* beginning. A topic whose earlier incarnation is not in the log is not judged.
\*
\* On call: the metadata log, or a snapshot of it, goes back behind what was committed. Compare the end offsets and
\* epochs of the log on all controllers (`kafka-metadata-quorum.sh --bootstrap-server BROKER:9092 describe --status`);
\* a controller that was formatted anew with the same cluster id does this.
\* @violated("a topic that was created again has no larger partition epoch")
\* @step("partition_epoch_grows", "critical", "topic")
PartitionEpochGrows ==
    \A t \in DOMAIN newestTopicId \cap DOMAIN newestTopicId' :
        newestTopicId'[t] # newestTopicId[t] => newestPartitionEpoch'[t] > newestPartitionEpoch[t]

\* The leader epoch of a partition never falls while its topic lives. On it rests every comparison within an
\* incarnation: what followers truncate, what clients take for newer, which leader is fenced.
\*
\* Where it does not hold: within one incarnation only: a topic that is created again starts at 0.
\*
\* On call: the controller lost records: it gives out leader epochs for the second time, and replicas keep different
\* records at the same offset and epoch. Stop changes to the cluster; compare the metadata log of all controllers, look
\* for a controller that was formatted anew or a quorum that lost its majority, and compare the replicas' logs of the
\* partitions that the verdict names before anything is deleted.
\* @violated("a partition's leader epoch fell")
\* @step("leader_epoch_never_falls", "critical", "partition") @transitive
LeaderEpochNeverFalls ==
    \A p \in DOMAIN leaderEpoch \cap DOMAIN leaderEpoch' : leaderEpoch'[p] >= leaderEpoch[p]

\* A broker that registers again gets a larger broker epoch: the offset of its registration. With it the controller
\* tells a request of the broker as it was before from one of the broker as it is.
\*
\* Where it does not hold: within one metadata log only. A broker that was unregistered and comes back is judged as the
\* same. Across a hole in the log it can be violated, never hold.
\*
\* On call: the controller lost records of its log (see leader_epoch_never_falls), or two brokers have one id: compare
\* incarnation_id and the listeners of both registrations, and give one of them another node.id.
\* @violated("a broker's epoch fell")
\* @step("broker_epoch_never_falls", "critical", "broker") @transitive
BrokerEpochNeverFalls ==
    \A b \in DOMAIN brokerEpoch \cap DOMAIN brokerEpoch' : brokerEpoch'[b] >= brokerEpoch[b]

(***************************************************************************)
(* The log of a partition.                                                 *)
(***************************************************************************)

\* In the log of a partition no batch of an older leader epoch follows one of a newer. Replicas find where their logs
\* part by this order.
\*
\* Where it does not hold: what a deposed leader wrote, and its successor has written over, is no part of the log. Where
\* one replica has the older batch and others have newer ones, its file is a fault (out_of_order in fct_quarantine). A
\* message format before 0.11 has no leader epoch (-1) and can stand before or behind. Across a hole in the log it can
\* be violated, never hold.
\*
\* On call: a replica holds what the others may not: followers that compare epochs with it truncate at the wrong place.
\* Find the replica (broker and file in the verdict), move the leadership away from it, and let it fetch the partition
\* again from an empty folder. Keep the segment: report it with the broker's version.
\* @violated("a batch of an older leader epoch follows one of a newer")
\* @step("batch_leader_epochs_in_order", "critical", "partition") @transitive
BatchLeaderEpochsInOrder ==
    \A p \in DOMAIN appendedLeaderEpoch \cap DOMAIN appendedLeaderEpoch' :
        appendedLeaderEpoch'[p] >= appendedLeaderEpoch[p]

\* Every leader epoch that a batch carries was given to the partition by the metadata log: some broker was elected at
\* it.
\*
\* Where it does not hold: where the metadata log is not known so far, or not back to the topic's creation, it is
\* unknown. A cluster that came from ZooKeeper goes on at the epochs it had.
\*
\* On call: batches come from a leader that nobody elected: a folder that was copied from another cluster or another
\* incarnation, or a metadata log that lost records. Compare topic_id in partition.metadata with the metadata log; see
\* leader_epoch_never_falls for the same partition.
\* @violated("a batch carries a leader epoch that nobody was elected at")
\* @invariant("batch_leader_epoch_known", "critical", "partition")
BatchLeaderEpochKnown ==
    \A p \in DOMAIN appendedLeaderEpoch : appendedLeaderEpoch[p] >= 0 => leaderEpochGiven[p]

\* Each entry of a leader-epoch-checkpoint says where its epoch begins in the log: no batch of it or a newer one stands
\* before that offset, and no older one behind. Up to the next entry all batches are of this epoch.
\*
\* Where it does not hold: a new leader writes its epoch before its first batch, at the end of its log, also of one that
\* nobody has written to yet; that entry agrees. Retention moves the first entry to the start of the log, and what the
\* cleaner removed contradicts none. The file is rewritten in place: only what it was when it was read last is judged,
\* and a copy taken while the log was written may lag: that the newest epochs have no entry is not judged. Where batches
\* are missing it is unknown.
\*
\* On call: clients and followers that ask this replica where an epoch ends are told wrong: consumers reset or skip,
\* followers truncate what is committed, or keep what is not. Move the leadership to a replica whose file agrees; then
\* delete the partition's folder on the other broker while it is stopped, so that it is fetched again. Deleting the file
\* alone does not help: after a clean shutdown the epochs are not read from the log.
\* @violated("a leader-epoch-checkpoint contradicts the log")
\* @invariant("checkpoint_agrees", "critical", "entry")
CheckpointAgrees == \A e \in checkpointEntries : e.agrees

=============================================================================
