-- gathered_witnesses -> failing, of all chapters together.
SELECT
  definition,
  cluster,
  scope,
  witness,
  verdict,
  failed_conjunct,
  reason,
  begins,
  ends,
  from_position,
  from_time,
  to_time,
  gathered_witnesses.observed,
  evidence,
  chapter
FROM gathered_witnesses
WHERE kind = 'failing'
