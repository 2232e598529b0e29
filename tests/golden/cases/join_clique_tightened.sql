-- streams: a, b, c. A stated window that the other two narrow.
SELECT a.x FROM a, b, c WHERE a.k = b.k AND a.k = c.k
WINDOW (a, b) = INTERVAL '1' MINUTE, WINDOW (b, c) = INTERVAL '2' MINUTES, WINDOW (a, c) = INTERVAL '1' HOUR
