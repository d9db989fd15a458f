---- MODULE OffsetCommitPropsMarked ----
\* generated from spec/offset_commit/OffsetCommitProps.tla by `tlasql compile`; do not edit
EXTENDS OffsetCommitProps

GroupEpochNeverFallsProp ==
    [][GroupEpochNeverFalls]_<<groupEpoch>>

TargetAssignmentEpochNeverFallsProp ==
    [][TargetAssignmentEpochNeverFalls]_<<targetAssignmentEpoch>>

MemberEpochNeverFallsProp ==
    [][MemberEpochNeverFalls]_<<memberEpoch>>

====
