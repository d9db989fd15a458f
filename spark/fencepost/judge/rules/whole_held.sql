-- gathered -> judged, of all chapters together: what held in each of them stands for the rows that did.
SELECT
  definition,
  cluster,
  scope,
  TRUE AS verdict,
  TRUE AS exercised,
  begins AS from_position,
  ends AS to_position,
  from_time,
  to_time
FROM gathered
WHERE kind = 'held'
