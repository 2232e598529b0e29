-- streams: temperature, humidity. What does not fit into memory goes to pages.
SELECT /*+ memory(64 MB), on_memory(spill) */ t.celsius, h.percent
FROM temperature t RIGHT OUTER BESTMATCH JOIN humidity h
ON t.ts MINDIST h.ts, t.x MINDIST h.x WITHIN 100, t.y MINDIST h.y
WHERE t.sensor = h.sensor AND abs(t.ts - h.ts) <= INTERVAL '10' MINUTES
