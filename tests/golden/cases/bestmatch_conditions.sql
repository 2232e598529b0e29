-- streams: temperature, humidity. A condition of ON about either side, and conditions of WHERE.
SELECT t.sensor, t.celsius, h.percent
FROM temperature t LEFT OUTER BESTMATCH JOIN humidity h
ON t.x MINDIST h.x WITHIN 100 AND t.celsius > 20 AND h.percent < 60 KEEP UNMATCHED
WHERE abs(t.ts - h.ts) <= INTERVAL '10' MINUTES AND h.percent IS NULL AND t.sensor = 1
