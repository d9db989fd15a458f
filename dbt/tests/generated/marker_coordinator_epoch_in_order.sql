-- generated from MarkerCoordinatorEpochInOrder in spec/producer_epoch/MarkerRules.tla by `tlasql compile`; do not edit
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
  invariant = 'marker_coordinator_epoch_in_order' and verdict = 'violated'
