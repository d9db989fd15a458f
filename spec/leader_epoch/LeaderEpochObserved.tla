------------------------- MODULE LeaderEpochObserved -------------------------
(***************************************************************************)
(* What is seen of LeaderEpoch. Its actions do not speak of it: here they  *)
(* are joined with what logs and files show after each step, and with what *)
(* the last step told a client or a coordinator.                           *)
(***************************************************************************)
EXTENDS LeaderEpoch

\* @typeAlias: checkpointEntry = {partition: PARTITION, leaderEpoch: Int, startOffset: Int, agrees: Bool};
\* @typeAlias: metadataAnswer = {answer: ANSWER, hasLeaderEpochs: Bool, told: Bool, sameTopicId: Bool, partitionEpoch: Int, leaderEpoch: Int, maxPartitionEpoch: Int, cached: Bool, cachedGone: Bool, cachedPartitionEpoch: Int, cachedLeaderEpoch: Int, cachedMaxPartitionEpoch: Int, accepted: Bool};
\* @typeAlias: committedOffset = {commit: COMMIT, offset: Int, leaderEpoch: Int, byId: Bool, topicId: TOPIC_ID, liveTopicId: TOPIC_ID, livePartitionEpoch: Int, liveLeaderEpoch: Int, offsetPartitionEpoch: Int, error: Str};
\* @typeAlias: fetchPosition = {fetch: FETCH, byId: Bool, topicId: TOPIC_ID, askedPartitionEpoch: Int, fetchOffset: Int, currentLeaderEpoch: Int, lastFetchedEpoch: Int, liveTopicId: TOPIC_ID, livePartitionEpoch: Int, liveLeaderEpoch: Int, offsetPartitionEpoch: Int, error: Str, divergingEpoch: Int};

(***************************************************************************)
(* What the controller's log shows beside the epochs.                      *)
(***************************************************************************)

\* The partitions that have a partition epoch.
\* @type: Int -> Set(PARTITION);
VARIABLE partitionsWith

\* The newest incarnation of a topic, also when that is deleted: its id, and the partition epoch of its partition 0.
\* @type: TOPIC -> TOPIC_ID;
VARIABLE newestTopicId

\* @type: TOPIC -> Int;
VARIABLE newestPartitionEpoch

(***************************************************************************)
(* What the log of a partition has.                                        *)
(***************************************************************************)

\* The leader epoch of the batch that was appended last.
\* @type: PARTITION -> Int;
VARIABLE appendedLeaderEpoch

\* The controller gave the partition that epoch.
\* @type: PARTITION -> Bool;
VARIABLE leaderEpochGiven

\* What the leader-epoch-checkpoint files of the replicas have.
\* @type: Set($checkpointEntry);
VARIABLE checkpointEntries

(***************************************************************************)
(* What clients were told and did in the last step. Earlier is forgotten.  *)
(***************************************************************************)

\* The answer to a Metadata request: what it has of each partition, beside what the client had.
\* @type: Set($metadataAnswer);
VARIABLE metadataAnswers

\* The offset that was committed.
\* @type: Set($committedOffset);
VARIABLE committedOffsets

\* The fetch that was answered.
\* @type: Set($fetchPosition);
VARIABLE fetchPositions

shownVars    == <<partitionsWith, newestTopicId, newestPartitionEpoch, appendedLeaderEpoch, leaderEpochGiven,
                  checkpointEntries>>
answerVars   == <<metadataAnswers, committedOffsets, fetchPositions>>
observedVars == <<vars, shownVars, answerVars>>

ObservedInit ==
    /\ Init
    /\ partitionsWith = Empty /\ newestTopicId = Empty /\ newestPartitionEpoch = Empty
    /\ appendedLeaderEpoch = Empty /\ leaderEpochGiven = Empty /\ checkpointEntries = {}
    /\ metadataAnswers = {} /\ committedOffsets = {} /\ fetchPositions = {}

-----------------------------------------------------------------------------
(***************************************************************************)
(* What logs and files show after a step.                                  *)
(***************************************************************************)

Inverse(f) == [y \in {f[x] : x \in DOMAIN f} |-> {x \in DOMAIN f : f[x] = y}]

\* No batch from the entry's offset on is older, none before it is of its epoch or newer.
Agrees(p, entry) ==
    \A i \in DOMAIN log[p] : (i > entry.startOffset) <=> (log[p][i] >= entry.leaderEpoch)

CheckpointedEpochs ==
    UNION {{[partition |-> p, leaderEpoch |-> entry.leaderEpoch, startOffset |-> entry.startOffset,
             agrees |-> Agrees(p, entry)] : entry \in {checkpoint[p][i] : i \in DOMAIN checkpoint[p]}} :
              p \in DOMAIN leaderEpoch}

Shows ==
    LET appends == {p \in DOMAIN log : Len(log'[p]) > Len(log[p])}
        batches == (DOMAIN appendedLeaderEpoch \cup appends) \cap DOMAIN leaderEpoch'
    IN  /\ partitionsWith' = Inverse(partitionEpoch')
        /\ IF Newest'.topicId = 0 THEN UNCHANGED <<newestTopicId, newestPartitionEpoch>>
           ELSE /\ newestTopicId' = With(newestTopicId, Topic, Newest'.topicId)
                /\ newestPartitionEpoch' = With(newestPartitionEpoch, Topic, PartitionEpochIn(Newest', 0))
        /\ appendedLeaderEpoch' =
               [p \in batches |-> IF p \in appends THEN log'[p][Len(log'[p])] ELSE appendedLeaderEpoch[p]]
        /\ leaderEpochGiven' =
               [p \in batches |-> IF p \in appends THEN log'[p][Len(log'[p])] <= leaderEpoch[p] ELSE leaderEpochGiven[p]]
        /\ checkpointEntries' = CheckpointedEpochs'

-----------------------------------------------------------------------------
(***************************************************************************)
(* What is told in a step.                                                 *)
(***************************************************************************)

Told(answers, commits, fetches) ==
    /\ metadataAnswers' = answers
    /\ committedOffsets' = commits
    /\ fetchPositions' = fetches

\* What the answer has of each partition, beside what the client had, and whether the client takes it.
Answers(c, b) ==
    LET image  == View(b)
        had(n) == cache[c][n]
    IN  {[answer                  |-> <<c, n>>,
          hasLeaderEpochs         |-> c \notin OldClients,
          told                    |-> Has(image, n),
          sameTopicId             |-> Has(image, n) /\ had(n).topicId = image.topicId,
          partitionEpoch          |-> PartitionEpochIn(image, n),
          leaderEpoch             |-> LeaderEpochIn(image, n),
          maxPartitionEpoch       |-> image.maxPartitionEpoch,
          cached                  |-> had(n).known,
          cachedGone              |-> had(n).gone,
          cachedPartitionEpoch    |-> had(n).partitionEpoch,
          cachedLeaderEpoch       |-> had(n).leaderEpoch,
          cachedMaxPartitionEpoch |-> cachedMaxPartitionEpoch[c],
          accepted                |-> n \in Taken(c, image)] : n \in Numbers}

\* The epoch of the divergence in the answer; -1 for none.
DivergingEpoch(c, b, n) ==
    LET p == Partition(View(b), n)
    IN  IF FetchError(c, b, n) = "NONE" /\ Diverges(c, p, n) THEN EndOfFetched(c, p, n).leaderEpoch ELSE -1

FetchAsAnswered(c, b, n) ==
    [fetch                |-> c,
     byId                 |-> NamesTopicId(c),
     topicId              |-> IF NamesTopicId(c) THEN cache[c][n].topicId ELSE 0,
     askedPartitionEpoch  |-> IF NamesTopicId(c) THEN cache[c][n].partitionEpoch ELSE -1,
     fetchOffset          |-> position[c][n].offset,
     currentLeaderEpoch   |-> CurrentLeaderEpoch(c, n),
     lastFetchedEpoch     |-> position[c][n].leaderEpoch,
     liveTopicId          |-> View(b).topicId,
     livePartitionEpoch   |-> PartitionEpochIn(View(b), n),
     liveLeaderEpoch      |-> LeaderEpochIn(View(b), n),
     offsetPartitionEpoch |-> position[c][n].incarnation,
     error                |-> FetchError(c, b, n),
     divergingEpoch       |-> DivergingEpoch(c, b, n)]

\* The last image of the topic that the coordinator has: of a deletion that it has not applied yet it knows nothing, and
\* removes the offset when it does (KeepOffsets). A commit that it refused is seen beside the newest image.
ImageOfCommit(c, n) ==
    LET id     == View(Coordinator).topicId
        images == {i \in applied[Coordinator]..Len(metadataLog) : metadataLog[i].topicId = id}
    IN  IF id = 0 \/ CommitError(c, n) # "NONE" THEN Newest
        ELSE metadataLog[CHOOSE i \in images : \A j \in images : j <= i]

CommitAsAnswered(c, n) ==
    [commit               |-> c,
     offset               |-> position[c][n].offset,
     leaderEpoch          |-> CommittedLeaderEpoch(c, n),
     byId                 |-> StoredTopicId(c, n) # 0,
     topicId              |-> StoredTopicId(c, n),
     liveTopicId          |-> ImageOfCommit(c, n).topicId,
     livePartitionEpoch   |-> PartitionEpochIn(ImageOfCommit(c, n), n),
     liveLeaderEpoch      |-> LeaderEpochIn(ImageOfCommit(c, n), n),
     offsetPartitionEpoch |-> position[c][n].incarnation,
     error                |-> CommitError(c, n)]

-----------------------------------------------------------------------------
ObservedNext ==
    /\ \/ (ControllerStep \/ BrokerStep \/ ClientStep) /\ Told({}, {}, {})
       \/ \E c \in Clients :
            \/ \E b \in Brokers :
                \/ Refresh(c, b) /\ Told(Answers(c, b), {}, {})
                \/ \E n \in Numbers : Fetch(c, b, n) /\ Told({}, {}, {FetchAsAnswered(c, b, n)})
            \/ \E n \in Numbers : Commit(c, n) /\ Told({}, {CommitAsAnswered(c, n)}, {})
    /\ Shows

ObservedSpec == ObservedInit /\ [][ObservedNext]_observedVars

-----------------------------------------------------------------------------
\* The types above, for TLC.
ObservedTypeOK ==
    /\ TypeOK
    /\ DOMAIN appendedLeaderEpoch = DOMAIN leaderEpochGiven /\ DOMAIN leaderEpochGiven \subseteq DOMAIN leaderEpoch
    /\ partitionsWith = Inverse(partitionEpoch)

=============================================================================
