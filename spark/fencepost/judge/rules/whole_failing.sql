-- pieces -> failing, of all chapters together.
SELECT
  definition,
  cluster,
  scope,
  witness,
  verdict,
  failed_conjunct,
  begins,
  ends,
  from_position,
  from_time,
  to_time,
  pieces.values,
  evidence
FROM pieces
WHERE kind = 'failing'
