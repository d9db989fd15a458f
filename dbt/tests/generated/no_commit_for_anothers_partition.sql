-- generated from NoCommitForAnothersPartition in spec/offset_commit/OffsetCommitProps.tla by `tlasql compile`; do not edit
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
  invariant = 'no_commit_for_anothers_partition' and verdict = 'violated'
