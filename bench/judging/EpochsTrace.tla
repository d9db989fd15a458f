----------------------------- MODULE EpochsTrace -----------------------------
(***************************************************************************)
(* A recorded trace as a behaviour of Epochs, one step for each record.    *)
(* EpochsReader gives the value of each variable after step i.             *)
(***************************************************************************)
EXTENDS Epochs, EpochsReader

VARIABLE i

vars == <<memberEpoch, groupEpoch, i>>

Init ==
    /\ i = 0
    /\ memberEpoch = MemberEpochAt(0)
    /\ groupEpoch = GroupEpochAt(0)

Next ==
    /\ i < Steps
    /\ i' = i + 1
    /\ memberEpoch' = MemberEpochAt(i')
    /\ groupEpoch' = GroupEpochAt(i')

Spec == Init /\ [][Next]_vars

MemberEpochProperty == [][MemberEpochNeverFalls]_vars
GroupEpochProperty == [][GroupEpochNeverFalls]_vars

==============================================================================
