-- found -> for each place, the first and the last time at which any result of it ends.
SELECT cluster AS place, MIN(to_time) AS first_end, MAX(to_time) AS last_end
FROM found
GROUP BY cluster
