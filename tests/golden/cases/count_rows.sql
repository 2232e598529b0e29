SELECT a.x, b.y
FROM a [ROWS 100], b [RANGE INTERVAL '1' HOUR]
WHERE a.k = b.k AND a.x > 3 AND a.x < b.x AND b.ts >= a.ts - INTERVAL '5' SECONDS
