-- streams: a, b. Without windows nothing is ever taken back; types widen.
SELECT k, x FROM a WHERE x > 1
UNION ALL
SELECT x, CAST(k AS BIGINT) FROM b
