-- generated from CommittedLeaderEpochBound in spec/leader_epoch/LeaderEpochProps.tla by `tlasql compile`; do not edit
{{ config(severity='error', tags=['generated', 'invariant']) }}

select
  verdict_id,
  cluster,
  scope,
  witness,
  from_position,
  from_time,
  failed_conjunct,
  observed
from {{ ref('fct_invariant_verdicts') }}
where
  invariant = 'committed_leader_epoch_bound' and verdict = 'violated'
