---- MODULE ProducerEpochPropsMarked ----
\* generated from spec/producer_epoch/ProducerEpochProps.tla by `tlasql compile`; do not edit
EXTENDS ProducerEpochProps

NoWriteAfterFenceProp ==
    [][NoWriteAfterFence]_<<appendedEpoch>>

NewEpochStartsAtSequenceZeroProp ==
    [][NewEpochStartsAtSequenceZero]_<<appendedEpoch, firstSequence, lastOffset, lastSequence, newestIsMarker>>

NoSequenceGapProp ==
    [][NoSequenceGap]_<<appendedEpoch, firstSequence, lastOffset, lastSequence, newestIsMarker>>

NoSequenceResetProp ==
    [][NoSequenceReset]_<<appendedEpoch, firstSequence, lastOffset, lastSequence, newestIsMarker>>

MarkerCoordinatorEpochNeverFallsProp ==
    [][MarkerCoordinatorEpochNeverFalls]_<<appendedEpoch, markerCoordinatorEpoch>>

StatusTransitionsProp ==
    [][StatusTransitions]_<<status>>

ProducerEpochStepsProp ==
    [][ProducerEpochSteps]_<<producerEpoch, producerId>>

EndTxnBumpsEpochProp ==
    [][EndTxnBumpsEpoch]_<<nextProducerId, producerEpoch, producerId, status, transactionVersion>>

====
