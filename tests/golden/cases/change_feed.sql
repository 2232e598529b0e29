SELECT q.symbol, COUNT(*) FILTER (WHERE q.bid > 10) AS high
FROM quotes [RANGE INTERVAL '1' HOUR] q
GROUP BY q.symbol
