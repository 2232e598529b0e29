-- streams: temperature, humidity. An equality spreads the work; nothing is copied.
SELECT t.celsius, h.percent FROM temperature t LEFT OUTER BESTMATCH JOIN humidity h
ON t.ts MINDIST h.ts, t.x MINDIST h.x
WHERE t.sensor = h.sensor AND abs(t.ts - h.ts) <= INTERVAL '10' MINUTES
