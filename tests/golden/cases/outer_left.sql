-- streams: a, b. A left outer join: conditions of ON, and WHERE above.
SELECT a.x, b.y FROM a LEFT JOIN b ON a.k = b.k AND a.x > 1 AND b.x < 5
WHERE a.y <> 'none' AND b.y IS NULL
WINDOW (a, b) BETWEEN INTERVAL '1' MINUTE PRECEDING AND INTERVAL '2' HOURS FOLLOWING
