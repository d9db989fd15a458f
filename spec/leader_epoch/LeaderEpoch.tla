----------------------------- MODULE LeaderEpoch -----------------------------
(***************************************************************************)
(* How metadata of a topic gets old, and what becomes of offsets when the  *)
(* topic is deleted and created again (KIP-232; as shipped with KIP-320    *)
(* and KIP-516).                                                           *)
(*                                                                         *)
(* A topic of one name has one incarnation after the other. The controller *)
(* gives each partition that it creates a partition epoch: a number of the *)
(* whole cluster that grows by one with each partition created and with    *)
(* each topic deleted. Beside it each incarnation has a topic id. Within   *)
(* an incarnation the leader epoch grows with each election. After an      *)
(* unclean one the end of the log is gone.                                 *)
(*                                                                         *)
(* Brokers apply the controller's log each at its own pace. Clients ask    *)
(* any of them, so they may be told what is older than what they have.     *)
(* They decide by their rule (constant Rule):                              *)
(*                                                                         *)
(*   "kip_232"              an answer is outdated if the maximum partition *)
(*                          epoch is older, or the partition epoch of a    *)
(*                          partition, or that is equal and its leader     *)
(*                          epoch older                                    *)
(*   "kip_232_without_max"  the same without the maximum                   *)
(*   "shipped"              another topic id is always newer; within one   *)
(*                          the leader epoch decides                       *)
(*                                                                         *)
(* Clients consume and commit. Under KIP-232 an offset carries its epochs, *)
(* and a fetch from another incarnation fails (INVALID_PARTITION_EPOCH).   *)
(* As shipped a fetch names the topic id that the client has in its        *)
(* metadata, and the offset carries its leader epoch. Commits name the     *)
(* topic by name or by id, by release (constants CommitsById,              *)
(* BrokerStoresTopicId, DeletesById). Old clients (constant OldClients)    *)
(* take every answer and send no epoch.                                    *)
(*                                                                         *)
(* What logs show of all this is in LeaderEpochObserved.                   *)
(*                                                                         *)
(* It follows Metadata.updateLatestMetadata, LeaderEpochFileCache,         *)
(* Partition.readRecords, OffsetMetadataManager. Left out: which broker    *)
(* leads and which replica has what (a log is its leader's; an unclean     *)
(* election leaves a part of it), retention, a client's validation of its  *)
(* position apart from the fetch (the fetch does the same), producers,     *)
(* share groups, ZooKeeper.                                                *)
(***************************************************************************)
EXTENDS Integers, FiniteSets, Sequences

\* @typeAlias: image = {topicId: TOPIC_ID, partitionEpoch: PARTITION -> Int, leaderEpoch: PARTITION -> Int, maxPartitionEpoch: Int};
\* @typeAlias: cached = {known: Bool, gone: Bool, topicId: TOPIC_ID, partitionEpoch: Int, leaderEpoch: Int};
\* @typeAlias: position = {set: Bool, offset: Int, leaderEpoch: Int, partitionEpoch: Int, incarnation: Int, record: Int};
\* @typeAlias: storedOffset = {set: Bool, offset: Int, leaderEpoch: Int, partitionEpoch: Int, topicId: TOPIC_ID, incarnation: Int, record: Int};
\* @typeAlias: checkpointed = {leaderEpoch: Int, startOffset: Int};

\* The topic's name.
\* @type: TOPIC;
CONSTANT Topic

\* The numbers that its partitions may have. Number 0 is there from the beginning, others come by expansion.
\* @type: Set(Int);
CONSTANT Numbers

\* @type: Set(Int);
CONSTANT Brokers

\* The broker that coordinates the clients' group.
\* @type: Int;
CONSTANT Coordinator

\* @type: Set(CLIENT);
CONSTANT Clients

\* Those that know no epoch: they take every answer, and send -1.
\* @type: Set(CLIENT);
CONSTANT OldClients

\* The rule by which the other clients decide whether an answer is outdated, see above.
\* @type: Str;
CONSTANT Rule

\* TRUE: clients name the topic by its id in OffsetCommit and OffsetFetch (version 10, consumer protocol: from 4.2).
\* @type: Bool;
CONSTANT CommitsById

\* TRUE: of a commit by name the broker stores the topic id that it has for the name (from 4.3).
\* @type: Bool;
CONSTANT BrokerStoresTopicId

\* TRUE: with a topic go the offsets of its id (from 4.3). FALSE: those of its name.
\* @type: Bool;
CONSTANT DeletesById

\* TRUE: brokers apply the controller's log at their own pace. FALSE: at once.
\* @type: Bool;
CONSTANT LaggingBrokers

\* TRUE: a topic may be deleted, and created again.
\* @type: Bool;
CONSTANT Deletion

\* TRUE: a replica may be elected that lacks the end of the log.
\* @type: Bool;
CONSTANT UncleanElections

\* TRUE: clients consume. They may commit, and keep offsets elsewhere, if the next two say so.
\* @type: Bool;
CONSTANT Consuming
\* @type: Bool;
CONSTANT Committing
\* @type: Bool;
CONSTANT KeepingOffsetsElsewhere

\* TRUE: brokers register again, as they do when they start.
\* @type: Bool;
CONSTANT BrokersRestart

ASSUME 0 \in Numbers /\ Coordinator \in Brokers /\ OldClients \subseteq Clients
ASSUME Rule \in {"kip_232", "kip_232_without_max", "shipped"}
ASSUME {CommitsById, BrokerStoresTopicId, DeletesById, LaggingBrokers, Deletion, UncleanElections, Consuming,
        Committing, KeepingOffsetsElsewhere, BrokersRestart} \subseteq BOOLEAN

-----------------------------------------------------------------------------
(***************************************************************************)
(* The controller's log. A partition is one of one incarnation: its topic  *)
(* id and its number. It is in the DOMAINs while it exists.                *)
(***************************************************************************)

\* @type: PARTITION -> Int;
VARIABLE partitionEpoch

\* @type: PARTITION -> Int;
VARIABLE leaderEpoch

\* The epoch of each broker's newest registration: the offset of its record.
\* @type: Int -> Int;
VARIABLE brokerEpoch

(***************************************************************************)
(* The rest of controller, brokers and coordinator.                        *)
(***************************************************************************)

\* The topic's metadata after each record. 0 as topic id says that there is no topic.
\* @type: Seq($image);
VARIABLE metadataLog

\* The last topic id that was given out: 1, 2, 3.
\* @type: Int;
VARIABLE issuedIds

\* How far each broker has applied the metadata log.
\* @type: Int -> Int;
VARIABLE applied

\* The leader epochs of the batches in each partition's log, also of partitions that are gone; a batch is one record.
\* @type: PARTITION -> Seq(Int);
VARIABLE log

\* The leader's leader-epoch-checkpoint.
\* @type: PARTITION -> Seq($checkpointed);
VARIABLE checkpoint

\* The offsets that the group has committed.
\* @type: Int -> $storedOffset;
VARIABLE committed

\* The offsets that were stored outside of Kafka.
\* @type: Int -> $storedOffset;
VARIABLE keptElsewhere

(***************************************************************************)
(* The clients.                                                            *)
(***************************************************************************)

\* What each client's metadata says of each partition. Of one that is gone it keeps the epochs, not the topic id.
\* @type: CLIENT -> Int -> $cached;
VARIABLE cache

\* The largest maximum partition epoch of the answers that were not refused as a whole.
\* @type: CLIENT -> Int;
VARIABLE cachedMaxPartitionEpoch

\* Where each client goes on, with the epochs that the offset carries (-1 for none). What it does not carry, and the
\* client does not know: the partition epoch of the incarnation that it is an offset of, and the leader epoch of the
\* record before it (-1 at the beginning).
\* @type: CLIENT -> Int -> $position;
VARIABLE position

controllerVars == <<partitionEpoch, leaderEpoch, brokerEpoch, metadataLog, issuedIds>>
logVars        == <<log, checkpoint>>
offsetVars     == <<committed, keptElsewhere>>
clientVars     == <<cache, cachedMaxPartitionEpoch, position>>
vars           == <<controllerVars, applied, logVars, offsetVars, clientVars>>

-----------------------------------------------------------------------------
(***************************************************************************)
(* Images, logs, offsets.                                                  *)
(***************************************************************************)

Empty == [x \in {} |-> 0]
With(f, x, value) == [y \in DOMAIN f \cup {x} |-> IF y = x THEN value ELSE f[y]]

Newest  == metadataLog[Len(metadataLog)]
View(b) == metadataLog[applied[b]]

\* The partition of this number in an image, and whether there is one.
Partition(image, n) == <<image.topicId, n>>
Has(image, n)       == Partition(image, n) \in DOMAIN image.partitionEpoch

PartitionEpochIn(image, n) == IF Has(image, n) THEN image.partitionEpoch[Partition(image, n)] ELSE -1
LeaderEpochIn(image, n)    == IF Has(image, n) THEN image.leaderEpoch[Partition(image, n)] ELSE -1

\* The entries of a checkpoint at or below this epoch.
UpTo(entries, epoch) == {i \in DOMAIN entries : entries[i].leaderEpoch <= epoch}
Latest(indexes)      == CHOOSE i \in indexes : \A j \in indexes : j <= i

\* LeaderEpochFileCache.endOffsetFor: the latest epoch up to this one, and where it ends; -1 and -1 for an epoch that is
\* newer than all.
EndOffsetFor(p, epoch) ==
    LET entries == checkpoint[p]
        below   == UpTo(entries, epoch)
    IN  IF entries = <<>> \/ epoch > entries[Len(entries)].leaderEpoch THEN [leaderEpoch |-> -1, endOffset |-> -1]
        ELSE IF below = {} THEN [leaderEpoch |-> epoch, endOffset |-> entries[1].startOffset]
        ELSE [leaderEpoch |-> entries[Latest(below)].leaderEpoch,
              endOffset   |-> IF Latest(below) = Len(entries) THEN Len(log[p])
                              ELSE entries[Latest(below) + 1].startOffset]

\* LeaderEpochFileCache.assign: an epoch begins; entries that it contradicts go.
Assigned(entries, epoch, start) ==
    Append(SelectSeq(entries, LAMBDA e : e.leaderEpoch < epoch /\ e.startOffset < start),
           [leaderEpoch |-> epoch, startOffset |-> start])

NoOffset   == [set |-> FALSE, offset |-> 0, leaderEpoch |-> -1, partitionEpoch |-> -1, topicId |-> 0,
               incarnation |-> -1, record |-> -1]
NoPosition == [set |-> FALSE, offset |-> 0, leaderEpoch |-> -1, partitionEpoch |-> -1, incarnation |-> -1,
               record |-> -1]
Uncached   == [known |-> FALSE, gone |-> FALSE, topicId |-> 0, partitionEpoch |-> -1, leaderEpoch |-> -1]

-----------------------------------------------------------------------------
NoTopic == [topicId |-> 0, partitionEpoch |-> Empty, leaderEpoch |-> Empty, maxPartitionEpoch |-> 0]

Init ==
    /\ partitionEpoch = Empty /\ leaderEpoch = Empty
    /\ brokerEpoch = [b \in Brokers |-> 0]
    /\ metadataLog = <<NoTopic>>
    /\ issuedIds = 0
    /\ applied = [b \in Brokers |-> 1]
    /\ log = Empty /\ checkpoint = Empty
    /\ committed = [n \in Numbers |-> NoOffset]
    /\ keptElsewhere = [n \in Numbers |-> NoOffset]
    /\ cache = [c \in Clients |-> [n \in Numbers |-> Uncached]]
    /\ cachedMaxPartitionEpoch = [c \in Clients |-> -1]
    /\ position = [c \in Clients |-> [n \in Numbers |-> NoPosition]]

-----------------------------------------------------------------------------
(***************************************************************************)
(* The controller.                                                         *)
(***************************************************************************)

\* What the group keeps of the topic's offsets when the coordinator hears that the topic of this id is gone.
AfterDeletion(id) ==
    [n \in Numbers |->
        IF ~DeletesById \/ committed[n].topicId \in {0, id} THEN NoOffset ELSE committed[n]]

\* The coordinator applies the record that follows this image.
KeepOffsets(before, after) ==
    committed' = IF before.topicId # 0 /\ after.topicId = 0 THEN AfterDeletion(before.topicId) ELSE committed

\* A record in the controller's log.
Write(image) ==
    /\ metadataLog' = Append(metadataLog, image)
    /\ partitionEpoch' = image.partitionEpoch
    /\ leaderEpoch' = image.leaderEpoch
    /\ IF LaggingBrokers THEN UNCHANGED <<applied, committed>>
       ELSE /\ applied' = [b \in Brokers |-> Len(metadataLog) + 1]
            /\ KeepOffsets(Newest, image)

\* The partition epoch of what is created now.
NextPartitionEpoch == Newest.maxPartitionEpoch + 1

\* The partition p is added to an image; it gets this partition epoch.
Created(image, p, epoch) ==
    [image EXCEPT !.partitionEpoch = With(@, p, epoch), !.leaderEpoch = With(@, p, 0), !.maxPartitionEpoch = epoch]

\* The leader of a new partition begins its first epoch.
BeginLog(p) ==
    /\ log' = With(log, p, <<>>)
    /\ checkpoint' = With(checkpoint, p, Assigned(<<>>, 0, 0))

CreateTopic ==
    \* enabling conditions
    /\ Newest.topicId = 0
    /\ issuedIds = 0 \/ Deletion
    \* state changes
    /\ issuedIds' = issuedIds + 1
    /\ Write(Created([Newest EXCEPT !.topicId = issuedIds + 1], <<issuedIds + 1, 0>>, NextPartitionEpoch))
    /\ BeginLog(<<issuedIds + 1, 0>>)
    /\ UNCHANGED <<brokerEpoch, keptElsewhere, clientVars>>

\* CreatePartitions: the topic is expanded.
Expand(n) ==
    \* enabling conditions
    /\ Newest.topicId # 0
    /\ ~Has(Newest, n)
    \* state changes
    /\ Write(Created(Newest, Partition(Newest, n), NextPartitionEpoch))
    /\ BeginLog(Partition(Newest, n))
    /\ UNCHANGED <<brokerEpoch, issuedIds, keptElsewhere, clientVars>>

\* A deletion counts, too: the maximum tells that an answer is older when the topic is gone.
DeleteTopic ==
    \* enabling conditions
    /\ Deletion
    /\ Newest.topicId # 0
    \* state changes
    /\ Write([NoTopic EXCEPT !.maxPartitionEpoch = Newest.maxPartitionEpoch + 1])
    /\ UNCHANGED <<brokerEpoch, issuedIds, logVars, keptElsewhere, clientVars>>

\* A leader is elected. It has the first `length` records: all of them, unless the election is unclean.
Elect(p, length) ==
    \* enabling conditions
    /\ p \in DOMAIN leaderEpoch
    /\ length = Len(log[p]) \/ UncleanElections
    \* state changes
    /\ Write([Newest EXCEPT !.leaderEpoch = With(@, p, leaderEpoch[p] + 1)])
    /\ log' = [log EXCEPT ![p] = SubSeq(@, 1, length)]
    /\ checkpoint' = [checkpoint EXCEPT ![p] = Assigned(@, leaderEpoch'[p], length)]
    /\ UNCHANGED <<brokerEpoch, issuedIds, keptElsewhere, clientVars>>

\* ClusterControlManager.registerBroker: the epoch is the offset of the record.
Register(b) ==
    \* enabling conditions
    /\ BrokersRestart
    \* state changes
    /\ Write(Newest)
    /\ brokerEpoch' = [brokerEpoch EXCEPT ![b] = Len(metadataLog)]
    /\ UNCHANGED <<issuedIds, logVars, keptElsewhere, clientVars>>

-----------------------------------------------------------------------------
(***************************************************************************)
(* Brokers.                                                                *)
(***************************************************************************)

\* A broker applies the next record of the metadata log.
Apply(b) ==
    \* enabling conditions
    /\ applied[b] < Len(metadataLog)
    \* state changes
    /\ applied' = [applied EXCEPT ![b] = @ + 1]
    /\ IF b = Coordinator THEN KeepOffsets(View(b), metadataLog[applied[b] + 1]) ELSE UNCHANGED committed
    /\ UNCHANGED <<controllerVars, logVars, keptElsewhere, clientVars>>

\* The leader appends a record at its epoch.
Produce(p) ==
    \* enabling conditions
    /\ p \in DOMAIN leaderEpoch
    \* state changes
    /\ log' = [log EXCEPT ![p] = Append(@, leaderEpoch[p])]
    /\ UNCHANGED <<controllerVars, checkpoint, applied, offsetVars, clientVars>>

-----------------------------------------------------------------------------
(***************************************************************************)
(* Metadata.                                                               *)
(***************************************************************************)

\* KIP-232: the image is older than what the client has: in this partition, or as a whole.
OlderPartition(c, image, n) ==
    LET had == cache[c][n]
    IN  /\ Has(image, n) /\ had.known /\ ~had.gone
        /\ \/ PartitionEpochIn(image, n) < had.partitionEpoch
           \/ PartitionEpochIn(image, n) = had.partitionEpoch /\ LeaderEpochIn(image, n) < had.leaderEpoch
OlderMaximum(c, image) == image.maxPartitionEpoch < cachedMaxPartitionEpoch[c]

\* Metadata.updateLatestMetadata.
TakenAsShipped(c, image, n) ==
    LET had == cache[c][n]
    IN  Has(image, n) => ~had.known \/ had.topicId # image.topicId \/ LeaderEpochIn(image, n) >= had.leaderEpoch

\* The partitions of which the client takes the answer: KIP-232 refuses it as a whole, the shipped rule looks at each
\* partition by itself.
Taken(c, image) ==
    IF c \in OldClients THEN Numbers
    ELSE IF Rule = "shipped" THEN {n \in Numbers : TakenAsShipped(c, image, n)}
    ELSE IF \E n \in Numbers : OlderPartition(c, image, n) \/ (Rule = "kip_232" /\ OlderMaximum(c, image)) THEN {}
    ELSE Numbers

\* A partition in the client's metadata after an answer that it has taken.
Heard(had, image, n) ==
    IF Has(image, n)
    THEN [known |-> TRUE, gone |-> FALSE, topicId |-> image.topicId, partitionEpoch |-> PartitionEpochIn(image, n),
          leaderEpoch |-> LeaderEpochIn(image, n)]
    ELSE [had EXCEPT !.gone = had.known, !.topicId = 0]

\* A client asks a broker for metadata.
Refresh(c, b) ==
    LET taken == Taken(c, View(b))
    IN  /\ cache' = [cache EXCEPT ![c] =
                         [n \in Numbers |-> IF n \in taken THEN Heard(@[n], View(b), n) ELSE @[n]]]
        /\ cachedMaxPartitionEpoch' =
               [cachedMaxPartitionEpoch EXCEPT ![c] =
                    IF taken = {} \/ View(b).maxPartitionEpoch < @ THEN @ ELSE View(b).maxPartitionEpoch]
        /\ UNCHANGED <<controllerVars, logVars, applied, offsetVars, position>>

-----------------------------------------------------------------------------
(***************************************************************************)
(* Consuming.                                                              *)
(***************************************************************************)

\* The client knows a leader of the partition.
Knows(c, n) == cache[c][n].known /\ ~cache[c][n].gone

\* The partition epoch that an offset carries: none but under KIP-232.
Carried(c, epoch) == IF c \in OldClients \/ Rule = "shipped" THEN -1 ELSE epoch

\* The beginning is an offset of no incarnation: it skips nothing in any.
Beginning == [NoPosition EXCEPT !.set = TRUE]

\* A position at an offset that was stored.
At(stored) ==
    [set |-> TRUE, offset |-> stored.offset, leaderEpoch |-> stored.leaderEpoch,
     partitionEpoch |-> stored.partitionEpoch, incarnation |-> stored.incarnation, record |-> stored.record]

\* OffsetFetch by id: an offset that was stored for another incarnation is none.
CommittedFor(c, n) ==
    IF CommitsById /\ c \notin OldClients /\ committed[n].topicId \notin {0, cache[c][n].topicId} THEN NoOffset
    ELSE committed[n]

\* A client that is assigned the partition goes on from the committed offset, or begins.
Assign(c, n) ==
    \* enabling conditions
    /\ Consuming
    /\ Knows(c, n)
    /\ ~position[c][n].set
    \* state changes
    /\ position' = [position EXCEPT ![c][n] =
                        IF CommittedFor(c, n).set THEN At(CommittedFor(c, n))
                        ELSE Beginning]
    /\ UNCHANGED <<controllerVars, logVars, applied, offsetVars, cache, cachedMaxPartitionEpoch>>

\* A client is started anew: it knows nothing.
Restart(c) ==
    \* enabling conditions
    /\ Consuming
    /\ \E n \in Numbers : position[c][n].set
    \* state changes
    /\ cache' = [cache EXCEPT ![c] = [n \in Numbers |-> Uncached]]
    /\ cachedMaxPartitionEpoch' = [cachedMaxPartitionEpoch EXCEPT ![c] = -1]
    /\ position' = [position EXCEPT ![c] = [n \in Numbers |-> NoPosition]]
    /\ UNCHANGED <<controllerVars, logVars, applied, offsetVars>>

\* KIP-232: metadata that is older than the offset is not used.
NotOlderThanPosition(c, n) ==
    \/ position[c][n].partitionEpoch < cache[c][n].partitionEpoch
    \/ /\ position[c][n].partitionEpoch = cache[c][n].partitionEpoch
       /\ position[c][n].leaderEpoch <= cache[c][n].leaderEpoch

\* What a broker compares before it reads: topic id and leader epoch.
NamesTopicId(c) == Rule = "shipped" /\ c \notin OldClients
CurrentLeaderEpoch(c, n) == IF NamesTopicId(c) THEN cache[c][n].leaderEpoch ELSE -1
Refusal(c, b, n) ==
    IF NamesTopicId(c) /\ cache[c][n].topicId # View(b).topicId THEN "UNKNOWN_TOPIC_ID"
    ELSE IF CurrentLeaderEpoch(c, n) = -1 THEN "NONE"
    ELSE IF CurrentLeaderEpoch(c, n) < LeaderEpochIn(View(b), n) THEN "FENCED_LEADER_EPOCH"
    ELSE IF CurrentLeaderEpoch(c, n) > LeaderEpochIn(View(b), n) THEN "UNKNOWN_LEADER_EPOCH"
    ELSE "NONE"

\* KIP-320: the leader's log has, at the offset, another past than the reader. Without an epoch nothing is compared.
LastFetchedEpoch(c, n) == IF NamesTopicId(c) THEN position[c][n].leaderEpoch ELSE -1
EndOfFetched(c, p, n)  == EndOffsetFor(p, LastFetchedEpoch(c, n))
Diverges(c, p, n) ==
    /\ LastFetchedEpoch(c, n) # -1
    /\ EndOfFetched(c, p, n).leaderEpoch # -1
    /\ \/ EndOfFetched(c, p, n).leaderEpoch < LastFetchedEpoch(c, n)
       \/ EndOfFetched(c, p, n).endOffset < position[c][n].offset
OutOfRange(c, p, n) ==
    \/ LastFetchedEpoch(c, n) # -1 /\ EndOfFetched(c, p, n).leaderEpoch = -1
    \/ ~Diverges(c, p, n) /\ position[c][n].offset > Len(log[p])

\* KIP-232: the answer is from another incarnation than the offset.
OtherIncarnation(c, b, n) ==
    /\ position[c][n].partitionEpoch # -1
    /\ position[c][n].partitionEpoch # PartitionEpochIn(View(b), n)

FetchError(c, b, n) ==
    LET p == Partition(View(b), n)
    IN  IF Refusal(c, b, n) # "NONE" THEN Refusal(c, b, n)
        ELSE IF OtherIncarnation(c, b, n) THEN "INVALID_PARTITION_EPOCH"
        ELSE IF OutOfRange(c, p, n) THEN "OFFSET_OUT_OF_RANGE"
        ELSE "NONE"

\* The leader epoch that a position carries after a record of this epoch.
CarriedLeaderEpoch(c, epoch) == IF c \in OldClients THEN -1 ELSE epoch

\* The position after the answer. Past an error that the client cannot mend it begins again (auto.offset.reset=earliest,
\* or the application's own way); after a divergence it goes on from where the logs part.
After(c, b, n) ==
    LET p   == Partition(View(b), n)
        at  == position[c][n]
        own == View(b).partitionEpoch[p]
        end == EndOfFetched(c, p, n)
    IN  CASE FetchError(c, b, n) \in {"INVALID_PARTITION_EPOCH", "OFFSET_OUT_OF_RANGE"} -> Beginning
          [] FetchError(c, b, n) # "NONE" -> at
          [] FetchError(c, b, n) = "NONE" /\ Diverges(c, p, n) ->
                 IF end.endOffset = 0 THEN Beginning
                 ELSE [set |-> TRUE, offset |-> end.endOffset, leaderEpoch |-> end.leaderEpoch,
                       partitionEpoch |-> Carried(c, own), incarnation |-> own, record |-> log[p][end.endOffset]]
          [] OTHER ->
                 IF at.offset = Len(log[p]) THEN at
                 ELSE [set |-> TRUE, offset |-> at.offset + 1,
                       leaderEpoch |-> CarriedLeaderEpoch(c, log[p][at.offset + 1]),
                       partitionEpoch |-> Carried(c, own), incarnation |-> own, record |-> log[p][at.offset + 1]]

\* A client fetches from a broker that has the partition, and is answered.
Fetch(c, b, n) ==
    \* enabling conditions
    /\ Consuming
    /\ Knows(c, n)
    /\ position[c][n].set
    /\ c \in OldClients \/ Rule = "shipped" \/ NotOlderThanPosition(c, n)
    /\ Has(View(b), n)
    \* state changes
    /\ position' = [position EXCEPT ![c][n] = After(c, b, n)]
    /\ UNCHANGED <<controllerVars, logVars, applied, offsetVars, cache, cachedMaxPartitionEpoch>>

-----------------------------------------------------------------------------
(***************************************************************************)
(* Offsets that are stored.                                                *)
(***************************************************************************)

\* A client's position, to be stored under this topic id.
Stored(c, n, id, epoch) ==
    LET at == position[c][n]
    IN  [set |-> TRUE, offset |-> at.offset, leaderEpoch |-> epoch, partitionEpoch |-> at.partitionEpoch,
         topicId |-> id, incarnation |-> at.incarnation, record |-> at.record]

\* By id a client commits to the topic that its metadata has, whatever its position is of.
CommitsItsId(c) == CommitsById /\ Rule = "shipped" /\ c \notin OldClients
CommitError(c, n) ==
    IF CommitsItsId(c) /\ View(Coordinator).topicId # cache[c][n].topicId THEN "UNKNOWN_TOPIC_ID" ELSE "NONE"
StoredTopicId(c, n) ==
    IF CommitsItsId(c) THEN cache[c][n].topicId
    ELSE IF BrokerStoresTopicId THEN View(Coordinator).topicId ELSE 0

\* The leader epoch that a commit carries: that of the last record before the offset.
CommittedLeaderEpoch(c, n) == position[c][n].leaderEpoch

\* A client commits its position. The coordinator answers; it knows a topic of that name.
Commit(c, n) ==
    \* enabling conditions
    /\ Committing
    /\ Knows(c, n)
    /\ position[c][n].set /\ position[c][n].offset > 0
    /\ CommitsItsId(c) \/ Has(View(Coordinator), n)
    \* state changes
    /\ committed' = IF CommitError(c, n) # "NONE" THEN committed
                    ELSE [committed EXCEPT ![n] =
                              Stored(c, n, StoredTopicId(c, n), CommittedLeaderEpoch(c, n))]
    /\ UNCHANGED <<controllerVars, logVars, applied, keptElsewhere, clientVars>>

\* A client stores its position outside of Kafka: under KIP-232 with both epochs (offsetEpoch), else as a bare number.
KeepElsewhere(c, n) ==
    \* enabling conditions
    /\ KeepingOffsetsElsewhere
    /\ position[c][n].set /\ position[c][n].offset > 0
    \* state changes
    /\ keptElsewhere' = [keptElsewhere EXCEPT ![n] =
           Stored(c, n, 0, IF Rule = "shipped" THEN -1 ELSE position[c][n].leaderEpoch)]
    /\ UNCHANGED <<controllerVars, logVars, applied, committed, clientVars>>

\* It seeks to what it stored there.
Seek(c, n) ==
    \* enabling conditions
    /\ KeepingOffsetsElsewhere
    /\ keptElsewhere[n].set
    /\ Knows(c, n)
    \* state changes
    /\ position' = [position EXCEPT ![c][n] = At(keptElsewhere[n])]
    /\ UNCHANGED <<controllerVars, logVars, applied, offsetVars, cache, cachedMaxPartitionEpoch>>

-----------------------------------------------------------------------------
ControllerStep ==
    \/ CreateTopic
    \/ DeleteTopic
    \/ \E n \in Numbers : Expand(n)
    \/ \E p \in DOMAIN leaderEpoch : \E length \in 0..Len(log[p]) : Elect(p, length)
    \/ \E b \in Brokers : Register(b)

BrokerStep ==
    \/ \E b \in Brokers : Apply(b)
    \/ \E p \in DOMAIN leaderEpoch : Produce(p)

\* What a client does without a broker that answers it.
ClientStep ==
    \E c \in Clients :
        \/ Restart(c)
        \/ \E n \in Numbers : Assign(c, n) \/ KeepElsewhere(c, n) \/ Seek(c, n)

Next ==
    \/ ControllerStep
    \/ BrokerStep
    \/ ClientStep
    \/ \E c \in Clients :
        \/ \E b \in Brokers : Refresh(c, b) \/ \E n \in Numbers : Fetch(c, b, n)
        \/ \E n \in Numbers : Commit(c, n)

Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------
(***************************************************************************)
(* The types above, for TLC.                                               *)
(***************************************************************************)

TypeOK ==
    /\ DOMAIN leaderEpoch = DOMAIN partitionEpoch
    /\ DOMAIN partitionEpoch \subseteq DOMAIN log /\ DOMAIN log = DOMAIN checkpoint
    /\ Newest.partitionEpoch = partitionEpoch /\ Newest.leaderEpoch = leaderEpoch
    /\ Newest.topicId \in 0..issuedIds
    /\ \A b \in Brokers : applied[b] \in 1..Len(metadataLog)
    /\ \A p \in DOMAIN partitionEpoch : partitionEpoch[p] \in 1..Newest.maxPartitionEpoch
    /\ \A c \in Clients : \A n \in Numbers :
        /\ cache[c][n].gone => cache[c][n].known /\ cache[c][n].topicId = 0
        /\ position[c][n].set => (position[c][n].incarnation = -1 <=> position[c][n].offset = 0)

=============================================================================
