---------------------------- MODULE EpochsReader ----------------------------
(***************************************************************************)
(* The values of a recorded trace, read by EpochsReader.java, which TLC    *)
(* calls in place of these definitions. Members are numbered from 1: TLC   *)
(* finds f[n] fastest where DOMAIN f is an interval.                       *)
(***************************************************************************)
EXTENDS Integers

\* The number of steps in the trace.
Steps == CHOOSE n \in Nat : TRUE

\* The value of memberEpoch after step n.
MemberEpochAt(n) == CHOOSE f \in [Nat -> Int] : n \in Nat

\* The value of groupEpoch after step n.
GroupEpochAt(n) == CHOOSE e \in Int : n \in Nat

=============================================================================
