---------------------- MODULE StandbyRevocationCounts -----------------------
\* The revocation of a standby task moves ActiveTaskRevocationEpoch.
EXTENDS MCOffsetCommit

BrokenRevocationEpochAfter(m, newEpoch) ==
    IF Revoking(m) /\ newEpoch > memberEpoch[m] THEN memberEpoch[m] ELSE revocationEpoch[m]

=============================================================================
