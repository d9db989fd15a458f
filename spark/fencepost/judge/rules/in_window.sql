-- found, windows -> judged: the rows that end in the window of their cluster, or after it; what is still so, and what
-- has no time, may be about it.
SELECT found.*
FROM found
LEFT JOIN windows
  ON found.cluster = windows.cluster
WHERE windows.since IS NULL OR found.to_time IS NULL OR found.to_time >= windows.since
