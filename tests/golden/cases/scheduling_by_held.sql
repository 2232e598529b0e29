-- streams: fast, slow. Many pairs are alive for few tuples: negative tuples, which hold none of them.
SELECT SUM(f.x) AS total
FROM fast f [RANGE INTERVAL '1' MINUTE], slow s [RANGE INTERVAL '5' MINUTES]
WHERE f.k = s.k
