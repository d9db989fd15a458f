-------------------------- MODULE LateAssignorWins --------------------------
\* An assignor that started at an earlier group epoch installs its result over a newer one.
EXTENDS MCOffsetCommit

BrokenInstallableEpochs == 1..groupEpoch

=============================================================================
