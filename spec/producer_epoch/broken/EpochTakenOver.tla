--------------------------- MODULE EpochTakenOver ---------------------------
\* A recovered instance takes the producer id and epoch of its predecessor out of a checkpoint, and asks for none: it can
\* end the predecessor's transaction, while that may still write.
EXTENDS MCProducerEpoch

Recover(i, j) ==
    \* enabling conditions
    /\ instances[i].state = "new"
    /\ instances[j].state = "open"
    \* state changes
    /\ instances' = [instances EXCEPT ![i] = instances[j]]
    /\ initProducerIds' = {} /\ producerSnapshots' = {}
    /\ UNCHANGED <<coordinatorVars, partitionVars, added, nextSequence, networkVars, transactionMarkers>>
    /\ Observe({})

BrokenNext ==
    \/ InitProducerIdStep \/ CoordinatorStep \/ InstanceStep \/ PartitionStep
    \/ \E i, j \in Instances : Recover(i, j)

=============================================================================
