-- streams: a, b. Both ends lie behind a row, so that it is final at once; one task does it all.
SELECT a.y, SUM(b.x * 2) AS twice FROM a WINDOW JOIN b
RANGE BETWEEN INTERVAL '5' MINUTES PRECEDING AND INTERVAL '1' MINUTE PRECEDING