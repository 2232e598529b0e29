-- streams: temperature, humidity. Nearest in time and space; cells of x on Spark.
SELECT t.celsius, h.percent FROM temperature t LEFT OUTER BESTMATCH JOIN humidity h
ON t.ts MINDIST h.ts, t.x MINDIST h.x, t.y MINDIST h.y
WHERE abs(t.ts - h.ts) <= INTERVAL '10' MINUTES AND abs(t.x - h.x) <= 100 AND abs(t.y - h.y) <= 100
