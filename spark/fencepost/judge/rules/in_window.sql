-- found, places -> judged: the rows that end in the window of their place, or after it; what is still so, and what
-- has no time, may be about it.
SELECT found.*
FROM found
LEFT JOIN places
  ON found.cluster = places.place
WHERE places.since IS NULL OR found.to_time IS NULL OR found.to_time >= places.since
