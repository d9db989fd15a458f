-- generated from LeaderEpochNeverFalls in spec/leader_epoch/LeaderEpochProps.tla by `tlasql compile`; do not edit
{{ config(severity='error', tags=['generated', 'step']) }}

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
  invariant = 'leader_epoch_never_falls' and verdict = 'violated'
