-- generated from spec/leader_epoch/LeaderEpochProps.tla:99 by `tlasql compile`; do not edit
{{ config(severity='warn', tags=['generated', 'invariant']) }}

select
  verdict_id,
  cluster,
  scope,
  witness,
  from_position,
  from_time,
  failed_conjunct,
  `values`
from {{ ref('fct_invariant_verdicts') }}
where
  invariant = 'no_older_metadata_accepted' and verdict = 'violated'
