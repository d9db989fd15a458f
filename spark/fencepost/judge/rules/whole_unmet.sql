-- gathered -> unmet (rows of failing), of all chapters together: where they begin and end.
SELECT definition, cluster, scope, begins, ends, from_time, to_time
FROM gathered
WHERE kind = 'failing'
