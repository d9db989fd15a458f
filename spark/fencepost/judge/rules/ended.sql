-- found, part -> for each cluster, the first and the last time at which any result of the chapter ends.
SELECT cluster, part.chapter, MIN(to_time) AS first_end, MAX(to_time) AS last_end
FROM found
CROSS JOIN part
GROUP BY cluster, part.chapter
