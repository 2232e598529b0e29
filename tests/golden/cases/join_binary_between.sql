-- streams: a, b. A window that reaches further one way than the other.
SELECT a.x, b.y FROM a JOIN b ON a.k = b.k
WINDOW (a, b) BETWEEN INTERVAL '1' MINUTE PRECEDING AND INTERVAL '2' HOURS FOLLOWING
