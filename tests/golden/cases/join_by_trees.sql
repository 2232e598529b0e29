-- streams: a, b. No equality: trees, kept by the columns of a band.
SELECT /*+ algorithm(asymmetric) */ a.x, b.x AS bx FROM a, b
WHERE abs(a.x - b.x) < 5 AND a.k <> b.k
WINDOW = INTERVAL '10' MINUTES
