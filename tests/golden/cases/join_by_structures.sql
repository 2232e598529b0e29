-- streams: a, b. Two window structures that the user chose, kept by an equality.
SELECT /*+ structure(hash/ttree) */ a.x, b.x AS bx FROM a, b
WHERE a.k = b.k AND a.x < b.x
WINDOW = INTERVAL '10' MINUTES
