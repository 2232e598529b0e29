SELECT /*+ memory(300 kB), on_memory(shed) */ f.x, g.x AS other
FROM fast f, fast g
WHERE f.x BETWEEN g.x - 5 AND g.x + 5
WINDOW = INTERVAL '10' SECONDS
