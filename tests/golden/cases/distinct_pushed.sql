-- streams: fast, slow. Few of fast's rows are different, and DISTINCT goes below the join for it alone.
SELECT DISTINCT f.k
FROM fast f [RANGE INTERVAL '1' MINUTE], slow s [RANGE INTERVAL '5' SECONDS]
WHERE f.k = s.k
