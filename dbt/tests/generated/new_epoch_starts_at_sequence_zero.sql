-- generated from NewEpochStartsAtSequenceZero in spec/producer_epoch/BatchRules.tla by `tlasql compile`; do not edit
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
  invariant = 'new_epoch_starts_at_sequence_zero' and verdict = 'violated'
